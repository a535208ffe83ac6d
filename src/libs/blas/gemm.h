/*
 * gemm.h: the matrix product on which all others are built: by columns, for float, double and their complex variants,
 * on the calling thread.
 *
 * OpenBLAS computes it (an optional package, found at the library's first use: METE_OPENBLAS, libopenblas.so.0), with
 * one thread, because the device's threads share a product among themselves. Without it mete's own loops do, several
 * times slower.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gemm_kind { GEMM_S, GEMM_D, GEMM_C, GEMM_Z, GEMM_KINDS };
enum gemm_op { GEMM_N, GEMM_T, GEMM_H };

/* Opens OpenBLAS once, before the first product; logs one line if it is missing. */
void gemm_open(void);

/* c = alpha op(a) op(b) + beta c; alpha and beta point to one element. With beta 0 c is not read. m, n, k may be 0. */
void gemm(enum gemm_kind kind, enum gemm_op op_a, enum gemm_op op_b, int64_t m, int64_t n, int64_t k, const void *alpha,
	  const void *a, int64_t lda, const void *b, int64_t ldb, const void *beta, void *c, int64_t ldc);
