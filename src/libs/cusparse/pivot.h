/*
 * pivot.h: the first row without a pivot, of factors and triangles: a word of the device's
 * memory that kernels write and ..._zeroPivot() reads, in the program's memory only.
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

/* Once. The word's first value comes from a kernel. */
cusparseStatus_t sparse_pivot_make(cusparseHandle_t h, struct pivot *p);
void sparse_pivot_end(struct pivot *p);
/* ZERO_PIVOT and the row, as the program counts; or SUCCESS and -1. Waits for the stream. */
cusparseStatus_t sparse_pivot_tell(cusparseHandle_t h, const struct pivot *p, int *position);

/* The kind of information that holds a pivot as `member`: its maker, its end, and the question for the pivot. */
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
