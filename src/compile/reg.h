/* reg.h: registers and operands as values: what an operation reads, and where its results go. */
#pragma once

#include "compile/value.h"

/* A register as the operation sees it: the bases of a line or of halves in v[0] and v[1], lane 0 of a pattern
 * or lanes in v[0]. */
struct value {
	uint8_t shape;
	uint16_t pattern;
	int64_t stride;
	LLVMValueRef v[2];
};

/* `settle`: a NaN gets the device's bits. */
struct value reg_value(struct emit *e, uint32_t r, const struct state *s, bool settle);
void reg_store(struct emit *e, uint32_t r, const struct value *x);
/* What lanes that wait have of a register; elsewhere anything. */
LLVMValueRef reg_others(struct emit *e, uint32_t r, const struct state *s, bool settle);
/* A line that only the group has, beside what others have: those keep what they have. */
void reg_split(struct emit *e, uint32_t r, const struct state *old, const struct value *x, bool settle);
/* Of a line that only the group has: the lanes in `mine` keep what it says. */
void reg_save(struct emit *e, uint32_t r, const struct state *s, LLVMValueRef mine, bool settle);
void reg_to_frame(struct emit *e, uint32_t r, const struct state *s);
/*
 * Registers that code behind the barrier at operation `i` takes briefly: what they are made of lies side by side, in
 * the frame's place of one of them, so that few lines of the host's memory are touched.
 */
struct brief_regs {
	uint32_t in;			/* whose place it is; UINT32_MAX: there are none */
	uint8_t slot[COMPILE_REGS_MAX]; /* of each register: its first of 8 bytes, or BRIEF_NONE, BRIEF_OWN */
};

#define BRIEF_NONE 0xffu /* it is in the frame as the interpreter wants it */
#define BRIEF_OWN 0xfeu	 /* in its own place: lane 0, of halves lane 16 too */

void reg_brief_find(const struct emit *e, uint32_t i, struct brief_regs *ret);
void reg_to_frame_briefly(struct emit *e, uint32_t r, const struct brief_regs *b, const struct value *x);
void reg_from_frame_briefly(struct emit *e, uint32_t r, const struct brief_regs *b, const struct state *s);
LLVMValueRef value_lanes(struct emit *e, const struct value *x);
struct value value_as(struct emit *e, struct value x, uint8_t shape); /* in a wider shape */
struct value scalar(LLVMValueRef v);				      /* equal in all lanes */
struct value all_lanes(LLVMValueRef v);
struct value source(struct emit *e, const struct compile_operand *o, bool settle);
LLVMValueRef source_lanes(struct emit *e, const struct compile_operand *o, bool settle);
/* `nan`: the bits of a NaN may have to be corrected. */
void result(struct emit *e, const struct compile_operand *o, struct value x, bool nan);
