/*
 * plain.c: calls of cuBLAS that know no device, for the software device's library and the one that forwards: names of
 * statuses; there is no log of calls.
 */
#include "cublas_forward.h"
#include "libs/blas/status.h"

#include <string.h>

const char *cublasGetStatusName(cublasStatus_t status)
{
	return blas_status_name(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
	return blas_status_text(status);
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
