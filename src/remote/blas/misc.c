/* misc.c: calls of cuBLAS and cuBLASLt that need no handle: names, versions, logs (there are none here), copies'
 * driver. */
#include "libs/blas/copies.h"
#include "remote/blas/blas.h"

/* The library that programs are built against; the worker's own is told by cublasGetVersion_v2. */
#define VERSION 130000
#define RUNTIME_VERSION 13000

const char *cublasGetStatusName(cublasStatus_t status)
{
	return blas_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return blas_status_text(status);
}

size_t cublasGetCudartVersion(void)
{
	return RUNTIME_VERSION;
}

/* Major, minor, patch. */
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	if (!value || (unsigned int)type > 2)
		return CUBLAS_STATUS_INVALID_VALUE;
	*value = type == 0 ? VERSION / 10000 : type == 1 ? VERSION / 100 % 100 : VERSION % 100;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLoggerConfigure(int logIsOn, int logToStdOut, int logToStdErr, const char *logFileName)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetLoggerCallback(cublasLogCallback userCallback)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetLoggerCallback(void *userCallback)
{
	if (!userCallback)
		return CUBLAS_STATUS_INVALID_VALUE;
	memset(userCallback, 0, sizeof(void *));
	return CUBLAS_STATUS_SUCCESS;
}

bool blas_copy(const CUDA_MEMCPY2D *m, CUstream stream, bool async, CUresult *ret)
{
	const struct forward_calls *f = forward_client();

	if (f)
		*ret = async ? f->cuda->cuMemcpy2DAsync_v2(m, stream) : f->cuda->cuMemcpy2DUnaligned_v2(m);
	return f;
}
