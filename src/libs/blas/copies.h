/* copies.h: what cuBLAS's calls that copy vectors and matrices are made of. */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>

/* Written by the library: a copy by its driver. False: it has none. */
bool blas_copy(const CUDA_MEMCPY2D *m, CUstream stream, bool async, CUresult *ret);
