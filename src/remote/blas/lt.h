/*
 * lt.h: descriptions of cuBLASLt on the remote path.
 *
 * A description is data of the program's process alone (libs/blas/lt_description.h). It travels with every call that
 * uses it, and the worker makes one of the real library's of it, or takes the one that it made of the same bytes
 * before. Attributes are values or addresses of device memory, which the worker checks as those of matrices; the one
 * that is an address of the process is refused.
 */
#pragma once

#include "libs/blas/lt_description.h"
#include "remote.h"
#include "remote/blas/forward.h"

static inline size_t lt_scalar_bytes(const struct lt_description *d)
{
	uint64_t made = d->made_with[d->kind == LT_PRODUCT ? 1 : 0];

	return forward_type_bytes((unsigned int)lt_number(
		d, d->kind == LT_PRODUCT ? CUBLASLT_MATMUL_DESC_SCALE_TYPE : CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE,
		made));
}

/* In place of an address in a heuristic's query: this, and the address's lowest eight bits. */
#define LT_HIDDEN UINT64_C(0x100)

/* The result of a heuristic, as the program gets it: data[0] is LT_ALGORITHM and data[1] the worker's number for it. */
#define LT_ALGORITHM UINT64_C(0x6c74616c676f0001)
#define LT_RESULTS 64

struct lt_result {
	uint64_t algorithm, workspace;
	int32_t state;
	float waves;
};
