/* connection.c: see connection.h. */
#include "core/connection.h"

#include "base/connect_remedy.h"
#include "core/tick.h"
#include "wire/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static long kernel(long r)
{
	return r < 0 ? -errno : r;
}

int connection_move_high(int fd)
{
	struct rlimit limit = { 0 };
	long floor, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return fd;
	floor = limit.rlim_cur > 4096 ? 3072 : (long)limit.rlim_cur * 3 / 4;
	high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, floor);
	if (high < 0)
		return fd;
	syscall(SYS_close, fd);
	return (int)high;
}

void connection_close(struct connection *c)
{
	struct file_identity is;

	if (file_identify(c->fd, &is) == 0 && file_same(&is, &c->socket))
		syscall(SYS_close, c->fd);
	c->fd = -1;
}

bool connection_stands(struct connection *c)
{
	struct file_identity is;

	if (c->fd < 0)
		return false;
	if (file_identify(c->fd, &is) == 0 && file_same(&is, &c->socket))
		return true;
	c->fd = -1;
	return false;
}

/* The one descriptor that came with a message, or -1. */
static int only_fd(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

/*
 * In a worker, which can make no sockets: meted hands out connections to the grant through the worker's own connection
 * (wire/worker.h). Value: the descriptor or -errno; -EPERM: this worker has no grant yet.
 */
static int ask_connection(int control)
{
	struct worker_word word = { .type = WORKER_CONNECT, .version = WORKER_VERSION };
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { .iov_base = &word, .iov_len = sizeof word };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long r;
	int fd;

	do
		r = kernel(syscall(SYS_sendmsg, control, &message, MSG_NOSIGNAL));
	while (r == -EINTR);
	message.msg_control = room;
	while (r >= 0) {
		message.msg_controllen = sizeof room;
		r = kernel(syscall(SYS_recvmsg, control, &message, MSG_CMSG_CLOEXEC));
		if (r != -EINTR)
			break;
		r = 0;
	}
	if (r < 0)
		return (int)r;
	fd = only_fd(&message);
	if (r == sizeof word && word.type == WORKER_CONNECTED && !word.status && fd >= 0)
		return fd;
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (r == sizeof word && word.type == WORKER_CONNECTED && word.status == -EPERM)
		return -EPERM;
	return r ? -ECONNREFUSED : -ECONNRESET;
}

/*
 * By a descriptor of our own: a restarted meted's connection may take the place of `control` at any moment, and would
 * never bring the answer to what the one before was asked.
 */
static int ask_same(int control)
{
	long own = kernel(syscall(SYS_fcntl, control, F_DUPFD_CLOEXEC, 0));
	int fd;

	if (own < 0)
		return (int)own;
	fd = ask_connection((int)own);
	syscall(SYS_close, (int)own);
	return fd;
}

static int open_through(struct connection *c, int control)
{
	int fd = ask_same(control), r;

	if (fd < 0)
		return fd;
	fd = connection_move_high(fd);
	r = file_identify(fd, &c->socket);
	if (r < 0) {
		syscall(SYS_close, fd);
		return r;
	}
	c->fd = fd;
	return 0;
}

int connection_open(struct connection *c, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	long fd, r;

	connection_close(c);
	if (!strncmp(path, "fd:", 3))
		return open_through(c, atoi(path + 3));
	if (length >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length + 1);
	fd = kernel(syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
	if (fd < 0)
		return connect_socket_error((int)fd);
	fd = connection_move_high((int)fd);
	do
		r = kernel(syscall(SYS_connect, (int)fd, &address, sizeof address));
	while (r == -EINTR);
	if (r < 0 || (r = file_identify((int)fd, &c->socket)) < 0) {
		syscall(SYS_close, (int)fd);
		return (int)r;
	}
	c->fd = (int)fd;
	return 0;
}

int connection_send(struct connection *c, struct wire_header *request)
{
	struct iovec part = { .iov_base = request, .iov_len = request->size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	long r;

	do
		r = kernel(syscall(SYS_sendmsg, c->fd, &message, MSG_NOSIGNAL));
	while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}

void connection_close_fds(int fds[CONNECTION_FDS])
{
	for (int i = 0; i < CONNECTION_FDS; i++) {
		if (fds[i] >= 0)
			syscall(SYS_close, fds[i]);
		fds[i] = -1;
	}
}

/* One packet; descriptors that came with it go to ret_fds (-1: none) or are closed. Value: bytes, or -errno. */
static int receive(struct connection *c, void *buffer, size_t size, int *ret_fds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(CONNECTION_FDS * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = buffer, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	int fds[CONNECTION_FDS] = { -1, -1 };
	struct cmsghdr *h;
	bool lost;
	uint64_t until = c->look_ns ? tick_now() + c->look_ns : 0;
	long r;

	do {
		bool looks = until && tick_now() < until;

		message.msg_controllen = sizeof control;
		r = kernel(syscall(SYS_recvmsg, c->fd, &message, MSG_CMSG_CLOEXEC | (looks ? MSG_DONTWAIT : 0)));
	} while (r == -EINTR || r == -EAGAIN);
	if (r < 0)
		return (int)r;
	h = CMSG_FIRSTHDR(&message);
	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS && h->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fds, CMSG_DATA(h), h->cmsg_len < CMSG_LEN(sizeof fds) ? sizeof(int) : sizeof fds);
	/* The kernel gives no more of them than the process may have open. */
	lost = message.msg_flags & MSG_CTRUNC && fds[CONNECTION_FDS - 1] < 0;
	if (!ret_fds || lost)
		connection_close_fds(fds);
	if (ret_fds)
		memcpy(ret_fds, fds, sizeof fds);
	if (r == 0)
		return -ECONNRESET;
	if (ret_fds && lost)
		return -EMFILE;
	if (message.msg_flags & MSG_TRUNC)
		return -EPROTO;
	return (int)r;
}

int connection_ask(struct connection *c, void *request, void *ret_answer, size_t answer_size, int *ret_fds)
{
	struct wire_header *ask = request, *got = ret_answer;
	int r;

	ask->serial = ++c->serial;
	r = connection_send(c, ask);
	if (r < 0)
		return r;
	do {
		memset(ret_answer, 0, answer_size);
		r = receive(c, ret_answer, answer_size, ret_fds);
		if (r < 0)
			return r;
		if ((size_t)r < sizeof *got || got->size != (uint32_t)r)
			return -EPROTO;
		if (got->serial != ask->serial && ret_fds)
			connection_close_fds(ret_fds);
	} while (got->serial != ask->serial); /* the late answer to a request that was given up */
	return (int)got->status;
}

bool connection_hung_up(const struct connection *c)
{
	char byte;
	long r = kernel(syscall(SYS_recvfrom, c->fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT, NULL, NULL));

	return r == 0 || (r < 0 && r != -EAGAIN && r != -EINTR);
}
