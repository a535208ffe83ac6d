/*
 * markers.h: the events behind a program's work, and what follows from them: when the engine was busy, how long each
 * kind of work takes, that something or everything has ended.
 *
 * Work between two markers of a stream is a chunk. The engine's busy time is the union of the chunks over all streams;
 * a gap between chunks counts as idle only when no other stream had work in flight then.
 */
#pragma once

#include "core/pace.h"

/*
 * The lane of `s` is entered. Records `s`'s next marker behind what has been submitted; `l`, or NULL: a launch that it
 * comes behind, which may have had an event before it.
 */
void marker_record(struct pace *p, struct stream *s, const struct launch *l);

/* The launch, with all that was submitted to its stream before, is done: so the host's clock says. */
void marker_done(struct pace *p, struct launch *l, uint64_t begin_ns, uint64_t end_ns);

/* Takes up what has ended among the chunks, without waiting. Value: how many did. */
unsigned int markers_reap(struct pace *p);
/*
 * Waits for the oldest chunk, however long it takes. False: there was none that could be waited for. *ret_gone: the
 * driver has ended.
 */
bool markers_wait(struct pace *p, bool *ret_gone);

/* A stream with work that no marker covers, claimed for the caller. NULL: none. */
struct stream *markers_unmarked_locked(struct pace *p);

/* Waits until nobody is about to mark the stream. */
void markers_unclaimed(struct pace *p, struct stream *s);

/* All chunks belong to one stream. */
bool markers_one_stream_locked(struct pace *p);

/* Everything admitted is done: says so on the page. False: something is in flight. */
bool pace_idle_locked(struct pace *p, uint64_t now_ns);

/* What was in flight in streams of this lane counts as done. */
void markers_drop_lane(struct pace *p, struct lane *l);
