/* memory.h: device memory and pinned memory of the session, for handlers in other files. */
#pragma once

#include "remote/worker/worker.h"

/*
 * True if [at, at + bytes) may be passed to the driver as device memory: it is the session's, or its part of the arena.
 */
bool memory_good(struct work *work, CUdeviceptr at, uint64_t bytes);
/* The result for an invalid address: the context's own error if it has one. */
CUresult memory_bad(struct work *work);

/* CALL_PIN, CALL_UNPIN, CALL_MERGE */
int memory_pin(struct work *work);
int memory_unpin(struct work *work);
int memory_merge(struct work *work);
