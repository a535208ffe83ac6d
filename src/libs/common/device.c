/* device.c: see device.h. */
#include "libs/common/device.h"

#include "softdev/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNELS_MOST 64u
#define KERNEL_TEXT 512u

static struct {
	pthread_mutex_t mutex;
	/* mutex guards the following; they are written once */
	bool tried, good;
	char *path; /* of the driver; NULL: by its name */
	struct device_driver driver;
	const struct soft_native_table *native;
	uint32_t number;
	CUkernel kernel[KERNELS_MOST];
} device = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static const struct {
	const char *symbol;
	size_t offset;
} calls[] = {
	{ "cuInit", offsetof(struct device_driver, init) },
	{ "cuGetExportTable", offsetof(struct device_driver, export_table) },
	{ "cuCtxGetCurrent", offsetof(struct device_driver, current) },
	{ "cuCtxSetCurrent", offsetof(struct device_driver, set_current) },
	{ "cuCtxPushCurrent_v2", offsetof(struct device_driver, push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct device_driver, pop) },
	{ "cuCtxGetDevice", offsetof(struct device_driver, device) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct device_driver, retain) },
	{ "cuDeviceGetAttribute", offsetof(struct device_driver, attribute) },
	{ "cuMemAlloc_v2", offsetof(struct device_driver, alloc) },
	{ "cuMemFree_v2", offsetof(struct device_driver, free) },
	{ "cuMemcpyDtoHAsync_v2", offsetof(struct device_driver, read) },
	{ "cuMemcpy2DUnaligned_v2", offsetof(struct device_driver, copy) },
	{ "cuMemcpy2DAsync_v2", offsetof(struct device_driver, copy_async) },
	{ "cuStreamSynchronize", offsetof(struct device_driver, wait) },
	{ "cuStreamCreate", offsetof(struct device_driver, stream_create) },
	{ "cuStreamDestroy_v2", offsetof(struct device_driver, stream_destroy) },
	{ "cuStreamIsCapturing", offsetof(struct device_driver, capturing) },
	{ "cuThreadExchangeStreamCaptureMode", offsetof(struct device_driver, capture_mode) },
	{ "cuStreamGetCtx", offsetof(struct device_driver, stream_context) },
	{ "cuLibraryLoadData", offsetof(struct device_driver, load) },
	{ "cuLibraryGetKernel", offsetof(struct device_driver, kernel) },
	{ "cuLaunchKernel", offsetof(struct device_driver, launch) },
};

static bool driver_find_locked(const char *library)
{
	static const CUuuid id = { SOFT_NATIVE_ID };
	void *handle = dlopen(device.path ? device.path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	const void *table = NULL;

	if (!handle) {
		log_line("%s: %s; run the program with `mete soft run` or `mete run --soft`", library, dlerror());
		return false;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		void *f = dlsym(handle, calls[i].symbol);

		if (!f) {
			log_line("%s: libcuda.so.1 has no %s; use mete's software device", library, calls[i].symbol);
			return false;
		}
		memcpy((char *)&device.driver + calls[i].offset, &f, sizeof(f));
	}
	if (device.driver.init(0))
		return false; /* the driver has said why */
	if (device.driver.export_table(&table, &id) || !table) {
		log_line("%s: this library works on mete's software device itself, and the driver is another one; "
			 "behind a wall and over the network there is no %s (docs/libraries.md); with NVIDIA's driver "
			 "use NVIDIA's, without mete's folder in LD_LIBRARY_PATH and LD_PRELOAD",
			 library, library);
		return false;
	}
	device.native = table;
	return device.native->bytes >= sizeof(*device.native);
}

/* Kernels that do nothing but hand over; allocated. */
static char *kernels_text(const char *const *kernels, uint32_t count)
{
	size_t room = (count + 1) * KERNEL_TEXT, n;
	char *text = malloc(room);

	if (!text)
		return NULL;
	n = (size_t)snprintf(text, room,
			     ".version 7.0\n.target sm_50\n.address_size 64\n.extern .func %s(.param .b32 number);\n",
			     SOFT_NATIVE_NAME);
	for (uint32_t i = 0; i < count; i++)
		n += (size_t)snprintf(text + n, room - n,
				      ".visible .entry %s(.param .align 16 .b8 work[%u])\n{\n\t.reg .b32 %%r<2>;\n"
				      "\t.param .b32 number;\n\tld.param.u32 %%r1, [work];\n"
				      "\tst.param.b32 [number], %%r1;\n\tcall.uni %s, (number);\n\tret;\n}\n",
				      kernels[i], DEVICE_PARAM_BYTES, SOFT_NATIVE_NAME);
	return text;
}

static bool kernels_load_locked(const char *library, const char *const *kernels, uint32_t count)
{
	char *text = kernels_text(kernels, count);
	CUlibrary loaded = NULL;
	CUresult e = text ? device.driver.load(&loaded, text, NULL, NULL, 0, NULL, NULL, 0) : CUDA_ERROR_OUT_OF_MEMORY;

	for (uint32_t i = 0; !e && i < count; i++)
		e = device.driver.kernel(&device.kernel[i], loaded, kernels[i]);
	free(text);
	if (e)
		log_line("%s: its kernels cannot be loaded (error %d); install all of mete", library, (int)e);
	return !e;
}

const struct device_driver *device_open(const char *library, const char *const *kernels, uint32_t count,
					soft_native_function f)
{
	pthread_mutex_lock(&device.mutex);
	if (!device.tried) {
		device.tried = true;
		device.good = count <= KERNELS_MOST && driver_find_locked(library) &&
			      kernels_load_locked(library, kernels, count);
		device.number = device.good ? device.native->add(f) : 0;
		device.good = device.good && device.number;
	}
	pthread_mutex_unlock(&device.mutex);
	return device.good ? &device.driver : NULL;
}

void device_driver_path(const char *path)
{
	pthread_mutex_lock(&device.mutex);
	if (!device.tried && !device.path)
		device.path = strdup(path);
	pthread_mutex_unlock(&device.mutex);
}

CUresult device_context(CUcontext *ret)
{
	CUresult e = device.driver.current(ret);

	if (e || *ret)
		return e;
	e = device.driver.retain(ret, 0);
	return e ? e : device.driver.set_current(*ret);
}

uint32_t device_threads(void)
{
	return device.native->threads();
}

static CUresult device_of(CUcontext context, CUdevice *ret)
{
	CUcontext popped;
	CUresult e = device.driver.push(context);

	if (e)
		return e;
	e = device.driver.device(ret);
	device.driver.pop(&popped);
	return e;
}

/* A kernel of a library runs where its stream is, and would reach for the memory of another device. */
static CUresult stream_check(CUstream stream)
{
	CUcontext of = NULL, now = NULL;
	CUdevice there = 0, here = 0;
	CUresult e;

	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return CUDA_SUCCESS;
	e = device.driver.stream_context(stream, &of);
	if (!e)
		e = device.driver.current(&now);
	if (e || of == now)
		return e;
	e = device_of(of, &there);
	if (!e)
		e = device.driver.device(&here);
	return e ? e : there == here ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult device_launch(uint32_t number, uint32_t blocks, CUstream stream, const void *work, size_t bytes)
{
	_Alignas(16) uint8_t params[DEVICE_PARAM_BYTES] = { 0 };
	void *list[] = { params };
	CUresult e = stream_check(stream);

	if (e)
		return e;
	memcpy(params, work, bytes);
	memcpy(params, &device.number, sizeof(device.number));
	return device.driver.launch((CUfunction)device.kernel[number], blocks, 1, 1, 1, 1, 1, 0, stream, list, NULL);
}
