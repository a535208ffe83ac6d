/*
 * product.c: cuSPARSE's product of two sparse matrices, SpGEMM, of matrices by rows.
 *
 * The program gives a buffer for the offsets of the product's rows: cusparseSpGEMM_compute() counts them and waits for
 * how many numbers there are; cusparseSpGEMM_copy() computes the product where the program wants it, its columns
 * sorted. The first buffer is not used. A factor of C that is not 0 takes the numbers that stand there.
 */
#include "libs/cusparse/handle.h"

#include <stdlib.h>

struct cusparseSpGEMMDescr {
	void *offsets; /* the program's second buffer; NULL: not computed yet */
};

#define SPGEMM                                                                                                         \
	cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,                  \
		cusparseConstSpMatDescr_t matA, cusparseConstSpMatDescr_t matB, const void *beta,                      \
		cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSpGEMMAlg_t alg,                          \
		cusparseSpGEMMDescr_t spgemmDescr

cusparseStatus_t soft_cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr)
{
	struct cusparseSpGEMMDescr *d;

	if (!descr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	d = calloc(1, sizeof(*d));
	if (!d)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	*descr = d;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr)
{
	free(descr);
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t product_of(SPGEMM, struct sparse_work *w)
{
	cusparseStatus_t status;

	*w = (struct sparse_work){ .batch = 1 };
	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !matB || !matC || !spgemmDescr || !alpha || !beta || matB->rows != matA->columns ||
	    matC->rows != matA->rows || matC->columns != matB->columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (matA->format != CUSPARSE_FORMAT_CSR || matB->format != CUSPARSE_FORMAT_CSR ||
	    matC->format != CUSPARSE_FORMAT_CSR || opA != CUSPARSE_OPERATION_NON_TRANSPOSE ||
	    opB != CUSPARSE_OPERATION_NON_TRANSPOSE) {
		library_refused(SPARSE_TITLE, "cusparseSpGEMM of such formats or operations");
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	status =
		sparse_types(matA->type, matB->type, matC->type, computeType, "cusparseSpGEMM of such types", &w->type);
	w->a = sparse_matrix_of(matA, opA);
	w->more[0] = sparse_matrix_of(matB, opB);
	w->more[1] = sparse_matrix_of(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
	w->alpha = sparse_scalar_of(handle, alpha, (int)w->type);
	w->beta = sparse_scalar_of(handle, beta, (int)w->type);
	return status;
}

#define GIVEN handle, opA, opB, alpha, matA, matB, beta, matC, computeType, alg, spgemmDescr

cusparseStatus_t soft_cusparseSpGEMM_workEstimation(SPGEMM, size_t *bufferSize1, void *externalBuffer1)
{
	struct sparse_work w;
	cusparseStatus_t status = bufferSize1 ? product_of(GIVEN, &w) : CUSPARSE_STATUS_INVALID_VALUE;

	if (!status && !externalBuffer1)
		*bufferSize1 = 8;
	return status;
}

/* The numbers are counted, and the program waits for how many there are. */
cusparseStatus_t soft_cusparseSpGEMM_compute(SPGEMM, size_t *bufferSize2, void *externalBuffer2)
{
	struct sparse_work w;
	cusparseStatus_t status = bufferSize2 ? product_of(GIVEN, &w) : CUSPARSE_STATUS_INVALID_VALUE;
	int64_t count = 0;
	CUresult e;

	if (status)
		return status;
	if (!externalBuffer2) {
		*bufferSize2 = (size_t)(matA->rows + 1) * 8;
		return CUSPARSE_STATUS_SUCCESS;
	}
	if (*bufferSize2 < (size_t)(matA->rows + 1) * 8)
		return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
	w.kernel = SPARSE_GEMM_COUNT;
	w.b.at = (uintptr_t)externalBuffer2;
	status = sparse_launch(handle, &w);
	if (status)
		return status;
	e = handle->driver->read(&count, w.b.at + (uint64_t)matA->rows * 8, 8, (CUstream)handle->stream);
	if (!e)
		e = handle->driver->wait((CUstream)handle->stream);
	if (e)
		return sparse_status(e);
	matC->nnz = count;
	spgemmDescr->offsets = externalBuffer2;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpGEMM_copy(SPGEMM)
{
	struct sparse_work w;
	cusparseStatus_t status = product_of(GIVEN, &w);

	if (!status && !spgemmDescr->offsets)
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (status)
		return status;
	w.kernel = SPARSE_GEMM;
	w.b.at = (uintptr_t)spgemmDescr->offsets;
	return sparse_launch(handle, &w);
}
