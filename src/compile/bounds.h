/*
 * bounds.h: checks of the addresses that a lane loads from in a loop (loop.h), made as seldom as possible.
 *
 * An address that grows by the same number in each round is checked when the lane begins, for as many rounds as are run
 * at once. Of an address that is the sum of something that does not change in the loop and a term that does, only the
 * term is looked at in each round: one comparison serves all loads with the same term, in whatever memory they lie.
 */
#pragma once

#include "compile/lane.h"

#define BOUNDS_MAX 16u /* terms of a block */

struct bound {
	LLVMValueRef term, low, span;	 /* the term; slots: where it may begin, and how far it may reach from there */
	LLVMValueRef first, from, until; /* where the first of its memory begins; what all have of it, from there on */
};

/* Memory in which several operations find their addresses: the same number is added to their terms. */
struct bound_range {
	LLVMValueRef fixed, begin, last, first;
	uint64_t least, span;
	uint32_t bytes;
};

struct bounds {
	struct lane *lane;
	LLVMBasicBlockRef enter; /* where a lane begins, or enters a loop inside; not closed yet */
	LLVMBasicBlockRef outer; /* of the latter, where the lane begins */
	LLVMValueRef good;	 /* there: whether the lane may run */
	uint32_t rounds;	 /* that are run at once */
	const int64_t *step;	 /* of each register: what it grows by in each round; 0: not known */
	struct bound bound[BOUNDS_MAX];
	uint32_t count;
	struct bound_range range[BOUNDS_MAX];
	uint32_t ranges;
};

/* A block begins. */
void bounds_begin(struct bounds *b);
/* Checks a place in global memory; true where no round has to look at whether it is aligned. */
bool bounds_check(struct bounds *b, struct lane_place *p, uint32_t reg);
/* A slot on the function's stack, in which a value stays until it is a register of LLVM's. */
LLVMValueRef slot_new(struct emit *e, LLVMTypeRef t);
