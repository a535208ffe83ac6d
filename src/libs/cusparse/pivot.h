/*
 * pivot.h: the first row without a pivot, of factors and triangles: a word of the device's
 * memory that kernels write and ..._zeroPivot() reads, in the program's memory only.
 */
#pragma once

#include "libs/cusparse/handle.h"

#include <stdbool.h>

struct pivot {
	const struct device_driver *driver;
	CUcontext context;
	CUdeviceptr at; /* 0: not analysed yet */
	bool empty;	/* the matrix has no rows: no kernel writes the word */
};

/* Once. The word's first value comes from a kernel. */
cusparseStatus_t sparse_pivot_make(cusparseHandle_t h, struct pivot *p);
void sparse_pivot_end(struct pivot *p);
/* ZERO_PIVOT and the row, as the program counts; or SUCCESS and -1. Waits for the stream. */
cusparseStatus_t sparse_pivot_tell(cusparseHandle_t h, const struct pivot *p, int *position);
