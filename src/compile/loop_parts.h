/* loop_parts.h: a loop whose lanes run one after the other (loop.h), as the parts of its compilation see it. */
#pragma once

#include "compile/bounds.h"

#define BLOCKS_MAX LOG_BLOCKS_MAX
#define EXITS_MAX 4u
#define SPOTS_MAX 18u /* different addresses of a loop in global memory */

struct loop_exit {
	uint32_t from, to; /* blocks */
	LLVMBasicBlockRef code;
	LLVMValueRef lanes; /* a slot: who left here */
};

/* A different address of the accesses of a block. Each lane notes it in each round: log.c compares. */
struct loop_spot {
	LLVMValueRef log; /* an array, by lane and round; NULL: they are known to be a row */
	/* of a loop in a loop, arrays by round: of the first lane, of the last one, of the last one of the first half
	 */
	LLVMValueRef ends[3];
	LLVMValueRef address;		/* of this lane */
	bool once;			/* only of the first round: what lies between lanes is the same in all */
	const struct loop_inner *inner; /* the same, of a loop inside: by round of the other */
	uint32_t bytes, loads;
	const struct bound *bound; /* of lane.h, as what follows */
	struct lane_term term[LANE_TERMS_MAX];
	uint32_t terms;
	bool linear;
};

/*
 * What a loop writes to memory (EFFECTS_MAX operations): no lane sees it, and it happens behind the last lane, round by
 * round. LOG_ROUNDS are run at once then.
 */
#define LOG_ROUNDS 32u

struct loop_effect {
	uint32_t block, place;	   /* of the loop, of lane.h */
	LLVMValueRef at, value[4]; /* arrays, by lane and round */
	LLVMValueRef same[4];	   /* instead of the latter: the value of all lanes in all rounds */
	struct lane_reach reach;
	struct plan plan;
};

/* Of a loop that has loops inside: rounds of both that are run at once. */
#define NEST_ROUNDS 24u
#define NEST_TURNS 64u /* of one inside, in each */
#define NEST_SLOTS (NEST_ROUNDS * NEST_TURNS)
#define LOCAL_MAX 256u /* bytes of a lane's local memory, which a loop writes to at once */

/* A way out of a loop inside. */
struct loop_way {
	LLVMBasicBlockRef code;
	uint32_t from, to; /* blocks */
};

struct loop_inner {
	uint32_t head, last;
	bool straight; /* each block leads to the next one, or out */
	struct loop_way way[2 * BLOCKS_MAX];
	uint32_t ways;
	/*
	 * Arrays by round of the other loop, and by lane: how far it has come: in its last turn to the block of that
	 * number, plus 1, where all turns have as many; 0: nowhere. And by round, how far any lane has come so far,
	 * which `before` has where this one enters.
	 */
	LLVMValueRef ended, seen, before;
	LLVMBasicBlockRef enter;      /* where it is entered, before its head */
	LLVMValueRef begun;	      /* a slot: rounds that this lane has begun */
	LLVMValueRef turned, visited; /* slots, behind the last lane: rounds of any lanes, and of all of them */
	struct bounds bounds;
	bool *written; /* of each register, as of struct loop */
	int64_t *step;
};

struct loop_block {
	LLVMBasicBlockRef code;
	struct loop_inner *inner;	 /* that it is in; NULL: none */
	uint32_t writes;		 /* operations that write to memory */
	uint32_t round_cost, visit_cost; /* as of struct loop */
	uint32_t weight;		 /* instructions */
	LLVMValueRef lanes;		 /* an array: who ran it, by round; NULL: it is told otherwise */
	LLVMValueRef ran, ran_in;	 /* behind the last lane: who ran it in this round */
	LLVMValueRef first;		 /* of one in a loop inside: whether this lane is the first one in this round */
	struct loop_spot spot[SPOTS_MAX];
	uint32_t spots, loads, even; /* loads: those of spots; even: loads that all lanes make at one address */
	bool strong;		     /* it accesses memory that others change */
	bool nan[COMPILE_REGS_MAX];  /* of each register, in front of the block: see struct state */
};

struct loop {
	struct emit *e;
	struct lane x;
	struct state *s, *now; /* of each register in the loop; space */
	bool *written, *end;   /* likewise; end: of nan, behind the loop */
	int64_t *step;	       /* of each register: what it grows by in each round; 0: not known */
	uint32_t head, last, exits, rounds, logs;
	struct loop_inner inner[INNER_MAX];
	uint32_t inners, turns; /* turns: rounds of each of them that are run at once */
	LLVMValueRef nowhere;	/* a slot that nobody reads */
	/* of each register: it may have an address of the lane's own memory; and in front of each block, one behind the
	 * other; NULL: it is not asked */
	bool *local, *local_in;
	bool owns;		   /* it writes there, at once: what was there is put back where the loop is given up */
	LLVMBasicBlockRef refused; /* where nothing has to be put back */
	LLVMValueRef saved;	   /* what was there */
	uint32_t ends_used;	   /* arrays of struct loop_spot */
	LLVMValueRef spun;	   /* a slot, of a loop in a loop: jumps backwards while others wait */
	uint32_t round_cost, lane_cost, visit_cost; /* of a round with vectors; of a lane, and each of its rounds */
	struct bounds bounds;
	struct loop_exit exit[EXITS_MAX];
	struct loop_block block[BLOCKS_MAX];
	struct loop_effect effect[EFFECTS_MAX];
	uint32_t effects, planned; /* made so far; in all */
	bool strong;		   /* a block is */
	struct lane_reach reach[SPOTS_MAX];
	LLVMBasicBlockRef begin, stays, done, failed;
	LLVMValueRef here; /* all of them, an i32 */
	/* slots: lanes that have not run; this lane's round; low bits of addresses */
	LLVMValueRef left, round, odd;
	/* slots: instructions, those of lanes, pieces of memory, those that lanes share; a bit for each round with
	 * accesses to memory that others change */
	LLVMValueRef executed, work, touched, fewer, marked;
	LLVMValueRef stay;     /* a slot: the lanes that stay */
	LLVMValueRef ends;     /* an array: the round of which each lane has left; 0 of others */
	LLVMValueRef lane_bit; /* of this lane */
	/* behind the last lane: `ends`, the greatest and the least of it, who left in the last one, and rounds of all
	 */
	LLVMValueRef left_in, latest, earliest, latest_lanes, visits;
};

static inline uint32_t loop_block_at(const struct loop *l, uint32_t b)
{
	return b - l->head;
}

/* loop_find.c: whether block l->head begins such a loop, and for how many lanes it may be better than vectors; 0: none.
 */
uint32_t loop_find(const struct emit *e, struct loop *l);
/* The same of a loop with loops inside. */
uint32_t loop_find_nest(const struct emit *e, struct loop *l);
/* l->local in front of block b; and behind an operation. */
void loop_local_begin(struct loop *l, uint32_t b);
void loop_local_apply(const struct flow *f, const struct compile_op *o, bool *local);
/* The states in front of block b, of which only the lanes' own vary; and behind operation i. */
void loop_states_begin(const struct flow *f, const struct loop *l, uint32_t b, struct state *ret);
void loop_states_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s);
/* loop_lane.c: the code of all lanes of `here`, an i32; the builder goes on where the last of them has run. */
void loop_lanes(struct loop *l, LLVMValueRef here);
/* Behind the last lane: the least round of which one of these has left; INT32_MAX: none has. */
LLVMValueRef loop_first_of(struct loop *l, LLVMValueRef lanes);
/* loop_effect.c: whether operation i of the loop is executed behind the last lane; notes in each round what this lane
 * writes; begins and ends all lanes. */
bool loop_effect_fits(const struct flow *f, uint32_t i, const struct plan *p);
void loop_effect_note(struct loop *l, uint32_t block, const struct plan *p);
/* The array with the addresses of a place of this block that is written; NULL: it is not. */
LLVMValueRef loop_effect_log(const struct loop *l, uint32_t block, uint32_t place);
void loop_effects_begin(struct loop *l);
void loop_effects_end(struct loop *l);
/* loop_log.c: what lanes note in each round, and what is counted by it behind the last lane. */
void log_begin(struct loop *l);
void log_visit(struct loop *l, struct loop_block *c);
/* Where a lane enters a loop inside, and where it leaves it from a block. */
void log_enter(struct loop *l, struct loop_inner *x);
void log_leave(struct loop *l, const struct loop_inner *x, uint32_t from);
LLVMValueRef log_places(struct loop *l); /* a new array, by lane and round */
LLVMValueRef log_place(struct loop *l, LLVMValueRef array, LLVMValueRef round, LLVMValueRef lane);
LLVMValueRef log_lanes(struct loop *l, const struct loop_block *c,
		       LLVMValueRef round); /* who ran it: where that stands; not of the head of the loop */
/* Behind the last lane: who ran it, an i32. */
LLVMValueRef log_ran(struct loop *l, struct loop_block *c, LLVMValueRef round);
LLVMValueRef log_rounds(struct loop *l); /* that a lane has begun */
/* Calls emit once, inside a loop of the code that runs for each of these rounds. */
void log_each_round(struct loop *l, void (*emit)(struct loop *l, LLVMValueRef round));
/* The number of the round that this lane is in, in the loop that the block is in; in a loop in a loop, of all. */
LLVMValueRef loop_round(struct loop *l, const struct loop_block *c);
/* Of a loop in a loop: notes the place's address. False: there are too many. */
bool log_note_ends(struct loop *l, const struct loop_block *c, struct loop_spot *s);
void log_count(struct loop *l);
/* The last round in which lanes have met, an i64; -1: none; NULL: there is never one. Of a loop without loops inside.
 */
LLVMValueRef log_last_meeting(struct loop *l);
LLVMValueRef loop_get(struct loop *l, LLVMTypeRef t, LLVMValueRef slot);
LLVMValueRef loop_number(struct loop *l, uint64_t n); /* i64 */
LLVMValueRef loop_is_zero(struct loop *l, LLVMValueRef v);
LLVMValueRef loop_is_more(struct loop *l, LLVMValueRef a, LLVMValueRef b); /* unsigned */
