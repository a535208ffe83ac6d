/*
 * twin_device.c: the device of a twin, in place of libs/common/device.c and library.c: nothing is loaded, allocated or
 * launched. Memory that a twin takes has an address that nobody uses; what it reads is left as it was.
 */
#include "remote/libs/twin_device.h"

#include "libs/common/library.h"
#include "remote/libs/request.h"

#include <stdatomic.h>
#include <string.h>

static __thread struct {
	bool memory;
	const char *refused;
} seen;

void twin_device_begin(void)
{
	seen.memory = false;
	seen.refused = NULL;
}

bool twin_device_takes_memory(void)
{
	return seen.memory;
}

void twin_device_tell(const char *title)
{
	static _Atomic(const char *) told[64];
	const struct forward_calls *f = forward_client();

	for (size_t i = 0; f && seen.refused && i < sizeof(told) / sizeof(*told); i++) {
		const char *none = NULL;

		if (atomic_compare_exchange_strong(&told[i], &none, seen.refused)) {
			f->log("%s: not supported by %s on the way to a remote device (docs/libraries.md)",
			       seen.refused, title);
			return;
		}
		if (none == seen.refused)
			return;
	}
}

/* `symbol` is a constant of the library. */
void library_refused(const char *title, const char *symbol)
{
	seen.refused = symbol;
}

/* ---- the driver ---- */

static CUresult current(CUcontext *ret)
{
	return forward_client()->cuda->cuCtxGetCurrent(ret);
}

static CUresult push(CUcontext context)
{
	return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *ret)
{
	*ret = NULL;
	return CUDA_SUCCESS;
}

static CUresult memory_alloc(CUdeviceptr *ret, size_t bytes)
{
	seen.memory = true;
	*ret = 16;
	return CUDA_SUCCESS;
}

static CUresult memory_free(CUdeviceptr at)
{
	return CUDA_SUCCESS;
}

static CUresult memory_read(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return CUDA_SUCCESS;
}

static CUresult wait(CUstream stream)
{
	return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *ret, unsigned int flags)
{
	*ret = NULL;
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
	return CUDA_SUCCESS;
}

/* The worker's own library finds out what is captured. */
static CUresult capturing(CUstream stream, CUstreamCaptureStatus *ret)
{
	*ret = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult capture_mode(CUstreamCaptureMode *mode)
{
	return CUDA_SUCCESS;
}

static const struct device_driver driver = {
	.current = current,
	.push = push,
	.pop = pop,
	.alloc = memory_alloc,
	.free = memory_free,
	.read = memory_read,
	.wait = wait,
	.stream_create = stream_create,
	.stream_destroy = stream_destroy,
	.capturing = capturing,
	.capture_mode = capture_mode,
};

const struct device_driver *device_open(const char *library, const char *const *kernels, uint32_t count,
					soft_native_function f)
{
	return forward_client() ? &driver : NULL;
}

CUresult device_context(CUcontext *ret)
{
	forward_context();
	return current(ret);
}

uint32_t device_threads(void)
{
	return 1;
}

CUresult library_launch(const struct device_driver *unused, CUcontext context, uint32_t kernel, uint32_t blocks,
			CUstream stream, const void *work, size_t bytes)
{
	return CUDA_SUCCESS;
}
