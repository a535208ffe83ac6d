/*
 * launches.h: the calls that submit work, or tell that work has ended, as the gate sees them.
 *
 * A body of a launching call tries pace_begin_fast() or goes to pace_begin_slow(), calls the driver, and hands the
 * result to pace_end(). Which calls are gated, and on which engine, says the spec's field `gate`.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* From now on the calls that tell that work has ended are ours as well; when the first launch is gated. */
void launches_arm(void);

/* Marks all work that is not marked yet; by a thread that is about to begin a capture. */
void launches_mark_all(void);

/* The program knows that the stream, or everything, has come to its end, if r says so. Value: r. */
CUresult launches_synced(CUstream stream, bool per_thread, CUresult r);
CUresult launches_synced_all(CUresult r);

/* Before and after a driver's call that may destroy the context. */
void launches_leave(CUcontext context);
void launches_left(CUcontext context, bool gone);
