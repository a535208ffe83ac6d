/*
 * pack.h: blocks of units in a piece of memory: which are taken, and where each begins. First fit, so that what is
 * freed at the end of a piece stays free. Pure: no lock, no call; the bits are the caller's.
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
	uint32_t hint; /* nothing is free before */
};

/* Takes `units` (above 0) in a row. Value: where, PACK_NONE: there are not as many. */
uint32_t pack_take(struct pack *p, uint32_t units);
/* Of what pack_take() gave. */
void pack_give(struct pack *p, uint32_t at, uint32_t units);
/* The beginning of the block that the unit is in. PACK_NONE: it is free. */
uint32_t pack_find(const struct pack *p, uint32_t unit);
