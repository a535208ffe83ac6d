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

#define FORECAST_LEAST_NS 50000u /* shorter and longer waits are not used for prediction */
#define FORECAST_MOST_NS 50000000u
#define FORECAST_SOON_NS 100000u
#define FORECAST_SHARE 8u /* polling takes an eighth of a wait at most */
#define FORECAST_EARLY_SHARE 12u /* and the task before it (struct ring_ahead) a twelfth */
/*
 * A thread that yields the processor and gets it back only after this time shares it with other work, because a thread
 * that computes keeps it for milliseconds. Threads of one chain that poll side by side return it sooner.
 */
#define FORECAST_CROWDED_NS 300000u

/* All zeros is the initial state. */
struct forecast {
	struct usual usual; /* waits */
	uint64_t late_ns; /* how late a sleeper wakes, in the mean */
	uint64_t soon_ns; /* the mean of all waits, short ones too; each counts as FORECAST_SOON_NS at most */
	uint32_t rest; /* number of further waits without polling */
	uint32_t rests; /* their number the last time */
};

/* Times since the wait began: when to wake, and until when to poll. until_ns 0: do not poll. */
struct forecast_window {
	uint64_t from_ns, until_ns;
};

/* At the begin of a wait: returns how long to poll first, because most waits are short; 0: not at all. */
uint64_t forecast_soon(const struct forecast *f);
/* A wait begins, or would go on behind that. */
struct forecast_window forecast_begin(struct forecast *f);
/* The same, but begins `ns` earlier for a task before it; unchanged if that is too large a part of a wait. */
struct forecast_window forecast_earlier(const struct forecast *f, struct forecast_window w, uint64_t ns);
/* Reports the end of a wait. `asleep`: the waiting thread had to be woken. */
void forecast_end(struct forecast *f, uint64_t took_ns, bool asleep);
/* Reports how late the timer ended a sleep that should have ended at `from_ns`. */
void forecast_woke(struct forecast *f, uint64_t late_ns);
/* Reports that other threads needed the processor: the next waits do not poll, and more of them each time. */
void forecast_crowded(struct forecast *f);
