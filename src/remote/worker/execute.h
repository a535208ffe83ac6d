/* execute.h: one request: its head, its context, its handler, its reply. */
#pragma once

#include "remote/worker/worker.h"

/* The room that a thread executes in: the request's private copy, and what the call gives out. */
struct execute_room {
	uint8_t *request, *out; /* of `bytes` each, aligned to CALL_ALIGN */
	size_t bytes;
};

int execute_room_init(struct execute_room *room, size_t bytes);
void execute_room_deinit(struct execute_room *room);

/*
 * Executes the message of `size` bytes in room->request. *ret_yielded: the handler gave the executor's role away.
 * Value: 0; -EPROTO: malformed, the session is to end; -EPIPE: nobody takes the reply.
 */
int execute(struct worker *worker, struct execute_room *room, size_t size, bool *ret_yielded);
