/* fence.h: the program's own memory that copies may touch, where it has said so (wire/soft_fence.h). */
#pragma once

#include "cuda_soft.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a copy may touch these bytes, which are not the driver's: always, without a fence. */
bool fence_allows(uint64_t address, size_t bytes);
/* Whether the process has one, in any thread. */
bool fence_stands(void);
/* The table of wire/soft_fence.h; NULL: the id is another one. */
const void *fence_table(const CUuuid *id);
