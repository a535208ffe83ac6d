/*
 * told.c: what descriptors of matrices and dense vectors were told, given back. Behind a wall and over the network the
 * client answers, and only asks the worker how many numbers a matrix has.
 */
#include "libs/cusparse/handle.h"

#include <string.h>

/* Where a call of the getters for matrices puts what it gives back. */
struct places {
	int64_t *rows, *columns, *nnz;
	const void **offsets, **indices, **values;
	cusparseIndexType_t *offsets_type, *indices_type;
	cusparseIndexBase_t *base;
	cudaDataType *type;
};

static cusparseStatus_t matrix_tell(const struct cusparseSpMatDescr *d, cusparseFormat_t format, struct places to)
{
	if (!d || d->format != format || !to.rows || !to.columns || !to.nnz || !to.offsets || !to.indices ||
	    !to.values || !to.offsets_type || !to.indices_type || !to.base || !to.type)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*to.rows = d->rows;
	*to.columns = d->columns;
	*to.nnz = d->nnz;
	*to.offsets = d->offsets;
	*to.indices = d->indices;
	*to.values = d->values;
	*to.offsets_type = d->offsets_type;
	*to.indices_type = d->indices_type;
	*to.base = d->base;
	*to.type = d->type;
	return CUSPARSE_STATUS_SUCCESS;
}

#define COMPRESSED(name, FORMAT)                                                                                       \
	cusparseStatus_t soft_cusparseConst##name##Get(                                                                \
		cusparseConstSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,                      \
		const void **offsets, const void **indices, const void **values, cusparseIndexType_t *offsets_type,    \
		cusparseIndexType_t *indices_type, cusparseIndexBase_t *base, cudaDataType *type)                      \
	{                                                                                                              \
		return matrix_tell(spMatDescr, FORMAT,                                                                 \
				   (struct places){ rows, cols, nnz, offsets, indices, values, offsets_type,           \
						    indices_type, base, type });                                       \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##name##Get(                                                                     \
		cusparseSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz, void **offsets,           \
		void **indices, void **values, cusparseIndexType_t *offsets_type, cusparseIndexType_t *indices_type,   \
		cusparseIndexBase_t *base, cudaDataType *type)                                                         \
	{                                                                                                              \
		return soft_cusparseConst##name##Get(spMatDescr, rows, cols, nnz, (const void **)offsets,              \
						     (const void **)indices, (const void **)values, offsets_type,      \
						     indices_type, base, type);                                        \
	}
COMPRESSED(Csr, CUSPARSE_FORMAT_CSR)
COMPRESSED(Csc, CUSPARSE_FORMAT_CSC)

cusparseStatus_t soft_cusparseConstCooGet(cusparseConstSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols,
					  int64_t *nnz, const void **cooRowInd, const void **cooColInd,
					  const void **cooValues, cusparseIndexType_t *idxType,
					  cusparseIndexBase_t *idxBase, cudaDataType *valueType)
{
	return matrix_tell(spMatDescr, CUSPARSE_FORMAT_COO,
			   (struct places){ rows, cols, nnz, cooRowInd, cooColInd, cooValues, idxType, idxType, idxBase,
					    valueType });
}

cusparseStatus_t soft_cusparseCooGet(cusparseSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols, int64_t *nnz,
				     void **cooRowInd, void **cooColInd, void **cooValues, cusparseIndexType_t *idxType,
				     cusparseIndexBase_t *idxBase, cudaDataType *valueType)
{
	return soft_cusparseConstCooGet(spMatDescr, rows, cols, nnz, (const void **)cooRowInd, (const void **)cooColInd,
					(const void **)cooValues, idxType, idxBase, valueType);
}

cusparseStatus_t soft_cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t spMatDescr, const void **values)
{
	if (!spMatDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = spMatDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t spMatDescr,
						cusparseSpMatAttribute_t attribute, void *data, size_t dataSize)
{
	if (!spMatDescr || !data || dataSize != sizeof(int))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (attribute == CUSPARSE_SPMAT_FILL_MODE)
		memcpy(data, &spMatDescr->fill, sizeof(int));
	else if (attribute == CUSPARSE_SPMAT_DIAG_TYPE)
		memcpy(data, &spMatDescr->diagonal, sizeof(int));
	else
		return CUSPARSE_STATUS_INVALID_VALUE;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t spMatDescr, int *batchCount)
{
	if (!spMatDescr || !batchCount)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*batchCount = spMatDescr->batch;
	return CUSPARSE_STATUS_SUCCESS;
}

/* ---- dense ones ---- */

cusparseStatus_t soft_cusparseConstDnVecGet(cusparseConstDnVecDescr_t dnVecDescr, int64_t *size, const void **values,
					    cudaDataType *valueType)
{
	if (!dnVecDescr || !size || !values || !valueType)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*size = dnVecDescr->size;
	*values = dnVecDescr->values;
	*valueType = dnVecDescr->type;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnVecGet(cusparseDnVecDescr_t dnVecDescr, int64_t *size, void **values,
				       cudaDataType *valueType)
{
	return soft_cusparseConstDnVecGet(dnVecDescr, size, (const void **)values, valueType);
}

cusparseStatus_t soft_cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t dnVecDescr, const void **values)
{
	if (!dnVecDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = dnVecDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseConstDnMatGet(cusparseConstDnMatDescr_t dnMatDescr, int64_t *rows, int64_t *cols,
					    int64_t *ld, const void **values, cudaDataType *type,
					    cusparseOrder_t *order)
{
	if (!dnMatDescr || !rows || !cols || !ld || !values || !type || !order)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*rows = dnMatDescr->rows;
	*cols = dnMatDescr->columns;
	*ld = dnMatDescr->ld;
	*values = dnMatDescr->values;
	*type = dnMatDescr->type;
	*order = dnMatDescr->order;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnMatGet(cusparseDnMatDescr_t dnMatDescr, int64_t *rows, int64_t *cols, int64_t *ld,
				       void **values, cudaDataType *type, cusparseOrder_t *order)
{
	return soft_cusparseConstDnMatGet(dnMatDescr, rows, cols, ld, (const void **)values, type, order);
}

cusparseStatus_t soft_cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t dnMatDescr, const void **values)
{
	if (!dnMatDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = dnMatDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t dnMatDescr, int *batchCount,
						   int64_t *batchStride)
{
	if (!dnMatDescr || !batchCount || !batchStride)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*batchCount = dnMatDescr->batch;
	*batchStride = dnMatDescr->apart;
	return CUSPARSE_STATUS_SUCCESS;
}
