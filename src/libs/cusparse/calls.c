/*
 * calls.c: cuSPARSE's descriptors of matrices and vectors, and its generic calls.
 *
 * All operands have one type: float, double or their complex variants; others are NOT_SUPPORTED. No call needs a buffer
 * but the conversion from a dense matrix to coordinates, which counts in it; sizes are told as 8 bytes, as some
 * programs take none for a failure.
 */
#include "libs/cusparse/handle.h"

#include <stdlib.h>
#include <string.h>

struct cusparseSpSVDescr {
	int spare;
};

struct cusparseSpSMDescr {
	int spare;
};

/* ---- descriptors ---- */

static cusparseStatus_t keep(void **ret, const void *what, size_t bytes)
{
	if (!ret)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*ret = malloc(bytes);
	if (!*ret)
		return CUSPARSE_STATUS_ALLOC_FAILED;
	memcpy(*ret, what, bytes);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseCreateMatDescr(cusparseMatDescr_t *descrA)
{
	struct cusparseMatDescr d = { .type = CUSPARSE_MATRIX_TYPE_GENERAL };

	return keep((void **)descrA, &d, sizeof(d));
}

cusparseStatus_t soft_cusparseDestroyMatDescr(cusparseMatDescr_t descrA)
{
	free(descrA);
	return CUSPARSE_STATUS_SUCCESS;
}

/* As NVIDIA's library answers: no descriptor is not initialised, and has no property: -1. */
#define DESCRIBED(field, type, name, last)                                                                             \
	cusparseStatus_t soft_cusparseSetMat##name(cusparseMatDescr_t descrA, type value)                              \
	{                                                                                                              \
		if (!descrA)                                                                                           \
			return CUSPARSE_STATUS_NOT_INITIALIZED;                                                        \
		if ((unsigned int)value > (last))                                                                      \
			return CUSPARSE_STATUS_INVALID_VALUE;                                                          \
		descrA->field = value;                                                                                 \
		return CUSPARSE_STATUS_SUCCESS;                                                                        \
	}                                                                                                              \
	type soft_cusparseGetMat##name(const cusparseMatDescr_t descrA)                                                \
	{                                                                                                              \
		return descrA ? descrA->field : (type)-1;                                                              \
	}
DESCRIBED(type, cusparseMatrixType_t, Type, CUSPARSE_MATRIX_TYPE_TRIANGULAR)
DESCRIBED(fill, cusparseFillMode_t, FillMode, CUSPARSE_FILL_MODE_UPPER)
DESCRIBED(diagonal, cusparseDiagType_t, DiagType, CUSPARSE_DIAG_TYPE_UNIT)
DESCRIBED(base, cusparseIndexBase_t, IndexBase, CUSPARSE_INDEX_BASE_ONE)

bool sparse_type_known(cudaDataType t)
{
	/* source: NVIDIA's library, asked without a device (13.0) */
	return (unsigned int)t <= CUDA_C_16F || t == CUDA_R_32I || t == CUDA_R_16BF || t == CUDA_C_16BF;
}

bool sparse_indices_known(cusparseIndexType_t t, cusparseIndexBase_t base, int64_t most)
{
	return (unsigned int)base <= CUSPARSE_INDEX_BASE_ONE && t >= CUSPARSE_INDEX_16U && t <= CUSPARSE_INDEX_64I &&
	       (t != CUSPARSE_INDEX_32I || most <= INT32_MAX - (int64_t)base);
}

cusparseStatus_t sparse_indices_supported(cusparseIndexType_t a, cusparseIndexType_t b)
{
	if (a == b && (a == CUSPARSE_INDEX_32I || a == CUSPARSE_INDEX_64I))
		return CUSPARSE_STATUS_SUCCESS;
	library_refused(SPARSE_TITLE, "a descriptor with indices of such types");
	return CUSPARSE_STATUS_NOT_SUPPORTED;
}

static cusparseStatus_t matrix_create(cusparseSpMatDescr_t *ret, struct cusparseSpMatDescr d)
{
	int64_t most = d.rows > d.columns ? d.rows : d.columns, numbers;
	bool compressed = d.format != CUSPARSE_FORMAT_COO;
	cusparseStatus_t status;

	if (d.rows < 0 || d.columns < 0 || d.nnz < 0 || __builtin_mul_overflow(d.rows, d.columns, &numbers) ||
	    d.nnz > numbers || !sparse_indices_known(d.indices_type, d.base, most) ||
	    !sparse_indices_known(d.offsets_type, d.base, compressed && d.nnz > most ? d.nnz : most) ||
	    !sparse_type_known(d.type))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_indices_supported(d.offsets_type, d.indices_type);
	d.batch = 1;
	return status ? status : keep((void **)ret, &d, sizeof(d));
}

#define COMPRESSED(name, FORMAT)                                                                                       \
	cusparseStatus_t soft_cusparseCreate##name(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,       \
						   int64_t nnz, void *offsets, void *indices, void *values,            \
						   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type, \
						   cusparseIndexBase_t base, cudaDataType type)                        \
	{                                                                                                              \
		return matrix_create(spMatDescr, (struct cusparseSpMatDescr){ .format = FORMAT,                        \
									      .rows = rows,                            \
									      .columns = cols,                         \
									      .nnz = nnz,                              \
									      .offsets = offsets,                      \
									      .indices = indices,                      \
									      .values = values,                        \
									      .offsets_type = offsets_type,            \
									      .indices_type = indices_type,            \
									      .base = base,                            \
									      .type = type });                         \
	}                                                                                                              \
	cusparseStatus_t soft_cusparseCreateConst##name(                                                               \
		cusparseConstSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz, const void *offsets,   \
		const void *indices, const void *values, cusparseIndexType_t offsets_type,                             \
		cusparseIndexType_t indices_type, cusparseIndexBase_t base, cudaDataType type)                         \
	{                                                                                                              \
		return soft_cusparseCreate##name((cusparseSpMatDescr_t *)spMatDescr, rows, cols, nnz,                  \
						 (void *)(uintptr_t)offsets, (void *)(uintptr_t)indices,               \
						 (void *)(uintptr_t)values, offsets_type, indices_type, base, type);   \
	}
COMPRESSED(Csr, CUSPARSE_FORMAT_CSR)
COMPRESSED(Csc, CUSPARSE_FORMAT_CSC)

cusparseStatus_t soft_cusparseCreateCoo(cusparseSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols, int64_t nnz,
					void *cooRowInd, void *cooColInd, void *cooValues,
					cusparseIndexType_t cooIdxType, cusparseIndexBase_t idxBase,
					cudaDataType valueType)
{
	return matrix_create(spMatDescr, (struct cusparseSpMatDescr){ .format = CUSPARSE_FORMAT_COO,
								      .rows = rows,
								      .columns = cols,
								      .nnz = nnz,
								      .offsets = cooRowInd,
								      .indices = cooColInd,
								      .values = cooValues,
								      .offsets_type = cooIdxType,
								      .indices_type = cooIdxType,
								      .base = idxBase,
								      .type = valueType });
}

cusparseStatus_t soft_cusparseCreateConstCoo(cusparseConstSpMatDescr_t *spMatDescr, int64_t rows, int64_t cols,
					     int64_t nnz, const void *cooRowInd, const void *cooColInd,
					     const void *cooValues, cusparseIndexType_t cooIdxType,
					     cusparseIndexBase_t idxBase, cudaDataType valueType)
{
	return soft_cusparseCreateCoo((cusparseSpMatDescr_t *)spMatDescr, rows, cols, nnz, (void *)(uintptr_t)cooRowInd,
				      (void *)(uintptr_t)cooColInd, (void *)(uintptr_t)cooValues, cooIdxType, idxBase,
				      valueType);
}

cusparseStatus_t soft_cusparseDestroySpMat(cusparseConstSpMatDescr_t spMatDescr)
{
	free((void *)(uintptr_t)spMatDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t pointers_set(cusparseSpMatDescr_t d, cusparseFormat_t format, void *offsets, void *indices,
				     void *values)
{
	if (!d || d->format != format)
		return CUSPARSE_STATUS_INVALID_VALUE;
	d->offsets = offsets;
	d->indices = indices;
	d->values = values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseCsrSetPointers(cusparseSpMatDescr_t spMatDescr, void *csrRowOffsets, void *csrColInd,
					     void *csrValues)
{
	return pointers_set(spMatDescr, CUSPARSE_FORMAT_CSR, csrRowOffsets, csrColInd, csrValues);
}

cusparseStatus_t soft_cusparseCscSetPointers(cusparseSpMatDescr_t spMatDescr, void *cscColOffsets, void *cscRowInd,
					     void *cscValues)
{
	return pointers_set(spMatDescr, CUSPARSE_FORMAT_CSC, cscColOffsets, cscRowInd, cscValues);
}

cusparseStatus_t soft_cusparseCooSetPointers(cusparseSpMatDescr_t spMatDescr, void *cooRows, void *cooColumns,
					     void *cooValues)
{
	return pointers_set(spMatDescr, CUSPARSE_FORMAT_COO, cooRows, cooColumns, cooValues);
}

cusparseStatus_t soft_cusparseSpMatGetSize(cusparseConstSpMatDescr_t spMatDescr, int64_t *rows, int64_t *cols,
					   int64_t *nnz)
{
	if (!spMatDescr || !rows || !cols || !nnz)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*rows = spMatDescr->rows;
	*cols = spMatDescr->columns;
	*nnz = spMatDescr->nnz;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatGetFormat(cusparseConstSpMatDescr_t spMatDescr, cusparseFormat_t *format)
{
	if (!spMatDescr || !format)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*format = spMatDescr->format;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t spMatDescr, cusparseIndexBase_t *idxBase)
{
	if (!spMatDescr || !idxBase)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*idxBase = spMatDescr->base;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatGetValues(cusparseSpMatDescr_t spMatDescr, void **values)
{
	if (!spMatDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = spMatDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatSetValues(cusparseSpMatDescr_t spMatDescr, void *values)
{
	if (!spMatDescr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	spMatDescr->values = values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseSpMatSetAttribute(cusparseSpMatDescr_t spMatDescr, cusparseSpMatAttribute_t attribute,
						void *data, size_t dataSize)
{
	if (!spMatDescr || !data || dataSize != sizeof(int))
		return CUSPARSE_STATUS_INVALID_VALUE;
	if (attribute == CUSPARSE_SPMAT_FILL_MODE)
		memcpy(&spMatDescr->fill, data, sizeof(int));
	else if (attribute == CUSPARSE_SPMAT_DIAG_TYPE)
		memcpy(&spMatDescr->diagonal, data, sizeof(int));
	else
		return CUSPARSE_STATUS_INVALID_VALUE;
	return CUSPARSE_STATUS_SUCCESS;
}

/* Batches lie at strides that hold one, or share what they have the stride 0 for. */
static cusparseStatus_t batch_set(cusparseSpMatDescr_t d, bool good, int count, int64_t offsets, int64_t values)
{
	if (!good || count < 1 || (values && values < d->nnz))
		return CUSPARSE_STATUS_INVALID_VALUE;
	d->batch = count;
	d->offsets_apart = offsets;
	d->values_apart = values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseCsrSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount,
						 int64_t offsetsBatchStride, int64_t columnsValuesBatchStride)
{
	return batch_set(spMatDescr,
			 spMatDescr && spMatDescr->format == CUSPARSE_FORMAT_CSR &&
				 (!offsetsBatchStride || offsetsBatchStride > spMatDescr->rows),
			 batchCount, offsetsBatchStride, columnsValuesBatchStride);
}

cusparseStatus_t soft_cusparseCooSetStridedBatch(cusparseSpMatDescr_t spMatDescr, int batchCount, int64_t batchStride)
{
	return batch_set(spMatDescr, spMatDescr && spMatDescr->format == CUSPARSE_FORMAT_COO, batchCount, batchStride,
			 batchStride);
}

cusparseStatus_t soft_cusparseCreateDnVec(cusparseDnVecDescr_t *dnVecDescr, int64_t size, void *values,
					  cudaDataType valueType)
{
	struct cusparseDnVecDescr d = { size, values, valueType };

	return size < 0 || !sparse_type_known(valueType) ? CUSPARSE_STATUS_INVALID_VALUE
							 : keep((void **)dnVecDescr, &d, sizeof(d));
}

cusparseStatus_t soft_cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *dnVecDescr, int64_t size, const void *values,
					       cudaDataType valueType)
{
	return soft_cusparseCreateDnVec((cusparseDnVecDescr_t *)dnVecDescr, size, (void *)(uintptr_t)values, valueType);
}

cusparseStatus_t soft_cusparseDestroyDnVec(cusparseConstDnVecDescr_t dnVecDescr)
{
	free((void *)(uintptr_t)dnVecDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnVecGetValues(cusparseDnVecDescr_t dnVecDescr, void **values)
{
	if (!dnVecDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = dnVecDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnVecSetValues(cusparseDnVecDescr_t dnVecDescr, void *values)
{
	if (!dnVecDescr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	dnVecDescr->values = values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseCreateDnMat(cusparseDnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols, int64_t ld,
					  void *values, cudaDataType valueType, cusparseOrder_t order)
{
	struct cusparseDnMatDescr d = { rows, cols, ld, 0, values, valueType, order, 1 };

	if (rows < 0 || cols < 0 || !sparse_type_known(valueType) ||
	    (order != CUSPARSE_ORDER_COL && order != CUSPARSE_ORDER_ROW) ||
	    ld < (order == CUSPARSE_ORDER_COL ? rows : cols))
		return CUSPARSE_STATUS_INVALID_VALUE;
	return keep((void **)dnMatDescr, &d, sizeof(d));
}

cusparseStatus_t soft_cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *dnMatDescr, int64_t rows, int64_t cols,
					       int64_t ld, const void *values, cudaDataType valueType,
					       cusparseOrder_t order)
{
	return soft_cusparseCreateDnMat((cusparseDnMatDescr_t *)dnMatDescr, rows, cols, ld, (void *)(uintptr_t)values,
					valueType, order);
}

cusparseStatus_t soft_cusparseDestroyDnMat(cusparseConstDnMatDescr_t dnMatDescr)
{
	free((void *)(uintptr_t)dnMatDescr);
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnMatGetValues(cusparseDnMatDescr_t dnMatDescr, void **values)
{
	if (!dnMatDescr || !values)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*values = dnMatDescr->values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnMatSetValues(cusparseDnMatDescr_t dnMatDescr, void *values)
{
	if (!dnMatDescr)
		return CUSPARSE_STATUS_INVALID_VALUE;
	dnMatDescr->values = values;
	return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t soft_cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t dnMatDescr, int batchCount, int64_t batchStride)
{
	int64_t across, one;

	if (!dnMatDescr || batchCount < 1)
		return CUSPARSE_STATUS_INVALID_VALUE;
	across = dnMatDescr->order == CUSPARSE_ORDER_COL ? dnMatDescr->columns : dnMatDescr->rows;
	if (batchCount > 1 && batchStride &&
	    (__builtin_mul_overflow(dnMatDescr->ld, across, &one) || batchStride < one))
		return CUSPARSE_STATUS_INVALID_VALUE;
	dnMatDescr->batch = batchCount;
	dnMatDescr->apart = batchStride;
	return CUSPARSE_STATUS_SUCCESS;
}

#define ANALYSED(name)                                                                                                 \
	cusparseStatus_t soft_cusparse##name##_createDescr(cusparse##name##Descr_t *descr)                             \
	{                                                                                                              \
		struct cusparse##name##Descr d = { 0 };                                                                \
		return keep((void **)descr, &d, sizeof(d));                                                            \
	}                                                                                                              \
	cusparseStatus_t soft_cusparse##name##_destroyDescr(cusparse##name##Descr_t descr)                             \
	{                                                                                                              \
		free(descr);                                                                                           \
		return CUSPARSE_STATUS_SUCCESS;                                                                        \
	}
ANALYSED(SpSV)
ANALYSED(SpSM)

/* ---- from descriptors to work ---- */

int sparse_type_of(cudaDataType t)
{
	return t == CUDA_R_32F ? 0 : t == CUDA_R_64F ? 1 : t == CUDA_C_32F ? 2 : t == CUDA_C_64F ? 3 : -1;
}

static bool op_good(cusparseOperation_t op)
{
	return (unsigned int)op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

struct sparse_matrix sparse_matrix_of(const struct cusparseSpMatDescr *d, cusparseOperation_t op)
{
	bool by_columns = d->format == CUSPARSE_FORMAT_CSC, turned = op != CUSPARSE_OPERATION_NON_TRANSPOSE;

	return (struct sparse_matrix){ .rows_at = (uintptr_t)d->offsets,
				       .columns_at = (uintptr_t)d->indices,
				       .values_at = (uintptr_t)d->values,
				       .rows = by_columns ? d->columns : d->rows,
				       .columns = by_columns ? d->rows : d->columns,
				       .nnz = d->nnz,
				       .coordinates = d->format == CUSPARSE_FORMAT_COO,
				       .wide_rows = d->offsets_type == CUSPARSE_INDEX_64I,
				       .wide_columns = d->indices_type == CUSPARSE_INDEX_64I,
				       .base = (uint8_t)d->base,
				       .turned = by_columns != turned,
				       .conjugated = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
				       .upper = (d->fill == CUSPARSE_FILL_MODE_UPPER) != by_columns,
				       .unit = d->diagonal == CUSPARSE_DIAG_TYPE_UNIT,
				       .rows_apart = d->offsets_apart,
				       .values_apart = d->values_apart };
}

static struct sparse_dense dense_of(const struct cusparseDnMatDescr *d, cusparseOperation_t op)
{
	int64_t down = d->order == CUSPARSE_ORDER_COL ? 1 : d->ld, across = d->order == CUSPARSE_ORDER_COL ? d->ld : 1;
	bool turned = op != CUSPARSE_OPERATION_NON_TRANSPOSE;

	return (struct sparse_dense){ .at = (uintptr_t)d->values,
				      .down = turned ? across : down,
				      .across = turned ? down : across,
				      .rows = turned ? d->columns : d->rows,
				      .columns = turned ? d->rows : d->columns,
				      .apart = d->apart,
				      .conjugated = op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE };
}

struct sparse_dense sparse_vector_of(const struct cusparseDnVecDescr *d)
{
	return (struct sparse_dense){
		.at = (uintptr_t)d->values, .down = 1, .across = 0, .rows = d->size, .columns = 1
	};
}

struct sparse_scalar sparse_scalar_of(cusparseHandle_t h, const void *at, int type)
{
	struct sparse_scalar s = { 0 };
	float f[2] = { 0 };

	if (!at)
		return s;
	if (h->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) {
		s.address = (uintptr_t)at;
	} else if (type & 1) {
		memcpy(s.value, at, type >= 2 ? 16 : 8);
	} else {
		memcpy(f, at, type >= 2 ? 8 : 4);
		s.value[0] = (double)f[0];
		s.value[1] = (double)f[1];
	}
	return s;
}

cusparseStatus_t sparse_launch(cusparseHandle_t h, const struct sparse_work *w)
{
	int64_t parts = sparse_parts(w);

	if (parts < 1 && w->kernel != SPARSE_COUNT)
		return CUSPARSE_STATUS_SUCCESS;
	return sparse_start(h, w->kernel, parts, 1 + w->a.nnz / (parts ? parts : 1) * 8, w, sizeof(*w));
}

cusparseStatus_t sparse_types(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType compute, const char *what,
			      uint32_t *ret)
{
	if (sparse_type_of(a) < 0 || b != a || c != a || compute != a) {
		library_refused(SPARSE_TITLE, what);
		return CUSPARSE_STATUS_NOT_SUPPORTED;
	}
	*ret = (uint32_t)sparse_type_of(a);
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t size_tell(cusparseHandle_t handle, bool good, size_t bytes, size_t *ret)
{
	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!good || !ret)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*ret = bytes;
	return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t nothing_to_prepare(cusparseHandle_t handle, bool good)
{
	return !sparse_handle_good(handle) ? CUSPARSE_STATUS_NOT_INITIALIZED
	       : good			   ? CUSPARSE_STATUS_SUCCESS
					   : CUSPARSE_STATUS_INVALID_VALUE;
}

/* ---- products ---- */

static cusparseStatus_t product(cusparseHandle_t handle, struct sparse_work *w, const void *alpha, const void *beta)
{
	int64_t rows = w->a.turned ? w->a.columns : w->a.rows, columns = w->a.turned ? w->a.rows : w->a.columns;

	if (!alpha || !beta || w->c.rows != rows || w->b.rows != columns || w->b.columns != w->c.columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	w->kernel = SPARSE_SPMM;
	w->alpha = sparse_scalar_of(handle, alpha, (int)w->type);
	w->beta = sparse_scalar_of(handle, beta, (int)w->type);
	return sparse_launch(handle, w);
}

#define SPMV                                                                                                           \
	cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha, cusparseConstSpMatDescr_t matA,           \
		cusparseConstDnVecDescr_t vecX, const void *beta, cusparseDnVecDescr_t vecY, cudaDataType computeType, \
		cusparseSpMVAlg_t alg

cusparseStatus_t soft_cusparseSpMV_bufferSize(SPMV, size_t *bufferSize)
{
	return size_tell(handle, matA && vecX && vecY && op_good(opA), 8, bufferSize);
}

cusparseStatus_t soft_cusparseSpMV_preprocess(SPMV, void *externalBuffer)
{
	return nothing_to_prepare(handle, matA && vecX && vecY && op_good(opA));
}

cusparseStatus_t soft_cusparseSpMV(SPMV, void *externalBuffer)
{
	struct sparse_work w = { .batch = 1 };
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !vecX || !vecY || !op_good(opA))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_types(matA->type, vecX->type, vecY->type, computeType, "cusparseSpMV of such types", &w.type);
	if (status)
		return status;
	w.a = sparse_matrix_of(matA, opA);
	w.b = sparse_vector_of(vecX);
	w.c = sparse_vector_of(vecY);
	return product(handle, &w, alpha, beta);
}

#define SPMM                                                                                                           \
	cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,                  \
		cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,                      \
		cusparseDnMatDescr_t matC, cudaDataType computeType, cusparseSpMMAlg_t alg

cusparseStatus_t soft_cusparseSpMM_bufferSize(SPMM, size_t *bufferSize)
{
	return size_tell(handle, matA && matB && matC && op_good(opA) && op_good(opB), 8, bufferSize);
}

cusparseStatus_t soft_cusparseSpMM_preprocess(SPMM, void *externalBuffer)
{
	return nothing_to_prepare(handle, matA && matB && matC && op_good(opA) && op_good(opB));
}

cusparseStatus_t soft_cusparseSpMM(SPMM, void *externalBuffer)
{
	struct sparse_work w = { 0 };
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !matB || !matC || !op_good(opA) || !op_good(opB))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_types(matA->type, matB->type, matC->type, computeType, "cusparseSpMM of such types", &w.type);
	if (status)
		return status;
	w.a = sparse_matrix_of(matA, opA);
	w.b = dense_of(matB, opB);
	w.c = dense_of(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
	w.batch = matC->batch;
	return product(handle, &w, alpha, beta);
}

#define SDDMM                                                                                                          \
	cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,                  \
		cusparseConstDnMatDescr_t matA, cusparseConstDnMatDescr_t matB, const void *beta,                      \
		cusparseSpMatDescr_t matC, cudaDataType computeType, cusparseSDDMMAlg_t alg

cusparseStatus_t soft_cusparseSDDMM_bufferSize(SDDMM, size_t *bufferSize)
{
	return size_tell(handle, matA && matB && matC && op_good(opA) && op_good(opB), 8, bufferSize);
}

cusparseStatus_t soft_cusparseSDDMM_preprocess(SDDMM, void *externalBuffer)
{
	return nothing_to_prepare(handle, matA && matB && matC && op_good(opA) && op_good(opB));
}

cusparseStatus_t soft_cusparseSDDMM(SDDMM, void *externalBuffer)
{
	struct sparse_work w = { .kernel = SPARSE_SDDMM };
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !matB || !matC || !alpha || !beta || !op_good(opA) || !op_good(opB))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_types(matC->type, matA->type, matB->type, computeType, "cusparseSDDMM of such types", &w.type);
	if (status)
		return status;
	w.a = sparse_matrix_of(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
	w.b = dense_of(matA, opA);
	w.c = dense_of(matB, opB);
	w.batch = matC->batch;
	if (w.b.rows != matC->rows || w.c.columns != matC->columns || w.b.columns != w.c.rows)
		return CUSPARSE_STATUS_INVALID_VALUE;
	w.alpha = sparse_scalar_of(handle, alpha, (int)w.type);
	w.beta = sparse_scalar_of(handle, beta, (int)w.type);
	return sparse_launch(handle, &w);
}

/* ---- triangles ---- */

static cusparseStatus_t solve(cusparseHandle_t handle, struct sparse_work *w, const void *alpha)
{
	if (!alpha || w->a.rows != w->a.columns || w->b.rows != w->a.rows || w->c.rows != w->a.rows ||
	    w->b.columns != w->c.columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	w->kernel = SPARSE_SPSV;
	w->alpha = sparse_scalar_of(handle, alpha, (int)w->type);
	return sparse_launch(handle, w);
}

#define SPSV                                                                                                           \
	cusparseHandle_t handle, cusparseOperation_t opA, const void *alpha, cusparseConstSpMatDescr_t matA,           \
		cusparseConstDnVecDescr_t vecX, cusparseDnVecDescr_t vecY, cudaDataType computeType,                   \
		cusparseSpSVAlg_t alg, cusparseSpSVDescr_t spsvDescr

cusparseStatus_t soft_cusparseSpSV_bufferSize(SPSV, size_t *bufferSize)
{
	return size_tell(handle, matA && vecX && vecY && op_good(opA), 8, bufferSize);
}

cusparseStatus_t soft_cusparseSpSV_analysis(SPSV, void *externalBuffer)
{
	return nothing_to_prepare(handle, matA && vecX && vecY && op_good(opA));
}

cusparseStatus_t soft_cusparseSpSV_solve(SPSV)
{
	struct sparse_work w = { .batch = 1 };
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !vecX || !vecY || !op_good(opA))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_types(matA->type, vecX->type, vecY->type, computeType, "cusparseSpSV of such types", &w.type);
	if (status)
		return status;
	w.a = sparse_matrix_of(matA, opA);
	w.b = sparse_vector_of(vecX);
	w.c = sparse_vector_of(vecY);
	return solve(handle, &w, alpha);
}

#define SPSM                                                                                                           \
	cusparseHandle_t handle, cusparseOperation_t opA, cusparseOperation_t opB, const void *alpha,                  \
		cusparseConstSpMatDescr_t matA, cusparseConstDnMatDescr_t matB, cusparseDnMatDescr_t matC,             \
		cudaDataType computeType, cusparseSpSMAlg_t alg, cusparseSpSMDescr_t spsmDescr

cusparseStatus_t soft_cusparseSpSM_bufferSize(SPSM, size_t *bufferSize)
{
	return size_tell(handle, matA && matB && matC && op_good(opA) && op_good(opB), 8, bufferSize);
}

cusparseStatus_t soft_cusparseSpSM_analysis(SPSM, void *externalBuffer)
{
	return nothing_to_prepare(handle, matA && matB && matC && op_good(opA) && op_good(opB));
}

cusparseStatus_t soft_cusparseSpSM_solve(SPSM)
{
	struct sparse_work w = { .batch = 1 };
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!matA || !matB || !matC || !op_good(opA) || !op_good(opB))
		return CUSPARSE_STATUS_INVALID_VALUE;
	status = sparse_types(matA->type, matB->type, matC->type, computeType, "cusparseSpSM of such types", &w.type);
	if (status)
		return status;
	w.a = sparse_matrix_of(matA, opA);
	w.b = dense_of(matB, opB);
	w.c = dense_of(matC, CUSPARSE_OPERATION_NON_TRANSPOSE);
	return solve(handle, &w, alpha);
}

/* ---- conversions ---- */

static cusparseStatus_t conversion(cusparseHandle_t handle, const struct cusparseSpMatDescr *sparse,
				   const struct cusparseDnMatDescr *dense, uint32_t kernel, struct sparse_work *w)
{
	cusparseStatus_t status;

	if (!sparse_handle_good(handle))
		return CUSPARSE_STATUS_NOT_INITIALIZED;
	if (!sparse || !dense || sparse->rows != dense->rows || sparse->columns != dense->columns)
		return CUSPARSE_STATUS_INVALID_VALUE;
	*w = (struct sparse_work){ .kernel = kernel, .batch = 1 };
	status = sparse_types(sparse->type, dense->type, dense->type, dense->type, "a conversion of such types",
			      &w->type);
	w->a = sparse_matrix_of(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE);
	w->c = dense_of(dense, CUSPARSE_OPERATION_NON_TRANSPOSE);
	return status;
}

cusparseStatus_t soft_cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA,
						       cusparseDnMatDescr_t matB, cusparseSparseToDenseAlg_t alg,
						       size_t *bufferSize)
{
	return size_tell(handle, matA && matB, 8, bufferSize);
}

cusparseStatus_t soft_cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t matA,
					    cusparseDnMatDescr_t matB, cusparseSparseToDenseAlg_t alg,
					    void *externalBuffer)
{
	struct sparse_work w;
	cusparseStatus_t status = conversion(handle, matA, matB, SPARSE_TO_DENSE, &w);

	return status ? status : sparse_launch(handle, &w);
}

cusparseStatus_t soft_cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA,
						       cusparseSpMatDescr_t matB, cusparseDenseToSparseAlg_t alg,
						       size_t *bufferSize)
{
	return size_tell(handle, matA && matB, matB ? (size_t)(matB->rows + 1) * 8 : 0, bufferSize);
}

/* The numbers are counted, and the program waits for how many there are. */
cusparseStatus_t soft_cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA,
						     cusparseSpMatDescr_t matB, cusparseDenseToSparseAlg_t alg,
						     void *externalBuffer)
{
	struct sparse_work w;
	cusparseStatus_t status = conversion(handle, matB, matA, SPARSE_COUNT, &w);
	int64_t last = 0;
	int32_t last_narrow = 0;
	uint64_t at;
	CUresult e;

	if (status)
		return status;
	if (w.a.coordinates) {
		w.a.coordinates = 0;
		w.a.wide_rows = 1;
		w.a.rows_at = (uintptr_t)externalBuffer;
	}
	status = sparse_launch(handle, &w);
	if (status)
		return status;
	at = w.a.rows_at + (uint64_t)w.a.rows * (w.a.wide_rows ? 8 : 4);
	e = handle->driver->read(w.a.wide_rows ? (void *)&last : &last_narrow, at, w.a.wide_rows ? 8 : 4,
				 (CUstream)handle->stream);
	if (!e)
		e = handle->driver->wait((CUstream)handle->stream);
	matB->nnz = (w.a.wide_rows ? last : last_narrow) - w.a.base;
	return sparse_status(e);
}

cusparseStatus_t soft_cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t matA,
						    cusparseSpMatDescr_t matB, cusparseDenseToSparseAlg_t alg,
						    void *externalBuffer)
{
	struct sparse_work w;
	cusparseStatus_t status = conversion(handle, matB, matA, SPARSE_FROM_DENSE, &w);

	return status ? status : sparse_launch(handle, &w);
}
