/*
 * forecast.h: predicts the end of a wait from the durations of the last ones.
 *
 * A sleeping thread is 5 to 30 us late, because its processor sleeps as well. A thread that waits for kernels of
 * similar length, one after the other, can wake up a little earlier by a timer and poll, for as long as the waits
 * differ. Polling is limited to a part of the wait. It stops while waits are of very different lengths, and while
 * other threads need the processor. Pure: times in, times out.
 */
#pragma once

#include "ring/usual.h"

#define FORECAST_LEAST_NS 50000u /* waits that are shorter, or longer, are not learnt from */
#define FORECAST_MOST_NS 50000000u
#define FORECAST_SOON_NS 100000u
#define FORECAST_SHARE 8u /* looking takes an eighth of a wait at most */
#define FORECAST_EARLY_SHARE 12u /* and what is done before, a twelfth */
/*
 * A thread that yields the processor and gets it back only after this time shares it with other work, because a thread
 * that computes keeps it for milliseconds. Threads of one chain that poll side by side return it sooner.
 */
#define FORECAST_CROWDED_NS 300000u

/* Zero is a good beginning. */
struct forecast {
	struct usual usual; /* waits */
	uint64_t late_ns; /* how late a sleeper wakes, in the mean */
	uint64_t soon_ns; /* the mean of all waits, short ones too; each counts as FORECAST_SOON_NS at most */
	uint32_t rest; /* waits that are still to be made without looking */
	uint32_t rests; /* how many they were the last time */
};

/* Since the wait began: when to wake, and until when to look then. until_ns 0: do not. */
struct forecast_window {
	uint64_t from_ns, until_ns;
};

/* A wait begins: for how long to look first, because most end soon; 0: not at all. */
uint64_t forecast_soon(const struct forecast *f);
/* A wait begins, or would go on behind that. */
struct forecast_window forecast_begin(struct forecast *f);
/* The same, beginning `ns` earlier, for what is to be done before; unchanged where that is too much of a wait. */
struct forecast_window forecast_earlier(const struct forecast *f, struct forecast_window w, uint64_t ns);
/* It has ended; `asleep`: who waited had to be woken for it. */
void forecast_end(struct forecast *f, uint64_t took_ns, bool asleep);
/* The timer that was to end the sleep at `from_ns` did so this much later. */
void forecast_woke(struct forecast *f, uint64_t late_ns);
/* Others wanted the processor while it was looked: the next waits are made without, more of them each time. */
void forecast_crowded(struct forecast *f);
