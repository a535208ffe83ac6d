/*
 * work.h: the calls that submit work, or tell that work has ended, as the gate sees them (core/pace.h).
 *
 * Kernels and graphs use the compute engine; copies and fills use the copy engine, as in CUDA. Which call is gated, and
 * on which engine, says the spec's field `gate`.
 */
#pragma once

#include "core/copies.h"
#include "core/pace.h"
#include "hip/start.h"

#include <stdbool.h>

/* The grant's device on which a stream works. False: not granted. */
bool work_device(hipStream_t stream, unsigned int *ret_device);

/* Around a copy or a fill that the program does not wait for; then pace_end(). */
void work_copy_begin(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread);
/* The same for one that returns when it is done. Value: r. */
void work_copy_begin_waiting(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread);
hipError_t work_copy_end_waiting(struct launch *l, hipStream_t stream, hipError_t r);
