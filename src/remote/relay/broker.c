/* broker.c: see broker.h. */
#include "remote/relay/broker.h"

#include "base/send_fds.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

union broker_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

int broker_send(int socket, const struct broker_message *m, int fd)
{
	ssize_t n;

	do {
		n = send_fd(socket, m, sizeof(*m), fd, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int take_fd(struct msghdr *h)
{
	int fd = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

int broker_receive(int socket, struct broker_message *ret, int *ret_fd, int timeout_ms)
{
	union broker_control control = { 0 };
	struct iovec part = { ret, sizeof(*ret) };
	struct msghdr h = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.room)
	};
	struct pollfd p = { .fd = socket, .events = POLLIN };
	ssize_t n;
	int r;

	*ret_fd = -1;
	do {
		r = poll(&p, 1, timeout_ms);
	} while (r < 0 && errno == EINTR);
	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	do {
		n = recvmsg(socket, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : -EPIPE;
	*ret_fd = take_fd(&h);
	ret->text[sizeof(ret->text) - 1] = ret->peer.name[sizeof(ret->peer.name) - 1] = 0;
	ret->peer.address[sizeof(ret->peer.address) - 1] = 0;
	ret->hello.name[sizeof(ret->hello.name) - 1] = ret->hello.command[sizeof(ret->hello.command) - 1] = 0;
	return n == sizeof(*ret) ? 0 : -EPROTO;
}
