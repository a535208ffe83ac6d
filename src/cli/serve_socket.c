/* serve_socket.c: see serve_socket.h. */
#include "cli/serve_socket.h"
#include "base/cleanup.h"
#include "base/fallback_dir.h"
#include "client/control.h"
#include "client/place.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define PREFIX "serve-"
#define ENDING ".sock"
#define ANSWER_MS 3000
#define DOCUMENT_MOST (4u << 20)

static int address(struct sockaddr_un *a, const char *path)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return snprintf(a->sun_path, sizeof(a->sun_path), "%s", path) < (int)sizeof(a->sun_path) ? 0 : -ENAMETOOLONG;
}

static int listen_in(const char *dir, char path[PATH_MAX])
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un a;
	mode_t mask;
	int r;

	if (fd < 0)
		return -errno;
	if (!path_join(path, "%s/" PREFIX "%d" ENDING, dir, (int)getpid()) || address(&a, path))
		return -ENAMETOOLONG;
	unlink(path);
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 16) ? -errno : 0;
	umask(mask);
	return r ? r : steal_fd(&fd);
}

int serve_socket_open(char path[PATH_MAX], struct fault *f)
{
	char dir[PATH_MAX];
	bool system;
	int fd, r;

	r = control_dir(dir, &system, f);
	if (r)
		return r;
	fd = listen_in(dir, path);
	if (fd == -EACCES && system && fallback_dir(dir, sizeof(dir)) && (!mkdir(dir, 0700) || errno == EEXIST))
		fd = listen_in(dir, path);
	if (fd < 0)
		return fault_set(f, fd, "%s: the socket for `mete remote` cannot be made: %s; set METE_RUNTIME_DIR",
				 path, strerror(-fd));
	return fd;
}

void serve_socket_answer(int listener, json_t *document)
{
	_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	_cleanup_free_ char *text = json_dumps(document, JSON_COMPACT | JSON_ENSURE_ASCII);
	int room = (int)DOCUMENT_MOST;

	json_decref(document);
	if (fd < 0 || !text)
		return;
	/* Whoever asks reads at once; one who does not gets what fits. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

static json_t *read_document(int fd)
{
	_cleanup_free_ char *text = malloc(DOCUMENT_MOST);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t used = 0;
	ssize_t n = 1;

	while (text && n > 0 && used < DOCUMENT_MOST && poll(&p, 1, ANSWER_MS) > 0) {
		n = recv(fd, text + used, DOCUMENT_MOST - used, 0);
		used += n > 0 ? (size_t)n : 0;
	}
	return text && !n ? json_loadb(text, used, 0, NULL) : NULL;
}

static json_t *ask(const char *path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct sockaddr_un a;

	if (fd < 0 || address(&a, path))
		return NULL;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		if (errno == ECONNREFUSED) /* its server was killed */
			unlink(path);
		return NULL;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || (peer.uid && peer.uid != geteuid()))
		return NULL;
	return read_document(fd);
}

static void ask_in(const char *dir, json_t *all)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[PATH_MAX];

	while (d && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name);
		json_t *document;

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) || n < strlen(ENDING) ||
		    strcmp(entry->d_name + n - strlen(ENDING), ENDING) || !path_join(path, "%s/%s", dir, entry->d_name))
			continue;
		document = ask(path);
		if (document)
			json_array_append_new(all, document);
	}
	if (d)
		closedir(d);
}

json_t *serve_socket_ask_all(void)
{
	char dir[PATH_MAX], other[PATH_MAX];
	json_t *all = json_array();
	struct fault f;
	bool system;

	if (control_dir(dir, &system, &f))
		*dir = 0;
	if (*dir)
		ask_in(dir, all);
	if (system && fallback_dir(other, sizeof(other)) && strcmp(dir, other))
		ask_in(other, all);
	return all;
}
