/*
 * bounds.h: checks of the addresses that a lane loads from in a loop (loop.h), made as seldom as possible.
 *
 * An address that grows by the same number in each round is looked at when the lane begins: in how many rounds it is in
 * range. Of an address that is the sum of something that does not change in the loop and a term that does, only the
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
	const bool *written;	 /* of each register: in the loop */
	uint32_t from, last;	 /* operations: where the loop begins, and its last block */
	LLVMValueRef limit;	 /* a slot: rounds for which all addresses that grow are in range */
	/* addresses that grow: where a lane's last one is, is known when it leaves the loop */
	struct bounds_tail {
		uint32_t reach;
		LLVMValueRef first;
		int64_t grow;
	} tail[LANE_PLACES_MAX];
	uint32_t tails;
	struct bound bound[BOUNDS_MAX];
	uint32_t count;
	struct bound_range range[BOUNDS_MAX];
	uint32_t ranges;
};

/* A loop begins, at the end of block `enter`, which is where the builder stands. */
void bounds_enter(struct bounds *b);
/* A block begins. */
void bounds_begin(struct bounds *b);
/* Checks a place in global memory; true where no round has to look at whether it is aligned. */
bool bounds_check(struct bounds *b, struct lane_place *p);
/* Whether these parts of two addresses are the same. */
bool bounds_alike(const struct lane_term *a, const struct lane_term *b, uint32_t count);
/* A slot on the function's stack, in which a value stays until it is a register of LLVM's. */
LLVMValueRef slot_new(struct emit *e, LLVMTypeRef t);
