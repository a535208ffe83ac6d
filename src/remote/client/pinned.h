/*
 * pinned.h: host memory that the driver knows. What the program allocates here lies in the arena's heap: the worker
 * sees the same pages, or the relay makes copies equal, and copies from and to it need no staging. Memory that the
 * program has and registers cannot be moved there: it is known, and copied as any other.
 */
#pragma once

#include "remote/client/ranges.h"

/* A context has ended, and this memory with it. */
void pinned_gone(const struct range *range);
/*
 * Work that is about to be submitted names this address, or a number that looks like one. Pinned memory whose device is
 * in another machine has a copy on each side from now on, as if the program had asked for its device address.
 * CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult pinned_passed(struct session *session, uint64_t address);
