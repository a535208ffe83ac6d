/* lt_transform.c: see lt_transform() in lt_product.h. */
#include "libs/blas/lt_description.h"
#include "libs/blas/lt_product.h"

#include <string.h>

struct extent {
	int64_t rows, columns, batches;
};

static cublasStatus_t matrix_read(const void *layout, const void *at, uint64_t op, struct transform_matrix *ret,
				  struct extent *extent)
{
	const struct lt_description *d = lt_find(layout, LT_LAYOUT);
	uint64_t order, type;

	if (!d || op > CUBLAS_OP_C)
		return CUBLAS_STATUS_INVALID_VALUE;
	order = lt_value(d, CUBLASLT_MATRIX_LAYOUT_ORDER);
	type = lt_value(d, CUBLASLT_MATRIX_LAYOUT_TYPE);
	if (order > ORDER_COL32 || type > UINT8_MAX || !type_bytes((unsigned int)type) ||
	    type_is_complex((unsigned int)type))
		return CUBLAS_STATUS_NOT_SUPPORTED;
	*ret = (struct transform_matrix){ .at = (uintptr_t)at,
					  .ld = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_LD),
					  .stride = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET),
					  .type = (uint8_t)type,
					  .order = (uint8_t)order,
					  .turned = op != CUBLAS_OP_N };
	*extent = (struct extent){
		(int64_t)lt_value(d, ret->turned ? CUBLASLT_MATRIX_LAYOUT_COLS : CUBLASLT_MATRIX_LAYOUT_ROWS),
		(int64_t)lt_value(d, ret->turned ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS),
		(int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
	};
	return ret->ld > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

static cublasStatus_t scalars_read(struct transform *t, const struct lt_description *d, const void *alpha,
				   const void *beta)
{
	if (lt_pointer_mode(d) == LT_POINTERS_DEVICE) {
		t->alpha_at = (uintptr_t)alpha;
		t->beta_at = t->b.at ? (uintptr_t)beta : 0;
		return CUBLAS_STATUS_SUCCESS;
	}
	if (lt_pointer_mode(d) != LT_POINTERS_HOST)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	memcpy(t->alpha, alpha, type_bytes(t->scale_type));
	if (t->b.at)
		memcpy(t->beta, beta, type_bytes(t->scale_type));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t lt_transform(struct transform *t, const void *transformDesc, const void *const layouts[3],
			    const void *alpha, const void *beta, const void *const matrices[3])
{
	const struct lt_description *d = lt_find(transformDesc, LT_TRANSFORM);
	struct transform_matrix *const matrix[3] = { &t->a, &t->b, &t->c };
	struct extent of_c, other;
	cublasStatus_t status;
	uint64_t scale;

	if (!d || !alpha || (matrices[1] && !beta))
		return CUBLAS_STATUS_INVALID_VALUE;
	status = matrix_read(layouts[2], matrices[2], CUBLAS_OP_N, matrix[2], &of_c);
	for (int i = 0; i < 2 && !status; i++) {
		if (i && !matrices[i])
			continue;
		status = matrix_read(
			layouts[i], matrices[i],
			lt_value(d, i ? CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB : CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA),
			matrix[i], &other);
		if (!status &&
		    (other.rows != of_c.rows || other.columns != of_c.columns || other.batches != of_c.batches))
			status = CUBLAS_STATUS_INVALID_VALUE;
	}
	if (status)
		return status;
	scale = lt_value(d, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE);
	if (scale != CUDA_R_32F && scale != CUDA_R_64F && scale != CUDA_R_16F && scale != CUDA_R_32I)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	t->scale_type = (uint8_t)scale;
	t->rows = of_c.rows;
	t->columns = of_c.columns;
	t->batches = of_c.batches;
	return scalars_read(t, d, alpha, beta);
}
