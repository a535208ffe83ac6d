/*
 * device_calls.c: calls that take or give a device and do nothing else that concerns us: the program's numbers become
 * the driver's on the way in, and back on the way out, in structures as well. Only reached while some device is hidden.
 */
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/launches.h"
#include "shim/scratch.h"
#include "shim/start.h"

#include <string.h>

/* The device that the driver gave, as the program knows it. */
static CUresult told(CUresult r, CUdevice *device)
{
	if (r == CUDA_SUCCESS && device)
		*device = devices_out(*device);
	return r;
}

static void operand_in(CUmemcpy3DOperand *o)
{
	if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER)
		o->op.ptr.locHint = location_in(o->op.ptr.locHint);
}

static void copy_gate(struct launch *l, enum cuda_call call, uint64_t bytes, CUstream stream, bool per_thread)
{
	l->pace = NULL;
	if (copy_matters())
		copy_begin(l, call, bytes, stream, per_thread);
}

static uint64_t sizes_bytes(size_t count, const size_t *sizes)
{
	uint64_t bytes = 0;

	for (size_t i = 0; sizes && copy_matters() && i < count; i++)
		bytes += sizes[i];
	return bytes;
}

static uint64_t operations_bytes(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops)
{
	uint64_t bytes = 0;

	for (size_t i = 0; ops && copy_matters() && i < count; i++)
		bytes += (uint64_t)ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth;
	return bytes;
}

CUresult shim_cuDeviceGetCount(int *count)
{
	CUresult r = shim_real.cuDeviceGetCount(count);

	if (r == CUDA_SUCCESS && !devices_same())
		*count = devices_seen_count();
	return r;
}

CUresult shim_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements, CUarray array,
					   CUdevice device)
{
	return shim_real.cuArrayGetMemoryRequirements(memoryRequirements, array, devices_in(device));
}

CUresult shim_cuCtxGetDevice(CUdevice *device)
{
	return told(shim_real.cuCtxGetDevice(device), device);
}

CUresult shim_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	return told(shim_real.cuCtxGetDevice_v2(device, ctx), device);
}

CUresult shim_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	return shim_real.cuDeviceCanAccessPeer(canAccessPeer, devices_in(dev), devices_in(peerDev));
}

CUresult shim_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	return shim_real.cuDeviceComputeCapability(major, minor, devices_in(dev));
}

CUresult shim_cuDeviceGet(CUdevice *device, int ordinal)
{
	return told(shim_real.cuDeviceGet(device, devices_in(ordinal)), device);
}

CUresult shim_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	return shim_real.cuDeviceGetAttribute(pi, attrib, devices_in(dev));
}

CUresult shim_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	return told(shim_real.cuDeviceGetByPCIBusId(dev, pciBusId), dev);
}

CUresult shim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	return shim_real.cuDeviceGetDefaultMemPool(pool_out, devices_in(dev));
}

CUresult shim_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	return shim_real.cuDeviceGetDevResource(devices_in(device), resource, type);
}

CUresult shim_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
	return shim_real.cuDeviceGetExecAffinitySupport(pi, type, devices_in(dev));
}

CUresult shim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	return shim_real.cuDeviceGetGraphMemAttribute(devices_in(device), attr, value);
}

CUresult shim_cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations,
						unsigned int count, CUdevice dev)
{
	return shim_real.cuDeviceGetHostAtomicCapabilities(capabilities, operations, count, devices_in(dev));
}

CUresult shim_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	return shim_real.cuDeviceGetLuid(luid, deviceNodeMask, devices_in(dev));
}

CUresult shim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return shim_real.cuDeviceGetMemPool(pool, devices_in(dev));
}

CUresult shim_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	return shim_real.cuDeviceGetName(name, len, devices_in(dev));
}

CUresult shim_cuDeviceGetNvSciSyncAttributes(void *nvSciSyncAttrList, CUdevice dev, int flags)
{
	return shim_real.cuDeviceGetNvSciSyncAttributes(nvSciSyncAttrList, devices_in(dev), flags);
}

CUresult shim_cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations,
					       unsigned int count, CUdevice srcDevice, CUdevice dstDevice)
{
	return shim_real.cuDeviceGetP2PAtomicCapabilities(capabilities, operations, count, devices_in(srcDevice),
							  devices_in(dstDevice));
}

CUresult shim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice)
{
	return shim_real.cuDeviceGetP2PAttribute(value, attrib, devices_in(srcDevice), devices_in(dstDevice));
}

CUresult shim_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	return shim_real.cuDeviceGetPCIBusId(pciBusId, len, devices_in(dev));
}

CUresult shim_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	return shim_real.cuDeviceGetProperties(prop, devices_in(dev));
}

CUresult shim_cuDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements, CUarray_format format,
						 unsigned int numChannels, CUdevice dev)
{
	return shim_real.cuDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, format, numChannels, devices_in(dev));
}

CUresult shim_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return shim_real.cuDeviceGetUuid(uuid, devices_in(dev));
}

CUresult shim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return shim_real.cuDeviceGetUuid_v2(uuid, devices_in(dev));
}

CUresult shim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	return shim_real.cuDevicePrimaryCtxGetState(devices_in(dev), flags, active);
}

CUresult shim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return shim_real.cuDevicePrimaryCtxSetFlags(devices_in(dev), flags);
}

CUresult shim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	return shim_real.cuDevicePrimaryCtxSetFlags_v2(devices_in(dev), flags);
}

CUresult shim_cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback callbackFunc, void *userData,
						CUasyncCallbackHandle *callback)
{
	return shim_real.cuDeviceRegisterAsyncNotification(devices_in(device), callbackFunc, userData, callback);
}

CUresult shim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	return shim_real.cuDeviceSetGraphMemAttribute(devices_in(device), attr, value);
}

CUresult shim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	return shim_real.cuDeviceSetMemPool(devices_in(dev), pool);
}

CUresult shim_cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle callback)
{
	return shim_real.cuDeviceUnregisterAsyncNotification(devices_in(device), callback);
}

CUresult shim_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
	return shim_real.cuKernelGetAttribute(pi, attrib, kernel, devices_in(dev));
}

CUresult shim_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	return shim_real.cuKernelSetAttribute(attrib, val, kernel, devices_in(dev));
}

CUresult shim_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	return shim_real.cuKernelSetCacheConfig(kernel, config, devices_in(dev));
}

CUresult shim_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return shim_real.cuMemAdvise(devPtr, count, advice, devices_in(device));
}

CUresult shim_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	struct launch l;
	CUresult r;

	copy_gate(&l, CUDA_CALL_cuMemPrefetchAsync, count, hStream, false);
	r = shim_real.cuMemPrefetchAsync(devPtr, count, devices_in(dstDevice), hStream);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	struct launch l;
	CUresult r;

	copy_gate(&l, CUDA_CALL_cuMemPrefetchAsync_ptsz, count, hStream, true);
	r = shim_real.cuMemPrefetchAsync_ptsz(devPtr, count, devices_in(dstDevice), hStream);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memoryRequirements,
						    CUmipmappedArray mipmap, CUdevice device)
{
	return shim_real.cuMipmappedArrayGetMemoryRequirements(memoryRequirements, mipmap, devices_in(device));
}

CUresult shim_cuMulticastAddDevice(CUmemGenericAllocationHandle mcHandle, CUdevice dev)
{
	return shim_real.cuMulticastAddDevice(mcHandle, devices_in(dev));
}

CUresult shim_cuMulticastUnbind(CUmemGenericAllocationHandle mcHandle, CUdevice dev, size_t mcOffset, size_t size)
{
	return shim_real.cuMulticastUnbind(mcHandle, devices_in(dev), mcOffset, size);
}

CUresult shim_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	return told(shim_real.cuStreamGetDevice(hStream, device), device);
}

CUresult shim_cuStreamGetDevice_ptsz(CUstream hStream, CUdevice *device)
{
	return told(shim_real.cuStreamGetDevice_ptsz(hStream, device), device);
}

/* Devices of a display: those that the grant does not have are left out. */
static void keep_seen(unsigned int *count, CUdevice *list, unsigned int room)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < *count && i < room; i++) {
		CUdevice seen = devices_out(list[i]);

		if (seen >= 0)
			list[kept++] = seen;
	}
	*count = kept;
}

CUresult shim_cuGLGetDevices(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices, unsigned int cudaDeviceCount,
			     CUGLDeviceList deviceList)
{
	CUresult r = shim_real.cuGLGetDevices(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList);

	if (r == CUDA_SUCCESS && pCudaDeviceCount && pCudaDevices)
		keep_seen(pCudaDeviceCount, pCudaDevices, cudaDeviceCount);
	return r;
}

CUresult shim_cuGLGetDevices_v2(unsigned int *pCudaDeviceCount, CUdevice *pCudaDevices, unsigned int cudaDeviceCount,
				CUGLDeviceList deviceList)
{
	CUresult r = shim_real.cuGLGetDevices_v2(pCudaDeviceCount, pCudaDevices, cudaDeviceCount, deviceList);

	if (r == CUDA_SUCCESS && pCudaDeviceCount && pCudaDevices)
		keep_seen(pCudaDeviceCount, pCudaDevices, cudaDeviceCount);
	return r;
}

CUresult shim_cuVDPAUGetDevice(CUdevice *pDevice, uint32_t vdpDevice, void *vdpGetProcAddress)
{
	return told(shim_real.cuVDPAUGetDevice(pDevice, vdpDevice, vdpGetProcAddress), pDevice);
}

CUresult shim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = shim_real.cuPointerGetAttribute(data, attribute, ptr);

	return attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? told(r, data) : r;
}

CUresult shim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
				     CUdeviceptr ptr)
{
	CUresult r = shim_real.cuPointerGetAttributes(numAttributes, attributes, data, ptr);

	for (unsigned int i = 0; r == CUDA_SUCCESS && i < numAttributes; i++)
		if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			told(r, data[i]);
	return r;
}

/* Ranges: the older attributes are devices themselves, the newer ones devices only when their twin says so. */
static void range_out(void *data, size_t size, CUmem_range_attribute attribute, CUdeviceptr p, size_t count)
{
	CUmem_range_attribute type = CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE;
	CUmemLocationType is = CU_MEM_LOCATION_TYPE_INVALID;
	int *list = data;

	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		for (size_t i = 0; i < size / sizeof *list; i++)
			list[i] = devices_out(list[i]);
		return;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		type = CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		break;
	default:
		return;
	}
	if (size >= sizeof *list && shim_real.cuMemRangeGetAttribute(&is, sizeof is, type, p, count) == CUDA_SUCCESS &&
	    is == CU_MEM_LOCATION_TYPE_DEVICE)
		*list = devices_out(*list);
}

CUresult shim_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr,
				     size_t count)
{
	CUresult r = shim_real.cuMemRangeGetAttribute(data, dataSize, attribute, devPtr, count);

	if (r == CUDA_SUCCESS)
		range_out(data, dataSize, attribute, devPtr, count);
	return r;
}

CUresult shim_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
				      size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
	CUresult r = shim_real.cuMemRangeGetAttributes(data, dataSizes, attributes, numAttributes, devPtr, count);

	for (size_t i = 0; r == CUDA_SUCCESS && i < numAttributes; i++)
		range_out(data[i], dataSizes[i], attributes[i], devPtr, count);
	return r;
}

CUresult shim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					    CUmemAllocationGranularity_flags option)
{
	CUmemAllocationProp seen;

	if (!prop)
		return shim_real.cuMemGetAllocationGranularity(granularity, prop, option);
	seen = *prop;
	seen.location = location_in(seen.location);
	return shim_real.cuMemGetAllocationGranularity(granularity, &seen, option);
}

CUresult shim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	CUresult r = shim_real.cuMemGetAllocationPropertiesFromHandle(prop, handle);

	if (r == CUDA_SUCCESS && prop)
		prop->location = location_out(prop->location);
	return r;
}

CUresult shim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	CUmemLocation seen;

	if (location)
		seen = location_in(*location);
	return shim_real.cuMemGetAccess(flags, location ? &seen : NULL, ptr);
}

CUresult shim_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
	CUmemLocation seen;

	if (location)
		seen = location_in(*location);
	return shim_real.cuMemGetDefaultMemPool(pool_out, location ? &seen : NULL, type);
}

CUresult shim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUmemLocation seen;

	if (location)
		seen = location_in(*location);
	return shim_real.cuMemGetMemPool(pool, location ? &seen : NULL, type);
}

CUresult shim_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUmemLocation seen;

	if (location)
		seen = location_in(*location);
	return shim_real.cuMemSetMemPool(location ? &seen : NULL, type, pool);
}

CUresult shim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
	CUmemLocation seen;

	if (location)
		seen = location_in(*location);
	return shim_real.cuMemPoolGetAccess(flags, memPool, location ? &seen : NULL);
}

CUresult shim_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUmemAccessDesc *copy = scratch_copy(desc, count, sizeof *copy);
	CUresult r;

	if (desc && count && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++)
		copy[i].location = location_in(copy[i].location);
	r = shim_real.cuMemSetAccess(ptr, size, copy, count);
	scratch_free(copy, count, sizeof *copy);
	return r;
}

CUresult shim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	CUmemAccessDesc *copy = scratch_copy(map, count, sizeof *copy);
	CUresult r;

	if (map && count && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++)
		copy[i].location = location_in(copy[i].location);
	r = shim_real.cuMemPoolSetAccess(pool, copy, count);
	scratch_free(copy, count, sizeof *copy);
	return r;
}

CUresult shim_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
	return shim_real.cuMemAdvise_v2(devPtr, count, advice, location_in(location));
}

CUresult shim_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
				    CUstream hStream)
{
	struct launch l;
	CUresult r;

	copy_gate(&l, CUDA_CALL_cuMemPrefetchAsync_v2, count, hStream, false);
	r = shim_real.cuMemPrefetchAsync_v2(devPtr, count, location_in(location), flags, hStream);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
					 CUstream hStream)
{
	struct launch l;
	CUresult r;

	copy_gate(&l, CUDA_CALL_cuMemPrefetchAsync_v2_ptsz, count, hStream, true);
	r = shim_real.cuMemPrefetchAsync_v2_ptsz(devPtr, count, location_in(location), flags, hStream);
	pace_end(&l, r);
	return r;
}

CUresult shim_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
				      size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
				      CUstream hStream)
{
	CUmemLocation *copy = scratch_copy(prefetchLocs, numPrefetchLocs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (prefetchLocs && numPrefetchLocs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numPrefetchLocs; i++)
		copy[i] = location_in(copy[i]);
	copy_gate(&l, CUDA_CALL_cuMemPrefetchBatchAsync, sizes_bytes(count, sizes), hStream, false);
	r = shim_real.cuMemPrefetchBatchAsync(dptrs, sizes, count, copy, prefetchLocIdxs, numPrefetchLocs, flags,
					      hStream);
	pace_end(&l, r);
	scratch_free(copy, numPrefetchLocs, sizeof *copy);
	return r;
}

CUresult shim_cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
					   size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
					   CUstream hStream)
{
	CUmemLocation *copy = scratch_copy(prefetchLocs, numPrefetchLocs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (prefetchLocs && numPrefetchLocs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numPrefetchLocs; i++)
		copy[i] = location_in(copy[i]);
	copy_gate(&l, CUDA_CALL_cuMemPrefetchBatchAsync_ptsz, sizes_bytes(count, sizes), hStream, true);
	r = shim_real.cuMemPrefetchBatchAsync_ptsz(dptrs, sizes, count, copy, prefetchLocIdxs, numPrefetchLocs, flags,
						   hStream);
	pace_end(&l, r);
	scratch_free(copy, numPrefetchLocs, sizeof *copy);
	return r;
}

CUresult shim_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	CUmemLocation *copy = scratch_copy(prefetchLocs, numPrefetchLocs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (prefetchLocs && numPrefetchLocs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numPrefetchLocs; i++)
		copy[i] = location_in(copy[i]);
	copy_gate(&l, CUDA_CALL_cuMemDiscardAndPrefetchBatchAsync, sizes_bytes(count, sizes), hStream, false);
	r = shim_real.cuMemDiscardAndPrefetchBatchAsync(dptrs, sizes, count, copy, prefetchLocIdxs, numPrefetchLocs,
							flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numPrefetchLocs, sizeof *copy);
	return r;
}

CUresult shim_cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						     CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						     size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	CUmemLocation *copy = scratch_copy(prefetchLocs, numPrefetchLocs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (prefetchLocs && numPrefetchLocs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numPrefetchLocs; i++)
		copy[i] = location_in(copy[i]);
	copy_gate(&l, CUDA_CALL_cuMemDiscardAndPrefetchBatchAsync_ptsz, sizes_bytes(count, sizes), hStream, true);
	r = shim_real.cuMemDiscardAndPrefetchBatchAsync_ptsz(dptrs, sizes, count, copy, prefetchLocIdxs,
							     numPrefetchLocs, flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numPrefetchLocs, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				 CUstream hStream)
{
	CUmemcpyAttributes *copy = scratch_copy(attrs, numAttrs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (attrs && numAttrs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numAttrs; i++) {
		copy[i].srcLocHint = location_in(copy[i].srcLocHint);
		copy[i].dstLocHint = location_in(copy[i].dstLocHint);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpyBatchAsync, sizes_bytes(count, sizes), hStream, false);
	r = shim_real.cuMemcpyBatchAsync(dsts, srcs, sizes, count, copy, attrsIdxs, numAttrs, failIdx, hStream);
	pace_end(&l, r);
	scratch_free(copy, numAttrs, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				      CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				      CUstream hStream)
{
	CUmemcpyAttributes *copy = scratch_copy(attrs, numAttrs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (attrs && numAttrs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numAttrs; i++) {
		copy[i].srcLocHint = location_in(copy[i].srcLocHint);
		copy[i].dstLocHint = location_in(copy[i].dstLocHint);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpyBatchAsync_ptsz, sizes_bytes(count, sizes), hStream, true);
	r = shim_real.cuMemcpyBatchAsync_ptsz(dsts, srcs, sizes, count, copy, attrsIdxs, numAttrs, failIdx, hStream);
	pace_end(&l, r);
	scratch_free(copy, numAttrs, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				    CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, CUstream hStream)
{
	CUmemcpyAttributes *copy = scratch_copy(attrs, numAttrs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (attrs && numAttrs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numAttrs; i++) {
		copy[i].srcLocHint = location_in(copy[i].srcLocHint);
		copy[i].dstLocHint = location_in(copy[i].dstLocHint);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpyBatchAsync_v2, sizes_bytes(count, sizes), hStream, false);
	r = shim_real.cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, copy, attrsIdxs, numAttrs, hStream);
	pace_end(&l, r);
	scratch_free(copy, numAttrs, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
					 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
					 CUstream hStream)
{
	CUmemcpyAttributes *copy = scratch_copy(attrs, numAttrs, sizeof *copy);
	struct launch l;
	CUresult r;

	if (attrs && numAttrs && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numAttrs; i++) {
		copy[i].srcLocHint = location_in(copy[i].srcLocHint);
		copy[i].dstLocHint = location_in(copy[i].dstLocHint);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpyBatchAsync_v2_ptsz, sizes_bytes(count, sizes), hStream, true);
	r = shim_real.cuMemcpyBatchAsync_v2_ptsz(dsts, srcs, sizes, count, copy, attrsIdxs, numAttrs, hStream);
	pace_end(&l, r);
	scratch_free(copy, numAttrs, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpy3DBatchAsync(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
				   unsigned long long flags, CUstream hStream)
{
	CUDA_MEMCPY3D_BATCH_OP *copy = scratch_copy(opList, numOps, sizeof *copy);
	struct launch l;
	CUresult r;

	if (opList && numOps && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numOps; i++) {
		operand_in(&copy[i].src);
		operand_in(&copy[i].dst);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpy3DBatchAsync, operations_bytes(numOps, opList), hStream, false);
	r = shim_real.cuMemcpy3DBatchAsync(numOps, copy, failIdx, flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numOps, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
					unsigned long long flags, CUstream hStream)
{
	CUDA_MEMCPY3D_BATCH_OP *copy = scratch_copy(opList, numOps, sizeof *copy);
	struct launch l;
	CUresult r;

	if (opList && numOps && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numOps; i++) {
		operand_in(&copy[i].src);
		operand_in(&copy[i].dst);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpy3DBatchAsync_ptsz, operations_bytes(numOps, opList), hStream, true);
	r = shim_real.cuMemcpy3DBatchAsync_ptsz(numOps, copy, failIdx, flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numOps, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpy3DBatchAsync_v2(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
				      CUstream hStream)
{
	CUDA_MEMCPY3D_BATCH_OP *copy = scratch_copy(opList, numOps, sizeof *copy);
	struct launch l;
	CUresult r;

	if (opList && numOps && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numOps; i++) {
		operand_in(&copy[i].src);
		operand_in(&copy[i].dst);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpy3DBatchAsync_v2, operations_bytes(numOps, opList), hStream, false);
	r = shim_real.cuMemcpy3DBatchAsync_v2(numOps, copy, flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numOps, sizeof *copy);
	return r;
}

CUresult shim_cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
					   CUstream hStream)
{
	CUDA_MEMCPY3D_BATCH_OP *copy = scratch_copy(opList, numOps, sizeof *copy);
	struct launch l;
	CUresult r;

	if (opList && numOps && !copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < numOps; i++) {
		operand_in(&copy[i].src);
		operand_in(&copy[i].dst);
	}
	copy_gate(&l, CUDA_CALL_cuMemcpy3DBatchAsync_v2_ptsz, operations_bytes(numOps, opList), hStream, true);
	r = shim_real.cuMemcpy3DBatchAsync_v2_ptsz(numOps, copy, flags, hStream);
	pace_end(&l, r);
	scratch_free(copy, numOps, sizeof *copy);
	return r;
}

/* The alloc node's own parameters, with the driver's numbers; what the driver writes goes back to the program. */
#define ALLOC_NODE(real_call, params)                                                                                  \
	do {                                                                                                           \
		__typeof__(*(params)) seen = *(params);                                                                \
		CUmemAccessDesc *copy = scratch_copy(seen.accessDescs, seen.accessDescCount, sizeof *copy);            \
		CUresult r;                                                                                            \
		if (seen.accessDescCount && !copy)                                                                     \
			return CUDA_ERROR_OUT_OF_MEMORY;                                                               \
		for (size_t i = 0; i < seen.accessDescCount; i++)                                                      \
			copy[i].location = location_in(copy[i].location);                                              \
		if (copy)                                                                                              \
			seen.accessDescs = copy;                                                                       \
		seen.poolProps.location = location_in(seen.poolProps.location);                                        \
		r = real_call;                                                                                         \
		if (r == CUDA_SUCCESS)                                                                                 \
			(params)->dptr = seen.dptr;                                                                    \
		scratch_free(copy, seen.accessDescCount, sizeof *copy);                                                \
		return r;                                                                                              \
	} while (0)

CUresult shim_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				     size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	if (!nodeParams)
		return shim_real.cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
	ALLOC_NODE(shim_real.cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, &seen),
		   nodeParams);
}

/* The access list belongs to the node and keeps the driver's numbers; the pool's device is told as the program knows
 * it. */
CUresult shim_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	CUresult r = shim_real.cuGraphMemAllocNodeGetParams(hNode, params_out);

	if (r == CUDA_SUCCESS && params_out)
		params_out->poolProps.location = location_out(params_out->poolProps.location);
	return r;
}

static CUresult add_alloc_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			       const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params, bool second)
{
	CUgraphNodeParams whole = *params;

	CUresult got;

	ALLOC_NODE((whole.alloc = seen,
		    got = second ? shim_real.cuGraphAddNode_v2(node, graph, dependencies, edges, count, &whole)
				 : shim_real.cuGraphAddNode(node, graph, dependencies, count, &whole),
		    seen.dptr = whole.alloc.dptr, got),
		   &params->alloc);
}

CUresult shim_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			     size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_alloc_node(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams, false);
	return shim_real.cuGraphAddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams);
}

CUresult shim_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				const CUgraphEdgeData *dependencyData, size_t numDependencies,
				CUgraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return add_alloc_node(phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams,
				      true);
	return shim_real.cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, dependencyData, numDependencies,
					   nodeParams);
}
