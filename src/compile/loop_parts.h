/* loop_parts.h: a loop whose lanes run one after the other (loop.h), as the parts of its compilation see it. */
#pragma once

#include "compile/bounds.h"

#define BLOCKS_MAX 8u
#define EXITS_MAX 4u
#define SPOTS_MAX 12u /* different addresses of a loop in global memory */

struct loop_exit {
	uint32_t from, to; /* blocks */
	LLVMBasicBlockRef code;
	LLVMValueRef lanes, first; /* slots: who left here, and the first round in which somebody did */
};

/* A different address of the loads of a block: the lanes' addresses are compared in each round. */
struct loop_spot {
	uint32_t index; /* in the memory of all */
	uint32_t bytes, loads;
	LLVMValueRef address;
};

struct loop_block {
	LLVMBasicBlockRef code;
	uint32_t weight;     /* instructions */
	LLVMValueRef rounds; /* slot: a bit for each round in which a lane ran it */
	LLVMValueRef more;   /* slot: in which several did */
	LLVMValueRef known;  /* slot: in which no address is shared or in a row */
	struct loop_spot spot[SPOTS_MAX];
	uint32_t spots, loads, even; /* loads: those of spots; even: loads that all lanes make at one address */
	bool nan[COMPILE_REGS_MAX];  /* of each register, in front of the block: see struct state */
};

struct loop {
	struct emit *e;
	struct lane x;
	struct state *s, *now; /* of each register in the loop; space */
	bool *written, *end;   /* likewise; end: of nan, behind the loop */
	int64_t *step;	       /* of each register: what it grows by in each round; 0: not known */
	uint32_t head, last, exits, rounds, spots;
	uint32_t round_cost, lane_cost, visit_cost; /* of a round with vectors; of a lane, and each of its rounds */
	struct bounds bounds;
	struct loop_exit exit[EXITS_MAX];
	struct loop_block block[BLOCKS_MAX];
	LLVMBasicBlockRef begin, stays, done, failed;
	/* slots: lanes that have not run; the round as a bit; low bits of addresses; instructions, and loads above them
	 */
	LLVMValueRef left, bit, odd, work;
	LLVMValueRef fewer;	   /* pieces of memory that lanes share */
	LLVMValueRef visits, rest; /* rounds of all lanes; whether this lane has left in the middle of one */
	/* the lanes that stay; the last and the first round in which one has left, and who left in the last */
	LLVMValueRef stay, latest, latest_lanes, earliest;
	LLVMValueRef lane_bit; /* of this lane */
};

static inline uint32_t loop_block_at(const struct loop *l, uint32_t b)
{
	return b - l->head;
}

/* loop_find.c: whether block l->head begins such a loop, and for how many lanes it may be better than vectors; 0: none.
 */
uint32_t loop_find(const struct emit *e, struct loop *l);
/* The states in front of block b, of which only the lanes' own vary; and behind operation i. */
void loop_states_begin(const struct flow *f, const struct loop *l, uint32_t b, struct state *ret);
void loop_states_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s);
/* loop_lane.c: the code of all lanes of `here`, an i32; the builder goes on where the last of them has run. */
void loop_lanes(struct loop *l, LLVMValueRef here);
/* Counts a block's instructions and loads so many times, an i64. */
void loop_add_work(struct loop *l, LLVMValueRef times, const struct loop_block *c);
/* The memory of block `i` of the loop, and of a spot: struct compiled_visits, struct compiled_spot. */
LLVMValueRef loop_visits(struct loop *l, uint32_t i);
LLVMValueRef loop_spot(struct loop *l, uint32_t k);
LLVMValueRef loop_get(struct loop *l, LLVMTypeRef t, LLVMValueRef slot);
LLVMValueRef loop_number(struct loop *l, uint64_t n); /* i64 */
LLVMValueRef loop_is_zero(struct loop *l, LLVMValueRef v);
LLVMValueRef loop_is_more(struct loop *l, LLVMValueRef a, LLVMValueRef b); /* unsigned */
