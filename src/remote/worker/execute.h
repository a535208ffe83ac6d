/* execute.h: one request: its head, its context, its handler, its reply. */
#pragma once

#include "remote/worker/ids.h"
#include "remote/worker/rooms.h"
#include "remote/worker/worker.h"

/* What a thread executes in: the request's private copy, and what the call gives out. */
struct execute_room {
	uint8_t *request, *out; /* of `bytes` each, aligned to CALL_ALIGN */
	size_t bytes;
	void *inside;		  /* for bytes of copies that are in messages: COPY_INLINE_BYTES */
	struct rooms *rooms;	  /* where that came from */
	struct ids_reader reader; /* of the session's ids, which know it where others execute as well */
};

/* Rooms for all threads that may execute at once. 0 or -errno. */
int execute_rooms_init(struct rooms *rooms);
/* For messages of up to `bytes`. 0, or -ENOMEM. */
int execute_room_init(struct execute_room *room, struct rooms *rooms, size_t bytes);
void execute_room_deinit(struct execute_room *room);

/*
 * Executes the message of `size` bytes in room->request. *ret_yielded: the handler gave the executor's role away.
 * Value: 0; -EPROTO: malformed, the session is to end; -EPIPE: nobody takes the reply.
 */
int execute(struct worker *worker, struct execute_room *room, size_t size, bool *ret_yielded);
