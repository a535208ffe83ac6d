/*
 * lane.h: operations of one lane of a group, with scalars: for stretches of operations (single.h) and for whole loops
 * (loop.h) whose lanes run one after the other.
 *
 * What lanes read is put into arrays before the first of them runs. What they write goes to arrays too and becomes
 * registers behind the last one. They compute and load; no operation writes to memory, so everything can be given up
 * and begun again with vectors (`vectors`) where an address is not in the range that the operation found last.
 */
#pragma once

#include "compile/access.h"
#include "compile/plan.h"
#include "compile/reg.h"
#include "compile/value.h"

#define LANE_PLACES_MAX 24u /* different addresses of a stretch */
#define LANE_TERMS_MAX 4u

struct bound;
struct bounds;

/* A part of an address in which lanes differ: a value, and how often it is added. */
struct lane_term {
	LLVMValueRef id;
	int64_t by;
};

/* Loads from one register's address, before that is written again. */
struct lane_place {
	LLVMValueRef address; /* of this lane */
	LLVMValueRef at;      /* with the least offset */
	uint64_t least;
	uint64_t span;	/* from there to the end of the last load */
	uint32_t bytes; /* of a load */
	uint32_t loads;
	uint32_t reg; /* with the address */
	bool shared;
	bool store;
	bool even;		   /* of a loop: known to be aligned, but for the operation's own number */
	const struct bound *bound; /* of a loop: places with the same one lie equally far from lane to lane */
	/* the same, of an address that grows by a number in each round: where it begins, else NULL; and what it is made
	 * of */
	LLVMValueRef start;
	int64_t grow;
	struct lane_term term[LANE_TERMS_MAX];
	uint32_t terms;
	LLVMValueRef all; /* of a stretch: an array of what all lanes have */
};

/* Slots: from the least address to the greatest one, which begins `bytes`. */
struct lane_reach {
	LLVMValueRef low, high;
	uint64_t bytes;
};

struct lane {
	struct emit *e;
	uint32_t begin, end;		   /* operations that run without a jump */
	LLVMBasicBlockRef before, vectors; /* in front of all lanes; where the operations are executed with vectors */
	LLVMValueRef number, number64;	   /* whose turn it is */
	LLVMValueRef good, odd;		   /* before: every range is long enough; odd: low bits of addresses */
	struct state *from;		   /* of each register, in front of all lanes */
	struct value *now; /* of each register: of this lane in v[0] where the shape is lanes; unknown: not read */
	bool *made;	   /* registers that are written and somebody needs behind the lanes */
	/* of a loop: a stack slot for each register that it writes, which has what this lane has; and what it reads */
	LLVMValueRef *slot;
	struct value *fixed;
	struct bounds *bounds; /* and how its addresses are checked: bounds.h */
	/* of a loop that writes to memory: where its loads lie, in all lanes; NULL: nobody asks */
	struct lane_reach *reach;
	uint32_t reaches;
	/* of a loop that writes to the lanes' own memory: which registers may have its addresses, where this lane's
	 * begins, and how much it is */
	const bool *local;
	LLVMValueRef local_at;
	uint32_t local_bytes;
	struct lane_place place[LANE_PLACES_MAX];
	uint32_t places;
};

/* Whether one lane can execute the operation by itself. */
bool lane_fits(const struct flow *f, const struct compile_op *o, const struct plan *p, const struct state *s);
LLVMTypeRef lane_type(const struct lane *x, uint32_t r);
/* The array of all lanes of a register; this lane's place in an array. */
LLVMValueRef lane_array(struct lane *x, uint32_t r);
LLVMValueRef lane_element(struct lane *x, LLVMValueRef all, LLVMTypeRef t);
/* Takes a register that no operation has written yet, and what this lane has of a value. */
void lane_take(struct lane *x, uint32_t r);
LLVMValueRef lane_of(struct lane *x, const struct value *v);
struct value lane_operand(struct lane *x, const struct compile_operand *o, bool settle);
void lane_compute(struct lane *x, const struct plan *p);
void lane_load(struct lane *x, const struct plan *p);
/* To the lane's own memory, at once. */
void lane_store(struct lane *x, const struct plan *p);
/* A compare and swap as a load; to the vectors where it would write. */
void lane_probe(struct lane *x, const struct plan *p);
/* Checks where a store or an atomic of this form writes. Value: its address; in shared memory too. */
LLVMValueRef lane_target(struct lane *x, const struct access_form *a);
/* A reach, empty before the first lane; what this lane touches belongs to it. */
struct lane_reach lane_reach_new(struct lane *x, uint64_t bytes);
void lane_reach_add(struct lane *x, const struct lane_reach *r, LLVMValueRef address);
/* Where a lane leaves a loop: what the addresses of x->bounds->tail have touched, up to this round. */
void lane_reach_tails(struct lane *x, const struct bounds *b, LLVMValueRef round);
/* Begin and length of what the place may touch, in front of all lanes. */
void lane_limits(struct lane *x, const struct lane_place *p, LLVMValueRef *begin, LLVMValueRef *last);
/* Goes on where it holds, and to the vectors where it does not. */
void lane_unless(struct lane *x, LLVMValueRef good);
/* Behind all lanes: a register gets what they have written, beside what others keep in it. */
void lane_give(struct lane *x, uint32_t r, struct value v);
