/* pool.c: memory in the order of streams, and the pools that it comes from. Pools are the driver's own. */
#include "runtime/rt.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps) &&
		       sizeof(struct cudaMemLocation) == sizeof(CUmemLocation) &&
		       sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc) &&
		       sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
	       "pools are described alike");

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	CUdeviceptr p = 0;
	cudaError_t e = devPtr ? RT_TRY(cuMemAllocAsync, &p, size, hStream) : cudaErrorInvalidValue;

	if (!e)
		*devPtr = (void *)(uintptr_t)p;
	return rt_done(e);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return RT_CALL(cuMemFreeAsync, (CUdeviceptr)(uintptr_t)devPtr, hStream);
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
	CUdeviceptr p = 0;
	cudaError_t e = ptr ? RT_TRY(cuMemAllocFromPoolAsync, &p, size, memPool, stream) : cudaErrorInvalidValue;

	if (!e)
		*ptr = (void *)(uintptr_t)p;
	return rt_done(e);
}

/* ---- which pool a device uses ---- */

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceGetDefaultMemPool(memPool, device)));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceGetMemPool(memPool, device)));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceSetMemPool(device, memPool)));
}

#if CUDART_MAJOR >= 13
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				     enum cudaMemAllocationType type)
{
	return RT_CALL(cuMemGetDefaultMemPool, memPool, (CUmemLocation *)location, (CUmemAllocationType)type);
}

cudaError_t cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
	return RT_CALL(cuMemGetMemPool, memPool, (CUmemLocation *)location, (CUmemAllocationType)type);
}

cudaError_t cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t memPool)
{
	return RT_CALL(cuMemSetMemPool, (CUmemLocation *)location, (CUmemAllocationType)type, memPool);
}
#endif

/* ---- pools ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	return RT_CALL(cuMemPoolCreate, memPool, (const CUmemPoolProps *)poolProps);
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	return RT_CALL(cuMemPoolDestroy, memPool);
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	return RT_CALL(cuMemPoolTrimTo, memPool, minBytesToKeep);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	return RT_CALL(cuMemPoolSetAttribute, memPool, (CUmemPool_attribute)attr, value);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	return RT_CALL(cuMemPoolGetAttribute, memPool, (CUmemPool_attribute)attr, value);
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
	return RT_CALL(cuMemPoolSetAccess, memPool, (const CUmemAccessDesc *)descList, count);
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				 struct cudaMemLocation *location)
{
	CUmemAccess_flags f = 0;
	cudaError_t e =
		flags ? RT_TRY(cuMemPoolGetAccess, &f, memPool, (CUmemLocation *)location) : cudaErrorInvalidValue;

	if (!e)
		*flags = (enum cudaMemAccessFlags)f;
	return rt_done(e);
}

/* ---- pools between processes ---- */

cudaError_t cudaMemPoolExportToShareableHandle(void *shareableHandle, cudaMemPool_t memPool,
					       enum cudaMemAllocationHandleType handleType, unsigned int flags)
{
	return RT_CALL(cuMemPoolExportToShareableHandle, shareableHandle, memPool,
		       (CUmemAllocationHandleType)handleType, flags);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
						 enum cudaMemAllocationHandleType handleType, unsigned int flags)
{
	return RT_CALL(cuMemPoolImportFromShareableHandle, memPool, shareableHandle,
		       (CUmemAllocationHandleType)handleType, flags);
}

cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData, void *ptr)
{
	return RT_CALL(cuMemPoolExportPointer, (CUmemPoolPtrExportData *)exportData, (CUdeviceptr)(uintptr_t)ptr);
}

cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool, struct cudaMemPoolPtrExportData *exportData)
{
	CUdeviceptr p = 0;
	cudaError_t e = ptr ? RT_TRY(cuMemPoolImportPointer, &p, memPool, (CUmemPoolPtrExportData *)exportData)
			    : cudaErrorInvalidValue;

	if (!e)
		*ptr = (void *)(uintptr_t)p;
	return rt_done(e);
}
