/*
 * copies.h: describes a copy or a fill to the pace. All APIs use it.
 *
 * An asynchronous copy is measured by markers, like a kernel, and ends with pace_end(). A synchronous copy is measured
 * by the host's clock, from the moment at which its queue was free for it, and ends with pace_end_host().
 */
#pragma once

#include "core/marks.h"
#include "core/pace.h"
#include "core/tick.h"

#define COPIES_LEAST_BYTES 65536u /* about the size whose transfer takes as long as the fixed cost of a copy */

/*
 * Returns the description of a copy. `call` identifies the kind of copies (the API and its call, mixed by
 * estimate_mix()). `waits`: the call returns when the copy is done. `what` is the call's name for traces.
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

/* Call before the driver's call, if copies are gated. */
static inline void copies_begin(struct launch *l, const struct work *w)
{
	if (!w->waits && !w->per_thread && pace_begin_fast(l, WIRE_COPY, w->key, w->stream))
		return;
	pace_begin_slow(l, w);
	if (w->waits && l->pace)
		l->host_ns = tick_now();
}

/* True if an engine is gated: then copies are counted, or they separate earlier kernels from later ones. */
static inline bool copies_matter(void)
{
	return __builtin_expect(pace_gated(WIRE_COPY) || pace_gated(WIRE_COMPUTE), 0);
}
