/* transform.h: C = alpha op(A) + beta op(B) from one type and order to others: cublasLtMatrixTransform(). */
#pragma once

#include "libs/common/device.h"
#include "libs/blas/types.h"

enum transform_order { ORDER_COLUMNS, ORDER_ROWS, ORDER_COL32 };

struct transform_matrix {
	uint64_t at; /* 0: there is none */
	int64_t ld, stride;
	uint8_t type, order, turned;
};

/* The parameters of a kernel; it begins like struct blas_work. */
struct transform {
	uint32_t number, body;
	struct transform_matrix a, b, c;
	int64_t rows, columns, batches; /* of C */
	uint8_t alpha[8], beta[8];	/* floats or doubles, by scale_type */
	uint64_t alpha_at, beta_at;	/* in device memory; 0: the values are in this struct */
	uint8_t scale_type;
};

_Static_assert(sizeof(struct transform) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

void transform_run(struct soft_native *n, const struct transform *t);
