/*
 * pivot.h: the first row without a pivot, of factors and triangles: a word in device memory that kernels write and
 * ..._zeroPivot() reads, only into host memory.
 */
#pragma once

#include "libs/cusparse/handle.h"

#include <stdbool.h>
#include <stdlib.h>

struct pivot {
	const struct device_driver *driver;
	CUcontext context;
	CUdeviceptr at; /* 0: not analysed yet */
	bool empty;	/* the matrix has no rows: no kernel writes the word */
};

/* Creates it once. A kernel writes the initial value. */
cusparseStatus_t sparse_pivot_make(cusparseHandle_t h, struct pivot *p);
void sparse_pivot_end(struct pivot *p);
/* Value: ZERO_PIVOT with the row, in the program's base; or SUCCESS and -1. Waits for the stream. */
cusparseStatus_t sparse_pivot_tell(cusparseHandle_t h, const struct pivot *p, int *position);

/* A kind of information that holds a pivot as `member`: its creation, its destruction, and the query for the pivot. */
#define SPARSE_PIVOT_INFO(name, Name, member)                                                                          \
	cusparseStatus_t soft_cusparseCreate##Name##Info(name##Info_t *info)                                           \
	{                                                                                                              \
		if (!info)                                                                                             \
			return CUSPARSE_STATUS_INVALID_VALUE;                                                          \
		*info = calloc(1, sizeof(**info));                                                                     \
		return *info ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;                                 \
	}                                                                                                              \
	cusparseStatus_t soft_cusparseDestroy##Name##Info(name##Info_t info)                                           \
	{                                                                                                              \
		if (info)                                                                                              \
			sparse_pivot_end(&info->member);                                                               \
		free(info);                                                                                            \
		return CUSPARSE_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	cusparseStatus_t soft_cusparseX##name##_zeroPivot(cusparseHandle_t handle, name##Info_t info, int *position)   \
	{                                                                                                              \
		return sparse_pivot_tell(handle, info ? &info->member : NULL, position);                               \
	}
