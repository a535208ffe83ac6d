/*
 * sequel.h: predicts how soon one event follows another: a request after the reply that its program waited for.
 *
 * A forecast (forecast.h) applies to waits of similar length. What a program does after a reply, however, takes a
 * similar time whatever the length of its kernel. The thread that passes a reply on therefore reports it (the cause).
 * The thread that waits for the next request is awake then, and polls for as long as such requests usually take. Where
 * that is long, as over a long line, it sleeps for most of it. Polling is limited to a part of all time, and pauses
 * while other threads need the processor. Pure: times in, times out.
 *
 * Any thread may report causes; all other functions are for the waiting thread.
 */
#pragma once

#include "ring/forecast.h"
#include "ring/usual.h"

#define SEQUEL_MOST_NS FORECAST_MOST_NS /* events that follow later are not polled for */
#define SEQUEL_SHARE 8u /* polling takes an eighth of all time at most */
#define SEQUEL_SPARE_NS 400000u /* the largest unused allowance for polling */
#define SEQUEL_AWAKE_NS 100000u /* shorter times are polled without a sleep */
#define SEQUEL_REST_NS 50000000u /* pause when other threads need the processor; doubles each time, up to ... */
#define SEQUEL_REST_MOST_NS 1600000000u

/* All zeros is the initial state. */
struct sequel {
	uint64_t cause_ns; /* atomic: time of the last cause without a sequel; 0: none */
	uint32_t wanted; /* atomic: whether waking the waiting thread is worth its cost */
	struct usual usual; /* how soon the sequel follows */
	uint64_t spare_ns; /* allowance for polling */
	uint64_t filled_ns; /* when spare_ns was last updated; in a rest: when it ends */
	uint64_t rest_ns, crowded_ns; /* how long the last rest was, and when it began */
};

/* Reports a cause; any thread. True: the waiting thread should poll for the sequel, and be woken if it sleeps. */
bool sequel_cause(struct sequel *s, uint64_t now_ns);
/* Returns when to poll, by the clock; until_ns 0: not now. */
struct forecast_window sequel_window(struct sequel *s, uint64_t now_ns);
/* Charges time that was spent polling. */
void sequel_looked(struct sequel *s, uint64_t ns);
/* Reports that other threads needed the processor meanwhile. */
void sequel_crowded(struct sequel *s, uint64_t now_ns);
/* True if there is a cause without a sequel. */
static inline bool sequel_open(const struct sequel *s)
{
	return __atomic_load_n(&s->cause_ns, __ATOMIC_RELAXED) != 0;
}
/* Reports the sequel. `asleep`: the waiting thread had to be woken. */
void sequel_follows(struct sequel *s, uint64_t now_ns, bool asleep);
