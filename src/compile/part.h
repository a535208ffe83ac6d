/*
 * part.h: what the compiler knows of lanes that have parted.
 *
 * The interpreter's rule (softdev/ptx/warp.c) holds in compiled code too: of the groups of a warp the one at the
 * smallest position runs, and joins those that it comes to. So a branch that parts a group goes on with the lanes of
 * the smaller target, while the others wait at the larger one, and a group that comes to a block either joins those
 * that wait there, or waits itself where others wait before it. Which blocks others may be waiting at is known for each
 * block; in code without jumps into loops that is the next join and those around it.
 */
#pragma once

#include "compile/plan.h"

#define SET_BITS 64u

static inline bool set_has(const uint64_t *set, uint32_t b)
{
	return set[b / SET_BITS] >> (b % SET_BITS) & 1;
}

/* A branch at the end of block b, before which registers look like s, that lanes may leave in two ways. */
bool part_may(const struct flow *f, uint32_t b, const struct state *s);
/* Lanes part there, all having been together. True: something changed. */
bool part_begin(struct flow *f, uint32_t b, const struct state *s);
/* One pass over a block that a group runs, and over what happens when one comes to it. True: something changed. */
bool part_run(struct flow *f, uint32_t b, struct state *s);
bool part_come(struct flow *f, uint32_t b);
/*
 * Whether lanes that have come together again, whose register looks like `from`, go on as `to` says where they turn out
 * to: addresses that lanes have moved on apart are often a line again. What else they have written apart are lanes.
 */
bool part_checks(const struct state *from, const struct state *to);
/* A group may begin here, handed over by the interpreter. */
bool part_root(struct flow *f, uint32_t b, const struct state *s);
int part_init(struct flow *f);
void part_reset(struct flow *f); /* nothing is known */
void part_deinit(struct flow *f);
