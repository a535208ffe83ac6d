/*
 * lt_product.c: see lt_product.h.
 *
 * A matrix that is stored by rows is one by columns that has been turned; where D is stored so, D's turned twin is
 * worked out, from B and A turned in their turn.
 */
#include "libs/blas/lt_product.h"

#include "libs/blas/gemm.h"
#include "libs/blas/lt_description.h"

#include <string.h>

#define BY_COLUMNS 0
#define BY_ROWS 1
#define BATCH_POINTERS 1 /* cublasLtBatchMode_t: addresses of matrices are in device memory */
#define SCALE_SCALAR 0	 /* cublasLtMatmulMatrixScale_t */
#define SCALE_OUTER_VECTOR 3

struct layout {
	uint8_t type;
	int64_t rows, columns, ld, batches, stride;
	uint32_t order, batch_mode;
	uint64_t plane; /* between the parts of complex numbers that lie apart */
};

static bool layout_read(const void *handle, struct layout *ret)
{
	const struct lt_description *d = lt_find(handle, LT_LAYOUT);

	if (!d)
		return false;
	*ret = (struct layout){ .type = (uint8_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_TYPE),
				.rows = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_ROWS),
				.columns = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_COLS),
				.ld = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_LD),
				.batches = (int64_t)(int32_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT),
				.stride = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET),
				.order = (uint32_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_ORDER) };
	ret->plane = lt_value(d, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET);
	ret->batch_mode = (uint32_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE);
	return lt_value(d, CUBLASLT_MATRIX_LAYOUT_TYPE) < UINT8_MAX && ret->rows >= 0 && ret->columns >= 0 &&
	       ret->batches >= 0 && ret->batch_mode <= BATCH_POINTERS;
}

/* An operation, and whether the matrix is turned in memory against how it is described. False: both at once. */
static bool op_turned(uint8_t op, bool turned, bool complex, uint8_t *ret)
{
	if (turned && complex && op == GEMM_H)
		return false;
	*ret = !turned ? op : op == GEMM_N ? GEMM_T : GEMM_N;
	return true;
}

static void scale_set(struct product *p, const struct lt_description *d, enum product_matrix which, uint32_t pointer,
		      uint32_t mode, bool *supported)
{
	uint64_t at = lt_value(d, pointer), how = lt_value(d, mode);

	p->scale[which] = !at ? SCALE_NONE : how == SCALE_OUTER_VECTOR ? SCALE_OUTER : SCALE_ONE;
	p->scale_at[which] = at;
	*supported = *supported && (!at || how == SCALE_SCALAR || (how == SCALE_OUTER_VECTOR && which < PRODUCT_C));
}

static struct product_scalar scalar_set(const struct product *p, const void *value, bool in_device)
{
	struct product_scalar s = { .place = in_device ? PRODUCT_AT : PRODUCT_HERE, .address = (uintptr_t)value };

	if (!in_device && value)
		memcpy(s.value, value, type_bytes(p->scale_type));
	return s;
}

static cublasStatus_t scalars_set(struct product *p, const struct lt_description *d, const void *alpha,
				  const void *beta)
{
	uint64_t mode = lt_value(d, CUBLASLT_MATMUL_DESC_POINTER_MODE);

	if (!alpha || (!beta && mode != LT_POINTERS_VECTOR_AND_ZERO))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (mode > LT_POINTERS_VECTOR_AND_HOST)
		return CUBLAS_STATUS_INVALID_VALUE;
	p->alpha = scalar_set(p, alpha, mode != LT_POINTERS_HOST);
	p->beta = scalar_set(p, mode == LT_POINTERS_VECTOR_AND_ZERO ? NULL : beta, mode == LT_POINTERS_DEVICE);
	if (mode == LT_POINTERS_VECTOR_AND_ZERO || mode == LT_POINTERS_VECTOR_AND_HOST)
		p->alpha.place = PRODUCT_VECTOR;
	p->alpha_stride = (int64_t)lt_value(d, CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE);
	return mode == LT_POINTERS_DEVICE_VECTOR ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

static bool compute_good(uint64_t compute, unsigned int scale)
{
	switch (compute) {
	case CUBLAS_COMPUTE_16F:
	case CUBLAS_COMPUTE_16F_PEDANTIC:
		return scale == CUDA_R_16F;
	case CUBLAS_COMPUTE_32I:
	case CUBLAS_COMPUTE_32I_PEDANTIC:
		return scale == CUDA_R_32I || scale == CUDA_R_32F;
	case CUBLAS_COMPUTE_64F:
	case CUBLAS_COMPUTE_64F_PEDANTIC:
	case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
		return scale == CUDA_R_64F || scale == CUDA_C_64F;
	case CUBLAS_COMPUTE_32F:
	case CUBLAS_COMPUTE_32F_PEDANTIC:
	case CUBLAS_COMPUTE_32F_FAST_16F:
	case CUBLAS_COMPUTE_32F_FAST_16BF:
	case CUBLAS_COMPUTE_32F_FAST_TF32:
	case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
		return scale == CUDA_R_32F || scale == CUDA_C_32F;
	default:
		return false;
	}
}

/* Source: cuBLASLt documentation, cublasLtEpilogue_t. */
static bool epilogue_known(uint32_t e)
{
	static const uint16_t known[] = { 1, 2, 130, 4, 6, 134, 136, 152, 32, 160, 36, 164, 192, 208, 256, 512 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] == e)
			return true;
	return false;
}

static cublasStatus_t epilogue_set(struct product *p, const struct lt_description *d)
{
	uint32_t e = (uint32_t)lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE), type;
	uint8_t d_type = p->type[PRODUCT_D];

	if (!epilogue_known(e))
		return CUBLAS_STATUS_INVALID_VALUE;
	p->epilogue = e;
	p->bias = lt_value(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
	p->bias_stride = (int64_t)lt_value(d, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
	/* by default D's type; for FP8 what D could be else: bfloat16 */
	type = (uint32_t)lt_number(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, UINT32_MAX);
	p->bias_type = type < UINT8_MAX ? (uint8_t)type : type_bytes(d_type) == 1 ? (uint8_t)CUDA_R_16BF : d_type;
	p->aux = lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
	p->aux_ld = (int64_t)lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
	p->aux_stride = (int64_t)lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE);
	type = (uint32_t)lt_number(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, UINT32_MAX);
	p->aux_type = type < UINT8_MAX ? (uint8_t)type : d_type;
	p->amax = lt_value(d, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
	p->aux_scale = lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER);
	p->aux_amax = lt_value(d, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER);
	if (e & EPILOGUE_AUX && (p->aux_ld < p->m || (e & (EPILOGUE_RELU | EPILOGUE_DRELU) && p->aux_ld % 8)))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!type_bytes(p->bias_type) || !type_bytes(p->aux_type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	return CUBLAS_STATUS_SUCCESS;
}

static void turn(struct product *p)
{
	int64_t m = p->m;
	uint8_t op = p->op[0];

	p->m = p->n;
	p->n = m;
	p->op[0] = p->op[1];
	p->op[1] = op;
#define SWAP(field)                                                                                                    \
	do {                                                                                                           \
		__typeof__((p->field)[0]) kept = (p->field)[PRODUCT_A];                                                \
		(p->field)[PRODUCT_A] = (p->field)[PRODUCT_B];                                                         \
		(p->field)[PRODUCT_B] = kept;                                                                          \
	} while (0)
	SWAP(type);
	SWAP(ld);
	SWAP(stride);
	SWAP(at);
	SWAP(scale);
	SWAP(scale_at);
#undef SWAP
	p->bias_across = 1;
}

cublasStatus_t lt_product(struct product *p, const void *computeDesc, const void *const layouts[4], const void *alpha,
			  const void *beta, const void *const matrices[4])
{
	const struct lt_description *d = lt_find(computeDesc, LT_PRODUCT);
	struct layout l[4];
	bool supported = true, alike = true, turned_d, complex;
	cublasStatus_t status;
	uint8_t op[2];

	memset(p, 0, sizeof(*p));
	if (!d)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = 0; i < 4; i++) {
		if (!layout_read(layouts[i], &l[i]))
			return CUBLAS_STATUS_INVALID_VALUE;
		supported = supported && l[i].order <= BY_ROWS && type_bytes(l[i].type) && !l[i].plane;
		alike = alike && l[i].batch_mode == l[0].batch_mode;
		p->type[i] = l[i].type;
		p->ld[i] = l[i].ld;
		p->stride[i] = l[i].stride;
		p->at[i] = (uintptr_t)matrices[i];
	}
	p->scale_type = (uint8_t)lt_value(d, CUBLASLT_MATMUL_DESC_SCALE_TYPE);
	if (!product_op((int)lt_value(d, CUBLASLT_MATMUL_DESC_TRANSA), &op[0]) ||
	    !product_op((int)lt_value(d, CUBLASLT_MATMUL_DESC_TRANSB), &op[1]) || !alike)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!compute_good(lt_value(d, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), p->scale_type) || !supported ||
	    lt_value(d, CUBLASLT_MATMUL_DESC_TRANSC))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	p->m = l[PRODUCT_D].rows;
	p->n = l[PRODUCT_D].columns;
	p->k = op[0] == GEMM_N ? l[PRODUCT_A].columns : l[PRODUCT_A].rows;
	p->batch = l[PRODUCT_D].batches;
	p->arrays = l[PRODUCT_D].batch_mode == BATCH_POINTERS;
	if (l[PRODUCT_C].rows != p->m || l[PRODUCT_C].columns != p->n ||
	    (op[0] == GEMM_N ? l[PRODUCT_A].rows : l[PRODUCT_A].columns) != p->m ||
	    (op[1] == GEMM_N ? l[PRODUCT_B].rows : l[PRODUCT_B].columns) != p->k ||
	    (op[1] == GEMM_N ? l[PRODUCT_B].columns : l[PRODUCT_B].rows) != p->n)
		return CUBLAS_STATUS_INVALID_VALUE;
	for (int i = 0; i < 3; i++)
		if (l[i].batches != p->batch && l[i].batches != 1)
			return CUBLAS_STATUS_INVALID_VALUE;
	status = scalars_set(p, d, alpha, beta);
	if (!status)
		status = epilogue_set(p, d);
	if (status)
		return status;
	scale_set(p, d, PRODUCT_A, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &supported);
	scale_set(p, d, PRODUCT_B, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &supported);
	scale_set(p, d, PRODUCT_C, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, CUBLASLT_MATMUL_DESC_C_SCALE_MODE, &supported);
	scale_set(p, d, PRODUCT_D, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, CUBLASLT_MATMUL_DESC_D_SCALE_MODE, &supported);
	turned_d = l[PRODUCT_D].order == BY_ROWS;
	complex = type_is_complex(p->type[PRODUCT_A]);
	if (!supported || (l[PRODUCT_C].order == BY_ROWS) != turned_d ||
	    (turned_d && p->alpha.place == PRODUCT_VECTOR) ||
	    (turned_d && p->epilogue & (EPILOGUE_AUX | EPILOGUE_BGRAD | EPILOGUE_BGRADA | EPILOGUE_BGRADB)) ||
	    !op_turned(op[0], (l[PRODUCT_A].order == BY_ROWS) != turned_d, complex, &p->op[0]) ||
	    !op_turned(op[1], (l[PRODUCT_B].order == BY_ROWS) != turned_d, complex, &p->op[1]))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	if (turned_d)
		turn(p);
	return product_check(p);
}

cublasStatus_t lt_product_placed(const struct product *p)
{
	uint32_t e = p->epilogue;
	bool some = p->m && p->n && p->batch;

	return (!some || (p->at[PRODUCT_A] && p->at[PRODUCT_B] && p->at[PRODUCT_D])) &&
			       (p->bias ||
				!(e & (EPILOGUE_BIAS | EPILOGUE_BGRAD | EPILOGUE_BGRADA | EPILOGUE_BGRADB))) &&
			       (p->aux || !(e & EPILOGUE_AUX))
		       ? CUBLAS_STATUS_SUCCESS
		       : CUBLAS_STATUS_INVALID_VALUE;
}
