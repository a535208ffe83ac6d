/*
 * leads.h: how long before the engine becomes free the next turn opens, learned from measured gaps.
 *
 * A process needs tens of microseconds from the opening of its gate to its first launch, and the end of the previous
 * work is a prediction. If a turn opens too late, the engine idles. If it opens too early, its work queues behind the
 * previous tenant's, or interrupts it if the device's time slice ends just then, which costs two changes of context.
 * Each tenant's lead therefore grows when the gap before its work was longer than necessary, and shrinks by less when
 * it was not: about two changes in five are slightly late. Where changes take time, it shrinks by more when the work
 * began before the previous work had ended: where the previous turn is a multiple of the device's slices (kernels of 1
 * ms, slices of 2 ms), that is so at each early opening. The previous tenant's last kernel then lasts for a slice
 * longer, half of which it is charged for. Where a process's work seems to begin before the change of context, nothing
 * is known then; but work that was interrupted ends LEAD_INTERRUPTED_NS or more after that begin.
 *
 * The device itself determines the necessary gap: a change of contexts takes time that no lead shortens. It is the
 * least of the last LEAD_ROUND to 2 * LEAD_ROUND gaps.
 */
#pragma once

#include <stdint.h>

#define LEAD_ROUND 64u
#define LEAD_MOST_NS UINT64_C(250000)
#define LEAD_INTERRUPTED_NS UINT64_C(500000)

struct lead {
	uint64_t ns;
};

struct lead_floor {
	uint64_t least_ns[2]; /* of the previous round, and of this one */
	unsigned int seen;    /* in this round */
	unsigned int rounds;  /* completed, up to 2 */
};

/*
 * Learns the gap between the end of the previous work and the begin of this tenant's work in its turn; 0: it did not
 * begin after that end.
 */
void lead_learn(struct lead *l, struct lead_floor *f, uint64_t gap_ns);
/* The previous tenant's work ended much later than this tenant's began. Where changes show, that is known already. */
void lead_interrupted(struct lead *l, const struct lead_floor *f);
