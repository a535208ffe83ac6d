/* cublas.c: cuBLAS's calls about a handle and about the library itself. */
#include "libs/blas/blas.h"
#include "libs/blas/settings.h"

#define HANDLE(h, handle)                                                                                              \
	struct blas_handle *h = blas_handle_find(handle);                                                              \
	if (!h)                                                                                                        \
	return CUBLAS_STATUS_NOT_INITIALIZED

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	return blas_handle_new((void **)handle, true);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	return blas_handle_free(handle);
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = BLAS_VERSION(BLAS_MAJOR);
	return CUBLAS_STATUS_SUCCESS;
}

size_t cublasGetCudartVersion(void)
{
	return BLAS_VERSION(BLAS_MAJOR) / 10;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	return blas_property(BLAS_VERSION(BLAS_MAJOR), type, value);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
	HANDLE(h, handle);
	h->stream = streamId;
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
	HANDLE(h, handle);
	if (!streamId)
		return CUBLAS_STATUS_INVALID_VALUE;
	*streamId = h->stream;
	return CUBLAS_STATUS_SUCCESS;
}

/* Taken note of only in that it is checked: products here need no memory of the device's. */
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
	HANDLE(h, handle);
	if (!setting_workspace(workspace, workspaceSizeInBytes))
		return CUBLAS_STATUS_INVALID_VALUE;
	return CUBLAS_STATUS_SUCCESS;
}

#define SETTING(field, type, name, set, get)                                                                           \
	cublasStatus_t set(cublasHandle_t handle, type name)                                                           \
	{                                                                                                              \
		HANDLE(h, handle);                                                                                     \
		if (!setting_##field(name))                                                                            \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		h->field = name;                                                                                       \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}                                                                                                              \
	cublasStatus_t get(cublasHandle_t handle, type *name)                                                          \
	{                                                                                                              \
		HANDLE(h, handle);                                                                                     \
		if (!name)                                                                                             \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		*name = h->field;                                                                                      \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}

SETTING(pointer_mode, cublasPointerMode_t, mode, cublasSetPointerMode_v2, cublasGetPointerMode_v2)
SETTING(atomics_mode, cublasAtomicsMode_t, mode, cublasSetAtomicsMode, cublasGetAtomicsMode)
SETTING(math_mode, cublasMath_t, mode, cublasSetMathMode, cublasGetMathMode)
SETTING(sm_count, int, smCountTarget, cublasSetSmCountTarget, cublasGetSmCountTarget)
SETTING(emulation, cublasEmulationStrategy_t, emulationStrategy, cublasSetEmulationStrategy, cublasGetEmulationStrategy)
