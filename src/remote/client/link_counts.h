/* link_counts.h: where a link counts its traffic. */
#pragma once

#include "remote/client/link.h"

/* One writer at a time; concurrent readers see the old or the new value. */
#define LINK_COUNT(place, n) __atomic_store_n(&(place), (place) + (n), __ATOMIC_RELAXED)

/*
 * Opens a record in the file that METE_REMOTE_STATS names. Value: the record; `own` without such a file, or on an
 * error.
 */
struct link_counts *link_counts_open(struct link_counts *own);
void link_counts_close(struct link_counts *counts, struct link_counts *own);
