/* cublaslt_more.c: cuBLASLt's transformations of matrices, and its calls about algorithms, of which there is one:
 * number 0. */
#include "libs/blas/blas.h"
#include "libs/blas/cublaslt.h"
#include "libs/blas/lt_product.h"

#include <string.h>

/* ---- transformations ---- */

cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t lightHandle, cublasLtMatrixTransformDesc_t transformDesc,
				       const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc, const void *beta,
				       const void *B, cublasLtMatrixLayout_t Bdesc, void *C,
				       cublasLtMatrixLayout_t Cdesc, cudaStream_t stream)
{
	const void *const layouts[] = { Adesc, Bdesc, Cdesc }, *const matrices[] = { A, B, C };
	struct blas_handle *h = blas_handle_find(lightHandle);
	struct transform t = { .body = BLAS_TRANSFORM };
	cublasStatus_t status;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	status = lt_transform(&t, transformDesc, layouts, alpha, beta, matrices);
	if (status || !t.rows || !t.columns || !t.batches)
		return status;
	return blas_launch(h, BLAS_TRANSFORM, t.batches < 64 ? (uint32_t)t.batches : 64, stream, &t, sizeof(t));
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
