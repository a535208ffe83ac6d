/*
 * connection.h: a connection to meted and the packets on it. The owner guards it with a lock.
 *
 * The descriptor is close-on-exec and has a high number, which programs rarely use. A program that closes all
 * descriptors closes it nevertheless. Before each use the descriptor is therefore compared with the socket that was
 * opened, by device and inode of sockfs, which are not reused while the socket exists. All system calls are made
 * directly, so that none is a cancellation point.
 */
#pragma once

#include "core/file_identity.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONNECTION_FDS 2 /* at most, with one packet */

struct connection {
	int fd;			     /* -1: not connected */
	struct file_identity socket; /* the socket that `fd` must name */
	uint32_t serial;	     /* of the last request */
	uint64_t look_ns;	     /* how long a thread polls for the answer before it sleeps */
};

/* Connects to the path of a socket, or by the worker's own connection ("fd:3", wire/worker.h). 0 or -errno. */
int connection_open(struct connection *c, const char *path);
/* Closes the descriptor, unless the program has closed it and another file has its number. */
void connection_close(struct connection *c);
/* True if the descriptor still names our socket. */
bool connection_stands(struct connection *c);
/*
 * True if the peer has closed the connection, or an answer has come too late. Outside of a request nothing else can
 * arrive.
 */
bool connection_hung_up(const struct connection *c);

/* 0 or -errno. */
int connection_send(struct connection *c, struct wire_header *request);
/*
 * Sends a request and receives its answer on the present connection. Returns an enum wire_status or -errno. Descriptors
 * in the answer go to ret_fds (CONNECTION_FDS of them, -1: none), or are closed if it is NULL.
 */
int connection_ask(struct connection *c, void *request, void *ret_answer, size_t answer_size, int *ret_fds);
void connection_close_fds(int fds[CONNECTION_FDS]);

/*
 * Moves a descriptor to a high number, where the program is unlikely to close it. Returns the descriptor to use, also
 * if it could not be moved.
 */
int connection_move_high(int fd);
