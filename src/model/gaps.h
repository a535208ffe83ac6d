/*
 * gaps.h: the usual pause of a tenant between two pieces of work, from its last GAPS pauses.
 *
 * A program that waits for each of its kernels pauses for tens of microseconds and wants to keep its turn. A program
 * that has answered a request pauses for milliseconds and does not. So only short pauses count, and only if they are
 * common.
 */
#pragma once

#include <stdint.h>

#define GAPS 32u

struct gaps {
	uint64_t ns[GAPS];
	unsigned int seen; /* in all */
	uint64_t p90_ns;   /* of the short pauses; 0: short pauses are rare */
};

/* Adds a pause. Pauses up to short_ns are short. */
void gaps_add(struct gaps *g, uint64_t ns, uint64_t short_ns);
/* Returns the 90th percentile of the short pauses; 0: there are few. */
uint64_t gaps_p90_ns(const struct gaps *g);
