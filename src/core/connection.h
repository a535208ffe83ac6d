/*
 * connection.h: one connection to meted, and the packets on it. Its owner has a lock around it.
 *
 * The descriptor lives where programs rarely look: close-on-exec and at a high number. A program that closes all
 * descriptors closes it nevertheless; so before each use the descriptor is compared with the socket that we made
 * (device and inode of sockfs, which are not reused while the socket lives). Every call is the kernel's own, so that
 * none is a cancellation point.
 */
#pragma once

#include "core/file_identity.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONNECTION_FDS 2 /* that come along with a packet, at most */

struct connection {
	int fd;			     /* -1: not connected */
	struct file_identity socket; /* what `fd` is when nobody has tampered with it */
	uint32_t serial;	     /* of the last request */
	uint64_t look_ns;	     /* an answer is looked for so long before its thread sleeps */
};

/* To a socket's path, or by the worker's own connection ("fd:3", wire/worker.h). 0 or -errno. */
int connection_open(struct connection *c, const char *path);
/* Closes our descriptor, unless the program has closed it already and something else stands there now. */
void connection_close(struct connection *c);
/* The descriptor is still ours. */
bool connection_stands(struct connection *c);
/* Nothing is expected that nobody asked for: what can be read is an answer that came too late, or the end. */
bool connection_hung_up(const struct connection *c);

/* 0 or -errno. */
int connection_send(struct connection *c, struct wire_header *request);
/*
 * A request and its answer over the connection as it stands. Value: enum wire_status or -errno. Descriptors that come
 * go to ret_fds (CONNECTION_FDS of them, -1: none), or are closed when that is NULL.
 */
int connection_ask(struct connection *c, void *request, void *ret_answer, size_t answer_size, int *ret_fds);
void connection_close_fds(int fds[CONNECTION_FDS]);

/* Moves a descriptor of ours out of the program's way. Value: the one to use, also when it could not be moved. */
int connection_move_high(int fd);
