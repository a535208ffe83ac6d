/*
 * group.h: code of a group of a warp's lanes, while others wait (part.h).
 *
 * Which lanes run stands in e->mask, and for each block which lanes wait at its beginning in e->wait; both are places
 * on the stack, of which LLVM makes values. All of them are 0 while all lanes run together.
 */
#pragma once

#include "compile/part.h"
#include "compile/reg.h"

/* Places, when the function begins. */
void group_places(struct emit *e);
/* A block of group code begins, or code of all lanes. */
void group_begin(struct emit *e, uint32_t block);
void group_end(struct emit *e);
/* The interpreter's function reads which lanes run. */
void group_tell(struct emit *e);
/* Writes lanes of the group into what others keep. */
LLVMValueRef group_mix(struct emit *e, LLVMValueRef mine, LLVMValueRef theirs);
LLVMValueRef group_first(struct emit *e); /* lanes of the group, as i32 */
LLVMValueRef group_first_of(struct emit *e, LLVMValueRef lanes);
LLVMValueRef group_last(struct emit *e);
LLVMValueRef group_is_one(struct emit *e); /* it is a single lane */
/* The interpreter goes on; in `waiting` others may wait. n: how many instructions have been executed. */
void group_leave(struct emit *e, LLVMValueRef n);
/* From where the builder is into block `to`. */
void group_edge(struct emit *e, uint32_t to);
/* Lanes in `taken`, i32, go to the branch's target and the rest on; builder: where the code of all lanes has found
 * that. */
void group_part(struct emit *e, LLVMValueRef taken);
/* The branch at the end of a block that a group runs. */
void group_branch(struct emit *e);
/* What happens when a group comes to block b. */
void group_come(struct emit *e, uint32_t b);
/* Takes group and registers for block b from the interpreter; where that does not fit, goes to `no`. */
void group_enter(struct emit *e, uint32_t b, LLVMBasicBlockRef no);
