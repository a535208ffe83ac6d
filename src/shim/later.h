/*
 * later.h: plain memory, and memory that moves (movable.h), that the program has freed in stream order. A driver frees
 * it when the stream reaches the free, and until then it stays charged. (The software device frees plain memory in the
 * call.)
 */
#pragma once

#include "core/records.h"
#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* Called when the driver has accepted the call; `r` has left the tables and is still charged. Outside the gate. */
void later_free(const struct record *r, CUstream stream, bool per_thread);
/*
 * Takes a block of movable memory of so many units that was freed in the order of the same stream, or that a pool
 * keeps: later work of the stream may use it at once. False: there is none.
 */
bool later_take(unsigned int device, uint32_t size_units, CUstream stream, bool per_thread, struct record *ret);
/*
 * Returns what has been freed by now. True: there was some. Outside the gate, which it enters unless a thread has it
 * closed.
 */
bool later_look(void);
/* The same, and returns what pools keep (pools_keeps()). */
bool later_release(void);
/*
 * Of the small blocks that pools of the device keep, makes room for a block of another size: they lie beside each
 * other, and their memory stays with the process.
 */
void later_unkeep_packed(unsigned int device);
/* The bytes of a pool's movable memory that the program has freed and that are not returned yet. */
uint64_t later_pool_bytes(uint32_t pool);
/* The units of a device whose free the stream has not reached. */
uint64_t later_units(unsigned int device);
/* With the gate closed: drops the memory of a context that has ended. Value: units returned. */
uint64_t later_forget(const void *context);
/* In the child of fork(). */
void later_reset(void);
