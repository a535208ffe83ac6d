/*
 * usual.h: how long something usually takes, and how far from it: the mean of the last times, and of how far they were
 * off. A time of quite another length is left out; a few of these in a row are what is usual from then on. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define USUAL_LEARN_MOST 64u
#define USUAL_STRANGE_MOST 3u /* then they are what is usual */

/* Zero is a good beginning. */
struct usual {
	uint64_t mean_ns;
	uint64_t off_ns; /* in the mean */
	uint32_t learnt; /* times, up to a bound */
	uint32_t strange; /* in a row, of quite another length */
};

/* A fourth of the way towards `to`. */
static inline uint64_t usual_towards(uint64_t from, uint64_t to)
{
	return to > from ? from + (to - from + 3) / 4 : from - (from - to) / 4;
}

/* How far from the mean a time may be that is not strange: `strange_ns`. Value: whether it was learnt from. */
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
