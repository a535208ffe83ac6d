/* misc.c: calls of cuBLAS that need no handle: versions, copies' driver. */
#include "libs/blas/copies.h"
#include "remote/blas/blas.h"

#define RUNTIME_VERSION (BLAS_INTERFACE_VERSION / 10)

size_t cublasGetCudartVersion(void)
{
	return RUNTIME_VERSION;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value)
{
	return blas_property(BLAS_INTERFACE_VERSION, type, value);
}

bool blas_copy(const CUDA_MEMCPY2D *m, CUstream stream, bool async, CUresult *ret)
{
	const struct forward_calls *f = forward_client();

	if (f)
		*ret = async ? f->cuda->cuMemcpy2DAsync_v2(m, stream) : f->cuda->cuMemcpy2DUnaligned_v2(m);
	return f;
}

bool blas_device(struct blas_device *ret)
{
	const struct forward_calls *f = forward_client();

	if (f)
		*ret = (struct blas_device){ .init = f->cuda->cuInit,
					     .retain = f->cuda->cuDevicePrimaryCtxRetain,
					     .push = f->cuda->cuCtxPushCurrent_v2,
					     .pop = f->cuda->cuCtxPopCurrent_v2,
					     .alloc = f->cuda->cuMemAlloc_v2,
					     .free = f->cuda->cuMemFree_v2,
					     .copy = f->cuda->cuMemcpy2DUnaligned_v2 };
	return f;
}
