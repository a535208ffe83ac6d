/*
 * window.h: samples of running totals over the last seconds, and their mean rate since a moment.
 *
 * Pure. Between two samples a total is taken to grow evenly. Before the first sample nothing is known, so a window is
 * at most as long as the samples reach back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum window_total {
	WINDOW_CHARGED,
	WINDOW_WANTED,
	WINDOW_WAITED,
	WINDOW_TOTALS,
};

struct window_sample {
	uint64_t at_ns;
	uint64_t total[WINDOW_TOTALS];
};

struct window;

/* Creates a window of `capacity` samples that are `step_ns` apart. NULL: no memory. */
struct window *window_new(unsigned int capacity, uint64_t step_ns);
void window_free(struct window *w);

/* Adds a sample, unless the last one is younger than a step; with `force` always. */
void window_add(struct window *w, const struct window_sample *sample, bool force);

/*
 * Enters time of a total that passed between from_ns and to_ns and is learnt of only now, after samples of later
 * moments were taken: these get all of it, samples in between a part. Below 0: so much less. The total of the next
 * sample must include it.
 */
void window_learn(struct window *w, enum window_total total, uint64_t from_ns, uint64_t to_ns, int64_t ns);

/*
 * Computes the mean rate of a total over the `length_ns` before `now`, which is a sample too, as a fraction of the
 * time: 0 to 1 where the total is time. False: nothing is known yet.
 */
bool window_rate(const struct window *w, const struct window_sample *now, enum window_total total, uint64_t length_ns,
		 double *ret);

/* Returns the newest samples, oldest first, at most `most`; the value is their number. */
unsigned int window_save(const struct window *w, struct window_sample *ret, unsigned int most);
/* Adds older samples than all present ones, oldest first; those that do not fit or are out of order are ignored. */
void window_load(struct window *w, const struct window_sample *before, unsigned int count);
