/*
 * blocks.h: the granule rule. A driver whose granule is larger than a unit packs small allocations into shared blocks.
 * The charge of plain allocations is the number of distinct blocks that live allocations touch.
 *
 * An allocation covers its inner blocks alone. It may share its first and last block with other allocations, so a table
 * counts only those.
 */
#pragma once

#include <stdint.h>

/* Adds an allocation. Returns the units of the blocks that no allocation touched before. */
uint32_t blocks_touch(uint64_t address, uint64_t bytes, uint32_t granule_units);
/* Removes an allocation. Returns the units of the blocks that no allocation touches any more. */
uint32_t blocks_leave(uint64_t address, uint64_t bytes, uint32_t granule_units);
/* In the child of fork(): empties the table. */
void blocks_reset(void);
