/*
 * recordings.h: the requests of streams in capture, in order, so that another worker can capture the same graph
 * (deeds.h). They are deeds of the resulting graph.
 *
 * Streams join a capture by waiting for events, so those are followed. A call of a forwarded library belongs to the
 * stream that was set for its handle. Streams and events may end before the graph does: the deeds that created them are
 * kept with the graph.
 */
#pragma once

#include "remote/client/call.h"

/* The call's stream is about to begin a capture. */
void recordings_begin(struct client_call *c);
/* The capture did not begin. */
void recordings_stop(struct client_call *c);
/* The capture has ended: its deeds belong to this graph from now on, or to none (0). */
void recordings_end(struct session *session, uint64_t stream, uint64_t graph);
/* Determines whether the written request is part of a capture (c->recording). */
void recordings_note(struct client_call *c);
/* Takes over the deed of a request that has succeeded. */
void recordings_add(struct client_call *c, struct deed *take);
/* A stream or an event is about to end: another one may get its id from now on. */
void recordings_ends(const struct session *session, uint64_t id);
/* There was no memory for the deed: the graph cannot be created again. */
void recordings_spoil(struct client_call *c);
/* True if any stream is recorded. */
bool recordings_any(void);
void recordings_forget(void);
