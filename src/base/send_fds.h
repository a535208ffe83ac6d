/* send_fds.h: one message on a UNIX socket, with descriptors along. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SEND_FDS_MOST 4u

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

/*
 * Whether peers of this socket, or of those that are accepted at it, may send descriptors. Where they need not they
 * must not: closing what somebody else made can take as long as he likes (a TCP socket that lingers, a large file of
 * memory), and the kernel closes what nobody takes in whoever reads. Before Linux 6.16 nothing can be done about it.
 */
static inline void send_fds_admit(int socket, bool admit)
{
	setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &(int){ admit }, sizeof(int));
}

/*
 * `count` descriptors, SEND_FDS_MOST at most, 0 for none; they stay the caller's. `flags` as sendmsg() has them; there
 * is no SIGPIPE. Value: as sendmsg()'s.
 */
static inline ssize_t send_fds(int socket, const void *message, size_t bytes, const int *fds, unsigned int count,
			       int flags)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(SEND_FDS_MOST * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)message, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (count > SEND_FDS_MOST) {
		errno = EINVAL;
		return -1;
	}
	if (count) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	return sendmsg(socket, &m, flags | MSG_NOSIGNAL);
}

/* The same with one, or with none when it is below 0. */
static inline ssize_t send_fd(int socket, const void *message, size_t bytes, int fd, int flags)
{
	return send_fds(socket, message, bytes, &fd, fd >= 0, flags);
}

/* A message, and in *ret_fd the descriptor that came with it, or -1. Value: as recvmsg(). */
static inline ssize_t receive_fd(int socket, void *message, size_t bytes, int *ret_fd, int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec io = { message, bytes };
	struct msghdr m = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC | flags);
	const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*ret_fd = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n;
}
