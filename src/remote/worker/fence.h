/*
 * fence.h: a second protection behind the checks of a client's numbers: a driver that can be told which memory of this
 * process copies may access refuses the rest. The software device supports this; other drivers are not told.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Permits access to these bytes of the session; from the first call on, no other memory of this process may be
 * accessed.
 */
void fence_allow(const struct cuda_table *driver, const void *begin, size_t bytes);
/* Brackets calls into a library that copies from and to its own memory; only for this thread. */
void fence_lift(bool lifted);
