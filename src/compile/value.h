/*
 * value.h: the code generator's state, and functions that create LLVM values. A value is a scalar, or a vector of all
 * 32 lanes.
 */
#pragma once

#include "compile/plan.h"

#include <llvm-c/Core.h>

#define VECTOR_ALIGN 64u
#define FETCHES_MAX 64u
#define LOG_BLOCKS_MAX 12u /* of a loop: loop_parts.h */
#define LOG_PLACES_MAX 18u
#define NEST_SPOTS_MAX 6u
#define INNER_MAX 4u   /* loops in a loop: loop_parts.h */
#define EFFECTS_MAX 4u /* operations of a loop that write to memory: loop_parts.h */

struct fetch;
struct roots;

struct emit {
	const struct flow *flow;
	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef b;
	LLVMValueRef function;
	LLVMTypeRef i1, i8, i32, i64, f32, f64, bytes; /* bytes: a pointer to i8 */
	LLVMValueRef warp, env, frame, constants, block, shared;
	LLVMValueRef count, sectors;				       /* stack slots of counters */
	LLVMValueRef base[COMPILE_REGS_MAX], second[COMPILE_REGS_MAX]; /* stack slots of registers: for halves both */
	LLVMValueRef lanes[COMPILE_REGS_MAX];
	LLVMValueRef single[COMPILE_REGS_MAX], single_address[32]; /* arrays of single.c; NULL: not created yet */
	LLVMValueRef store_at[2], store_value[2][4];		   /* the same for scatter.c, by width */
	/* arrays of loop_log.c, likewise: of blocks, of addresses, of what is written */
	LLVMValueRef log_lanes[LOG_BLOCKS_MAX], log_at[LOG_PLACES_MAX], log_value[EFFECTS_MAX][4];
	LLVMValueRef log_all; /* that all of log_at lie in, one behind the other */
	uint32_t log_count;
	LLVMValueRef log_ends, log_local;				       /* of loop_lane.c */
	LLVMValueRef log_nest[LOG_BLOCKS_MAX], log_nest_at[NEST_SPOTS_MAX][3]; /* of loops in loops */
	LLVMValueRef log_turns[INNER_MAX], log_seen[INNER_MAX];
	LLVMBasicBlockRef *code; /* of each block */
	/* for groups of lanes: group.h */
	LLVMBasicBlockRef *run_code, *come_code;
	LLVMValueRef mask, idle, spins; /* stack slots; idle: counts lanes out of all 32 that did not execute */
	LLVMValueRef *wait, *since;	/* the same for each block: the lanes that wait there, and since when */
	LLVMValueRef waits;		/* those passed to the engine */
	LLVMBasicBlockRef leave_all;	/* where the ways out of code for all lanes end: leave.h; NULL: not made yet */
	LLVMValueRef live_lanes;
	LLVMValueRef here, here_lanes, absent; /* in a block: the group as i32, as a vector; the number of lanes not
						* in it */
	const uint64_t *waiting;	       /* the blocks where others may wait; NULL: all lanes are together */
	const uint8_t *kept;		       /* the registers that those need; NULL likewise */
	bool told;			       /* the engine has been told the group */
	bool as_lanes;			       /* results are stored as lanes, because another path to this point has
						* lanes */
	struct fetch *fetch;		       /* those of the block, FETCHES_MAX at most: fetch.h */
	uint32_t fetches;
	struct roots *roots;	     /* of the block, all lanes together; else NULL: root.h */
	uint32_t stripless;	     /* no sequence of strip.h begins before this operation */
	struct state *s;	     /* for each register, before the current operation */
	const struct state *results; /* of the current operation's operands: plan.h */
	uint8_t *live;		     /* for each register: needed from here on */
	uint32_t at;		     /* the current operation */
	uint32_t in_block;	     /* the current block */
	uint64_t pending;	     /* instructions not yet added to the counter */
};

const struct compile_op *operation(const struct emit *e);
LLVMBasicBlockRef new_block(struct emit *e);
LLVMTypeRef type_int(struct emit *e, uint32_t lane);
LLVMTypeRef type_lanes(LLVMTypeRef t);
bool value_is_lanes(LLVMValueRef v);
LLVMValueRef value_number(LLVMTypeRef t, uint64_t n); /* the same in all lanes of t */
LLVMValueRef value_spread(struct emit *e, LLVMValueRef scalar);
LLVMValueRef value_line(struct emit *e, LLVMValueRef base, int64_t stride);
LLVMValueRef value_apart(struct emit *e, LLVMValueRef base, const int64_t at[LANES]); /* base + at[i] */
/* at[lane], for a lane that is known only where the code runs. */
LLVMValueRef value_apart_of(struct emit *e, LLVMTypeRef t, const int64_t at[LANES], LLVMValueRef lane);
/* base[0] + i * stride in the lanes of the first half, base[1] + i * stride in those of the second. */
LLVMValueRef value_halves(struct emit *e, const LLVMValueRef base[2], int64_t stride);
/* A NaN of f32 gets the device's bits; v: as integers, of which one of 64 bits holds two. */
LLVMValueRef value_settle(struct emit *e, LLVMValueRef v);
LLVMValueRef value_at(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMTypeRef t); /* a pointer to t */
LLVMValueRef value_load(struct emit *e, LLVMTypeRef t, LLVMValueRef pointer, uint32_t align);
void value_store(struct emit *e, LLVMValueRef v, LLVMValueRef pointer, uint32_t align);
/* The host fetches what is there, if anything is. */
void value_prefetch(struct emit *e, LLVMValueRef pointer, bool write);
LLVMValueRef value_field(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMTypeRef t);
LLVMValueRef value_intrinsic(struct emit *e, const char *name, LLVMTypeRef t, LLVMValueRef *args, unsigned count);
/* For the lanes of a mask, a vector of i1; others get 0. If several lanes write to one place, the last one wins. */
LLVMValueRef value_gather(struct emit *e, LLVMTypeRef t, LLVMValueRef pointers, uint32_t align, LLVMValueRef mask);
void value_scatter(struct emit *e, LLVMValueRef v, LLVMValueRef pointers, uint32_t align, LLVMValueRef mask);
/* The same for consecutive elements. */
LLVMValueRef value_masked_load(struct emit *e, LLVMTypeRef t, LLVMValueRef pointer, uint32_t align, LLVMValueRef mask);
void value_masked_store(struct emit *e, LLVMValueRef v, LLVMValueRef pointer, uint32_t align, LLVMValueRef mask);
/*
 * An array of all lanes on the function's stack, created at first use; and the address of lane `lane`, an i64, in it.
 */
/* Memory on the function's stack, aligned for vectors; its address as the type `as`, unless that is NULL. */
LLVMValueRef value_on_stack(struct emit *e, LLVMTypeRef t, LLVMTypeRef as);
LLVMValueRef value_array(struct emit *e, LLVMValueRef *place, LLVMTypeRef t);
/* The same of `count` elements, as a pointer to t. */
LLVMValueRef value_array_of(struct emit *e, LLVMValueRef *place, LLVMTypeRef t, uint32_t count);
LLVMValueRef value_element(struct emit *e, LLVMValueRef array, LLVMValueRef lane, LLVMTypeRef t);
/* All, or any, lanes of a condition, a vector of i1. */
LLVMValueRef value_all(struct emit *e, LLVMValueRef condition);
LLVMValueRef value_any(struct emit *e, LLVMValueRef condition);

/* dot.c: the sum and four products of bytes in each lane of i32. */
LLVMValueRef dot_lanes(struct emit *e, LLVMValueRef x, bool x_signed, LLVMValueRef y, bool y_signed, LLVMValueRef sum);

/* Joins `count` vectors (a power of two) of `each` elements: LANES * 2 elements at most. `part` is overwritten. */
LLVMValueRef value_join(struct emit *e, LLVMValueRef *part, uint32_t count, uint32_t each);

/* arith.c: the result of an inline row, as bits; sources are bits, all scalars or all vectors. */
LLVMValueRef arith(struct emit *e, const struct compile_op *o, const struct inline_row *row, LLVMValueRef *x);
