/*
 * ring_wait.h: how one side of a ring waits for the other: a short spin where that makes waits shorter, then sleep,
 * and, where waits end when they were forecast to, a look at about that time (forecast.h). Only ring*.c include it.
 */
#pragma once

#include "ring/ring.h"

#define RING_WAITS 1u /* the lowest bit of ..._waits */

/* What is waited for: a position that the other side moves, still where it was seen; and the bell's word. */
struct ring_wait {
	const uint64_t *position;
	uint64_t seen;
	uint32_t *word;
	uint64_t ns, until; /* for how long; until when, 0: for ever */
};

/* A private part of ring_attach(). */
void ring_wait_init(struct ring_end *end);
struct ring_wait ring_wait_begin(const uint64_t *position, uint32_t *word, uint64_t ns);
/*
 * Spins, looks or sleeps once, unless the position has moved. Value: 1 look at it again; 0 the time is over; -EPIPE:
 * the other side is gone.
 */
int ring_wait_once(struct ring_end *end, struct ring_wait *w, uint64_t seen);
/* It has come, or is not waited for any more: what is to be learnt from that. */
void ring_wait_came(struct ring_end *end);
void ring_wait_given_up(struct ring_end *end);
/* As sequel_cause(), now. */
bool ring_wait_expect(struct ring_end *end);
/* Spins or looks, if it is the time for that. Value: whether the position has moved. */
bool ring_wait_spin(struct ring_end *end, const uint64_t *position, uint64_t seen, uint64_t ns);
/* For how long to sleep at most before the next ring_wait_spin(). */
uint64_t ring_wait_nap_ns(struct ring_end *end);

/*
 * Sequentially consistent with what follows: who sleeps raises the word, then looks at the position; the other side
 * publishes the position, then looks at the word. Value: of the word.
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
