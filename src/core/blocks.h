/*
 * blocks.h: the granule rule. A driver whose blocks are larger than a unit packs small allocations into shared blocks;
 * the charge of plain allocations is the number of distinct blocks that live ones touch.
 *
 * An allocation covers its inner blocks alone. Its first and last block, where it covers them in part, may be shared
 * with others, and only those are counted in a table.
 */
#pragma once

#include <stdint.h>

/* A new allocation. Value: units of the blocks that nobody touched before. */
uint32_t blocks_touch(uint64_t address, uint64_t bytes, uint32_t granule_units);
/* It is gone. Value: units of the blocks that nobody touches any more. */
uint32_t blocks_leave(uint64_t address, uint64_t bytes, uint32_t granule_units);
/* In the child of fork(). */
void blocks_reset(void);
