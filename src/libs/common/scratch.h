/* scratch.h: memory that a thread of the device reuses between pieces of work. */
#pragma once

#include <stddef.h>

/* At least so many bytes, aligned to 64; valid until the thread's next call. NULL: no memory. */
void *scratch_get(size_t bytes);
