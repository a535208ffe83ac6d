/* refusal.c: see refusal.h. */
#include "daemon/settings/refusal.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "daemon/codes.h"
#include "daemon/settings/service.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEARD_MS 100 /* for what one asks, which is sent as soon as it has connected */
#define HEARD_ALL_MS 1000 /* for all of them: who says nothing keeps nobody */
#define PIECES_MOST 16	  /* of what one asks: a line of 64 KiB */
#define ASKERS_MOST 4096u
#define LINE_BYTES 4096

/* A meted holds the lock of that directory: what is said of another one would mislead. */
static bool somebody_serves(int dir_fd)
{
	_cleanup_close_ int fd = openat(dir_fd, "meted.lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
}

/* Open when the folder is there and ours alone to write. */
static int open_dir(const struct options *o)
{
	_cleanup_close_ int fd = -1;
	char dir[PATH_MAX];
	struct stat st;

	options_runtime_dir(o, dir, sizeof(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -1;
	return steal_fd(&fd);
}

/* Written beside its place and then put there; everybody may read it. */
static void write_note(int dir_fd, const char *line)
{
	_cleanup_close_ int fd = -1;

	unlinkat(dir_fd, REFUSAL_FILE ".new", 0);
	fd = openat(dir_fd, REFUSAL_FILE ".new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) || dprintf(fd, "%s\n", line) < 0 ||
	    renameat(dir_fd, REFUSAL_FILE ".new", dir_fd, REFUSAL_FILE))
		unlinkat(dir_fd, REFUSAL_FILE ".new", 0);
}

/* What is left unread in a socket that is closed makes its peer's next word fail. */
static void answer(int fd, int wait_ms, const char *text, size_t length)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char asked[LINE_BYTES];

	if (poll(&p, 1, wait_ms) > 0)
		for (int i = 0; i < PIECES_MOST; i++)
			if (recv(fd, asked, sizeof(asked), MSG_DONTWAIT) != sizeof(asked))
				break;
	if (send(fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return; /* it has gone */
	shutdown(fd, SHUT_WR);
}

static void answer_all(int listen_fd, const char *line)
{
	json_t *json = json_pack("{s:b s:s s:s}", "ok", 0, "code", code_word(CODE_NOT_STARTED), "error", line);
	char text[LINE_BYTES];
	size_t n = json_dumpb(json, text, sizeof(text) - 1, JSON_COMPACT | JSON_ENSURE_ASCII);
	uint64_t until_ns = clock_now_ns() + HEARD_ALL_MS * 1000000ull;
	int fd;

	json_decref(json);
	if (!n || n >= sizeof(text))
		return;
	text[n++] = '\n';
	for (unsigned int i = 0; i < ASKERS_MOST; i++) {
		fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		answer(fd, clock_now_ns() < until_ns ? HEARD_MS : 0, text, n);
		close(fd);
	}
}

void refusal_tell(const struct options *o, const char *line)
{
	_cleanup_close_ int dir_fd = -1, listen_fd = -1;
	char dir[PATH_MAX], path[PATH_MAX + 16], text[LINE_BYTES / 2];

	options_runtime_dir(o, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/control.sock", dir);
	listen_fd = service_take_socket(path);
	dir_fd = open_dir(o);
	snprintf(text, sizeof(text), "meted did not start: %s; then %s", line,
		 o->system ? "`systemctl restart meted`" : "start it again");
	if (dir_fd >= 0 && (o->system || listen_fd >= 0) && !somebody_serves(dir_fd))
		write_note(dir_fd, text);
	if (listen_fd >= 0)
		answer_all(listen_fd, text);
}

void refusal_forget(const struct options *o)
{
	_cleanup_close_ int dir_fd = open_dir(o);

	if (dir_fd >= 0)
		unlinkat(dir_fd, REFUSAL_FILE, 0);
}
