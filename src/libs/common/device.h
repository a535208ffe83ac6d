/*
 * device.h: the software device under a library: how its functions are executed as kernels (wire/soft_native.h).
 *
 * One PTX library with a kernel per name is loaded in a process. A launch goes through the program's own driver, so
 * through mete's shim where there is one: it is charged, captured, timed and shown as a kernel of that name.
 */
#pragma once

#include "cuda_table.h"
#include "wire/soft_native.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a kernel's parameters; the first four are the function's number, which device_launch() puts there. */
#define DEVICE_PARAM_BYTES 640u

/* The driver calls that are needed, from the program's libcuda.so.1. */
struct device_driver {
	__typeof__(((struct cuda_table *)0)->cuInit) init;
	__typeof__(((struct cuda_table *)0)->cuGetExportTable) export_table;
	__typeof__(((struct cuda_table *)0)->cuCtxGetCurrent) current;
	__typeof__(((struct cuda_table *)0)->cuCtxSetCurrent) set_current;
	__typeof__(((struct cuda_table *)0)->cuCtxPushCurrent_v2) push;
	__typeof__(((struct cuda_table *)0)->cuCtxPopCurrent_v2) pop;
	__typeof__(((struct cuda_table *)0)->cuCtxGetDevice) device;
	__typeof__(((struct cuda_table *)0)->cuDevicePrimaryCtxRetain) retain;
	__typeof__(((struct cuda_table *)0)->cuDeviceGetAttribute) attribute;
	__typeof__(((struct cuda_table *)0)->cuMemAlloc_v2) alloc;
	__typeof__(((struct cuda_table *)0)->cuMemFree_v2) free;
	__typeof__(((struct cuda_table *)0)->cuMemcpyDtoHAsync_v2) read;
	__typeof__(((struct cuda_table *)0)->cuMemcpy2DUnaligned_v2) copy;
	__typeof__(((struct cuda_table *)0)->cuMemcpy2DAsync_v2) copy_async;
	__typeof__(((struct cuda_table *)0)->cuStreamSynchronize) wait;
	__typeof__(((struct cuda_table *)0)->cuStreamCreate) stream_create;
	__typeof__(((struct cuda_table *)0)->cuStreamDestroy_v2) stream_destroy;
	__typeof__(((struct cuda_table *)0)->cuStreamIsCapturing) capturing;
	__typeof__(((struct cuda_table *)0)->cuThreadExchangeStreamCaptureMode) capture_mode;
	__typeof__(((struct cuda_table *)0)->cuStreamGetCtx) stream_context;
	__typeof__(((struct cuda_table *)0)->cuLibraryLoadData) load;
	__typeof__(((struct cuda_table *)0)->cuLibraryGetKernel) kernel;
	__typeof__(((struct cuda_table *)0)->cuLaunchKernel) launch;
};

/*
 * The driver of this process, or NULL: there is none, or it is not the software device's; logged once. `kernels`: the
 * names of all kernels of the library, `f`: the functions that they execute.
 */
const struct device_driver *device_open(const char *library, const char *const *kernels, uint32_t count,
					soft_native_function f);

/* Called before device_open(): the path of the driver, instead of the file that is found as libcuda.so.1. */
void device_driver_path(const char *path);

/* Provides a context for a thread without one: the first device's primary context. */
CUresult device_context(CUcontext *ret);
/* The number of threads that run blocks at the same time. */
uint32_t device_threads(void);
/*
 * n->reach() for numbers of `each` bytes, which must be aligned, because the compiler relies on it. False: the launch
 * has failed with a fault.
 */
static inline bool device_reach(struct soft_native *n, uint64_t at, uint64_t bytes, uint64_t each, bool write)
{
	uint64_t by = each & -each;

	if (bytes && at & ((by < 8 ? by : 8) - 1)) {
		n->refuse(n);
		return false;
	}
	return n->reach(n, at, bytes, write);
}

/*
 * Launches kernel `number` of the names, on a stream of the current context. `work`: the kernel's parameters, at most
 * DEVICE_PARAM_BYTES; what follows them is zero.
 */
CUresult device_launch(uint32_t number, uint32_t blocks, CUstream stream, const void *work, size_t bytes);
