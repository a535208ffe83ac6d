/*
 * checks.h: what the arguments of a routine of cuBLAS show to be wrong.
 *
 * The software device's library asks before it launches, a client on the remote path before it sends: a program gets
 * the same status at once either way. INVALID_VALUE is what cuBLAS documents. NOT_SUPPORTED is said of this library:
 * the library of another server may support more.
 */
#pragma once

#include "libs/blas/product.h"
#include "libs/blas/work.h"

/* SUCCESS, INVALID_VALUE or NOT_SUPPORTED. A routine with an info in the program's memory gets it. */
cublasStatus_t blas_check(const struct blas_work *w);

/* gemm_calls.c */

/* The many ways to ask for a product of matrices, as one product. The status as above. */
cublasStatus_t gemm_product(const struct blas_work *w, struct product *ret);
/* The same product without the values of scalars, for who may not read them. */
cublasStatus_t gemm_check(const struct blas_work *w);
/* A batch of matrices and vectors as a batch of products. */
struct blas_work gemm_of_vectors(const struct blas_work *w);
