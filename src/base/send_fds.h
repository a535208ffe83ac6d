/* send_fds.h: sends and receives one message with descriptors on a UNIX socket. */
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
 * Sets whether peers of this socket, or of sockets accepted from it, may send descriptors. They should not where they
 * need not: a peer decides how long the close of its descriptor takes (a TCP socket that lingers, a large memory file),
 * and the kernel closes descriptors that were not received in the thread that reads. No effect before Linux 6.16.
 */
static inline void send_fds_admit(int socket, bool admit)
{
	setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &(int){ admit }, sizeof(int));
}

/*
 * Sends a message with `count` descriptors, from 0 to SEND_FDS_MOST, which the caller keeps. `flags` are those of
 * sendmsg(), and so is the result. There is no SIGPIPE.
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

/* The same with one descriptor, or with none if `fd` is below 0. */
static inline ssize_t send_fd(int socket, const void *message, size_t bytes, int fd, int flags)
{
	return send_fds(socket, message, bytes, &fd, fd >= 0, flags);
}

/* Receives a message, and in *ret_fd its descriptor, or -1. Returns as recvmsg() does. */
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
