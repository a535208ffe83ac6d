/*
 * blocks.c: cuSPARSE's matrices of blocks of its older interface: bsrmv, bsrmm, and the triangles bsrsv2 and bsrsm2.
 *
 * Of the diagonal blocks of a triangle the other half is not read. Products take the matrix as it is: its transpose is
 * NOT_SUPPORTED, as in NVIDIA's library. A row of blocks without a pivot is told by ..._zeroPivot() (pivot.h).
 */
#include "libs/cusparse/pivot.h"

#include <stdbool.h>
#include <stdlib.h>

struct bsrsv2Info {
	struct pivot p;
};

struct bsrsm2Info {
	struct pivot p;
};

/* What the calls of all types are about. */
struct blocks {
	cusparseDirection_t direction;
	cusparseOperation_t op;
	int rows, columns, count, block;
	const struct cusparseMatDescr *descriptor;
	const void *values;
	const int *offsets, *indices;
	uint32_t type;
};

/* A dense matrix by columns, or its transpose. */
struct dense {
	const void *at;
	int64_t step;
	int columns;
	bool turned;
};

static cusparseStatus_t blocks_check(cusparseHandle_t h, const struct blocks *b)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (b->rows < 0 || b->columns < 0 || b->count < 0 || b->block < 1 || !b->descriptor ||
	    (unsigned int)b->direction > CUSPARSE_DIRECTION_COLUMN ||
	    (unsigned int)b->op > CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE || (b->rows && !b->offsets) ||
	    (b->count && (!b->values || !b->indices || !b->rows || !b->columns)))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return b->descriptor->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
								   : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

static struct sparse_dense dense_of(const struct dense *d, int64_t rows)
{
	return (struct sparse_dense){ .at = (uintptr_t)d->at,
				      .down = d->turned ? d->step : 1,
				      .across = d->turned ? 1 : d->step,
				      .rows = rows,
				      .columns = d->columns };
}

static struct sparse_work work_of(const struct blocks *b, uint32_t kernel)
{
	return (struct sparse_work){ .kernel = kernel,
				     .type = b->type,
				     .block = (uint32_t)b->block,
				     .batch = 1,
				     .a = { .rows_at = (uintptr_t)b->offsets,
					    .columns_at = (uintptr_t)b->indices,
					    .values_at = (uintptr_t)b->values,
					    .rows = b->rows,
					    .columns = b->columns,
					    .nnz = b->count,
					    .base = (uint8_t)b->descriptor->base,
					    .turned = b->op != CUSPARSE_OPERATION_NON_TRANSPOSE,
					    .conjugated = b->op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
					    .upper = b->descriptor->fill == CUSPARSE_FILL_MODE_UPPER,
					    .unit = b->descriptor->diagonal == CUSPARSE_DIAG_TYPE_UNIT,
					    .by_columns = b->direction == CUSPARSE_DIRECTION_COLUMN } };
}

/* Whether so many rows fit into the steps between a dense matrix's columns, or rows. */
static bool step_good(const struct dense *d, int64_t rows)
{
	return d->columns >= 0 && d->step >= (d->turned ? d->columns : rows) && d->step >= 1;
}

static cusparseStatus_t product(cusparseHandle_t h, const struct blocks *b, const void *alpha, const struct dense *x,
				const void *beta, const struct dense *y)
{
	int64_t down = (int64_t)b->rows * b->block, across = (int64_t)b->columns * b->block;
	cusparseStatus_t status = blocks_check(h, b);
	struct sparse_work w;

	if (status)
		return status;
	if (b->op != CUSPARSE_OPERATION_NON_TRANSPOSE) {
		library_refused(SPARSE_TITLE, "a product of the transpose of a matrix of blocks");
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	if (!alpha || !beta || !step_good(x, across) || !step_good(y, down))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!down || !y->columns)
		return CUSPARSE_STATUS_SUCCESS;
	if (!y->at || (across && !x->at))
		return CUSPARSE_STATUS_INVALID_VALUE;
	w = work_of(b, SPARSE_BLOCKS);
	w.b = dense_of(x, across);
	w.c = dense_of(y, down);
	w.alpha = sparse_scalar_of(h, alpha, (int)b->type);
	w.beta = sparse_scalar_of(h, beta, (int)b->type);
	return sparse_launch(h, &w);
}

static cusparseStatus_t analyse(cusparseHandle_t h, const struct blocks *b, struct pivot *p,
				cusparseSolvePolicy_t policy)
{
	cusparseStatus_t status = blocks_check(h, b);
	struct sparse_work w;

	if (!status && (!p || (unsigned int)policy > CUSPARSE_SOLVE_POLICY_USE_LEVEL))
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status)
		status = sparse_pivot_make(h, p);
	if (!status)
		p->empty = !b->rows;
	if (status || !b->rows)
		return status;
	w = work_of(b, SPARSE_BLOCK_PIVOTS);
	w.c.rows = (int64_t)b->rows * b->block;
	w.pivot_at = p->at;
	return sparse_launch(h, &w);
}

static cusparseStatus_t solve(cusparseHandle_t h, const struct blocks *b, struct pivot *p, const void *alpha,
			      const struct dense *f, const struct dense *x)
{
	int64_t rows = (int64_t)b->rows * b->block;
	cusparseStatus_t status = blocks_check(h, b);
	struct sparse_work w;

	if (status)
		return status;
	if (!p || !p->at || !alpha || !step_good(f, rows) || !step_good(x, rows))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!rows || !x->columns)
		return CUSPARSE_STATUS_SUCCESS;
	if (!f->at || !x->at)
		return CUSPARSE_STATUS_INVALID_VALUE;
	w = work_of(b, SPARSE_BLOCK_SOLVE);
	w.b = dense_of(f, rows);
	w.c = dense_of(x, rows);
	w.alpha = sparse_scalar_of(h, alpha, (int)b->type);
	w.pivot_at = p->at;
	return sparse_launch(h, &w);
}

static cusparseStatus_t size_tell(cusparseHandle_t h, const struct blocks *b, const struct pivot *p, bool wanted)
{
	cusparseStatus_t status = blocks_check(h, b);

	return !status && (!p || !wanted) ? CUSPARSE_STATUS_INVALID_VALUE : status;
}

SPARSE_PIVOT_INFO(bsrsv2, Bsrsv2, p)
SPARSE_PIVOT_INFO(bsrsm2, Bsrsm2, p)

#define MATRIX(T) const T *values, const int *offsets, const int *indices, int block
#define SQUARE(number) struct blocks b = { dirA, transA, mb, mb, nnzb, block, descrA, values, offsets, indices, number }
#define STATE (info ? &info->p : NULL)

#define PRODUCTS(X, T, number)                                                                                         \
	cusparseStatus_t soft_cusparse##X##bsrmv(                                                                      \
		cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nb,         \
		int nnzb, const T *alpha, const cusparseMatDescr_t descrA, MATRIX(T), const T *x, const T *beta, T *y) \
	{                                                                                                              \
		struct blocks b = { dirA, transA, mb, nb, nnzb, block, descrA, values, offsets, indices, number };     \
		struct dense from = { x, INT64_MAX, 1, false }, to = { y, INT64_MAX, 1, false };                       \
		from.step = (int64_t)nb * block + 1;                                                                   \
		to.step = (int64_t)mb * block + 1;                                                                     \
		return product(handle, &b, alpha, &from, beta, &to);                                                   \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##bsrmm(                                                                      \
		cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,                         \
		cusparseOperation_t transB, int mb, int n, int kb, int nnzb, const T *alpha,                           \
		const cusparseMatDescr_t descrA, MATRIX(T), const T *B, int ldb, const T *beta, T *C, int ldc)         \
	{                                                                                                              \
		struct blocks b = { dirA, transA, mb, kb, nnzb, block, descrA, values, offsets, indices, number };     \
		struct dense from = { B, ldb, n, transB != CUSPARSE_OPERATION_NON_TRANSPOSE }, to = { C, ldc, n, 0 };  \
		if (sparse_handle_good(handle) && transB == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE)                    \
			return CUSPARSE_STATUS_NOT_SUPPORTED;                                                          \
		return product(handle, &b, alpha, &from, beta, &to);                                                   \
	}

#define SIZES(X, T, number, name, TRIANGLE, bytes_int, bytes)                                                          \
	cusparseStatus_t soft_cusparse##X##name##_bufferSize(TRIANGLE(T), name##Info_t info, int *bytes_int)           \
	{                                                                                                              \
		SQUARE(number);                                                                                        \
		cusparseStatus_t status = size_tell(handle, &b, STATE, bytes_int);                                     \
		if (!status)                                                                                           \
			*bytes_int = 8;                                                                                \
		return status;                                                                                         \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##name##_bufferSizeExt(TRIANGLE(T), name##Info_t info, size_t *bytes)         \
	{                                                                                                              \
		SQUARE(number);                                                                                        \
		cusparseStatus_t status = size_tell(handle, &b, STATE, bytes);                                         \
		if (!status)                                                                                           \
			*bytes = 8;                                                                                    \
		return status;                                                                                         \
	}

#define VECTOR_OF(T)                                                                                                   \
	cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, int mb, int nnzb,               \
		const cusparseMatDescr_t descrA, T *values, const int *offsets, const int *indices, int block
#define MATRIX_OF(T)                                                                                                   \
	cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA, cusparseOperation_t transXY,    \
		int mb, int n, int nnzb, const cusparseMatDescr_t descrA, T *values, const int *offsets,               \
		const int *indices, int block

#define TRIANGLES(X, T, number)                                                                                        \
	SIZES(X, T, number, bsrsv2, VECTOR_OF, pBufferSizeInBytes, pBufferSize)                                        \
	SIZES(X, T, number, bsrsm2, MATRIX_OF, pBufferSizeInBytes, pBufferSize)                                        \
	cusparseStatus_t soft_cusparse##X##bsrsv2_analysis(VECTOR_OF(const T), bsrsv2Info_t info,                      \
							   cusparseSolvePolicy_t policy, void *pBuffer)                \
	{                                                                                                              \
		SQUARE(number);                                                                                        \
		return analyse(handle, &b, STATE, policy);                                                             \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##bsrsm2_analysis(MATRIX_OF(const T), bsrsm2Info_t info,                      \
							   cusparseSolvePolicy_t policy, void *pBuffer)                \
	{                                                                                                              \
		SQUARE(number);                                                                                        \
		return analyse(handle, &b, STATE, policy);                                                             \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##bsrsv2_solve(cusparseHandle_t handle, cusparseDirection_t dirA,             \
							cusparseOperation_t transA, int mb, int nnzb, const T *alpha,  \
							const cusparseMatDescr_t descrA, MATRIX(T), bsrsv2Info_t info, \
							const T *f, T *x, cusparseSolvePolicy_t policy, void *pBuffer) \
	{                                                                                                              \
		int64_t step = (int64_t)mb * block + 1;                                                                \
		SQUARE(number);                                                                                        \
		return solve(handle, &b, STATE, alpha, &(struct dense){ f, step, 1, false },                           \
			     &(struct dense){ x, step, 1, false });                                                    \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##bsrsm2_solve(                                                               \
		cusparseHandle_t handle, cusparseDirection_t dirA, cusparseOperation_t transA,                         \
		cusparseOperation_t transXY, int mb, int n, int nnzb, const T *alpha, const cusparseMatDescr_t descrA, \
		MATRIX(T), bsrsm2Info_t info, const T *B, int ldb, T *X_, int ldx, cusparseSolvePolicy_t policy,       \
		void *pBuffer)                                                                                         \
	{                                                                                                              \
		bool turned = transXY != CUSPARSE_OPERATION_NON_TRANSPOSE;                                             \
		SQUARE(number);                                                                                        \
		if (sparse_handle_good(handle) && transXY == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE)                   \
			return CUSPARSE_STATUS_NOT_SUPPORTED;                                                          \
		return solve(handle, &b, STATE, alpha, &(struct dense){ B, ldb, n, turned },                           \
			     &(struct dense){ X_, ldx, n, turned });                                                   \
	}

PRODUCTS(S, float, 0)
PRODUCTS(D, double, 1)
PRODUCTS(C, cuComplex, 2)
PRODUCTS(Z, cuDoubleComplex, 3)
TRIANGLES(S, float, 0)
TRIANGLES(D, double, 1)
TRIANGLES(C, cuComplex, 2)
TRIANGLES(Z, cuDoubleComplex, 3)
