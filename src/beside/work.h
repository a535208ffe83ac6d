/*
 * work.h: reports to the pace (core/pace.h) the calls that submit work and the calls that show its end.
 *
 * Kernels, operators and models use the compute engine; copies and fills use the copy engine, as in CUDA. The field
 * `gate` of the spec says which call is gated, and on which engine.
 */
#pragma once

#include "beside/start.h"
#include "core/copies.h"
#include "core/marks.h"
#include "core/pace.h"

#include <stdbool.h>

/* One call that submits work. */
struct working {
	struct launch l;
	bool entered;
};

/* Before a launch of `blocks` blocks; `what` identifies the kernel: a function, a model, a name. Then work_end(). */
void work_launch_begin(struct working *w, enum vendor_call call, uint64_t what, uint64_t blocks, face_queue queue);
/* The same for a launch that returns when its work is done; then work_end_waiting(). */
void work_run_begin(struct working *w, enum vendor_call call, uint64_t what);
/* Before an asynchronous copy or fill, and before a synchronous one. */
void work_copy_begin(struct working *w, enum vendor_call call, uint64_t bytes, face_queue queue);
void work_copy_begin_waiting(struct working *w, enum vendor_call call, uint64_t bytes);

vendor_result work_end(struct working *w, vendor_result r);
vendor_result work_end_waiting(struct working *w, vendor_result r);

/* Call before a call that holds the queue back. */
void work_breaks(face_queue queue);
/* Call when the program knows that all work of the queue, or of all queues, has ended. */
vendor_result work_ended(face_queue queue, vendor_result r);
vendor_result work_ended_all(vendor_result r);
/* Call before the queue is destroyed. */
void work_queue_goes(face_queue queue);
