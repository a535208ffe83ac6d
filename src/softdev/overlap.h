/*
 * overlap.h: the kernels of one context on the context's own clock (timeline.h): when each of them ends.
 *
 * Kernels run side by side as far as the device has room. Each demands a part of it; while the sum is at most the
 * whole, each runs as if alone, above that all are slowed down equally (processor sharing). A kernel may depend on an
 * earlier one, as in a stream: it begins exactly when that one ends, whether or not a thread was awake then.
 *
 * The duration of a kernel may become known later. Until then it is served with an unknown rest.
 *
 * Pure functions of a state and a time; the caller owns the memory of the kernels.
 */
#pragma once

#include "softdev/timeline.h"

#define OVERLAP_OPEN UINT64_MAX

enum overlap_state { OVERLAP_NONE, OVERLAP_WAITS, OVERLAP_RUNS, OVERLAP_ENDED };

struct overlap_kernel {
	struct overlap_kernel *next;
	struct overlap_kernel *after; /* begins when that one ends; NULL: has begun */
	enum overlap_state state;
	uint32_t demand;	/* of TIMELINE_WHOLE */
	uint64_t duration_ns;	/* alone on the device; OVERLAP_OPEN: not known yet */
	uint64_t served_ns;	/* of that */
	uint64_t end_clock_ns;	/* when ended */
	uint64_t plan_clock_ns; /* when it would end; see overlap_plan() */
};

struct overlap {
	uint64_t clock_ns;
	struct overlap_kernel *first; /* those that have not ended, in the order of their coming */
	struct overlap_kernel *ended; /* those that have, until the caller takes them off this list */
};

/* Adds a kernel at the clock's current time, or after `after`, an earlier one (NULL, or ended: at once). */
void overlap_add(struct overlap *o, struct overlap_kernel *k, struct overlap_kernel *after, uint32_t demand,
		 uint64_t duration_ns);
/* Sets a duration that has become known. If it was served longer already, it ends now. */
void overlap_known(struct overlap *o, struct overlap_kernel *k, uint64_t duration_ns);
/* Removes it, ended or not; a kernel that waits for it begins. */
void overlap_remove(struct overlap *o, struct overlap_kernel *k);
/* The context was served until its clock showed this value. */
void overlap_advance(struct overlap *o, uint64_t clock_ns);
/* The arguments for timeline_set(). */
struct overlap_plan {
	uint64_t known_ns;
	bool open;
	uint32_t demand;
};
/* Also computes plan_clock_ns of each kernel, OVERLAP_OPEN if that depends on an unknown duration. */
struct overlap_plan overlap_plan(struct overlap *o);
