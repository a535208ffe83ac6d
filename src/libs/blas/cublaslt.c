/* cublaslt.c: cuBLASLt on the software device: products from descriptions, and the one algorithm that there is. */
#include "libs/blas/blas.h"
#include "libs/blas/cublaslt.h"
#include "libs/blas/lt_product.h"

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle)
{
	return blas_handle_new((void **)lightHandle, false);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle)
{
	return blas_handle_free(lightHandle);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
			      const void *A, cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
			      const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
			      cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
			      size_t workspaceSizeInBytes, cudaStream_t stream)
{
	struct blas_handle *h = blas_handle_find(lightHandle);
	const void *const layouts[] = { Adesc, Bdesc, Cdesc, Ddesc }, *const matrices[] = { A, B, C, D };
	cublasStatus_t status;
	uint32_t blocks = 0;
	struct product p = { .body = 0 };

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (algo && algo->data[0] != CUBLASLT_ALGORITHM)
		return CUBLAS_STATUS_INVALID_VALUE;
	status = lt_product(&p, computeDesc, layouts, alpha, beta, matrices);
	if (!status)
		status = lt_product_placed(&p);
	if (status == CUBLAS_STATUS_NOT_SUPPORTED)
		blas_refused(LT_PRODUCT_REFUSED);
	if (!status)
		blocks = product_plan(&p);
	p.body = BLAS_GEMM;
	return status || !blocks ? status : blas_launch(h, BLAS_GEMM, blocks, stream, &p, sizeof(p));
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
					      cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
					      cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
					      cublasLtMatmulPreference_t preference, int requestedAlgoCount,
					      cublasLtMatmulHeuristicResult_t *results, int *returnAlgoCount)
{
	static const uint8_t some[16] = { 0 };
	const void *const layouts[] = { Adesc, Bdesc, Cdesc, Ddesc }, *const matrices[4] = { NULL };
	cublasStatus_t status;
	struct product p;

	if (!blas_handle_find(lightHandle))
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (requestedAlgoCount <= 0 || !results || !returnAlgoCount)
		return CUBLAS_STATUS_INVALID_VALUE;
	*returnAlgoCount = 0;
	status = lt_product(&p, operationDesc, layouts, some, some, matrices);
	if (status)
		return status;
	results[0] = (cublasLtMatmulHeuristicResult_t){ .algo.data = { CUBLASLT_ALGORITHM },
							.state = CUBLAS_STATUS_SUCCESS,
							.wavesCount = 1 };
	*returnAlgoCount = 1;
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- the library ---- */

size_t cublasLtGetVersion(void)
{
	return BLAS_VERSION(BLAS_MAJOR);
}

size_t cublasLtGetCudartVersion(void)
{
	return BLAS_VERSION(BLAS_MAJOR) / 10;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int *value)
{
	return blas_property(BLAS_VERSION(BLAS_MAJOR), type, value);
}
