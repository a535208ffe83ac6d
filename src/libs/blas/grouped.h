/* grouped.h: batches of products in groups, each with its own sizes: a batch of products for each group. */
#pragma once

#include "libs/blas/work.h"

/* The arguments of a call. Sizes are ints, or 64 bits wide. */
struct grouped {
	int64_t groups;
	bool wide;
	const cublasOperation_t *transa, *transb;
	const void *m, *n, *k, *lda, *ldb, *ldc, *size;
	const void *alpha, *beta;
	const void *A, *B, *C; /* of addresses, in device memory */
	uint8_t Atype, Btype, Ctype;
	int computeType; /* 0: that of the type */
};

/* As blas_check(): of the arrays first, then of each group. */
cublasStatus_t grouped_check(const struct grouped *g);
/* The batch of a group whose first product is number `first` of the call. */
struct blas_work grouped_work(const struct grouped *g, int64_t group, uint64_t first);
