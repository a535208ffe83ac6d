/*
 * group.h: code for a group of a warp's lanes, while others wait (part.h).
 *
 * e->mask has the running lanes, and e->wait, for each block and each place at a barrier, the lanes that wait there.
 * Both are stack slots, which LLVM turns into values. All of them are 0 while all lanes run together.
 */
#pragma once

#include "compile/part.h"
#include "compile/reg.h"

/* Creates the stack slots at the start of the function. */
void group_places(struct emit *e);
/* Begins a block of group code; ends it and returns to code for all lanes. */
void group_begin(struct emit *e, uint32_t block);
void group_end(struct emit *e);
/* Tells the interpreter's functions which lanes run. */
void group_tell(struct emit *e);
/* Merges the group's lanes into lanes that others keep. */
LLVMValueRef group_mix(struct emit *e, LLVMValueRef mine, LLVMValueRef theirs);
LLVMValueRef group_lanes_in(struct emit *e, LLVMValueRef lanes); /* an i32 as a vector of bits */
LLVMValueRef group_first(struct emit *e);			 /* a lane of the group, as i32 */
LLVMValueRef group_first_of(struct emit *e, LLVMValueRef lanes);
LLVMValueRef group_last(struct emit *e);
LLVMValueRef group_last_of(struct emit *e, LLVMValueRef lanes);
LLVMValueRef group_is_one(struct emit *e); /* true for a single lane */
/* Hands the group over to the interpreter, and the lanes in `waiting` that may wait. */
void group_leave(struct emit *e);
/* How many instructions a warp runs before the jump backwards to that block lets others run. */
uint64_t edge_quantum(const struct emit *e, uint32_t to);
/* Jumps from the current position into block `to`. */
void group_edge(struct emit *e, uint32_t to);
/* The same forwards, where the group may consist of all lanes. */
void group_arrive(struct emit *e, uint32_t to);
/* Lanes, perhaps none, wait at block b; since then, in instructions. */
void group_wait(struct emit *e, uint32_t b, LLVMValueRef lanes, LLVMValueRef since);
/*
 * Parts the lanes: those in `taken`, an i32, go to the branch's target, the rest continue. The builder is at the point
 * where code for all lanes has found that.
 */
void group_part(struct emit *e, LLVMValueRef taken);
/* All lanes go on in block b as a group. */
void group_all(struct emit *e, uint32_t b);
/* The branch at the end of a block that a group runs. */
void group_branch(struct emit *e);
/* The arrival of a group at block b. */
void group_come(struct emit *e, uint32_t b);
/* The same at place v of those who wait at a barrier. */
void group_meet(struct emit *e, uint32_t v);
/* Takes over the group and the registers for block b from the interpreter; jumps to `no` if they do not match. */
void group_enter(struct emit *e, uint32_t b, LLVMBasicBlockRef no);
