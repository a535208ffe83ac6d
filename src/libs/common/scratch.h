/* scratch.h: memory that a thread of the device keeps for itself from one piece of work to the next. */
#pragma once

#include <stddef.h>

/* At least so many bytes, aligned to 64; the thread's until it asks again. NULL: no memory. */
void *scratch_get(size_t bytes);
