/*
 * vectors.c: cuSPARSE's sparse vectors: their descriptors, gather, scatter, sums with dense vectors, scalar products
 * and rotations. A scalar product for the program's memory goes through the program's buffer.
 */
#include "libs/cusparse/handle.h"

#include <stdlib.h>

struct cusparseSpVecDescr {
	int64_t size, nnz;
	void *indices, *values;
	cusparseIndexType_t index_type;
	cusparseIndexBase_t base;
	cudaDataType type;
};

cusparseStatus_t soft_cusparseCreateSpVec(cusparseSpVecDescr_t *spVecDescr, int64_t size, int64_t nnz, void *indices,
					  void *values, cusparseIndexType_t idxType, cusparseIndexBase_t idxBase,
					  cudaDataType valueType)
{
	struct cusparseSpVecDescr *d;

	if (!spVecDescr || size < 0 || nnz < 0 || nnz > size || !sparse_indices_known(idxType, idxBase, size) ||
	    !sparse_type_known(valueType))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (sparse_indices_supported(idxType, idxType))
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	d = malloc(sizeof(*d));
	if (!d)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	*d = (struct cusparseSpVecDescr){ size, nnz, indices, values, idxType, idxBase, valueType };
	*spVecDescr = d;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseCreateConstSpVec(cusparseConstSpVecDescr_t *spVecDescr, int64_t size, int64_t nnz,
					       const void *indices, const void *values, cusparseIndexType_t idxType,
					       cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	return soft_cusparseCreateSpVec((cusparseSpVecDescr_t *)spVecDescr, size, nnz, (void *)(uintptr_t)indices,
					(void *)(uintptr_t)values, idxType, idxBase, valueType);
}

cusparseStatus_t soft_cusparseDestroySpVec(cusparseConstSpVecDescr_t spVecDescr)
{
	free((void *)(uintptr_t)spVecDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpVecGet(cusparseSpVecDescr_t spVecDescr, int64_t *size, int64_t *nnz, void **indices,
				       void **values, cusparseIndexType_t *idxType, cusparseIndexBase_t *idxBase,
				       cudaDataType *valueType)
{
	if (!spVecDescr || !size || !nnz || !indices || !values || !idxType || !idxBase || !valueType)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*size = spVecDescr->size;
	*nnz = spVecDescr->nnz;
	*indices = spVecDescr->indices;
	*values = spVecDescr->values;
	*idxType = spVecDescr->index_type;
	*idxBase = spVecDescr->base;
	*valueType = spVecDescr->type;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseConstSpVecGet(cusparseConstSpVecDescr_t spVecDescr, int64_t *size, int64_t *nnz,
					    const void **indices, const void **values, cusparseIndexType_t *idxType,
					    cusparseIndexBase_t *idxBase, cudaDataType *valueType)
{
	return soft_cusparseSpVecGet((cusparseSpVecDescr_t)(uintptr_t)spVecDescr, size, nnz,
				     (void **)(uintptr_t)indices, (void **)(uintptr_t)values, idxType, idxBase,
				     valueType);
}

cusparseStatus_t soft_cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t spVecDescr, cusparseIndexBase_t *idxBase)
{
	if (!spVecDescr || !idxBase)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*idxBase = spVecDescr->base;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpVecGetValues(cusparseSpVecDescr_t spVecDescr, void **values)
{
	if (!spVecDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = spVecDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t spVecDescr, const void **values)
{
	return soft_cusparseSpVecGetValues((cusparseSpVecDescr_t)(uintptr_t)spVecDescr, (void **)(uintptr_t)values);
}

cusparseStatus_t soft_cusparseSpVecSetValues(cusparseSpVecDescr_t spVecDescr, void *values)
{
	if (!spVecDescr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	spVecDescr->values = values;
	return CUSPARSE_STATUS_SUCCESS;
}

/* For the client of a worker: calls that scale a vector do not say of what type their scalars are. */
unsigned int sparse_vector_type(cusparseConstSpVecDescr_t of)
{
	return of ? (unsigned int)of->type : CUDA_R_32F;
}

/* ---- work ---- */

/* Numbers that are only copied are taken for others of their size. */
static int copied_as(cudaDataType type)
{
	return (int)type == CUDA_R_32I ? 0 : sparse_type_of(type);
}

static cusparseStatus_t work_of(cusparseHandle_t h, uint32_t kernel, const struct cusparseSpVecDescr *x,
				const struct cusparseDnVecDescr *y, struct sparse_work *ret)
{
	bool copies = kernel == SPARSE_GATHER || kernel == SPARSE_SCATTER;
	int type;

	if (!sparse_handle_good(h))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!x || !y || x->size != y->size || (x->nnz && (!x->indices || !x->values || !y->values)))
		return CUSPARSE_STATUS_INVALID_VALUE;
	type = copies ? copied_as(x->type) : sparse_type_of(x->type);
	if (type < 0 || x->type != y->type) {
		library_refused(SPARSE_TITLE, "a sparse vector of such numbers");
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	*ret = (struct sparse_work){ .kernel = kernel,
				     .type = (uint32_t)type,
				     .batch = 1,
				     .a = { .columns_at = (uintptr_t)x->indices,
					    .values_at = (uintptr_t)x->values,
					    .rows = 1,
					    .columns = x->size,
					    .nnz = x->nnz,
					    .wide_columns = x->index_type == CUSPARSE_INDEX_64I,
					    .base = (uint8_t)x->base },
				     .c = sparse_vector_of(y) };
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t vecY, cusparseSpVecDescr_t vecX)
{
	struct sparse_work w;
	cusparseStatus_t status = work_of(handle, SPARSE_GATHER, vecX, vecY, &w);

	return status || !w.a.nnz ? status : sparse_launch(handle, &w);
}

cusparseStatus_t soft_cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t vecX,
				      cusparseDnVecDescr_t vecY)
{
	struct sparse_work w;
	cusparseStatus_t status = work_of(handle, SPARSE_SCATTER, vecX, vecY, &w);

	return status || !w.a.nnz ? status : sparse_launch(handle, &w);
}

static cusparseStatus_t scaled(cusparseHandle_t h, uint32_t kernel, const void *alpha, const void *beta,
			       const struct cusparseSpVecDescr *x, const struct cusparseDnVecDescr *y)
{
	struct sparse_work w;
	cusparseStatus_t status = work_of(h, kernel, x, y, &w);

	if (!status && (!alpha || !beta || (y->size && !y->values)))
		status = CUSPARSE_STATUS_INVALID_VALUE;
	if (status)
		return status;
	w.alpha = sparse_scalar_of(h, alpha, (int)w.type);
	w.beta = sparse_scalar_of(h, beta, (int)w.type);
	return sparse_launch(h, &w);
}

cusparseStatus_t soft_cusparseAxpby(cusparseHandle_t handle, const void *alpha, cusparseConstSpVecDescr_t vecX,
				    const void *beta, cusparseDnVecDescr_t vecY)
{
	return scaled(handle, SPARSE_AXPBY, alpha, beta, vecX, vecY);
}

cusparseStatus_t soft_cusparseRot(cusparseHandle_t handle, const void *c_coeff, const void *s_coeff,
				  cusparseSpVecDescr_t vecX, cusparseDnVecDescr_t vecY)
{
	return scaled(handle, SPARSE_ROT, c_coeff, s_coeff, vecX, vecY);
}

#define SPVV                                                                                                           \
	cusparseHandle_t handle, cusparseOperation_t opX, cusparseConstSpVecDescr_t vecX, cusparseConstDnVecDescr_t vecY

cusparseStatus_t soft_cusparseSpVV_bufferSize(SPVV, const void *result, cudaDataType computeType, size_t *bufferSize)
{
	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!vecX || !vecY || !bufferSize || (unsigned int)opX > CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*bufferSize = 16; /* the widest number */
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpVV(SPVV, void *result, cudaDataType computeType, void *externalBuffer)
{
	struct sparse_work w;
	cusparseStatus_t status = work_of(handle, SPARSE_DOT, vecX, vecY, &w);
	bool here;
	CUresult e;

	if (status)
		return status;
	here = handle->pointer_mode == CUSPARSE_POINTER_MODE_HOST;
	if (!result || (unsigned int)opX > CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE || (here && !externalBuffer))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (computeType != vecX->type) {
		library_refused(SPARSE_TITLE, "cusparseSpVV of such types");
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	w.a.conjugated = opX == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
	w.b = (struct sparse_dense){ .at = (uintptr_t)(here ? externalBuffer : result), .rows = 1, .columns = 1 };
	status = sparse_launch(handle, &w);
	if (status || !here)
		return status;
	e = handle->driver->read(result, w.b.at, sparse_type_bytes(w.type), (CUstream)handle->stream);
	if (!e)
		e = handle->driver->wait((CUstream)handle->stream);
	return sparse_status(e);
}
