/* leave.h: transfers execution to the interpreter: registers go to the frame, counts to the engine's counters. */
#pragma once

#include "compile/reg.h"

/* Adds n, of 64 bits, to the value in memory. */
void add_to(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMValueRef n);
/* Adds instructions to the count. */
void count_more(struct emit *e, uint64_t instructions);
/* Adds the counts to the engine's counters. Value: the number of instructions executed since the start. */
LLVMValueRef settle_counters(struct emit *e);
/* Returns to the engine, which finds pc and registers as it wants them: after a fault. */
void leave_here(struct emit *e, uint64_t pending);
/* Leaves: the interpreter continues from operation `pc`. */
void leave(struct emit *e, uint32_t pc, const uint8_t *live, const struct state *s, uint64_t pending);
/*
 * The same at a barrier that flow_meets_briefly(). Of a register that is no lanes only what it is made of goes to the
 * frame, and code behind the barrier takes it as it is: no other can run there before (warp.brief).
 */
void leave_at_barrier(struct emit *e);
LLVMValueRef expected(struct emit *e, LLVMValueRef condition); /* likely true */
/* Continues if the condition holds; otherwise the interpreter executes the operation. */
void leave_unless(struct emit *e, LLVMValueRef condition);
