/*
 * sum.c: cuSPARSE's sum of two sparse matrices by rows, csrgeam2, of its older interface. Columns of the operands rise
 * within each row. No call needs the program's buffer.
 */
#include "libs/cusparse/handle.h"

/* What the calls of all types are about. */
struct sum {
	int rows, columns;
	const struct cusparseMatDescr *descriptor[3]; /* of A, B and the sum */
	int nnz[2];
	const void *values[2];
	const int *offsets[3], *indices[3];
};

static cusparseStatus_t sum_check(cusparseHandle_t h, const struct sum *s)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (s->rows < 0 || s->columns < 0)
		return CUSPARSE_STATUS_INVALID_VALUE;
	for (int i = 0; i < 3; i++) {
		if (!s->descriptor[i] || (s->rows && i < 2 && !s->offsets[i]))
			return CUSPARSE_STATUS_INVALID_VALUE;
		if (s->descriptor[i]->type != CUSPARSE_MATRIX_TYPE_GENERAL)
			return CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
		if (i < 2 && (s->nnz[i] < 0 || (s->nnz[i] && (!s->indices[i] || !s->columns || !s->rows))))
			return CUSPARSE_STATUS_INVALID_VALUE;
	}
	return CUSPARSE_STATUS_SUCCESS;
}

static struct sparse_matrix operand(const struct sum *s, int i)
{
	return (struct sparse_matrix){ .rows_at = (uintptr_t)s->offsets[i],
				       .columns_at = (uintptr_t)s->indices[i],
				       .values_at = i < 2 ? (uintptr_t)s->values[i] : 0,
				       .rows = s->rows,
				       .columns = s->columns,
				       .nnz = i < 2 ? s->nnz[i] : 0,
				       .base = (uint8_t)s->descriptor[i]->base };
}

static struct sparse_work work_of(const struct sum *s, uint32_t kernel, uint32_t type)
{
	return (struct sparse_work){ .kernel = kernel,
				     .type = type,
				     .batch = 1,
				     .a = operand(s, 0),
				     .more = { operand(s, 1), operand(s, 2) },
				     .b = { .at = (uintptr_t)s->offsets[2] } };
}

/* Without the program's number nothing is waited for. */
cusparseStatus_t soft_cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n, const cusparseMatDescr_t descrA,
					   int nnzA, const int *csrSortedRowPtrA, const int *csrSortedColIndA,
					   const cusparseMatDescr_t descrB, int nnzB, const int *csrSortedRowPtrB,
					   const int *csrSortedColIndB, const cusparseMatDescr_t descrC,
					   int *csrSortedRowPtrC, int *nnzTotalDevHostPtr, void *workspace)
{
	struct sum s = { .rows = m,
			 .columns = n,
			 .descriptor = { descrA, descrB, descrC },
			 .nnz = { nnzA, nnzB },
			 .offsets = { csrSortedRowPtrA, csrSortedRowPtrB, csrSortedRowPtrC },
			 .indices = { csrSortedColIndA, csrSortedColIndB } };
	cusparseStatus_t status = sum_check(handle, &s);
	struct sparse_work w;
	int32_t last = 0;
	CUresult e;

	if (!status && (!csrSortedRowPtrC || !csrSortedRowPtrA || !csrSortedRowPtrB))
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (status)
		return status;
	w = work_of(&s, SPARSE_SUM_COUNT, 0);
	if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE)
		w.pivot_at = (uintptr_t)nnzTotalDevHostPtr;
	status = sparse_launch(handle, &w);
	if (status || !nnzTotalDevHostPtr || w.pivot_at)
		return status;
	e = handle->driver->read(&last, w.b.at + (uint64_t)m * sizeof(last), sizeof(last), (CUstream)handle->stream);
	if (!e)
		e = handle->driver->wait((CUstream)handle->stream);
	if (!e)
		*nnzTotalDevHostPtr = last - (int32_t)w.more[1].base;
	return sparse_status(e);
}

static cusparseStatus_t sum_run(cusparseHandle_t h, const struct sum *s, uint32_t type, const void *alpha,
				const void *beta, void *values)
{
	cusparseStatus_t status = sum_check(h, s);
	struct sparse_work w;

	if (!status && (!alpha || !beta || (s->rows && !s->offsets[2]) ||
			((s->nnz[0] || s->nnz[1]) && (!values || !s->indices[2])) || (s->nnz[0] && !s->values[0]) ||
			(s->nnz[1] && !s->values[1])))
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (status)
		return status;
	w = work_of(s, SPARSE_SUM, type);
	w.more[1].values_at = (uintptr_t)values;
	w.alpha = sparse_scalar_of(h, alpha, (int)type);
	w.beta = sparse_scalar_of(h, beta, (int)type);
	return sparse_launch(h, &w);
}

#define OPERANDS(T)                                                                                                    \
	cusparseHandle_t handle, int m, int n, const T *alpha, const cusparseMatDescr_t descrA, int nnzA,              \
		const T *csrSortedValA, const int *csrSortedRowPtrA, const int *csrSortedColIndA, const T *beta,       \
		const cusparseMatDescr_t descrB, int nnzB, const T *csrSortedValB, const int *csrSortedRowPtrB,        \
		const int *csrSortedColIndB, const cusparseMatDescr_t descrC
#define GIVEN                                                                                                          \
	struct sum s = { .rows = m,                                                                                    \
			 .columns = n,                                                                                 \
			 .descriptor = { descrA, descrB, descrC },                                                     \
			 .nnz = { nnzA, nnzB },                                                                        \
			 .values = { csrSortedValA, csrSortedValB },                                                   \
			 .offsets = { csrSortedRowPtrA, csrSortedRowPtrB, csrSortedRowPtrC },                          \
			 .indices = { csrSortedColIndA, csrSortedColIndB, csrSortedColIndC } }

#define SUM(X, T, number)                                                                                              \
	cusparseStatus_t soft_cusparse##X##csrgeam2_bufferSizeExt(                                                     \
		OPERANDS(T), const T *csrSortedValC, const int *csrSortedRowPtrC, const int *csrSortedColIndC,         \
		size_t *pBufferSizeInBytes)                                                                            \
	{                                                                                                              \
		GIVEN;                                                                                                 \
		cusparseStatus_t status = sum_check(handle, &s);                                                       \
		if (!status && !pBufferSizeInBytes)                                                                    \
			status = CUSPARSE_STATUS_INVALID_VALUE;                                                        \
		if (!status)                                                                                           \
			*pBufferSizeInBytes = 8;                                                                       \
		return status;                                                                                         \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##X##csrgeam2(OPERANDS(T), T *csrSortedValC, int *csrSortedRowPtrC,              \
						    int *csrSortedColIndC, void *pBuffer)                              \
	{                                                                                                              \
		GIVEN;                                                                                                 \
		return sum_run(handle, &s, number, alpha, beta, csrSortedValC);                                        \
	}
SUM(S, float, 0)
SUM(D, double, 1)
SUM(C, cuComplex, 2)
SUM(Z, cuDoubleComplex, 3)
