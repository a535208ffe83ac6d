/*
 * product.h: D = epilogue(alpha op(A) op(B) + beta C), for all types, batches and layouts: the common form of every
 * gemm of cuBLAS and the matmul of cuBLASLt.
 *
 * A product is the parameters of a kernel: plain bytes, read when the stream reaches it. It contains scalars or their
 * addresses. It is divided into tiles of D, which the kernel's blocks share. Tiles of a single type are computed by the
 * gemm of gemm.h in place; for other types pieces of A and B are converted to floats first, and the sum is kept as
 * floats (as 32-bit integers for products of integers, which are exact).
 */
#pragma once

#include "libs/common/device.h"
#include "libs/blas/types.h"

enum product_matrix { PRODUCT_A, PRODUCT_B, PRODUCT_C, PRODUCT_D, PRODUCT_MATRICES };

/* How tiles are computed. */
enum product_way { PRODUCT_DIRECT = 1, PRODUCT_FLOAT, PRODUCT_INTEGER };

/* The bits of cublasLtEpilogue_t. */
enum {
	EPILOGUE_NONE = 1,
	EPILOGUE_RELU = 2,
	EPILOGUE_BIAS = 4,
	EPILOGUE_DRELU = 8,
	EPILOGUE_BGRAD = 16,
	EPILOGUE_GELU = 32,
	EPILOGUE_DGELU = 64,
	EPILOGUE_AUX = 128,
	EPILOGUE_BGRADA = 256,
	EPILOGUE_BGRADB = 512,
};

/* The place of a scalar. */
enum product_place { PRODUCT_HERE, PRODUCT_AT, PRODUCT_VECTOR };

/* A factor of an operand in memory: one float, or one for each row of A, each column of B. */
enum product_scale { SCALE_NONE, SCALE_ONE, SCALE_OUTER };

struct product_scalar {
	uint8_t value[16];
	uint64_t address;
	uint32_t place;
	uint32_t pad;
};

struct product {
	uint32_t number; /* device_launch() sets it */
	uint32_t body;
	uint8_t type[PRODUCT_MATRICES]; /* cudaDataType_t */
	uint8_t op[2];			/* enum gemm_op */
	uint8_t way;
	uint8_t scale_type;
	uint8_t arrays; /* addresses point to arrays of addresses */
	uint8_t bias_type, aux_type;
	uint8_t bias_across; /* one for each column instead of each row */
	uint8_t scale[PRODUCT_MATRICES];
	uint32_t epilogue;
	uint32_t amax_wanted;
	int64_t m, n, k, batch;
	int64_t ld[PRODUCT_MATRICES], stride[PRODUCT_MATRICES];
	uint64_t at[PRODUCT_MATRICES];
	struct product_scalar alpha, beta;
	int64_t alpha_stride; /* of vectors, between batches */
	uint64_t bias, aux, amax, aux_scale, aux_amax;
	int64_t bias_stride, aux_ld, aux_stride;
	uint64_t scale_at[PRODUCT_MATRICES];
	uint32_t tile_rows, tile_columns;
};

_Static_assert(sizeof(struct product) <= DEVICE_PARAM_BYTES, "a product is the parameters of a kernel");

/* By the operation's value in cuBLAS; false: none. */
bool product_op(int operation, uint8_t *ret);

/* SUCCESS, with the way how to compute; INVALID_VALUE: sizes; NOT_SUPPORTED: types. */
cublasStatus_t product_check(struct product *p);
bool product_sizes_good(const struct product *p);
/* enum product_way; 0: there is none. */
uint8_t product_way(const struct product *p);

/* Divides what product_check() let through. Value: the number of blocks to launch, 0 if there is nothing to do. */
uint32_t product_plan(struct product *p);

/* True if product_plan() could have produced it: any code can launch the kernel with other bytes. */
bool product_sound(const struct product *p);
/* The kernel's code. */
void product_run(struct soft_native *n, const struct product *p);
