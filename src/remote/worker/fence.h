/*
 * fence.h: the second line behind the checks of a client's numbers: a driver that can be told which memory of this
 * process copies may touch refuses the rest. The software device can; others are not asked for more than they offer.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>

/* These bytes belong to the session; from the first call on nothing else of this process may be touched. */
void fence_allow(const struct cuda_table *driver, const void *begin, size_t bytes);
/* Around calls into a library that copies from and to memory of its own; this thread alone. */
void fence_lift(bool lifted);
