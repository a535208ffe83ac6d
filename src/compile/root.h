/*
 * root.h: addresses of a block that differ by numbers which all lanes share: base[i], base[i + 1], base[i + n] with one
 * n. Their lanes lie as far from each other, so that is found once, for their root, and each access needs a check of
 * one number.
 *
 * A root is a register whose lanes are not a line. What is made of it by adding the same to all lanes has that root and
 * an offset. Roots are known within a block of code of all lanes.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

struct root {
	LLVMValueRef lanes; /* NULL: not met yet */
	LLVMValueRef first; /* of lane 0 */
	LLVMValueRef least; /* of all, from the first on: not above 0 */
	LLVMValueRef span;  /* from the least to the most */
	LLVMValueRef apart; /* the bits in which lanes differ */
	uint32_t uses;	    /* accesses */
};

/* Before the operations of block b are made; false: no memory. */
bool roots_begin(struct emit *e, uint32_t b);
void roots_end(struct emit *e);
/* Before the operation is made, and behind it. */
void roots_add(struct emit *e, const struct plan *p);
void roots_forget(struct emit *e, const struct plan *p);
/* Whether making operation i does something for roots; and in place of both, of an operation that does not. */
bool roots_want(const struct emit *e, uint32_t i);
void roots_pass(struct emit *e);
/* The root of an access; NULL: it has none, or is the only one. */
const struct root *root_of_access(struct emit *e, LLVMValueRef *ret_offset);
/*
 * Whether all lanes at root + offset, of `size` bytes each, lie in `range_bytes` from `begin` on; and whether they are
 * multiples of `align`.
 */
LLVMValueRef root_in_range(struct emit *e, const struct root *r, LLVMValueRef offset, LLVMValueRef begin,
			   LLVMValueRef range_bytes, uint64_t size);
LLVMValueRef root_aligned(struct emit *e, const struct root *r, LLVMValueRef offset, uint64_t align);
