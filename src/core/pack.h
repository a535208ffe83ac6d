/*
 * pack.h: allocates blocks of units in a piece of memory. Two bit maps record which units are taken and where each
 * block begins. Allocation is first fit, so that units freed at the end of a piece tend to stay free. Pure: no lock, no
 * call; the caller owns the bit maps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACK_NONE UINT32_MAX
#define PACK_WORDS(units) (((units) + 63u) / 64u)

struct pack {
	uint64_t *taken, *begins; /* PACK_WORDS(units) each, zero at first */
	uint32_t units;
	uint32_t used; /* units that are taken */
	uint32_t hint; /* no unit is free before this one */
};

/* Allocates a block of `units` (above 0). Returns its first unit; PACK_NONE: no gap is large enough. */
uint32_t pack_take(struct pack *p, uint32_t units);
/* Frees `units` at `at`, all of them allocated by pack_take(). */
void pack_give(struct pack *p, uint32_t at, uint32_t units);
/* It has so many units from now on; those beyond are free. */
void pack_end_at(struct pack *p, uint32_t units);
/* Returns how many units are free at the end. */
uint32_t pack_tail(const struct pack *p);
/* Returns the first unit of the block that contains the unit. PACK_NONE: the unit is free. */
uint32_t pack_find(const struct pack *p, uint32_t unit);
