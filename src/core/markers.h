/*
 * markers.h: records events behind the program's work and evaluates them. They show when the engine was busy, how long
 * each kind of work takes, and which work has ended.
 *
 * Work between two markers of a stream is a chunk. The engine's busy time is the union of the chunks over all streams;
 * a gap between chunks counts as idle only when no other stream had work in flight then.
 */
#pragma once

#include "core/pace.h"

/* What has to be told of an end. */
struct marker_news {
	bool idle; /* nothing is in flight any more */
	bool room; /* a thread that waits at the open gate has room now */
};

/*
 * Records the next marker of `s` behind the work that has been submitted. `l`: the last launch before the marker, which
 * may have an event before it; NULL: none. Inside the lane of `s`.
 */
void marker_record(struct pace *p, struct stream *s, const struct launch *l);

/* Call when a launch, and all earlier work of its stream, is known to be done; the times are the host's clock. */
void marker_done(struct pace *p, struct launch *l, uint64_t begin_ns, uint64_t end_ns);

/* Of a launch into a free stream whose call has returned: its work did not begin before. */
uint64_t marker_least_ns(const struct launch *l, uint64_t returned_ns);
/*
 * With the lock held. A launch into a free stream begins somewhere in its call, in which the thread may have been off
 * the processor for long: returns when its like, which ended at end_ns, would have begun, if that is later than
 * begin_ns. 0 stays 0.
 */
uint64_t marker_likely_ns_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns);
/*
 * With the lock held: accounts a chunk that has no markers, and has ended. Call marker_tell() without the lock then.
 */
struct marker_news marker_account_locked(struct pace *p, const struct chunk *c, uint64_t begin_ns, uint64_t end_ns,
					 uint64_t now_ns);
void marker_tell(struct pace *p, struct marker_news news);

/* Evaluates the chunks that have ended, without waiting. Returns their number. */
unsigned int markers_reap(struct pace *p);
/*
 * Waits for the oldest chunk, without a time limit, and evaluates it. False: there was none that could be waited for.
 * *ret_gone: the driver has shut down.
 */
bool markers_wait(struct pace *p, bool *ret_gone);

/* Returns a stream with work that no marker covers, and claims it for the caller. NULL: none. */
struct stream *markers_unmarked_locked(struct pace *p);

/* Waits until no thread has claimed the stream. */
void markers_unclaimed(struct pace *p, struct stream *s);

/* True if all chunks belong to one stream. */
bool markers_one_stream_locked(struct pace *p);

/* True if all admitted work is done; this is also written to the page. False: some is in flight. */
bool pace_idle_locked(struct pace *p, uint64_t now_ns);

/* Counts the work in flight in the streams of this lane as done. */
void markers_drop_lane(struct pace *p, struct lane *l);
