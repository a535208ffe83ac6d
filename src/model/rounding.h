/*
 * rounding.h: the number of kernels in a turn, where turns have places in a cycle (arbiter_state.h) and kernels are
 * long.
 *
 * A turn ends with a kernel, hardly ever where its place ends. The rest is rounded: the tenant has had too much or too
 * little, and the next turn begins late or early, which shows in windows that begin or end in that turn. If each tenant
 * is rounded by itself, the next turns begin off by the sum of what all others are off by. Here both are weighed: what
 * the tenant has at the end of its turn, and what the next one has at its beginning, over the next turns, in any
 * combination of rounding up and down.
 *
 * A window of a second shows the difference between now and a second ago, so what was off in the same way then costs
 * nothing there. It costs here, because it has to end some time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ROUNDING_TURNS 4u

/* A coming turn. Lengths of time are nanoseconds of the engine; above 0: the tenant is ahead of its share. */
struct rounding_turn {
	double place_ns;  /* length of its place */
	double kernel_ns; /* length of its kernels; 0: any */
	double off_ns;	  /* by so much the tenant is off before the turn */
	bool known;	  /* what it was off by a second ago, when its turn had begun and when it had ended: */
	double begun_ns, ended_ns;
};

/*
 * Returns the number of kernels in the first of `count` turns, which begins late_ns after its place does. change_ns: a
 * change of hands takes so long. `most`: no more than so many.
 */
unsigned int rounding_kernels(const struct rounding_turn *turns, size_t count, double late_ns, double change_ns,
			      unsigned int most);
