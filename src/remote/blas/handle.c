/*
 * handle.c: handles of cuBLAS, and what the program has set about them.
 *
 * What is set again as it was is not sent again: programs set stream and workspace before every product.
 */
#include "libs/blas/settings.h"
#include "remote/blas/blas.h"

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
	return handle ? forward_create((void **)handle, BLAS_HANDLE, CUBLAS_CALL_cublasCreate_v2)
		      : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
	return forward_destroy(handle, CUBLAS_CALL_cublasDestroy_v2);
}

/* Sets one word at the worker; `call` has the handle and this. */
static cublasStatus_t set(cublasHandle_t handle, enum cublas_call call, int64_t value)
{
	struct forward_call c;

	if (forward_begin(&c, handle, call, FORWARD_FORGET, 0)) {
		forward_changes(&c, FORWARD_SETS);
		forward_put(&c, &value, sizeof(value));
		forward_send(&c);
	}
	return forward_end(&c);
}

#define HANDLE(h, handle)                                                                                              \
	struct blas_handle *h = blas_handle_find(handle, BLAS_HANDLE);                                                 \
														       \
	if (!h)                                                                                                        \
	return CUBLAS_STATUS_NOT_INITIALIZED

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t streamId)
{
	struct forward_call c;
	cublasStatus_t status;

	HANDLE(h, handle);
	if (h->stream == streamId && !h->workspace)
		return CUBLAS_STATUS_SUCCESS;
	if (forward_begin(&c, handle, CUBLAS_CALL_cublasSetStream_v2, FORWARD_FORGET, 0)) {
		forward_changes(&c, FORWARD_SETS);
		forward_put_stream(&c, streamId);
		forward_send(&c);
	}
	status = forward_end(&c);
	if (status == CUBLAS_STATUS_SUCCESS) {
		h->stream = streamId;
		h->workspace = 0; /* as documented: the library's own again */
	}
	return status;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *streamId)
{
	HANDLE(h, handle);
	if (!streamId)
		return CUBLAS_STATUS_INVALID_VALUE;
	*streamId = h->stream;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_workspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
	struct forward_call c;
	uint64_t size = bytes;
	cublasStatus_t status;

	HANDLE(h, handle);
	if (!setting_workspace(workspace, bytes))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (h->workspace == (uintptr_t)workspace && h->workspace_bytes == bytes && workspace)
		return CUBLAS_STATUS_SUCCESS;
	if (forward_begin(&c, handle, CUBLAS_CALL_cublasSetWorkspace_v2, FORWARD_FORGET, 0)) {
		forward_changes(&c, FORWARD_SETS);
		forward_put_address(&c, workspace);
		forward_put(&c, &size, sizeof(size));
		forward_send(&c);
	}
	status = forward_end(&c);
	if (status == CUBLAS_STATUS_SUCCESS) {
		h->workspace = (uintptr_t)workspace;
		h->workspace_bytes = bytes;
	}
	return status;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t workspaceSizeInBytes)
{
	return set_workspace(handle, workspace, workspaceSizeInBytes);
}

/* The pointer mode travels with every scalar. */
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
	HANDLE(h, handle);
	if (!setting_pointer_mode(mode))
		return CUBLAS_STATUS_INVALID_VALUE;
	h->pointer_mode = mode;
	return CUBLAS_STATUS_SUCCESS;
}

#define SET(field, type, call, name)                                                                                   \
	cublasStatus_t call(cublasHandle_t handle, type name)                                                          \
	{                                                                                                              \
		cublasStatus_t status;                                                                                 \
														       \
		HANDLE(h, handle);                                                                                     \
		if (!setting_##field(name))                                                                            \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		if (h->field == name)                                                                                  \
			return CUBLAS_STATUS_SUCCESS;                                                                  \
		status = set(handle, CUBLAS_CALL_##call, (int64_t)name);                                               \
		if (status == CUBLAS_STATUS_SUCCESS)                                                                   \
			h->field = name;                                                                               \
		return status;                                                                                         \
	}

#define GET(field, type, call, name)                                                                                   \
	cublasStatus_t call(cublasHandle_t handle, type *name)                                                         \
	{                                                                                                              \
		HANDLE(h, handle);                                                                                     \
		if (!name)                                                                                             \
			return CUBLAS_STATUS_INVALID_VALUE;                                                            \
		*name = h->field;                                                                                      \
		return CUBLAS_STATUS_SUCCESS;                                                                          \
	}

SET(math_mode, cublasMath_t, cublasSetMathMode, mode)
SET(atomics_mode, cublasAtomicsMode_t, cublasSetAtomicsMode, mode)
SET(sm_count, int, cublasSetSmCountTarget, smCountTarget)
GET(pointer_mode, cublasPointerMode_t, cublasGetPointerMode_v2, mode)
GET(math_mode, cublasMath_t, cublasGetMathMode, mode)
GET(atomics_mode, cublasAtomicsMode_t, cublasGetAtomicsMode, mode)
GET(sm_count, int, cublasGetSmCountTarget, smCountTarget)
static GET(version, int, handle_version, version)

	/* Programs ask before they have a handle (JAX does): then it is the version of the interface that is forwarded.
	 */
	cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
	if (handle)
		return handle_version(handle, version);
	if (!version)
		return CUBLAS_STATUS_INVALID_VALUE;
	*version = BLAS_INTERFACE_VERSION;
	return CUBLAS_STATUS_SUCCESS;
}
