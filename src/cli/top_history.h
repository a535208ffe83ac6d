/*
 * top_history.h: what `mete top` has seen in the last minute: a series for each device and each tenant's share, in
 * slots of two seconds, and its drawing in one line.
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
	double value[TOP_HISTORY_SLOTS]; /* in percent, the newest last; NAN: no reading */
	unsigned int samples;		 /* number of readings in the newest slot, which is their mean */
	uint64_t slot;			 /* the number of the newest */
	bool seen;			 /* since top_history_begin() */
};

struct top_history {
	struct top_series *series;
	size_t count;
};

/*
 * Begins a round of top_history_add() for all current devices and shares; top_history_end() drops series that were not
 * in it.
 */
void top_history_begin(struct top_history *h);
/*
 * Adds a reading, in percent (NAN: unknown), at `now_ns`. Slots that passed since the last reading also get it if they
 * are at most `interval_ns` old, which is how often readings are taken; other slots stay empty. Does nothing without
 * memory.
 */
void top_history_add(struct top_history *h, const char *key, double pct, uint64_t now_ns, uint64_t interval_ns);
void top_history_end(struct top_history *h);
void top_history_free(struct top_history *h);

/* NULL: there is no such series. */
const struct top_series *top_history_find(const struct top_history *h, const char *key);

/*
 * Draws the series as a line of `columns` marks, the newest on the right; each mark is the mean of its slots. A mark's
 * height is the part of 100 percent. `utf8`: uses block elements, else ASCII.
 */
void top_history_draw(const struct top_series *series, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES]);

/* Draws a bar of `columns` marks, of which the part `pct` of 100 is filled. NAN: empty. */
void top_bar_draw(double pct, unsigned int columns, bool utf8, char text[TOP_HISTORY_BYTES]);
