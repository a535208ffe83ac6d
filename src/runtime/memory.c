/* memory.c: allocations: on the device, pinned on the host, managed; and what is left. */
#include "runtime/rt.h"

static void *pointer_of(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
	CUdeviceptr p = 0;
	cudaError_t e = devPtr ? rt_ready() : cudaErrorInvalidValue;

	if (!e && size)
		e = rt_error(rt_driver.cuMemAlloc_v2(&p, size));
	if (!e)
		*devPtr = pointer_of(p);
	return rt_done(e);
}

cudaError_t cudaFree(void *devPtr)
{
	cudaError_t e = rt_ready();

	if (!e && devPtr)
		e = rt_error(rt_driver.cuMemFree_v2((CUdeviceptr)(uintptr_t)devPtr));
	return rt_done(e);
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
	return cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	void *p = NULL;
	cudaError_t e = pHost ? rt_ready() : cudaErrorInvalidValue;

	if (!e && size)
		e = rt_error(rt_driver.cuMemHostAlloc(&p, size, flags));
	if (!e)
		*pHost = p;
	return rt_done(e);
}

cudaError_t cudaFreeHost(void *ptr)
{
	cudaError_t e = rt_ready();

	if (!e && ptr)
		e = rt_error(rt_driver.cuMemFreeHost(ptr));
	return rt_done(e);
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	return RT_CALL(cuMemHostRegister_v2, ptr, size, flags);
}

cudaError_t cudaHostUnregister(void *ptr)
{
	return RT_CALL(cuMemHostUnregister, ptr);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	CUdeviceptr p = 0;
	cudaError_t e = pDevice ? RT_TRY(cuMemHostGetDevicePointer_v2, &p, pHost, flags) : cudaErrorInvalidValue;

	if (!e)
		*pDevice = pointer_of(p);
	return rt_done(e);
}

cudaError_t cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
	return RT_CALL(cuMemHostGetFlags, pFlags, pHost);
}

cudaError_t cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	CUdeviceptr p = 0;
	cudaError_t e = devPtr && size ? RT_TRY(cuMemAllocManaged, &p, size, flags) : cudaErrorInvalidValue;

	if (!e)
		*devPtr = pointer_of(p);
	return rt_done(e);
}

static cudaError_t alloc_pitch(void **ret, size_t *ret_pitch, size_t width, size_t height)
{
	CUdeviceptr p = 0;
	size_t pitch = 0;
	cudaError_t e = rt_ready();

	if (!e && width && height)
		e = rt_error(rt_driver.cuMemAllocPitch_v2(&p, &pitch, width, height, 4));
	if (!e) {
		*ret = pointer_of(p);
		*ret_pitch = pitch;
	}
	return e;
}

cudaError_t cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	return rt_done(devPtr && pitch ? alloc_pitch(devPtr, pitch, width, height) : cudaErrorInvalidValue);
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	struct cudaPitchedPtr p = { NULL, 0, extent.width, extent.height };
	size_t rows;
	cudaError_t e;

	if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return rt_done(cudaErrorInvalidValue);
	e = alloc_pitch(&p.ptr, &p.pitch, extent.width, rows);
	if (!e)
		*pitchedDevPtr = p;
	return rt_done(e);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	return RT_CALL(cuMemGetInfo_v2, free, total);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	unsigned type = 0, managed = 0;
	int device = -1;
	CUdeviceptr on_device = 0;
	void *on_host = NULL;
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
					CU_POINTER_ATTRIBUTE_HOST_POINTER };
	void *where[] = { &type, &managed, &device, &on_device, &on_host };
	struct cudaPointerAttributes a = { 0 };
	cudaError_t e = attributes ? RT_TRY(cuPointerGetAttributes, 5, which, where, (CUdeviceptr)(uintptr_t)ptr)
				   : cudaErrorInvalidValue;

	if (e)
		return rt_done(e);
	/* Memory that no call of CUDA gave: since 11.0 not an error. */
	a.type = managed			? cudaMemoryTypeManaged
		 : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
		 : type == CU_MEMORYTYPE_HOST	? cudaMemoryTypeHost
						: cudaMemoryTypeUnregistered;
	a.device = a.type == cudaMemoryTypeUnregistered ? -2 : device;
	a.devicePointer = pointer_of(on_device);
	a.hostPointer = a.type == cudaMemoryTypeUnregistered ? (void *)(uintptr_t)ptr : on_host;
	*attributes = a;
	return cudaSuccess;
}
