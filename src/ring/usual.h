/*
 * usual.h: the usual duration of something, and its usual deviation: the means of recent durations, and of their
 * deviations. A duration of a quite different length is ignored; several of these in a row become the usual one. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define USUAL_LEARN_MOST 64u
#define USUAL_STRANGE_MOST 3u /* after so many they become the usual duration */

/* All zero is a valid initial state. */
struct usual {
	uint64_t mean_ns;
	uint64_t off_ns; /* mean deviation */
	uint32_t learnt; /* number of durations, up to a bound */
	uint32_t strange; /* number in a row with a quite different length */
};

/* Moves a fourth of the way towards `to`. */
static inline uint64_t usual_towards(uint64_t from, uint64_t to)
{
	return to > from ? from + (to - from + 3) / 4 : from - (from - to) / 4;
}

/* Learns from a duration whose distance from the mean is at most `strange_ns`. Value: true if it was used. */
static inline bool usual_learn(struct usual *u, uint64_t took_ns, uint64_t strange_ns)
{
	uint64_t off = took_ns > u->mean_ns ? took_ns - u->mean_ns : u->mean_ns - took_ns;

	if (!u->learnt || (off > strange_ns && ++u->strange >= USUAL_STRANGE_MOST)) {
		*u = (struct usual){ .mean_ns = took_ns, .learnt = 1 };
		return true;
	}
	if (off > strange_ns)
		return false;
	u->strange = 0;
	u->off_ns = usual_towards(u->off_ns, off);
	u->mean_ns = usual_towards(u->mean_ns, took_ns);
	if (u->learnt < USUAL_LEARN_MOST)
		u->learnt++;
	return true;
}
