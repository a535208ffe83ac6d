/*
 * empty_driver.c: the few calls of the empty driver that must answer sensibly to be measured over.
 *
 * The rest is generated and does nothing (null_driver.c); its functions are weak, so those here take their place. An
 * allocation costs the driver next to nothing here, which makes what stands in front of it visible. One device, whose
 * UUID is that of METE_BENCH_UUID, so that a grant's device is found in it.
 */
#include "cuda_table.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICE_BYTES (16ull << 30)
#define LATE_NS 1000000

EXPORT CUresult cuDriverGetVersion(int *version);
EXPORT CUresult cuDeviceGetCount(int *count);
EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev);
EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev);
EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
EXPORT CUresult cuCtxGetCurrent(CUcontext *context);
EXPORT CUresult cuCtxGetDevice(CUdevice *dev);
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev);
EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags);
EXPORT CUresult cuEventRecord(CUevent event, CUstream stream);
EXPORT CUresult cuEventQuery(CUevent event);
EXPORT CUresult cuEventSynchronize(CUevent event);
EXPORT CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end);
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **f, int version, cuuint64_t flags,
				    CUdriverProcAddressQueryResult *status);

CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	const char *p = getenv("METE_BENCH_UUID");
	unsigned int byte, n = 0;

	memset(uuid, 0, sizeof *uuid);
	if (!p || strncmp(p, "GPU-", 4))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (p += 4; *p && n < 16; p += 2) {
		p += *p == '-';
		if (sscanf(p, "%2x", &byte) != 1)
			break;
		uuid->bytes[n++] = (char)byte;
	}
	return n == 16 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	*bytes = DEVICE_BYTES;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	*free_bytes = *total_bytes = DEVICE_BYTES;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	*context = (CUcontext)0x1000;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice dev)
{
	return cuCtxGetCurrent(context);
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	*dev = 0;
	return CUDA_SUCCESS;
}

/*
 * An event happens when it is recorded, but shows so only a millisecond later, so that there is always some work in
 * flight: an event is the place where its time stands.
 */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	*event = calloc(1, sizeof(_Atomic uint64_t));
	return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	atomic_store((_Atomic uint64_t *)event, now_ns());
	return CUDA_SUCCESS;
}

/* The row of the pass-through call asks for an event that there is none of. */
CUresult cuEventQuery(CUevent event)
{
	if ((uintptr_t)event <= 0x1000)
		return CUDA_SUCCESS;
	return now_ns() < atomic_load((_Atomic uint64_t *)event) + LATE_NS ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event)
{
	while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
		nanosleep(&(struct timespec){ .tv_nsec = LATE_NS / 4 }, NULL);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
	int64_t ns = (int64_t)(atomic_load((_Atomic uint64_t *)end) - atomic_load((_Atomic uint64_t *)begin));

	*ms = (float)((double)ns / 1e6);
	return CUDA_SUCCESS;
}

/* Addresses are never given twice: freeing the wrong record would show. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	static _Atomic unsigned long long next = 1ull << 40;

	*address = atomic_fetch_add_explicit(&next, (bytes + 511) & ~511ull, memory_order_relaxed);
	return CUDA_SUCCESS;
}

/* Looks among its own exports, the way a driver looks into a table of that size. */
CUresult cuGetProcAddress_v2(const char *symbol, void **f, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	static void *self;
	char name[256];
	Dl_info info;

	if (!self && dladdr((void *)&cuGetProcAddress_v2, &info))
		self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	snprintf(name, sizeof name, "%s_v2", symbol);
	*f = self ? dlsym(self, name) : NULL;
	if (!*f && self)
		*f = dlsym(self, symbol);
	if (status)
		*status = *f ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}
