/*
 * copies.h: a copy or a fill as the gate sees it, whatever API asks for it.
 *
 * One that the program does not wait for is measured by markers, like a kernel, and ends with pace_end(); one that
 * returns when it is done by the host's clock, from the moment at which its queue was free for it, and ends with
 * pace_end_host().
 */
#pragma once

#include "core/marks.h"
#include "core/pace.h"
#include "core/tick.h"

#define COPIES_LEAST_BYTES 65536u /* a copy of nothing takes as long as one of so many bytes, about */

/*
 * `call`: what copies of one kind have in common (the API and its call, mixed); `what` is the call's name for traces.
 */
static inline struct work copies_work(uint64_t call, uint64_t bytes, face_queue queue, bool per_thread, bool waits,
				      const char *what)
{
	return (struct work){ .engine = WIRE_COPY,
			      .key = estimate_mix(call, bytes) | 1,
			      .family = call | 1,
			      .size = bytes + COPIES_LEAST_BYTES,
			      .stream = queue,
			      .per_thread = per_thread,
			      .waits = waits,
			      .what = what,
			      .threads = bytes };
}

/* Before the driver's call, on an engine that is gated. */
static inline void copies_begin(struct launch *l, const struct work *w)
{
	if (!w->waits && !w->per_thread && pace_begin_fast(l, WIRE_COPY, w->key, w->stream))
		return;
	pace_begin_slow(l, w);
	if (w->waits && l->pace)
		l->host_ns = tick_now();
}

/* Some engine is gated: copies are counted, or part the kernels before from those after. */
static inline bool copies_matter(void)
{
	return __builtin_expect(pace_gated(WIRE_COPY) || pace_gated(WIRE_COMPUTE), 0);
}
