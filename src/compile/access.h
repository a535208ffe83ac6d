/* access.h: loads and stores, with the checks that the interpreter makes. */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

void make_load(struct emit *e, const struct access_form *a); /* all lanes at one address, or at consecutive elements */
void make_store(struct emit *e, const struct access_form *a);
void strided_load(struct emit *e, const struct access_form *a); /* the lanes' addresses differ by a known number of
								 * bytes */
void strided_store(struct emit *e, const struct access_form *a);
/* The same where access_is_dense(). */
void dense_store(struct emit *e, const struct access_form *a);
void make_param(struct emit *e, const struct access_form *a);
/* Any addresses: scatter.c. */
void make_scattered(struct emit *e, const struct plan *p);

/* The number of sectors counted when a group accesses `bytes` at each of these addresses. */
LLVMValueRef access_sectors(struct emit *e, LLVMValueRef at, uint32_t bytes);

/* The memory range that the operation found last. */
struct access_range {
	LLVMValueRef hint, begin, bytes, writable; /* hint: where its number is kept */
};

struct access_range access_range(struct emit *e);
/* Whether [address, address + n) lies in the range that the operation found last, else in any; and `even` holds, unless
 * that is NULL. */
LLVMValueRef access_reachable(struct emit *e, LLVMValueRef address, LLVMValueRef n, bool write, LLVMValueRef even);
LLVMValueRef access_extend(struct emit *e, LLVMValueRef v, const struct access_form *a);  /* widens an element to a
											   * lane */
LLVMValueRef access_shorten(struct emit *e, LLVMValueRef v, const struct access_form *a); /* the reverse */
