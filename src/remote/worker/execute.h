/* execute.h: executes one request: its head, its context, its handler, its reply. */
#pragma once

#include "remote/worker/ids.h"
#include "remote/worker/rooms.h"
#include "remote/worker/worker.h"

/* The buffers of an executing thread: the request's private copy, and the results. */
struct execute_room {
	uint8_t *request, *out; /* of `bytes` each, aligned to CALL_ALIGN */
	size_t bytes;
	void *inside;		  /* for bytes of copies that are inside messages: COPY_INLINE_BYTES */
	struct rooms *rooms;	  /* the allocator of `inside` */
	struct ids_reader reader; /* of the session's ids, registered while other threads execute as well */
};

/* Creates rooms for all threads that may execute at once. Value: 0 or -errno. */
int execute_rooms_init(struct rooms *rooms);
/* Allocates buffers for messages of up to `bytes`. Value: 0, or -ENOMEM. */
int execute_room_init(struct execute_room *room, struct rooms *rooms, size_t bytes);
void execute_room_deinit(struct execute_room *room);

/*
 * Executes the message of `size` bytes in room->request. *ret_yielded: the handler has given up the executor's role.
 * Value: 0; -EPROTO: malformed, and the session must end; -EPIPE: the client does not take the reply.
 */
int execute(struct worker *worker, struct execute_room *room, size_t size, bool *ret_yielded);
