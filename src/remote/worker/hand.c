/* hand.c: see hand.h. */
#include "remote/worker/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool hand_ready(const char *why, const uint64_t *context_bytes, unsigned int count)
{
	struct worker_word word = { .type = WORKER_READY, .version = WORKER_VERSION, .status = why ? -EIO : 0 };

	if (why)
		snprintf(word.text, sizeof(word.text), "%s", why);
	for (unsigned int i = 0; !why && i < count && i < WORKER_DEVICES; i++)
		word.context_bytes[i] = context_bytes[i];
	return send(WORKER_CONTROL_FD, &word, sizeof(word), MSG_NOSIGNAL) == (ssize_t)sizeof(word);
}

int hand_wait(struct worker_word *ret)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room };
	struct cmsghdr *c;
	ssize_t n;
	int fd = -1;

	do {
		msg.msg_controllen = sizeof(room);
		n = recvmsg(WORKER_CONTROL_FD, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (n == sizeof(*ret) && ret->type == WORKER_TAKE && ret->version == WORKER_VERSION)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void hand_accept(void *unused)
{
	int fd = accept4(WORKER_LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);

	(void)unused;
	if (fd < 0)
		return;
	/* In one step: the shim may be using it in this moment, and finds the old one dead or the new one alive. */
	dup3(fd, WORKER_CONTROL_FD, O_CLOEXEC);
	close(fd);
}
