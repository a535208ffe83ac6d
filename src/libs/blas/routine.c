/* routine.c: from a call to a kernel, and from a kernel to the body that runs. */
#include "libs/blas/blas.h"

#include "libs/blas/run.h"

#include <string.h>

static const blas_begin begins[BLAS_BODIES] = {
#define BEGIN(number, name) [number] = begin_##name,
	BLAS_EACH_BODY(BEGIN)
#undef BEGIN
};

cublasStatus_t blas_call(cublasHandle_t handle, struct blas_work *w, const char *symbol)
{
	struct blas_handle *h = blas_handle_find(handle);
	cublasStatus_t status;

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	w->in_device = h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
	status = begins[w->body](h, w);
	if (status == CUBLAS_STATUS_NOT_SUPPORTED)
		blas_refused(symbol);
	return status;
}

cublasStatus_t blas_scalar(const struct blas_handle *h, uint64_t address, unsigned int type, uint8_t value[16])
{
	if (!address)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (h->pointer_mode == CUBLAS_POINTER_MODE_HOST)
		memcpy(value, (const void *)(uintptr_t)address, type_bytes(type));
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t blas_status_of(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS:
		return CUBLAS_STATUS_SUCCESS;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return CUBLAS_STATUS_ALLOC_FAILED;
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return CUBLAS_STATUS_NOT_INITIALIZED;
	case CUDA_ERROR_INVALID_VALUE:
		return CUBLAS_STATUS_INVALID_VALUE;
	default:
		return CUBLAS_STATUS_EXECUTION_FAILED;
	}
}

/* The handle's context is the current one for the launch, as its streams are of it. */
cublasStatus_t blas_launch(struct blas_handle *h, uint32_t body, uint32_t blocks, cudaStream_t stream, void *params)
{
	CUcontext now = NULL, popped;
	CUresult e = h->driver->current(&now);
	bool other = !e && now != h->context;

	if (!e && other)
		e = h->driver->push(h->context);
	if (e)
		return blas_status_of(e);
	e = device_launch(body, blocks, stream, params);
	if (other)
		h->driver->pop(&popped);
	return blas_status_of(e);
}

void run_native(struct soft_native *n)
{
	uint32_t body;

	if (n->bytes != DEVICE_PARAM_BYTES) {
		n->refuse(n);
		return;
	}
	memcpy(&body, (const char *)n->params + offsetof(struct blas_work, body), sizeof(body));
	if (body == BLAS_GEMM)
		product_run(n, n->params);
	else
		n->refuse(n);
}
