/*
 * handle.h: cuSPARSE's handle, the older matrix descriptor, and how a call of any of its files starts a kernel.
 */
#pragma once

#include "libs/cusparse/sparse.h"

#include <stdbool.h>

struct cusparseContext {
	uint64_t magic;
	const struct device_driver *driver;
	CUcontext context;
	cudaStream_t stream;
	cusparsePointerMode_t pointer_mode;
};

struct cusparseMatDescr {
	cusparseMatrixType_t type;
	cusparseFillMode_t fill;
	cusparseDiagType_t diagonal;
	cusparseIndexBase_t base;
};

/* Whether the program's handle is one of this library. */
bool sparse_handle_good(cusparseHandle_t h);
/* A driver's error as the library's. */
cusparseStatus_t sparse_status(CUresult e);
/* Starts the kernel that `w` says, on the handle's stream. Without parts to do it does nothing. */
cusparseStatus_t sparse_launch(cusparseHandle_t h, const struct sparse_work *w);
