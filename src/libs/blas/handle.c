/* handle.c: handles of cuBLAS and cuBLASLt: what is set, and the memory that they are charged. */
#include "libs/blas/blas.h"

#include "libs/blas/copies.h"
#include "libs/blas/gemm.h"
#include "libs/blas/run.h"
#include "libs/common/library.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char *const kernels[] = {
#define KERNEL_NAME(number, name) [number] = "cublas_" #name,
	BLAS_EACH_BODY(KERNEL_NAME)
#undef KERNEL_NAME
};

/*
 * What NVIDIA recommends and takes: cuBLAS documentation, cublasSetWorkspace(): 32 MiB for compute capabilities 9.0 and
 * 10.x, 12 MiB for 12.x, else 4 MiB.
 */
size_t blas_workspace_bytes(int major, int minor)
{
	return (size_t)(major == 9 || major == 10 || major == 11 ? 32 : major >= 12 ? 12 : 4) << 20;
}

/* By the first handle that this library sees, which may be one that the other library has made. */
static const struct device_driver *driver_open(void)
{
	static _Atomic(const struct device_driver *) opened;
	const struct device_driver *driver = atomic_load_explicit(&opened, memory_order_acquire);

	if (!driver) {
		driver = device_open("cuBLAS", kernels, BLAS_BODIES, run_native);
		atomic_store_explicit(&opened, driver, memory_order_release); /* pairs with the load above */
		gemm_open();
	}
	return driver;
}

struct blas_handle *blas_handle_find(const void *handle)
{
	struct blas_handle *h = (struct blas_handle *)(uintptr_t)handle;

	if (!h || (uintptr_t)h % _Alignof(struct blas_handle) || h->magic != BLAS_MAGIC)
		return NULL;
	return driver_open() ? h : NULL;
}

static CUresult workspace_get(struct blas_handle *h)
{
	int major = 0, minor = 0;
	CUdevice device;
	CUresult e = h->driver->device(&device);

	if (!e)
		e = h->driver->attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	if (!e)
		e = h->driver->attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	return e ? e : h->driver->alloc(&h->workspace, blas_workspace_bytes(major, minor));
}

cublasStatus_t blas_handle_new(void **ret, bool with_workspace)
{
	const struct device_driver *driver;
	struct blas_handle *h;
	CUresult e;

	if (!ret)
		return CUBLAS_STATUS_INVALID_VALUE;
	driver = driver_open();
	if (!driver)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	h = calloc(1, sizeof(*h));
	if (!h)
		return CUBLAS_STATUS_ALLOC_FAILED;
	h->driver = driver;
	pthread_mutex_init(&h->result_mutex, NULL);
	e = device_context(&h->context);
	if (!e && with_workspace)
		e = workspace_get(h);
	if (e) {
		free(h);
		return blas_status_of(e);
	}
	h->magic = BLAS_MAGIC;
	*ret = h;
	return CUBLAS_STATUS_SUCCESS;
}

/* The work that uses the workspace ends first: that is what freeing device memory waits for. */
cublasStatus_t blas_handle_free(void *handle)
{
	struct blas_handle *h = blas_handle_find(handle);

	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	h->magic = 0;
	if (h->workspace && !h->driver->push(h->context)) {
		CUcontext popped;

		h->driver->free(h->workspace);
		h->driver->pop(&popped);
	}
	pthread_mutex_destroy(&h->result_mutex);
	free(h);
	return CUBLAS_STATUS_SUCCESS;
}

bool blas_copy(const CUDA_MEMCPY2D *m, CUstream stream, bool async, CUresult *ret)
{
	const struct device_driver *driver = driver_open();
	CUcontext context;

	if (!driver)
		return false;
	*ret = device_context(&context);
	if (!*ret)
		*ret = async ? driver->copy_async(m, stream) : driver->copy(m);
	return true;
}

bool blas_device(struct blas_device *ret)
{
	const struct device_driver *driver = driver_open();

	if (driver)
		*ret = (struct blas_device){ .init = driver->init,
					     .retain = driver->retain,
					     .push = driver->push,
					     .pop = driver->pop,
					     .alloc = driver->alloc,
					     .free = driver->free,
					     .copy = driver->copy };
	return driver;
}

void blas_refused(const char *symbol)
{
	library_refused("cuBLAS", symbol);
}
