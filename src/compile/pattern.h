/*
 * pattern.h: registers whose lanes lie at known distances from lane 0, other than a line's: tid / 2, tid & 7, and
 * addresses made of them, as code for blocks of a matrix forms them. Such a register is kept as the scalar that lane 0
 * has.
 *
 * Two further facts are kept for that: how many low bits of lane 0 are zero, and how many high bits of all lanes are.
 * A thread's number in its row is below 1024, and lane 0 of a row has a multiple of 32; a shift or a mask of it is
 * therefore a pattern.
 */
#pragma once

#include "compile/flow.h"

struct inline_row;

struct pattern {
	int64_t at[LANES];   /* beside lane 0 */
	int64_t least, most; /* of them */
	uint64_t bits;	     /* that any of them has */
	uint8_t same;	     /* bits of the lane number on which it does not depend */
};

/* Of a register in the shape SHAPE_LINE or SHAPE_PATTERN. */
struct pattern pattern_of(const struct flow *f, const struct state *s);
/* The number of a pattern with these distances; 0: there are too many, or they are too large. */
uint16_t pattern_number(const struct flow *f, const int64_t at[LANES]);
/*
 * Whether the result of the operation, whose sources are in the states x, is a line or a pattern; *ret gets its shape,
 * *ret_checks whether that is so only while a source of 32 bits does not wrap.
 */
bool pattern_result(const struct flow *f, const struct compile_op *o, const struct inline_row *row,
		    const struct state *x, struct state *ret, bool *ret_checks);
/* The two facts about a result; its shape is known. */
void pattern_facts(const struct compile_op *o, const struct inline_row *row, const struct state *x, struct state *ret);
/* The same about a number. */
void pattern_number_facts(uint64_t value, uint32_t lane, struct state *ret);
int pattern_init(struct flow *f);
void pattern_deinit(struct flow *f);
