/*
 * gaps.h: how long a tenant usually pauses between two pieces of work, from the last GAPS of its pauses.
 *
 * A program that waits for each of its kernels pauses for tens of microseconds in between and wants its turn kept; one
 * that has answered a request pauses for milliseconds and does not. So only short pauses count, and only when they are
 * common.
 */
#pragma once

#include <stdint.h>

#define GAPS 32u

struct gaps {
	uint64_t ns[GAPS];
	unsigned int seen; /* in all */
	uint64_t p90_ns;   /* of the short ones; 0: short ones are rare */
};

/* Adds a pause. Those up to short_ns are short. */
void gaps_add(struct gaps *g, uint64_t ns, uint64_t short_ns);
/* The 90th percentile of its short pauses; 0: it has few. */
uint64_t gaps_p90_ns(const struct gaps *g);
