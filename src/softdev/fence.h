/* fence.h: the program's own memory that copies may access, if it has declared that (wire/soft_fence.h). */
#pragma once

#include "cuda_soft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if a copy may access these bytes, which are not the driver's; always without a fence. */
bool fence_allows(uint64_t address, size_t bytes);
/* True if the process has a fence, in any thread. */
bool fence_stands(void);
/* The table of wire/soft_fence.h; NULL: another id. */
const void *fence_table(const CUuuid *id);
