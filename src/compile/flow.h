/*
 * flow.h: the analysis of a function before code generation: basic blocks, live registers, and for each register
 * whether its lanes differ.
 *
 * Registers are places of the frame. A register whose lanes are base + lane * stride, with a stride known at compile
 * time, is kept as the scalar base: addresses of rows, loop counters, parameters, and all values that are equal in a
 * warp. If blocks are 16 threads wide, each half of a warp is a line with a base of its own. Where the interpreter
 * hands over, such knowledge is checked (emit.c).
 *
 * A block has two versions of code: for all 32 lanes together, and for a group of lanes that has parted from others
 * (part.h).
 */
#pragma once

#include "softdev/ptx/compile.h"

enum shape { SHAPE_UNKNOWN, SHAPE_LINE, SHAPE_HALVES, SHAPE_PATTERN, SHAPE_LANES };

struct patterns; /* pattern.h */

#define GRAIN_ONE 150u /* of integers */
#define GRAIN_MAX 255u /* of zero */
#define GRAIN_FLAT 24u /* from here on no multiple but zero is smaller than the least normal number */

struct state {
	uint8_t shape; /* enum shape */
	bool nan;      /* the bits of a NaN do not matter, and may differ from the device's: see plan.c */
	bool synced;   /* the frame also has the value */
	bool brief;    /* the frame had what the value is made of at the last barrier: flow_meets_briefly() */
	bool flat;     /* an f32 that is not subnormal in any lane */
	uint8_t grain; /* an f32 that is a multiple of 2 to the power of grain - GRAIN_ONE, or no number; 0: unknown */
	bool small;    /* 32 bits without the highest bit of any byte: each is the same with a sign and without */
	bool known;    /* all lanes have `value` on every path */
	bool split;    /* of a line, in code of groups: who waits has something else, as lanes */
	bool whole;    /* of a line whose stride is a power of two: the base is a multiple of LANES * stride */
	uint8_t same;  /* of lanes, a pattern: bits of the lane number on which the value does not depend */
	uint8_t low;   /* of a line, a pattern: the low bits of lane 0 that are known to be zero */
	uint8_t high;  /* the same of high bits, of all lanes */
	uint16_t pattern; /* its number: pattern.h */
	int64_t stride;
	uint64_t value;
};

/*
 * Of a block that some lanes of a warp run while others wait at the start of other blocks: part.c. At a barrier of a
 * block that consists of this warp, lanes wait for the others: each has a place of its own behind all blocks, with a
 * part of its own, where nobody runs before all have come.
 */
struct part {
	bool comes;		    /* a group may arrive at its start */
	bool reached;		    /* and may run it */
	uint64_t *at_come;	    /* sets of blocks: where others may wait when it arrives */
	uint64_t *at_run;	    /* the same while it runs: after this block */
	uint8_t *needed;	    /* for each register, on arrival: needed by the group or by the waiting lanes */
	uint8_t *kept;		    /* for each register, while it runs: needed by the waiting lanes */
	struct state *in_come, *in; /* for each register */
};

struct block_of_code {
	uint32_t begin, end;	      /* range of operations */
	uint32_t next[2], next_count; /* successors; for a branch the first one is its target */
	uint32_t meet;	  /* of one that ends with such a barrier: the place where lanes wait; 0: it does not */
	uint32_t behind;  /* of such a place: the block behind the barrier */
	bool entry;	  /* the interpreter may hand over all lanes here */
	bool group_entry; /* or a group of them */
	bool reached;
	uint8_t *live;	  /* for each register, at the start */
	struct state *in; /* for each register */
	struct part part; /* for lanes that have parted */
};

struct flow {
	const struct compile_request *request;
	uint32_t reg_count;
	uint32_t reg_at[COMPILE_REGS_MAX];
	uint8_t reg_lane[COMPILE_REGS_MAX];
	uint32_t *reg_of; /* frame place / 128 -> register */
	uint32_t reg_of_count;
	struct block_of_code *block;
	uint32_t block_count, wait_count; /* wait_count: with the places at barriers */
	uint32_t *block_of;		  /* operation -> block */
	bool through;	    /* lanes are written to the frame as soon as they are computed, which makes leaving short */
	uint32_t elements;  /* number of elements in all loads and stores */
	bool many_accesses; /* too many for separate code for each lane */
	bool strong;	    /* it accesses memory that others change */
	bool parts;	    /* there is code for groups of lanes */
	bool few;	    /* no warp has 32 lanes: there are only groups */
	uint32_t set_words; /* size of a set of blocks */
	struct patterns *patterns;
};

int flow_init(struct flow *f, const struct compile_request *request, char *why, size_t why_bytes);
void flow_deinit(struct flow *f);
uint32_t flow_reg(const struct flow *f, const struct compile_operand *o); /* UINT32_MAX: not a register that is kept */
/*
 * For block b: the registers needed before each operation and after the last, reg_count + 1 bytes each; the caller
 * calls free().
 */
uint8_t *flow_live(const struct flow *f, uint32_t b);
/* Bits of the lane number on which the value does not depend. */
uint8_t state_same(const struct state *s);
/* Whether a way out counts as if it had nothing to write of a register in this state. */
bool state_in_frame(const struct state *s);
/* A barrier that all lanes together come to, behind which the warp goes on with short registers: leave_at_barrier(). */
bool flow_meets_briefly(const struct flow *f, uint32_t i);
/* Merges the state of one path into that of the others. True: it has changed. */
bool state_join(struct state *to, const struct state *from);
/* Computes live[reg] before operation i from live[reg] after it. */
void flow_live_before(const struct flow *f, uint32_t i, uint8_t *live);
