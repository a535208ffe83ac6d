/* placement.c: see placement.h. There are a few dozen devices at most. */
#include "model/placement.h"

#include <stdbool.h>

static bool is_better(const struct placement *a, const struct placement *b)
{
	return a->room_bytes > b->room_bytes || (a->room_bytes == b->room_bytes && a->tenants < b->tenants);
}

void placement_order(const struct placement *candidates, unsigned int n, unsigned int *order)
{
	for (unsigned int i = 0; i < n; i++) {
		unsigned int at = i;

		for (; at && is_better(&candidates[i], &candidates[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}
