/*
 * work.h: the calls that submit work, or tell that work has ended, as the gate sees them (core/pace.h).
 *
 * Kernels, operators and models use the compute engine; copies and fills use the copy engine, as in CUDA. Which call is
 * gated, and on which engine, says the spec's field `gate`.
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

/* Around a launch of `blocks` blocks; `what` tells kernels apart: a function, a model, a name. Then work_end(). */
void work_launch_begin(struct working *w, enum vendor_call call, uint64_t what, uint64_t blocks, face_queue queue);
/* The same for one that returns when the work is done; then work_end_waiting(). */
void work_run_begin(struct working *w, enum vendor_call call, uint64_t what);
/* Around a copy or a fill that the program does not wait for, and one that it does. */
void work_copy_begin(struct working *w, enum vendor_call call, uint64_t bytes, face_queue queue);
void work_copy_begin_waiting(struct working *w, enum vendor_call call, uint64_t bytes);

vendor_result work_end(struct working *w, vendor_result r);
vendor_result work_end_waiting(struct working *w, vendor_result r);

/* Before a call that holds the queue back. */
void work_breaks(face_queue queue);
/* The program knows that the queue, or everything, has come to its end. */
vendor_result work_ended(face_queue queue, vendor_result r);
vendor_result work_ended_all(vendor_result r);
/* The queue is about to be destroyed. */
void work_queue_goes(face_queue queue);
