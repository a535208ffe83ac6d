/*
 * part.h: the analysis of lanes that have parted.
 *
 * The interpreter's rule (softdev/ptx/warp.c) applies in compiled code too: of the groups of a warp the one at the
 * smallest position runs, and merges with those that it reaches. After a branch that parts a group, the lanes with the
 * smaller target therefore continue, while the others wait at the larger one. A group that arrives at a block either
 * merges with those that wait there, or waits itself if others wait before it. For each block it is known at which
 * blocks others may be waiting; in code without jumps into loops these are the next join and those around it.
 */
#pragma once

#include "compile/plan.h"

#define SET_BITS 64u

static inline bool set_has(const uint64_t *set, uint32_t b)
{
	return set[b / SET_BITS] >> (b % SET_BITS) & 1;
}

/* True if the branch at the end of block b, with registers in the state s, can part the lanes. */
bool part_may(const struct flow *f, uint32_t b, const struct state *s);
/* Records that lanes which ran together part there. True: something changed. */
bool part_begin(struct flow *f, uint32_t b, const struct state *s);
/* Lanes of a group that runs block b may wait at the barrier at its end. */
bool part_meets(const struct flow *f, uint32_t b);
/* One pass over a block that a group runs, and over the arrival of a group at it. True: something changed. */
bool part_run(struct flow *f, uint32_t b, struct state *s);
bool part_come(struct flow *f, uint32_t b);
/*
 * True if lanes that have merged, with a register in the state `from`, are checked at run time for the state `to`:
 * addresses that lanes have advanced separately are often a line again. Other registers that they have written
 * separately are lanes.
 */
bool part_checks(const struct state *from, const struct state *to);
/* Records that the interpreter may hand over a group here. */
bool part_root(struct flow *f, uint32_t b, const struct state *s);
int part_init(struct flow *f);
void part_reset(struct flow *f); /* clears all knowledge */
void part_deinit(struct flow *f);
