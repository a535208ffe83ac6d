/* holder.c: both sides of holder.h. One packet is one word, with a descriptor where a page goes along. */
#include "daemon/tenants/holder.h"

#include "base/cleanup.h"
#include "base/send_fds.h"
#include "daemon/log.h"
#include "daemon/runtime.h"
#include "daemon/tenants/page.h"
#include "daemon/tenants/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PLACE "pages.sock"
#define PATIENCE_S 5
#define ALONE_MS 2000 /* without a meted: how often the holder looks whether anybody needs what it holds */

extern char **environ;

enum holder_op {
	HOLDER_KEEP = 1, /* with the descriptor; also what answers LIST, once a page */
	HOLDER_DROP,
	HOLDER_LIST,
	HOLDER_END, /* after the last page of a list */
};

struct holder_word {
	uint32_t op;
	char name[PAGE_NAME_BYTES];
};

/* Value: above 0 a word; 0 the end; -errno. ret_fd: what came along, or -1. */
static int receive(int socket, struct holder_word *ret, int *ret_fd)
{
	ssize_t n = receive_fd(socket, ret, sizeof(*ret), ret_fd, 0);

	if (n <= 0)
		return n ? -errno : 0;
	ret->name[sizeof(ret->name) - 1] = 0;
	return (size_t)n == sizeof(*ret) ? 1 : -EPROTO;
}

static int say(int socket, enum holder_op op, const char *name, int fd)
{
	struct holder_word word = { .op = op };

	snprintf(word.name, sizeof(word.name), "%s", name);
	return send_fd(socket, &word, sizeof(word), fd, 0) < 0 ? -errno : 0;
}

/* meted's side. */

static bool is_ours(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.uid == geteuid();
}

static int reach(struct runtime *runtime)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" PLACE, runtime->dir_fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	if (!is_ours(fd))
		return -EPERM;
	runtime->holder_fd = steal_fd(&fd);
	return 0;
}

static int spawn(int listen_fd)
{
	char number[16];
	char *args[] = { (char *)"meted", (char *)"--hold-pages", number, NULL };
	_cleanup_close_ int inherited = fcntl(listen_fd, F_DUPFD, 3);
	pid_t child;
	int r, status = 0;

	if (inherited < 0)
		return -errno;
	snprintf(number, sizeof(number), "%d", inherited);
	r = posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ);
	if (r)
		return -r;
	/* It leaves a child of its own behind, and ends at once. */
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
}

static int start(struct runtime *runtime)
{
	_cleanup_close_ int fd = -1;
	char error[512];
	int r;

	fd = runtime_listen(runtime, PLACE, SOCK_SEQPACKET, 0600, geteuid(), getegid(), error, sizeof(error));
	if (fd < 0) {
		log_line("%s", error);
		return fd;
	}
	send_fds_admit(fd, true);
	r = fcntl(fd, F_SETFL, 0) ? -errno : spawn(fd);
	return r ? r : reach(runtime);
}

int holder_connect(struct runtime *runtime)
{
	int r;

	cleanup_close(&runtime->holder_fd);
	runtime->holder_fd = -1;
	r = reach(runtime);
	return r ? start(runtime) : 0;
}

int holder_keep(struct runtime *runtime, const char *name, int fd)
{
	if (runtime->holder_fd < 0)
		return -ENOTCONN;
	return say(runtime->holder_fd, HOLDER_KEEP, name, fd) ? -ENOTCONN : 0;
}

void holder_drop(struct runtime *runtime, const char *name)
{
	if (runtime->holder_fd >= 0)
		say(runtime->holder_fd, HOLDER_DROP, name, -1);
}

int holder_list(struct runtime *runtime, void (*fn)(void *owner, const char *name, int fd), void *owner)
{
	struct holder_word word;
	int fd, r = runtime->holder_fd < 0 ? -ENOTCONN : say(runtime->holder_fd, HOLDER_LIST, "", -1);

	while (!r) {
		r = receive(runtime->holder_fd, &word, &fd);
		if (r <= 0)
			return r ? r : -ECONNRESET;
		r = 0;
		if (word.op == HOLDER_END)
			break;
		if (fd >= 0)
			fn(owner, word.name, fd);
	}
	return r;
}

/* The holder's side. */

struct held {
	char name[PAGE_NAME_BYTES];
	int fd;
};

static struct {
	struct held *page;
	unsigned int count, room;
} held;

static void forget(unsigned int i)
{
	close(held.page[i].fd);
	held.page[i] = held.page[--held.count];
}

static void forget_name(const char *name)
{
	for (unsigned int i = 0; i < held.count; i++)
		if (!strcmp(held.page[i].name, name)) {
			forget(i);
			return;
		}
}

static void keep(const char *name, int fd)
{
	struct held *more;

	forget_name(name);
	if (held.count == held.room) {
		more = realloc(held.page, (held.room + 64) * sizeof(*more));
		if (!more) {
			close(fd);
			return;
		}
		held.page = more;
		held.room += 64;
	}
	memcpy(held.page[held.count].name, name, PAGE_NAME_BYTES);
	held.page[held.count++].fd = fd;
}

static bool list(int to)
{
	for (unsigned int i = 0; i < held.count; i++)
		if (say(to, HOLDER_KEEP, held.page[i].name, held.page[i].fd))
			return false;
	return !say(to, HOLDER_END, "", -1);
}

/* False: that meted has gone. */
static bool obey(int from)
{
	struct holder_word word;
	int fd, r = receive(from, &word, &fd);

	if (r == -EINTR)
		return true;
	if (r > 0 && word.op == HOLDER_KEEP && fd >= 0)
		keep(word.name, fd);
	else
		cleanup_close(&fd);
	if (r > 0 && word.op == HOLDER_DROP)
		forget_name(word.name);
	return r > 0 && (word.op != HOLDER_LIST || list(from));
}

static bool is_needed(const char *name)
{
	_cleanup_close_ int pidfd = -1;
	struct process process;
	uint64_t grant_id, start_time;
	pid_t pid;

	return page_name_parse(name, &grant_id, &pid, &start_time) && !process_find(pid, &process, &pidfd) &&
	       process.start_time == start_time;
}

/* False: nobody needs this process any more. */
static bool sweep(void)
{
	for (unsigned int i = held.count; i--;)
		if (!is_needed(held.page[i].name))
			forget(i);
	return held.count;
}

/* What a meted said before it died counts, although its successor is here already: pages are among it. */
static void hear_out(int from)
{
	struct pollfd p = { .fd = from, .events = POLLIN };

	while (from >= 0 && poll(&p, 1, 0) > 0 && obey(from))
		;
}

/* One meted at a time; the newest. The connection of one before it may still be open in a process of its. */
static int serve(int listen_fd)
{
	struct pollfd p[2] = { { .fd = listen_fd, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
	int n;

	for (;;) {
		n = poll(p, 2, p[1].fd < 0 ? ALONE_MS : -1);
		if (n < 0 && errno != EINTR)
			return 1;
		if (!n && !sweep())
			return 0;
		if (n > 0 && p[1].fd >= 0 && p[1].revents && !obey(p[1].fd)) {
			close(p[1].fd);
			p[1].fd = -1;
		}
		if (n > 0 && p[0].revents) {
			hear_out(p[1].fd);
			cleanup_close(&p[1].fd);
			p[1].fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
		}
	}
}

static void leave_everything(void)
{
	int none = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; none >= 0 && i < 3; i++)
		dup2(none, i);
	cleanup_close(&none);
	setsid();
	prctl(PR_SET_NAME, "meted-pages");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
}

int holder_main(const char *listen_fd)
{
	int fd = atoi(listen_fd);
	sigset_t none;
	pid_t child;

	if (fd < 3 || fcntl(fd, F_SETFD, FD_CLOEXEC) || chdir("/"))
		return 1;
	child = fork();
	if (child)
		return child < 0;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	leave_everything();
	return serve(fd);
}
