/*
 * work.h: reports to the pace (core/pace.h) the calls that submit work and the calls that show its end.
 *
 * Kernels and graphs use the compute engine; copies and fills use the copy engine, as in CUDA. The field `gate` of the
 * spec says which call is gated, and on which engine.
 */
#pragma once

#include "core/copies.h"
#include "core/pace.h"
#include "hip/start.h"

#include <stdbool.h>

/* Finds the index in the grant of a stream's device. False: not granted. */
bool work_device(hipStream_t stream, unsigned int *ret_device);

/* Before an asynchronous copy or fill; then pace_end(). */
void work_copy_begin(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread);
/* Before and after a synchronous one. Returns r. */
void work_copy_begin_waiting(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread);
hipError_t work_copy_end_waiting(struct launch *l, hipStream_t stream, hipError_t r);
