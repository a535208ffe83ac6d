/*
 * lists.c: cuSPARSE's older calls about lists of indices: offsets of rows made of coordinates and back, sorting with
 * the permutation beside, and the transpose of a matrix by rows.
 *
 * Coordinates are sorted by row and then by column, or the other way round; equal ones keep their order. No call needs
 * the program's buffer.
 */
#include "libs/cusparse/handle.h"
#include "libs/cusparse/lists.h"

/* `lists`: those that must be there where the matrix has numbers. */
static cusparseStatus_t lists_start(cusparseHandle_t h, const struct sparse_lists *w, bool lists)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (w->rows < 0 || w->columns < 0 || w->count < 0 || w->base > CUSPARSE_INDEX_BASE_ONE || (w->count && !lists))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return sparse_start(h, w->kernel, 1, 1, w, sizeof(*w));
}

cusparseStatus_t soft_cusparseXcoo2csr(cusparseHandle_t handle, const int *cooRowInd, int nnz, int m,
				       int *csrSortedRowPtr, cusparseIndexBase_t idxBase)
{
	struct sparse_lists w = { .kernel = SPARSE_OFFSETS,
				  .rows = m,
				  .count = nnz,
				  .rows_at = (uintptr_t)cooRowInd,
				  .to_offsets_at = (uintptr_t)csrSortedRowPtr,
				  .base = (uint8_t)idxBase };

	if (sparse_handle_good(handle) && !csrSortedRowPtr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	return lists_start(handle, &w, cooRowInd && m);
}

cusparseStatus_t soft_cusparseXcsr2coo(cusparseHandle_t handle, const int *csrSortedRowPtr, int nnz, int m,
				       int *cooRowInd, cusparseIndexBase_t idxBase)
{
	struct sparse_lists w = { .kernel = SPARSE_LINES,
				  .rows = m,
				  .count = nnz,
				  .rows_at = (uintptr_t)csrSortedRowPtr,
				  .to_indices_at = (uintptr_t)cooRowInd,
				  .base = (uint8_t)idxBase,
				  .compressed = true };

	if (sparse_handle_good(handle) && nnz == 0 && m >= 0)
		return CUSPARSE_STATUS_SUCCESS;
	return lists_start(handle, &w, csrSortedRowPtr && cooRowInd);
}

cusparseStatus_t soft_cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p)
{
	struct sparse_lists w = { .kernel = SPARSE_IDENTITY, .count = n, .to_indices_at = (uintptr_t)p };

	return lists_start(handle, &w, p);
}

/* ---- sorting ---- */

static cusparseStatus_t size_tell(cusparseHandle_t h, int m, int n, int nnz, bool lists, size_t *ret)
{
	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || nnz < 0 || !ret || (nnz && !lists))
		return CUSPARSE_STATUS_INVALID_VALUE;
	*ret = 8;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseXcoosort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
						     const int *cooRowsA, const int *cooColsA,
						     size_t *pBufferSizeInBytes)
{
	return size_tell(handle, m, n, nnz, cooRowsA && cooColsA, pBufferSizeInBytes);
}

static cusparseStatus_t coordinates_sort(cusparseHandle_t h, int m, int n, int nnz, int *major, int *minor, int *p)
{
	struct sparse_lists w = { .kernel = SPARSE_SORT,
				  .rows = m,
				  .columns = n,
				  .count = nnz,
				  .rows_at = (uintptr_t)major,
				  .columns_at = (uintptr_t)minor,
				  .order_at = (uintptr_t)p };

	return lists_start(h, &w, major && minor);
}

cusparseStatus_t soft_cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int *cooRowsA,
					    int *cooColsA, int *P, void *pBuffer)
{
	return coordinates_sort(handle, m, n, nnz, cooRowsA, cooColsA, P);
}

cusparseStatus_t soft_cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int *cooRowsA,
					       int *cooColsA, int *P, void *pBuffer)
{
	return coordinates_sort(handle, m, n, nnz, cooColsA, cooRowsA, P);
}

static cusparseStatus_t rows_sort(cusparseHandle_t h, int rows, int columns, int nnz, const cusparseMatDescr_t d,
				  const int *offsets, int *indices, int *p)
{
	struct sparse_lists w = { .kernel = SPARSE_SORT,
				  .rows = rows,
				  .columns = columns,
				  .count = nnz,
				  .rows_at = (uintptr_t)offsets,
				  .columns_at = (uintptr_t)indices,
				  .order_at = (uintptr_t)p,
				  .base = d ? (uint8_t)d->base : 0,
				  .compressed = true };

	if (sparse_handle_good(h) && !d)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (sparse_handle_good(h) && nnz == 0 && rows >= 0 && columns >= 0)
		return CUSPARSE_STATUS_SUCCESS;
	return lists_start(h, &w, offsets && indices);
}

cusparseStatus_t soft_cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
						     const int *csrRowPtrA, const int *csrColIndA,
						     size_t *pBufferSizeInBytes)
{
	return size_tell(handle, m, n, nnz, csrRowPtrA && csrColIndA, pBufferSizeInBytes);
}

cusparseStatus_t soft_cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,
				       const int *csrRowPtrA, int *csrColIndA, int *P, void *pBuffer)
{
	return rows_sort(handle, m, n, nnz, descrA, csrRowPtrA, csrColIndA, P);
}

cusparseStatus_t soft_cusparseXcscsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz,
						     const int *cscColPtrA, const int *cscRowIndA,
						     size_t *pBufferSizeInBytes)
{
	return size_tell(handle, m, n, nnz, cscColPtrA && cscRowIndA, pBufferSizeInBytes);
}

cusparseStatus_t soft_cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, const cusparseMatDescr_t descrA,
				       const int *cscColPtrA, int *cscRowIndA, int *P, void *pBuffer)
{
	return rows_sort(handle, n, m, nnz, descrA, cscColPtrA, cscRowIndA, P);
}

/* ---- the transpose ---- */

/* Bytes of a number; 0: no type that the library has here. */
static uint32_t bytes_of(cudaDataType type)
{
	switch ((int)type) {
	case CUDA_R_8I:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

#define TURNED                                                                                                         \
	cusparseHandle_t handle, int m, int n, int nnz, const void *csrVal, const int *csrRowPtr,                      \
		const int *csrColInd, void *cscVal, int *cscColPtr, int *cscRowInd, cudaDataType valType,              \
		cusparseAction_t copyValues, cusparseIndexBase_t idxBase, cusparseCsr2CscAlg_t alg

static cusparseStatus_t turned_check(TURNED)
{
	bool values = copyValues == CUSPARSE_ACTION_NUMERIC;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (m < 0 || n < 0 || nnz < 0 || !csrRowPtr || !cscColPtr || (nnz && (!csrColInd || !cscRowInd || !n)) ||
	    (values && nnz && (!csrVal || !cscVal)) || (unsigned int)copyValues > CUSPARSE_ACTION_NUMERIC)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (!values || bytes_of(valType))
		return CUSPARSE_STATUS_SUCCESS;
	library_refused(SPARSE_TITLE, "cusparseCsr2cscEx2 of such numbers");
	return CUSPARSE_STATUS_NOT_SUPPORTED;
}

#define GIVEN                                                                                                          \
	handle, m, n, nnz, csrVal, csrRowPtr, csrColInd, cscVal, cscColPtr, cscRowInd, valType, copyValues, idxBase, alg

cusparseStatus_t soft_cusparseCsr2cscEx2_bufferSize(TURNED, size_t *bufferSize)
{
	cusparseStatus_t status = turned_check(GIVEN);

	if (!status && !bufferSize)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (!status)
		*bufferSize = 8;
	return status;
}

cusparseStatus_t soft_cusparseCsr2cscEx2(TURNED, void *buffer)
{
	cusparseStatus_t status = turned_check(GIVEN);
	struct sparse_lists w = { .kernel = SPARSE_TURN,
				  .each = copyValues == CUSPARSE_ACTION_NUMERIC ? bytes_of(valType) : 0,
				  .rows = m,
				  .columns = n,
				  .count = nnz,
				  .rows_at = (uintptr_t)csrRowPtr,
				  .columns_at = (uintptr_t)csrColInd,
				  .values_at = (uintptr_t)csrVal,
				  .to_offsets_at = (uintptr_t)cscColPtr,
				  .to_indices_at = (uintptr_t)cscRowInd,
				  .to_values_at = (uintptr_t)cscVal,
				  .base = (uint8_t)idxBase,
				  .compressed = true };

	return status ? status : lists_start(handle, &w, true);
}
