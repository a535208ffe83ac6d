/*
 * later.h: plain memory that the program has freed in the order of a stream. A driver frees it when the stream has come
 * there, and until then it stays charged. (The software device frees it in the call.)
 */
#pragma once

#include "core/records.h"
#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The driver has taken the call; `r` is not in the tables any more, and still charged. Outside the gate. */
void later_free(const struct record *r, CUstream stream, bool per_thread);
/* Gives back what has been freed by now. True: some was. Outside the gate, which it enters where nobody has it closed.
 */
bool later_look(void);
/* Units of a device whose turn has not come yet. */
uint64_t later_units(unsigned int device);
/* With the gate closed: the context is gone, and its memory. Value: units that went back. */
uint64_t later_forget(const void *context);
/* In the child of fork(). */
void later_reset(void);
