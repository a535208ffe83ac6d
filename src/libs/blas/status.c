/* status.c: names and descriptions of cuBLAS's statuses, in our own words. */
#include "libs/blas/status.h"

#include <stddef.h>

struct status {
	cublasStatus_t status;
	const char *name, *text;
};

static const struct status statuses[] = {
	{ CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success" },
	{ CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED", "no handle, or none of this library" },
	{ CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "no memory" },
	{ CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "invalid argument" },
	{ CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH", "the device cannot do this" },
	{ CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR", "memory could not be reached" },
	{ CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED", "the device's work failed" },
	{ CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "internal error" },
	{ CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "not supported" },
	{ CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "licence error" },
};

static const struct status *status_find(cublasStatus_t status)
{
	static const struct status unknown = { 0, "CUBLAS_STATUS_UNKNOWN", "unknown status" };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return &statuses[i];
	return &unknown;
}

const char *blas_status_name(cublasStatus_t status)
{
	return status_find(status)->name;
}

const char *blas_status_text(cublasStatus_t status)
{
	return status_find(status)->text;
}

cublasStatus_t blas_property(int version, libraryPropertyType type, int *ret)
{
	if (!ret || (unsigned int)type > 2)
		return CUBLAS_STATUS_INVALID_VALUE;
	*ret = type == MAJOR_VERSION ? version / 10000 : type == MINOR_VERSION ? version / 100 % 100 : version % 100;
	return CUBLAS_STATUS_SUCCESS;
}
