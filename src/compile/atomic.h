/*
 * atomic.h: atomics, lane by lane in their order, as softdev/ptx/mem.h executes them: on shared memory, of which one
 * thread runs the block, by a load and a store; elsewhere by the host's atomic instructions.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

/* NULL: the name is none, or one that only the interpreter executes. */
const struct atomic_row *atomic_row(const char *name);
/* Whether somebody reads the result of the atomic that is operation i. */
bool atomic_is_read(const struct flow *f, uint32_t i);
/* A compare and swap whose result somebody reads, at any lane's address: where it fails it is a load. */
bool atomic_is_probe(const struct flow *f, uint32_t i, const struct plan *p);
/* Whether operations begin to end - 1 can find out what others do. */
bool atomic_asks(const struct flow *f, uint32_t begin, uint32_t end);
/* Of the lanes in `here`, an i32, at checked addresses `at` (offsets in shared memory). */
void atomic_lanes(struct emit *e, const struct plan *p, LLVMValueRef at, LLVMValueRef here);
/* Of one lane. pointer: to bytes. Value: what was there. */
LLVMValueRef atomic_one(struct emit *e, const struct plan *p, LLVMValueRef pointer, LLVMValueRef value,
			LLVMValueRef other);
