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
	uint64_t idle; /* requests since, which gave no stream anything to do */
	uint64_t stream, context;
	bool whole; /* all of the context */
	bool asked; /* it was not waited for, but found to be done */
};

/* The call has succeeded and all in the stream was done. */
void waited_note(const struct client_call *c, uint64_t stream);
/* The call has succeeded and all in its context (c->context; 0: the current one) was done. */
void waited_note_context(const struct client_call *c);
/* The same of a stream that was asked (cuStreamQuery): a wait does more in the driver, and is still to be sent. */
void waited_asked(const struct client_call *c, uint64_t stream);
/* Whether all in this stream has been waited for. False as well where an error could be missed by that. */
bool waited_still(const struct client_call *c, uint64_t stream);
/* The same of all streams of its context. */
bool waited_still_context(const struct client_call *c);
/* Whether all in this stream is known to be done, but for frees of memory. */
bool waited_done(const struct client_call *c, uint64_t stream);
/* It asks about an event or frees stream-ordered memory, and has just been sent. */
void waited_idle(const struct client_call *c);
/*
 * A wait for a stream where waited_done() has been sent: behind it the worker's driver gives back what was freed, but
 * there is nothing to wait for here.
 */
void waited_sent(const struct client_call *c, uint64_t stream);
