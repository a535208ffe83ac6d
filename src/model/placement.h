/*
 * placement.h: which of several devices a grant goes to that may be on any.
 *
 * The one with most memory that is not promised yet; of those that have as much the one with fewest tenants; of these
 * the first. Pure.
 */
#pragma once

#include <stdint.h>

struct placement {
	uint64_t room_bytes;
	unsigned int tenants;
};

/* order[0..n-1]: the candidates' numbers, the best first. */
void placement_order(const struct placement *candidates, unsigned int n, unsigned int *order);
