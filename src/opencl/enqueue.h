/*
 * enqueue.h: what a queue is given, as the gate sees it (core/pace.h). Kernels use the compute engine; copies, fills
 * and maps use the copy engine, as in CUDA.
 *
 * A wait list may hold work up that the queue has come to: where the gate matters, an in-order queue gets a barrier
 * with that list first, so that the marker behind it tells when the work could begin.
 */
#pragma once

#include "core/pace.h"
#include "opencl/types.h"

/* Some engine is gated: then copies are counted, or part the kernels before from those after. */
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

/* Pixels, or bytes. */
static inline uint64_t enqueue_region(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}
