/*
 * top_history.h: what `mete top` has seen of the last minute: a series for each device and each tenant's share, in
 * slots of two seconds, and how it is drawn in a line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOP_HISTORY_SLOTS 30u
#define TOP_HISTORY_SLOT_NS UINT64_C(2000000000)
#define TOP_HISTORY_BYTES (TOP_HISTORY_SLOTS * 3 + 1) /* of a drawing */

struct top_series {
	char *key;			 /* owned */
	double value[TOP_HISTORY_SLOTS]; /* in percent, the newest last; NAN: not seen */
	unsigned int samples;		 /* in the newest slot, of which it is the mean */
	uint64_t slot;			 /* the number of the newest */
	bool seen;			 /* since top_history_begin() */
};

struct top_history {
	struct top_series *series;
	size_t count;
};

/* A round of top_history_add() for all that there is begins; top_history_end() forgets what was not there. */
void top_history_begin(struct top_history *h);
/*
 * A reading, in percent (NAN: unknown), at `now_ns`. Slots that passed since the last one get it too, where that is not
 * longer ago than `interval_ns`, which is how often readings are taken; others stay empty. No memory: nothing happens.
 */
void top_history_add(struct top_history *h, const char *key, double pct, uint64_t now_ns, uint64_t interval_ns);
void top_history_end(struct top_history *h);
void top_history_free(struct top_history *h);

/* NULL: none. */
const struct top_series *top_history_find(const struct top_history *h, const char *key);

/*
 * The series as a line of `columns` marks, the newest to the right; each stands for as many slots as that makes, by
 * their mean. A mark's height says how much of 100 percent it was. `utf8`: by block elements, else by ASCII.
 */
void top_history_draw(const struct top_series *series, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES]);

/* A bar of `columns` marks of which the first part is filled: `pct` of 100. NAN: empty. */
void top_bar_draw(double pct, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES]);
