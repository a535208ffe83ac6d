/*
 * enqueue.h: reports commands of a queue to the pace (core/pace.h). Kernels use the compute engine; copies, fills
 * and maps use the copy engine, as in CUDA.
 *
 * A wait list may delay a command that is first in its queue. If an engine is gated, an in-order queue therefore gets a
 * barrier with that list first. The marker behind the barrier shows when the command could begin.
 */
#pragma once

#include "core/pace.h"
#include "opencl/types.h"

/* True if an engine is gated: then copies are counted, or they separate earlier kernels from later ones. */
static inline bool enqueue_matters(void)
{
	return __builtin_expect(pace_gated(WIRE_COPY) || pace_gated(WIRE_COMPUTE), 0);
}

void enqueue_copy_slow(struct launch *l, cl_command_queue queue, const char *what, uint64_t bytes, bool waits,
		       cl_uint event_count, const cl_event *events);
cl_int enqueue_copy_done(struct launch *l, cl_command_queue queue, bool waits, cl_int r);

static inline void enqueue_copy_begin(struct launch *l, cl_command_queue queue, const char *what, uint64_t bytes,
				      cl_bool waits, cl_uint event_count, const cl_event *events)
{
	l->pace = NULL;
	if (enqueue_matters())
		enqueue_copy_slow(l, queue, what, bytes, waits, event_count, events);
}

static inline cl_int enqueue_copy_end(struct launch *l, cl_command_queue queue, cl_bool waits, cl_int r)
{
	return __builtin_expect(l->pace != NULL, 0) ? enqueue_copy_done(l, queue, waits, r) : r;
}

/* Returns the size of a region, in pixels or bytes. */
static inline uint64_t enqueue_region(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}
