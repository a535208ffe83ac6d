/*
 * launches.h: the gate's view of calls that submit work, or show that work has completed.
 *
 * The body of a launching call tries pace_begin_fast() or goes to pace_begin_slow(), calls the driver, and passes the
 * result to pace_end(). The spec's field `gate` states which calls are gated, and on which engine.
 */
#pragma once

#include "cuda_table.h"
#include "shim/faults.h"
#include "core/copies.h"
#include "core/spread.h"

#include <stdbool.h>

/* From now on the shim also handles the calls that show that work has completed (face.h). */
void launches_arm(void);

/* If r says so, the program knows that the stream, or everything, has completed. Value: r. */
CUresult launches_synced(CUstream stream, bool per_thread, CUresult r);
CUresult launches_synced_all(CUresult r);

/*
 * Call the driver's function, which waits until the work of the stream or the context has ended, or asks whether it
 * has. If the driver says so, the core learns when the program knew it (core/waits.h). Value: the driver's.
 */
CUresult launches_wait(CUresult (*call)(CUstream), CUstream stream, bool per_thread);
CUresult launches_wait_context(CUresult (*call)(CUcontext), CUcontext context);
CUresult launches_wait_current(CUresult (*call)(void));
CUresult launches_wait_event(CUevent event);

/* The stream is about to wait for something other than work of an engine: see marks_break(). */
void launches_break(CUstream stream, bool per_thread);

/* Brackets a graph's launch before the driver's call; then pace_end(). */
void graph_begin(struct launch *l, CUgraphExec exec, CUstream stream, bool per_thread);

/* The same where it may have nodes on other devices; then spread_end(). */
void graph_begin_spread(struct spread *s, CUgraphExec exec, CUstream stream, bool per_thread, uint32_t devices);

/* A copy or fill for which the program does not wait, then pace_end(); and one for which it waits (core/copies.h). */
void copy_begin(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread);
void copy_begin_sync(struct launch *l, enum cuda_call call, uint64_t bytes, bool per_thread);
void copy_end_sync(struct launch *l, CUresult r);
