/*
 * ring_wait.h: how one side of a ring waits for the other. A wait begins with a short spin if that makes waits shorter;
 * then the thread sleeps. If the forecasts of waits come true, it polls at about the forecast end (forecast.h). Only
 * ring*.c include this header.
 */
#pragma once

#include "ring/ring.h"

#define RING_WAITS 1u /* the lowest bit of ..._waits */

/* The condition of a wait: the other side's position differs from the one last seen. And the bell's word. */
struct ring_wait {
	const uint64_t *position;
	uint64_t seen;
	uint32_t *word;
	uint64_t ns, until; /* how long; until when, 0: without end */
};

/* Initialises the waiting; called by ring_attach(). */
void ring_wait_init(struct ring_end *end);
struct ring_wait ring_wait_begin(const uint64_t *position, uint32_t *word, uint64_t ns);
/*
 * Spins, polls or sleeps once, unless the position has moved. Returns 1: check the position again; 0: the time is over;
 * -EPIPE: the other side is gone.
 */
int ring_wait_once(struct ring_end *end, struct ring_wait *w, uint64_t seen);
/* Call when a wait has ended, with or without a message: updates the predictions. */
void ring_wait_came(struct ring_end *end);
void ring_wait_given_up(struct ring_end *end);
/* As sequel_cause(), with the present time. */
bool ring_wait_expect(struct ring_end *end);
/* Spins or polls, if it is time for that. Returns whether the position has moved. */
bool ring_wait_spin(struct ring_end *end, const uint64_t *position, uint64_t seen, uint64_t ns);
/* Returns the longest time to sleep before the next ring_wait_spin(). */
uint64_t ring_wait_nap_ns(struct ring_end *end);

/*
 * Raises the word before a sleep and returns its value. It is sequentially consistent with the loads that follow: the
 * thread that will sleep raises the word, then reads the position; the other side publishes the position, then reads
 * the word.
 */
uint32_t ring_wait_raise(uint32_t *word);
/* After publication: wakes the thread that sleeps on the word. If several publishers see it, one of them wakes it. */
static inline void ring_wait_wake(struct ring_end *end, uint32_t *word)
{
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & RING_WAITS))
		return;
	if (__atomic_fetch_and(word, ~RING_WAITS, __ATOMIC_SEQ_CST) & RING_WAITS)
		end->bell->wake(end->bell, word, false);
}
