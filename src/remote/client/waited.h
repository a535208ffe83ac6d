/*
 * waited.h: avoids a second wait for a stream that this thread has just waited for, if nothing was sent since: a
 * synchronous copy and a cuStreamSynchronize() after it take one round trip. A wait for a context, or for its legacy
 * stream while no stream is apart from it, covers all streams of the context.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct client_call;
struct session;

/* The last wait of a thread. */
struct waited {
	const struct session *session; /* NULL: none */
	uint64_t sent; /* number of the session's requests up to and including the wait */
	uint64_t idle; /* number of requests since that gave no stream work */
	uint64_t stream, context;
	bool whole; /* all of the context */
	bool asked; /* it was not waited for, but a query found it complete */
};

/* Notes that the call has succeeded and all work in the stream is complete. */
void waited_note(const struct client_call *c, uint64_t stream);
/* Notes that the call has succeeded and all work in its context (c->context; 0: the current one) is complete. */
void waited_note_context(const struct client_call *c);
/* The same for a stream that was queried (cuStreamQuery): a wait does more in the driver, and must still be sent. */
void waited_asked(const struct client_call *c, uint64_t stream);
/* True if all work in this stream has been waited for. False also where an error could be missed. */
bool waited_still(const struct client_call *c, uint64_t stream);
/* The same for all streams of its context. */
bool waited_still_context(const struct client_call *c);
/* True if all work in this stream is known to be complete, except frees of memory. */
bool waited_done(const struct client_call *c, uint64_t stream);
/* Notes that a query of an event or a free of stream-ordered memory has just been sent. */
void waited_idle(const struct client_call *c);
/*
 * Notes that a wait was sent for a stream for which waited_done() is true: the worker's driver then returns freed
 * memory, but this thread need not wait.
 */
void waited_sent(const struct client_call *c, uint64_t stream);
