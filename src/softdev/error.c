/*
 * error.c: names and descriptions of the driver's errors.
 */
#include "softdev/driver.h"

#include "errors.h"

CUresult soft_cuGetErrorName(CUresult code, const char **ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = cuda_error_name(code);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGetErrorString(CUresult code, const char **ret)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = cuda_error_text(code);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
