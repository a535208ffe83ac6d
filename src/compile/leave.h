/* leave.h: where the interpreter takes over: registers go to the frame, counts to the engine's counters. */
#pragma once

#include "compile/reg.h"

/* Adds n, of 64 bits, to what stands there. */
void add_to(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMValueRef n);
/* Adds to the engine's counters. Value: how many instructions have been executed since the beginning. */
LLVMValueRef settle_counters(struct emit *e, uint64_t pending);
/* The rest is the interpreter's, from operation `pc` on. */
void leave(struct emit *e, uint32_t pc, const uint8_t *live, const struct state *s, uint64_t pending);
LLVMValueRef expected(struct emit *e, LLVMValueRef condition); /* likely true */
/* Goes on where the condition holds; elsewhere the interpreter executes the operation. */
void leave_unless(struct emit *e, LLVMValueRef condition);
