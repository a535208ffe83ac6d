/*
 * cycle.h: a cycle whose turns are whole numbers of kernels.
 *
 * Where tenants have places in a cycle (arbiter_state.h), a kernel that does not end at the end of its place makes the
 * turn too short or too long, and the next turns late or early. With kernels of a few milliseconds, that is half a
 * point of a window of a second each time. In a cycle in which every tenant's part is a whole number of its kernels,
 * each turn ends where its place ends. Such cycles exist for many sets of shares, most often a little longer than the
 * usual cycle. All are whole parts of the window.
 */
#pragma once

#include <stdint.h>

/* A tenant's part. */
struct cycle_part {
	double share;	    /* of the cycle */
	uint64_t kernel_ns; /* length of its kernels, which are all alike; 0: they are not */
};

/*
 * Returns the best cycle from base_ns to twice that, or 0: there is none, or kernels are so short that it does not
 * matter, or some tenant's kernels are not alike, or tenants are more than two. change_ns: a change of hands takes so
 * long. most_ns: no turn is longer.
 */
uint64_t cycle_of_kernels(const struct cycle_part *parts, unsigned int count, uint64_t base_ns, uint64_t change_ns,
			  uint64_t most_ns, uint64_t window_ns);
