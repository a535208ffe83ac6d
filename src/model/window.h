/*
 * window.h: what came of running totals over the last seconds: samples of them in a ring, and the mean rate since a
 * moment.
 *
 * Pure. Between two samples a total is taken to have grown evenly; before the first one nothing is known, and the
 * window is as long as what is known.
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

/* Keeps `capacity` samples that are `step_ns` apart. NULL: no memory. */
struct window *window_new(unsigned int capacity, uint64_t step_ns);
void window_free(struct window *w);

/* Adds a sample, unless the last one is less than a step ago; with `force` in any case. */
void window_add(struct window *w, const struct window_sample *sample, bool force);

/*
 * The mean rate of a total over the `length_ns` before `now`, which is a sample too, in parts of the time: 0 to 1 where
 * the total is time. Value: false when nothing is known yet.
 */
bool window_rate(const struct window *w, const struct window_sample *now, enum window_total total, uint64_t length_ns,
		 double *ret);

/* The newest samples, oldest first, at most `most`. Value: how many. */
unsigned int window_save(const struct window *w, struct window_sample *ret, unsigned int most);
/* Samples from before all that there are, oldest first: what does not fit, or is not in order, is left out. */
void window_load(struct window *w, const struct window_sample *before, unsigned int count);
