/*
 * tail.h: the tail of a stream: work that has been executed and has not ended on the device's timeline.
 *
 * A stream's operations go from `todo` (not executed) into the tail (`first` to before `todo`) and leave it in order,
 * each when it has ended. Kernels, and what merely marks a place in the stream, are executed while others are still in
 * the tail, so that the device has no gaps where the host is late; all else waits until the tail is empty.
 *
 * All of this with stream_mutex held.
 */
#pragma once

#include "softdev/stream.h"

static inline bool tail_empty(const struct stream *s)
{
	return s->first == s->todo;
}

/* True if more may be executed ahead of so many kernels with this total duration. */
bool tail_ahead_ok(uint32_t kernels, uint64_t ns);
/* True if the next operation may be executed although the tail is not empty. */
bool tail_has_room(const struct stream *s);
/* The operation whose end must be awaited first. */
struct operation *tail_awaited(const struct stream *s);
/*
 * The operation with which, or the last one before which, this point of the stream is reached; NULL: none in the tail
 * is timed.
 */
struct operation *tail_until(const struct stream *s, uint64_t sequence);
/* True if it only marks a place: nothing is executed. */
bool tail_marks(const struct operation *o);
/* True if a kernel or a graph is queued right behind it: that begins when a thread has come so far. */
bool tail_leads(const struct operation *o);
/* The first one. An operation that only marks a place is never the first, so it is on the timeline. */
static inline struct operation *tail_first(const struct stream *s)
{
	return s->first;
}
/* The last one that is on the timeline. NULL: none. */
struct operation *tail_timed(const struct stream *s);
/* Adds the operation that has been executed. */
void tail_add(struct stream *s);
/* Removes ended operations. Value: true if there were any. */
bool tail_settle(struct stream *s);
/* Sleeps with stream_mutex released, until that one has ended, for a while, or until something has changed. */
void tail_sleep(struct operation *o);
/* Keeps an operation alive while a thread uses it without stream_mutex. */
void tail_hold(struct operation *o);
void tail_release(struct operation *o);
