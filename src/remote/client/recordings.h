/*
 * recordings.h: what was said while a stream was in capture, so that another worker can be made to capture the same
 * (deeds.h): all requests of its streams, in order. They are deeds of the graph that comes of it.
 *
 * Streams join by waiting for events, so those are followed. A call of a forwarded library is of the stream that its
 * handle was set to. Streams and events may end before the graph does: what made them is kept with the graph.
 */
#pragma once

#include "remote/client/call.h"

/* The stream of the call is about to be in capture. */
void recordings_begin(struct client_call *c);
/* It has not come to that. */
void recordings_stop(struct client_call *c);
/* The capture has ended: of this graph from now on, or 0. */
void recordings_end(struct session *session, uint64_t stream, uint64_t graph);
/* The request is written: whether it is part of a capture (c->recording). */
void recordings_note(struct client_call *c);
/* It has succeeded: the deed is taken over. */
void recordings_add(struct client_call *c, struct deed *take);
/* A stream or an event is about to end: another one may have its place from now on. */
void recordings_ends(const struct session *session, uint64_t id);
/* There was no memory for the deed: the graph cannot be made again. */
void recordings_spoil(struct client_call *c);
/* Whether there is any. */
bool recordings_any(void);
void recordings_forget(void);
