/*
 * launches.h: the calls that submit work, or tell that work has ended, as the gate sees them.
 *
 * A body of a launching call tries pace_begin_fast() or goes to pace_begin_slow(), calls the driver, and hands the
 * result to pace_end(). Which calls are gated, and on which engine, says the spec's field `gate`.
 */
#pragma once

#include "cuda_table.h"
#include "shim/faults.h"
#include "core/copies.h"

#include <stdbool.h>

/* From now on the calls that tell that work has ended are ours as well (face.h). */
void launches_arm(void);

/* The program knows that the stream, or everything, has come to its end, if r says so. Value: r. */
CUresult launches_synced(CUstream stream, bool per_thread, CUresult r);
CUresult launches_synced_all(CUresult r);

/* The stream is about to be held back by something that is no work of an engine: see marks_break(). */
void launches_break(CUstream stream, bool per_thread);

/* A graph's launch, around the driver's call; then pace_end(). */
void graph_begin(struct launch *l, CUgraphExec exec, CUstream stream, bool per_thread);

/* A copy or a fill that the program does not wait for, then pace_end(); and one that it waits for (core/copies.h). */
void copy_begin(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread);
void copy_begin_sync(struct launch *l, enum cuda_call call, uint64_t bytes, bool per_thread);
void copy_end_sync(struct launch *l, CUresult r);
