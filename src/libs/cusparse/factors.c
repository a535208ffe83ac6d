/*
 * factors.c: cuSPARSE's incomplete factors without fill-in, of its older interface: csrilu02 and csric02.
 *
 * The factors take the place of the matrix. Where a pivot is missing or 0 the row is told by ..._zeroPivot, for which a
 * word of the device's memory is kept from the first analysis on (pivot.h). No call needs the program's buffer. A boost
 * of small pivots is refused.
 */
#include "libs/cusparse/pivot.h"

#include <stdlib.h>
#include <string.h>

struct csrilu02Info {
	struct pivot f;
};

struct csric02Info {
	struct pivot f;
};

/* What the calls of both kinds and all types are about. */
struct matrix {
	int rows, nnz;
	const struct cusparseMatDescr *descriptor;
	const void *values;
	const int *offsets, *columns;
	uint32_t type;
};

static cusparseStatus_t matrix_check(cusparseHandle_t h, const struct matrix *m, const struct pivot *f)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!f || !m->descriptor || m->rows < 0 || m->nnz < 0 || (m->rows && !m->offsets) ||
	    (m->nnz && (!m->values || !m->columns)))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return m->descriptor->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS
								   : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

static cusparseStatus_t factor_run(cusparseHandle_t h, const struct matrix *m, struct pivot *f, uint32_t kernel,
				   cusparseSolvePolicy_t policy)
{
	cusparseStatus_t status = matrix_check(h, m, f);
	struct sparse_work w = { .kernel = kernel, .batch = 1, .type = m->type };

	if (!status && (unsigned int)policy > CUSPARSE_SOLVE_POLICY_USE_LEVEL)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status && kernel == SPARSE_PIVOTS)
		status = sparse_pivot_make(h, f);
	if (!status && !f->at)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status)
		f->empty = !m->rows;
	if (status || !m->rows)
		return status;
	w.a = (struct sparse_matrix){ .rows_at = (uintptr_t)m->offsets,
				      .columns_at = (uintptr_t)m->columns,
				      .values_at = (uintptr_t)m->values,
				      .rows = m->rows,
				      .columns = m->rows,
				      .nnz = m->nnz,
				      .base = (uint8_t)m->descriptor->base };
	w.pivot_at = f->at;
	return sparse_launch(h, &w);
}

static cusparseStatus_t size_tell(cusparseHandle_t h, const struct matrix *m, const struct pivot *f, size_t *ret)
{
	cusparseStatus_t status = matrix_check(h, m, f);

	if (!status && !ret)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status)
		*ret = sizeof(int64_t);
	return status;
}

SPARSE_PIVOT_INFO(csrilu02, Csrilu02, f)
SPARSE_PIVOT_INFO(csric02, Csric02, f)

#define MATRIX(T) cusparseHandle_t handle, int m, int nnz, const cusparseMatDescr_t descrA, T *values
#define PATTERN(name) const int *offsets, const int *columns, name##Info_t info
#define GIVEN(number)                                                                                                  \
	(struct matrix)                                                                                                \
	{                                                                                                              \
		m, nnz, descrA, values, offsets, columns, number                                                       \
	}
#define STATE (info ? &info->f : NULL)

#define FACTOR(name, X, T, number, kernel)                                                                             \
	cusparseStatus_t soft_cusparse##X##name##_bufferSize(MATRIX(T), PATTERN(name), int *pBufferSizeInBytes)        \
	{                                                                                                              \
		size_t bytes = 0;                                                                                      \
		cusparseStatus_t status =                                                                              \
			size_tell(handle, &GIVEN(number), STATE, pBufferSizeInBytes ? &bytes : NULL);                  \
		if (!status)                                                                                           \
			*pBufferSizeInBytes = (int)bytes;                                                              \
		return status;                                                                                         \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##name##_bufferSizeExt(MATRIX(T), PATTERN(name), size_t *pBufferSize)         \
	{                                                                                                              \
		return size_tell(handle, &GIVEN(number), STATE, pBufferSize);                                          \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##name##_analysis(MATRIX(const T), PATTERN(name),                             \
							   cusparseSolvePolicy_t policy, void *pBuffer)                \
	{                                                                                                              \
		return factor_run(handle, &GIVEN(number), STATE, SPARSE_PIVOTS, policy);                               \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##name(MATRIX(T), PATTERN(name), cusparseSolvePolicy_t policy, void *pBuffer) \
	{                                                                                                              \
		return factor_run(handle, &GIVEN(number), STATE, kernel, policy);                                      \
	}
FACTOR(csrilu02, S, float, 0, SPARSE_ILU)
FACTOR(csrilu02, D, double, 1, SPARSE_ILU)
FACTOR(csrilu02, C, cuComplex, 2, SPARSE_ILU)
FACTOR(csrilu02, Z, cuDoubleComplex, 3, SPARSE_ILU)
FACTOR(csric02, S, float, 0, SPARSE_IC)
FACTOR(csric02, D, double, 1, SPARSE_IC)
FACTOR(csric02, C, cuComplex, 2, SPARSE_IC)
FACTOR(csric02, Z, cuDoubleComplex, 3, SPARSE_IC)
