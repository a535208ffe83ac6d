/* hand.c: see hand.h. */
#include "remote/worker/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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

int hand_wait(struct worker_word *ret, int *ret_cgroup)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))];
	struct iovec io = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = room };
	struct cmsghdr *c;
	int fds[2] = { -1, -1 };
	ssize_t n;

	do {
		msg.msg_controllen = sizeof(room);
		n = recvmsg(WORKER_CONTROL_FD, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len <= CMSG_LEN(sizeof(fds)))
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	*ret_cgroup = fds[1];
	if (n == sizeof(*ret) && ret->type == WORKER_TAKE && ret->version == WORKER_VERSION)
		return fds[0];
	for (unsigned int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return -1;
}

static struct {
	pthread_t thread;
	bool enters;
	int cgroup;
} way;

/* The kernel asks what whoever opened it may do, which is meted. */
static void *enter(void *unused)
{
	(void)unused;
	if (write(way.cgroup, "0", 1) != 1)
		fprintf(stderr, "its grant's cgroup cannot be entered: %s\n", strerror(errno));
	close(way.cgroup);
	return NULL;
}

void hand_enter(int take_cgroup)
{
	way.cgroup = take_cgroup;
	way.enters = take_cgroup >= 0 && !pthread_create(&way.thread, NULL, enter, NULL);
	if (take_cgroup >= 0 && !way.enters)
		enter(NULL);
}

void hand_entered(void)
{
	if (way.enters)
		pthread_join(way.thread, NULL);
	way.enters = false;
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
