/*
 * leads.h: how long before the engine is free the next turn is to be opened, learned from the gaps that were found.
 *
 * A process needs tens of microseconds from the opening of its gate to its first launch, and the end of the work before
 * is a prediction. A turn that is opened too late leaves the engine idle; one that is opened too early has its work
 * stand behind the other one's, or cut into it where the device's time slice ends just then, which costs two changes of
 * context. So each tenant's lead grows when the gap before its work was longer than it had to be, and shrinks by less
 * when it was not: two hand-overs in five are a little late.
 *
 * What a gap has to be, the device itself says: a device that is seen to change contexts has one that no lead shortens.
 * It is the least of the last LEAD_ROUND to 2 * LEAD_ROUND gaps.
 */
#pragma once

#include <stdint.h>

#define LEAD_ROUND 64u
#define LEAD_MOST_NS UINT64_C(250000)

struct lead {
	uint64_t ns;
};

struct lead_floor {
	uint64_t least_ns[2]; /* of the round before, and of this one */
	unsigned int seen;    /* in this round */
	unsigned int rounds;  /* that are known: 0, 1, then 2 */
};

/* The work of one whose turn this was began so long after the end of the work before; 0: not after it. */
void lead_learn(struct lead *l, struct lead_floor *f, uint64_t gap_ns);
