/*
 * overlap.h: the kernels of one context, on the context's own clock (timeline.h): which end when.
 *
 * Kernels run side by side as far as the device has room. Each demands a part of it; while the sum is at most the
 * whole, each runs as if alone, above that all are slowed down alike (processor sharing). A kernel may come after
 * another one, as those of one stream do: it begins at the very moment at which that one ends, whether or not anybody
 * was awake then.
 *
 * How long a kernel takes may become known only later. Until then it is served with an unknown rest.
 *
 * Pure functions of a state and a time; the memory of the kernels is the caller's.
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

/* A kernel comes, at the clock's present time, or behind `after`, one that came before (NULL, or ended: at once). */
void overlap_add(struct overlap *o, struct overlap_kernel *k, struct overlap_kernel *after, uint32_t demand,
		 uint64_t duration_ns);
/* How long it takes has become known. Less than it was served already: it ends now. */
void overlap_known(struct overlap *o, struct overlap_kernel *k, uint64_t duration_ns);
/* It is gone, ended or not; what came after it begins. */
void overlap_remove(struct overlap *o, struct overlap_kernel *k);
/* The context was served until its clock showed this. */
void overlap_advance(struct overlap *o, uint64_t clock_ns);
/* What timeline_set() is to be told. */
struct overlap_plan {
	uint64_t known_ns;
	bool open;
	uint32_t demand;
};
/* Also works out plan_clock_ns of each kernel, OVERLAP_OPEN where that depends on one that is not known. */
struct overlap_plan overlap_plan(struct overlap *o);
