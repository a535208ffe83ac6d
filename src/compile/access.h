/* access.h: loads and stores, with the checks that the interpreter makes. */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

void make_load(struct emit *e, const struct access_form *a); /* one address for all, or one element behind the other */
void make_store(struct emit *e, const struct access_form *a);
void strided_load(struct emit *e, const struct access_form *a); /* lanes are apart by a known number of bytes */
void strided_store(struct emit *e, const struct access_form *a);
void make_param(struct emit *e, const struct access_form *a);
/* Anywhere: scatter.c. */
void make_scattered(struct emit *e, const struct plan *p);

/* As it is counted that a group accesses `bytes` at each of these addresses. */
LLVMValueRef access_sectors(struct emit *e, LLVMValueRef at, uint32_t bytes);

/* The range of memory that the operation found last. */
struct access_range {
	LLVMValueRef hint, begin, bytes, writable; /* hint: the place of its number */
};

struct access_range access_range(struct emit *e);
LLVMValueRef access_extend(struct emit *e, LLVMValueRef v, const struct access_form *a);  /* of an element, as a lane */
LLVMValueRef access_shorten(struct emit *e, LLVMValueRef v, const struct access_form *a); /* and back */
