/*
 * pinned.h: host memory that the driver knows. Memory that the program allocates here is in the arena's heap: the
 * worker sees the same pages, or the relay keeps copies equal, so copies from and to it need no staging. Memory that
 * the program registers cannot be moved there: it is recorded, and copied as any other memory.
 */
#pragma once

#include "remote/client/ranges.h"

/* Called when a context has ended, and this memory with it. */
void pinned_gone(const struct range *range);
/*
 * Called before work is submitted that names this address, or a number that looks like one. Pinned memory whose device
 * is in another machine then gets a copy on each side, as if the program had requested its device address. Value:
 * CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult pinned_passed(struct session *session, uint64_t address);
