/* copies.h: what cuBLAS's copies of vectors and matrices share with cublasXt. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* Defined by the library: a copy by its driver. False: it has none. */
bool blas_copy(const CUDA_MEMCPY2D *m, CUstream stream, bool async, CUresult *ret);

/* The calls of the driver that cublasXt needs beside cuBLAS itself. */
struct blas_device {
	__typeof__(((struct cuda_table *)0)->cuInit) init;
	__typeof__(((struct cuda_table *)0)->cuDevicePrimaryCtxRetain) retain;
	__typeof__(((struct cuda_table *)0)->cuCtxPushCurrent_v2) push;
	__typeof__(((struct cuda_table *)0)->cuCtxPopCurrent_v2) pop;
	__typeof__(((struct cuda_table *)0)->cuMemAlloc_v2) alloc;
	__typeof__(((struct cuda_table *)0)->cuMemFree_v2) free;
	__typeof__(((struct cuda_table *)0)->cuMemcpy2DUnaligned_v2) copy;
};

/* Defined by the library. False: there is no driver. */
bool blas_device(struct blas_device *ret);
