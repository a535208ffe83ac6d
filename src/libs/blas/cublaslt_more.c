/* cublaslt_more.c: cuBLASLt's transformations of matrices, and its calls about algorithms, of which there is one:
 * number 0. */
#include "libs/blas/blas.h"
#include "libs/blas/cublaslt.h"
#include "libs/blas/lt_description.h"
#include "libs/blas/transform.h"

#include <string.h>

/* ---- transformations ---- */

static cublasStatus_t matrix_read(const void *layout, const void *at, uint64_t op, struct transform_matrix *ret,
				  int64_t *rows, int64_t *columns, int64_t *batches)
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
	*rows = (int64_t)lt_value(d, ret->turned ? CUBLASLT_MATRIX_LAYOUT_COLS : CUBLASLT_MATRIX_LAYOUT_ROWS);
	*columns = (int64_t)lt_value(d, ret->turned ? CUBLASLT_MATRIX_LAYOUT_ROWS : CUBLASLT_MATRIX_LAYOUT_COLS);
	*batches = (int64_t)lt_value(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
	return ret->ld > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle, cublasLtMatrixTransformDesc_t transformDesc,
				       const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc, const void *beta,
				       const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
				       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const struct lt_description *d = lt_find(transformDesc, LT_TRANSFORM);
	struct blas_handle *h = blas_handle_find(lightHandle);
	union {
		struct transform t;
		uint8_t bytes[DEVICE_PARAM_BYTES];
	} u;
	int64_t rows, columns, batches;
	cublasStatus_t status;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!d || !alpha || (B && !beta))
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(&u, 0, sizeof(u));
	u.t.body = BLAS_TRANSFORM;
	u.t.scale_type = (uint8_t)lt_value(d, CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE);
	status = matrix_read(Cdesc, C, CUBLAS_OP_N, &u.t.c, &u.t.rows, &u.t.columns, &u.t.batches);
	if (!status)
		status = matrix_read(Adesc, A, lt_value(d, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA), &u.t.a, &rows,
				     &columns, &batches);
	if (!status && (rows != u.t.rows || columns != u.t.columns || batches != u.t.batches))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!status && B)
		status = matrix_read(Bdesc, B, lt_value(d, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB), &u.t.b, &rows,
				     &columns, &batches);
	if (!status && (rows != u.t.rows || columns != u.t.columns || batches != u.t.batches))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (!status && type_is_complex(u.t.scale_type))
		status = CUBLAS_STATUS_NOT_SUPPORTED;
	if (status)
		return status;
	if (lt_pointer_mode(d) == LT_POINTERS_DEVICE) {
		u.t.alpha_at = (uintptr_t)alpha;
		u.t.beta_at = B ? (uintptr_t)beta : 0;
	} else if (lt_pointer_mode(d) == LT_POINTERS_HOST) {
		memcpy(u.t.alpha, alpha, type_bytes(u.t.scale_type));
		if (B)
			memcpy(u.t.beta, beta, type_bytes(u.t.scale_type));
	} else {
		return CUBLAS_STATUS_NOT_SUPPORTED;
	}
	if (!u.t.rows || !u.t.columns || !u.t.batches)
		return CUBLAS_STATUS_SUCCESS;
	return blas_launch(h, BLAS_TRANSFORM, u.t.batches < 64 ? (uint32_t)u.t.batches : 64, stream, &u);
}

/* ---- the one algorithm ---- */

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
					cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
					cudaDataType_t Ctype, cudaDataType_t Dtype, int requestedAlgoCount,
					int *algoIdsArray, int *returnAlgoCount)
{
	if (!blas_handle_find(lightHandle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (requestedAlgoCount <= 0 || !algoIdsArray || !returnAlgoCount)
		return CUBLAS_STATUS_INVALID_VALUE;
	algoIdsArray[0] = 0;
	*returnAlgoCount = 1;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t lightHandle, cublasComputeType_t computeType,
				      cudaDataType_t scaleType, cudaDataType_t Atype, cudaDataType_t Btype,
				      cudaDataType_t Ctype, cudaDataType_t Dtype, int algoId,
				      cublasLtMatmulAlgo_t *algo)
{
	if (!blas_handle_find(lightHandle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (!algo || algoId)
		return CUBLAS_STATUS_INVALID_VALUE;
	*algo = (cublasLtMatmulAlgo_t){ .data = { CUBLASLT_ALGORITHM } };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
				       cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
				       cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
				       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *result)
{
	int count;

	if (!algo || algo->data[0] != CUBLASLT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	return cublasLtMatmulAlgoGetHeuristic(lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, NULL, 1, result,
					      &count);
}

/* All settings are 0 but the numbers of parts along k (1) and of orders: 0 to set, and what is asked for otherwise. */
static cublasStatus_t number_out(uint64_t value, size_t size, void *buf, size_t sizeInBytes, size_t *sizeWritten)
{
	if (sizeWritten)
		*sizeWritten = size;
	if (!sizeInBytes)
		return sizeWritten ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
	if (!buf || sizeInBytes < size)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(buf, &value, size);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
						 cublasLtMatmulAlgoCapAttributes_t attr, void *buf, size_t sizeInBytes,
						 size_t *sizeWritten)
{
	if (!algo || algo->data[0] != CUBLASLT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	switch ((int)attr) {
	case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
	case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
		return number_out(1, 4, buf, sizeInBytes, sizeWritten);
	case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
	case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
	case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
	case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
		return number_out(1, 4, buf, sizeInBytes, sizeWritten);
	case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
		return number_out(1 | 2 | 8 | 16, 4, buf, sizeInBytes, sizeWritten);
	case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
		return number_out(1023, 4, buf, sizeInBytes, sizeWritten);
	case CUBLASLT_ALGO_CAP_TILE_IDS:
	case CUBLASLT_ALGO_CAP_STAGES_IDS: /* a list; of none there is one, "undefined" */
		return number_out(0, 4, buf, sizeInBytes, sizeWritten);
	case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
		return number_out(0, 8, buf, sizeInBytes, sizeWritten);
	default:
		return (unsigned int)attr <= CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT
			       ? number_out(0, 4, buf, sizeInBytes, sizeWritten)
			       : CUBLAS_STATUS_INVALID_VALUE;
	}
}

static size_t config_bytes(cublasLtMatmulAlgoConfigAttributes_t attr)
{
	return attr == CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID || attr == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? 2 : 4;
}

/* What a program sets is kept, and changes nothing. */
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
						    cublasLtMatmulAlgoConfigAttributes_t attr, const void *buf,
						    size_t sizeInBytes)
{
	if (!algo || algo->data[0] != CUBLASLT_ALGORITHM || !buf || attr == CUBLASLT_ALGO_CONFIG_ID ||
	    (unsigned int)attr > CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID || sizeInBytes != config_bytes(attr))
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)&algo->data[1] + 4 * (unsigned int)attr, buf, sizeInBytes);
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
						    cublasLtMatmulAlgoConfigAttributes_t attr, void *buf,
						    size_t sizeInBytes, size_t *sizeWritten)
{
	uint32_t value = 0;

	if (!algo || algo->data[0] != CUBLASLT_ALGORITHM || (unsigned int)attr > CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy(&value, (const char *)&algo->data[1] + 4 * (unsigned int)attr, config_bytes(attr));
	return number_out(value, config_bytes(attr), buf, sizeInBytes, sizeWritten);
}
