/*
 * lt_product.h: from cuBLASLt's descriptions to what is computed, for the software device's library and for a client on
 * the remote path, which answers at once what the library would. Statuses as in checks.h.
 */
#pragma once

#include "libs/blas/product.h"
#include "libs/blas/transform.h"

/* What is said of a product that is not supported. */
#define LT_PRODUCT_REFUSED "cublasLtMatmul of these types, orders or attributes"

/* Reads the scalars that are in the program's memory. */
cublasStatus_t lt_product(struct product *p, const void *computeDesc, const void *const layouts[4], const void *alpha,
			  const void *beta, const void *const matrices[4]);
/* INVALID_VALUE: it lacks an address, its own or its epilogue's; a heuristic is asked before they are known. */
cublasStatus_t lt_product_placed(const struct product *p);

/* The same for a transformation of A and B to C. */
cublasStatus_t lt_transform(struct transform *t, const void *transformDesc, const void *const layouts[3],
			    const void *alpha, const void *beta, const void *const matrices[3]);
