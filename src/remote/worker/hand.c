/* hand.c: see hand.h. */
#include "remote/worker/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool hand_ready(const char *why, uint32_t fence, const uint64_t *context_bytes, unsigned int count)
{
	struct worker_word word = {
		.type = WORKER_READY, .version = WORKER_VERSION, .status = why ? -EIO : 0, .fence = fence
	};

	if (why)
		snprintf(word.text, sizeof(word.text), "%s", why);
	for (unsigned int i = 0; !why && i < count && i < WORKER_DEVICES; i++)
		word.context_bytes[i] = context_bytes[i];
	return send(WORKER_CONTROL_FD, &word, sizeof(word), MSG_NOSIGNAL) == (ssize_t)sizeof(word);
}

/* Value: whether a whole word has come, and its descriptors; -1: so many have not come. */
static bool hear(struct worker_word *ret, int fds[2])
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room };
	struct cmsghdr *c;
	ssize_t n;

	do {
		msg.msg_controllen = sizeof(room);
		n = recvmsg(WORKER_CONTROL_FD, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	fds[0] = fds[1] = -1;
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len <= CMSG_LEN(2 * sizeof(int)))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n == sizeof(*ret) && ret->version == WORKER_VERSION;
}

/* With all threads. The kernel asks what whoever opened it may do, which is meted. */
static void enter(int take_cgroup)
{
	if (write(take_cgroup, "0", 1) != 1)
		fprintf(stderr, "its grant's cgroup cannot be entered: %s\n", strerror(errno));
	close(take_cgroup);
}

int hand_wait(struct worker_word *ret)
{
	int fds[2];
	bool whole;

	while ((whole = hear(ret, fds)) && ret->type == WORKER_ENTER && fds[0] >= 0)
		enter(fds[0]);
	if (whole && ret->type == WORKER_TAKE) {
		if (fds[1] >= 0)
			enter(fds[1]);
		return fds[0];
	}
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
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
