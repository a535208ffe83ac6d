/* link_counts.h: where a link counts what goes over it. */
#pragma once

#include "remote/client/link.h"

/* One writer at a time; whoever reads meanwhile sees the old value or the new one. */
#define LINK_COUNT(place, n) __atomic_store_n(&(place), (place) + (n), __ATOMIC_RELAXED)

/* The file that METE_REMOTE_STATS names, a record of its own in it; without one, or when that fails, `own`. */
struct link_counts *link_counts_open(struct link_counts *own);
void link_counts_close(struct link_counts *counts, struct link_counts *own);
