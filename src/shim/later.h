/*
 * later.h: plain memory, and memory that moves (movable.h), that the program has freed in the order of a stream. A
 * driver frees it when the stream has come there, and until then it stays charged. (The software device frees plain
 * memory in the call.)
 */
#pragma once

#include "core/records.h"
#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The driver has taken the call; `r` is not in the tables any more, and still charged. Outside the gate. */
void later_free(const struct record *r, CUstream stream, bool per_thread);
/*
 * A block of memory that moves, of so many units, that was freed in the order of the same stream, or that a pool keeps:
 * what the stream does from now on may use it at once. False: there is none.
 */
bool later_take(unsigned int device, uint32_t size_units, CUstream stream, bool per_thread, struct record *ret);
/* Gives back what has been freed by now. True: some was. Outside the gate, which it enters where nobody has it closed.
 */
bool later_look(void);
/* The same with what pools keep (pools_keeps()), which is given back as well. */
bool later_release(void);
/* Bytes of a pool's memory that moves, that the program has freed and that are not given back. */
uint64_t later_pool_bytes(uint32_t pool);
/* Units of a device whose turn has not come yet. */
uint64_t later_units(unsigned int device);
/* With the gate closed: the context is gone, and its memory. Value: units that went back. */
uint64_t later_forget(const void *context);
/* In the child of fork(). */
void later_reset(void);
