/* run.h: what the kernels of cuSPARSE share: one run of a launch, and lists of indices. */
#pragma once

#include "libs/cusparse/sparse.h"

#include <stdbool.h>

struct run {
	struct soft_native *n;
	const struct sparse_work *w;
	struct sparse_matrix a; /* of this batch */
	char *b, *c;
	uint32_t each;
	int64_t room;	 /* for partial sums */
	int64_t pivot;	 /* the first row without one, from 0 on, or -1 */
	uint64_t looked; /* numbers examined or computed since progress was reported */
	bool fault;
	bool stopped; /* the launch was stopped; together with `fault` this ends all loops */
};

static inline int64_t index_get(uint64_t at, bool wide, int64_t i)
{
	return wide ? ((const int64_t *)(uintptr_t)at)[i] : ((const int32_t *)(uintptr_t)at)[i];
}

static inline void index_put(uint64_t at, bool wide, int64_t i, int64_t value)
{
	if (wide)
		((int64_t *)(uintptr_t)at)[i] = value;
	else
		((int32_t *)(uintptr_t)at)[i] = (int32_t)value;
}

/* An index from a list of the matrix; one that is not below `count` is a fault of the launch. */
static inline int64_t index_below(struct run *r, int64_t count, int64_t listed)
{
	int64_t at;

	if (!__builtin_sub_overflow(listed, r->a.base, &at) && at >= 0 && at < count)
		return at;
	r->fault = true;
	return 0;
}
