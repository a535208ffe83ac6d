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

#define SEQUEL_MOST_NS FORECAST_MOST_NS /* what follows later is not waited for */
#define SEQUEL_SHARE 8u /* looking takes an eighth of all time at most */
#define SEQUEL_SPARE_NS 400000u /* as much can be saved up */
#define SEQUEL_AWAKE_NS 100000u /* for less it is not slept */
#define SEQUEL_REST_NS 50000000u /* when others want the processor; twice as long each time, up to ... */
#define SEQUEL_REST_MOST_NS 1600000000u

/* Zero is a good beginning. */
struct sequel {
	uint64_t cause_ns; /* atomic: of the last cause that nothing has followed yet; 0: none */
	uint32_t wanted; /* atomic: whether it is worth waking who waits */
	struct usual usual; /* how soon it follows */
	uint64_t spare_ns; /* time for looking */
	uint64_t filled_ns; /* when that was last reckoned; in a rest: when it ends */
	uint64_t rest_ns, crowded_ns; /* how long the last rest was, and when it began */
};

/* Any thread: the cause. Value: who waits should look for what follows, and be woken for that if he sleeps. */
bool sequel_cause(struct sequel *s, uint64_t now_ns);
/* When to look, by the clock; until_ns 0: not for now. */
struct forecast_window sequel_window(struct sequel *s, uint64_t now_ns);
/* So much time was looked. */
void sequel_looked(struct sequel *s, uint64_t ns);
/* Others wanted the processor meanwhile. */
void sequel_crowded(struct sequel *s, uint64_t now_ns);
/* Whether there is a cause that nothing has followed yet. */
static inline bool sequel_open(const struct sequel *s)
{
	return __atomic_load_n(&s->cause_ns, __ATOMIC_RELAXED) != 0;
}
/* What was waited for has come; `asleep`: who waited had to be woken for it. */
void sequel_follows(struct sequel *s, uint64_t now_ns, bool asleep);
