/*
 * flow.h: what the compiler knows of a function before it makes code of it: basic blocks, which registers live where,
 * and of each register whether its lanes differ.
 *
 * Registers are places of the frame. One whose lanes are base + lane * stride, with a stride that is known here, is
 * kept as the scalar base: addresses of rows, loop counters, parameters and all that is the same for a warp. Where
 * blocks are 16 threads wide, each half of a warp is a line, with a base of its own. Where the interpreter hands over,
 * such knowledge is checked (emit.c).
 *
 * A block has two codes: of all 32 lanes together, and of a group of lanes that has parted from others (part.h).
 */
#pragma once

#include "softdev/ptx/compile.h"

enum shape { SHAPE_UNKNOWN, SHAPE_LINE, SHAPE_HALVES, SHAPE_LANES };

struct state {
	uint8_t shape; /* enum shape */
	bool nan;      /* bits of a NaN do not matter, and may not be the device's: see plan.c */
	bool synced;   /* the frame holds it too */
	bool known;    /* all lanes hold `value`, whatever way they have come */
	bool whole;    /* of a line whose stride is a power of two: the base is a multiple of LANES * stride */
	uint8_t same;  /* of lanes: bits of a lane's number on which its value does not depend */
	int64_t stride;
	uint64_t value;
};

/* Of a block that some of a warp's lanes run, while others wait at the beginning of other blocks: part.c. */
struct part {
	bool comes;		/* a group may come to its beginning */
	bool reached;		/* and may run it */
	uint64_t *at_come;	/* bits of blocks: where others may wait when it comes */
	uint64_t *at_run;	/* likewise when it runs: behind this block */
	uint8_t *needed;	/* of each register, when it comes: by the group or by those */
	uint8_t *kept;		/* when it runs: by those who wait */
	struct state *in_come, *in; /* of each register */
};

struct block_of_code {
	uint32_t begin, end;	      /* operations */
	uint32_t next[2], next_count; /* blocks; of a branch the first is where it goes when it is taken */
	bool entry;		      /* the interpreter may hand over all lanes here */
	bool group_entry;	      /* or a group of them */
	bool reached;
	uint8_t *live;	  /* of each register, at the beginning */
	struct state *in; /* of each register */
	struct part part; /* of lanes that have parted */
};

struct flow {
	const struct compile_request *request;
	uint32_t reg_count;
	uint32_t reg_at[COMPILE_REGS_MAX];
	uint8_t reg_lane[COMPILE_REGS_MAX];
	uint32_t *reg_of; /* place / 128 -> register */
	uint32_t reg_of_count;
	struct block_of_code *block;
	uint32_t block_count;
	uint32_t *block_of; /* operation -> block */
	bool through;	    /* lanes go to the frame as soon as they are computed, so that leaving is short */
	uint32_t elements;  /* of all loads and stores */
	bool many_accesses; /* too many for code of their own for each lane */
	bool strong;	    /* it has an access to memory that others change */
	bool parts;	    /* groups of lanes have code too */
	bool few;	    /* no warp has 32 lanes: groups are all that there is */
	uint32_t set_words; /* of a set of blocks */
};

int flow_init(struct flow *f, const struct compile_request *request, char *why, size_t why_bytes);
void flow_deinit(struct flow *f);
uint32_t flow_reg(const struct flow *f, const struct compile_operand *o); /* UINT32_MAX: it is none that is kept */
/* Of block b: which registers are needed before each operation and behind the last, reg_count + 1 bytes each; for
 * free(). */
uint8_t *flow_live(const struct flow *f, uint32_t b);
/* Bits of a lane's number on which the value does not depend. */
uint8_t state_same(const struct state *s);
/* What comes from one path into what is known of the others. True: that changed. */
bool state_join(struct state *to, const struct state *from);
/* live[reg] before operation i from live[reg] behind it. */
void flow_live_before(const struct flow *f, uint32_t i, uint8_t *live);
