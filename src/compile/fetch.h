/*
 * fetch.h: loads of all lanes from anywhere that lie close together are made by one gather: in one block, from one
 * register's address, within 8 bytes of each other, with nothing between them that writes memory or the register.
 *
 * As code for 4-bit matrices reads them: two bytes at a time, since blocks of 18 bytes are not aligned, and one behind
 * the other. The host has no gather of 16 bits, and one of 64 bits costs as much as one of 32.
 */
#pragma once

#include "compile/plan.h"
#include "compile/value.h"

#define FETCH_BYTES 8u /* that one gather reads of a lane */
#define FETCH_LOADS 8u

struct fetch {
	uint32_t op[FETCH_LOADS], count; /* in their order */
	int64_t least;			 /* where it begins, beside the register */
	uint32_t bytes;			 /* 4 or 8 */
	bool full;			 /* the loads' bytes are all of these */
	bool rows;			 /* of loads that are faster one by one where lanes lie one behind the other */
	LLVMValueRef good;		 /* i1, from the first load on: all lanes have been fetched; NULL: they have */
	LLVMValueRef value;		 /* those, where they have */
	LLVMValueRef half[2];		 /* of 8 bytes: the lower and the upper four; NULL: not made */
};

/* Those that begin with the operation that is made. False: it is alone. */
bool fetch_find(const struct emit *e, struct fetch *ret);
/* What the operation loads, out of what has been fetched. */
LLVMValueRef fetch_value(struct emit *e, const struct fetch *f, const struct access_form *a);
/* The one that the operation is part of; NULL: none, or it is none of those that are remembered. */
const struct fetch *fetch_of(const struct emit *e);
