/*
 * lt_plain.c: calls of cuBLASLt that know no device, for the software device's library and the one that forwards: names
 * of statuses; nothing is cached, and there is no log of calls.
 */
#include "cublas_forward.h"
#include "libs/blas/status.h"

const char *cublasLtGetStatusName(cublasStatus_t status)
{
	return blas_status_name(status);
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
	return blas_status_text(status);
}

unsigned int cublasLtDisableCpuInstructionsSetMask(unsigned int mask)
{
	return 0;
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
	if (!capacity)
		return CUBLAS_STATUS_INVALID_VALUE;
	*capacity = 0;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetFile(void *file)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerOpenFile(const char *logFile)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetLevel(int level)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerSetMask(int mask)
{
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtLoggerForceDisable(void)
{
	return CUBLAS_STATUS_SUCCESS;
}
