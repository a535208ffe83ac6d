/*
 * waited.h: a stream that this thread has just waited for, when nothing has been sent since, needs no second wait: a
 * copy that waits and a cuStreamSynchronize() behind it are one round trip. Who has waited for a context, or for its
 * legacy stream while there are no streams apart from it, has waited for all streams of the context.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client_call;
struct session;

/* Of a thread: its last wait. */
struct waited {
	const struct session *session; /* NULL: none */
	uint64_t sent; /* requests of the session by then, that of the wait included */
	uint64_t freed; /* requests since, which free stream-ordered memory and nothing else */
	uint64_t stream, context;
	bool whole; /* all of the context */
};

/* The call has succeeded and all in the stream was done. */
void waited_note(const struct client_call *c, uint64_t stream);
/* The call has succeeded and all in its context (c->context; 0: the current one) was done. */
void waited_note_context(const struct client_call *c);
/* Whether all in this stream is known to be done. False as well where an error could be missed by that. */
bool waited_still(const struct client_call *c, uint64_t stream);
/* The same of all streams of its context. */
bool waited_still_context(const struct client_call *c);
/* It frees stream-ordered memory, and has just been sent. */
void waited_freed(const struct client_call *c);
/*
 * Whether all in this stream is known to be done but frees: a wait is sent then, behind which the worker's driver gives
 * back what was freed, but there is nothing to wait for. waited_sent(): that wait has been sent.
 */
bool waited_but_freed(const struct client_call *c, uint64_t stream);
void waited_sent(const struct client_call *c);
