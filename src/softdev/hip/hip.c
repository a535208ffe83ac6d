/*
 * hip.c: HIP on the software device: the library libmete-soft-hip.so, which stands in the folder hip/ beside the
 * software device's libcuda.so.1 under the names that HIP programs ask for. It is a device for tests, and says so in
 * its name.
 *
 * The calls go to the driver beside it; a device is the same card in both APIs, with one memory and one timeline. Code
 * is PTX, as there: no program that a HIP compiler has made runs here. Like AMD's library it calls some of its own
 * exports by way of the linker's tables (hipMallocPitch, hipMalloc3D), so that they come to whoever stands before it.
 */
#include "base/own_note.h"
#include "hip_soft.h"
#include "softdev/hip/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 60200000 /* of the interface: 6.2 */
#define MEMORY_AT 256u	 /* of totalGlobalMem in a device's properties */
#define MEMORY_AT_R0600 288u
#define UUID_AT_R0600 256u
#define NAME_BYTES 256

OWN_NOTE("the software device's HIP");

/* What the library reaches by the linker's tables. */
#pragma GCC visibility push(default)
hipError_t hipMalloc(void **ptr, size_t size);
#pragma GCC visibility pop

void soft_unsupported(enum hip_call call)
{
	(void)call;
}

/* Devices -----------------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipInit(unsigned int flags)
{
	hipError_t r = state_ready();

	return r == hipSuccess && flags ? hipErrorInvalidValue : r;
}

hipError_t soft_hipGetDeviceCount(int *count)
{
	hipError_t r = state_ready();

	*count = 0;
	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetCount(count)) : r;
}

hipError_t soft_hipSetDevice(hip_ordinal deviceId)
{
	return state_choose(deviceId);
}

hipError_t soft_hipGetDevice(hip_ordinal *deviceId)
{
	hipError_t r = state_ready();

	*deviceId = state_device();
	return r;
}

hipError_t soft_hipDeviceGet(hip_ordinal *device, hip_ordinal ordinal)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGet(device, ordinal)) : r;
}

hipError_t soft_hipDeviceGetName(char *name, int len, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetName(name, len, device)) : r;
}

hipError_t soft_hipDeviceGetUuid(hipUUID *uuid, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetUuid((CUuuid *)(void *)uuid, device)) : r;
}

hipError_t soft_hipDeviceGetPCIBusId(char *pciBusId, int len, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetPCIBusId(pciBusId, len, device)) : r;
}

hipError_t soft_hipDeviceGetByPCIBusId(hip_ordinal *device, const char *pciBusId)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetByPCIBusId(device, pciBusId)) : r;
}

hipError_t soft_hipDeviceTotalMem(size_t *bytes, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceTotalMem_v2(bytes, device)) : r;
}

static hipError_t properties(char *prop, hip_ordinal device, size_t memory_at)
{
	hipError_t r = soft_hipDeviceGetName(prop, NAME_BYTES, device);
	size_t total = 0;

	if (r == hipSuccess)
		r = soft_hipDeviceTotalMem(&total, device);
	memcpy(prop + memory_at, &total, sizeof total);
	return r;
}

hipError_t soft_hipGetDeviceProperties(void *prop, hip_ordinal deviceId)
{
	return properties(prop, deviceId, MEMORY_AT);
}

hipError_t soft_hipGetDevicePropertiesR0000(void *prop, hip_ordinal deviceId)
{
	return properties(prop, deviceId, MEMORY_AT);
}

hipError_t soft_hipGetDevicePropertiesR0600(void *prop, hip_ordinal deviceId)
{
	hipError_t r = properties(prop, deviceId, MEMORY_AT_R0600);

	return r == hipSuccess ? soft_hipDeviceGetUuid((hipUUID *)(void *)((char *)prop + UUID_AT_R0600), deviceId) : r;
}

hipError_t soft_hipMemGetInfo(size_t *free, size_t *total)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemGetInfo_v2(free, total));
}

hipError_t soft_hipDeviceReset(void)
{
	return state_reset();
}

hipError_t soft_hipDriverGetVersion(int *driverVersion)
{
	*driverVersion = VERSION;
	return hipSuccess;
}

hipError_t soft_hipRuntimeGetVersion(int *runtimeVersion)
{
	*runtimeVersion = VERSION;
	return hipSuccess;
}

hipError_t soft_hipGetLastError(void)
{
	return state_last(true);
}

hipError_t soft_hipPeekAtLastError(void)
{
	return state_last(false);
}

const char *soft_hipGetErrorName(hipError_t hip_error)
{
	static __thread char text[32];

	snprintf(text, sizeof text, "hipError %d", (int)hip_error);
	return hip_error == hipSuccess ? "hipSuccess" : text;
}

const char *soft_hipGetErrorString(hipError_t hipError)
{
	return soft_hipGetErrorName(hipError);
}

hipError_t soft_hipGetProcAddress(const char *symbol, void **pfn, int hipVersion, uint64_t flags, int *symbolStatus)
{
	(void)hipVersion;
	(void)flags;
	*pfn = NULL;
	for (unsigned int i = 0; i < HIP_CALL_COUNT && !*pfn; i++)
		if (!strcmp(hip_call_name[i], symbol))
			*pfn = ((void *const *)&soft_table)[i];
	if (symbolStatus)
		*symbolStatus = !*pfn;
	return *pfn ? hipSuccess : hipErrorNotFound;
}

/* Memory ------------------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipMalloc(void **ptr, size_t size)
{
	ON_DEVICE;
	*ptr = NULL;
	return size ? state_said(soft_cu.cuMemAlloc_v2((CUdeviceptr *)(void *)ptr, size)) : hipSuccess;
}

hipError_t soft_hipExtMallocWithFlags(void **ptr, size_t sizeBytes, unsigned int flags)
{
	(void)flags;
	return soft_hipMalloc(ptr, sizeBytes);
}

hipError_t soft_hipMallocManaged(void **dev_ptr, size_t size, unsigned int flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemAllocManaged((CUdeviceptr *)(void *)dev_ptr, size, flags));
}

hipError_t soft_hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 255) / 256 * 256;
	return hipMalloc(ptr, *pitch * height);
}

hipError_t soft_hipMemAllocPitch(hipDeviceptr_t *dptr, size_t *pitch, size_t widthInBytes, size_t height,
				 unsigned int elementSizeBytes)
{
	(void)elementSizeBytes;
	return soft_hipMallocPitch(dptr, pitch, widthInBytes, height);
}

hipError_t soft_hipMalloc3D(hipPitchedPtr *pitchedDevPtr, hipExtent extent)
{
	pitchedDevPtr->xsize = extent.width;
	pitchedDevPtr->ysize = extent.height;
	return soft_hipMallocPitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width,
				   extent.height * extent.depth);
}

/* Between processes: handles and attributes are those of the driver beside it, and the handles are of the same size. */
_Static_assert(sizeof(hipIpcMemHandle_t) == sizeof(CUipcMemHandle), "a handle is one of the driver's");

hipError_t soft_hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *devPtr)
{
	ON_DEVICE;
	return state_said(soft_cu.cuIpcGetMemHandle((CUipcMemHandle *)(void *)handle, (CUdeviceptr)(uintptr_t)devPtr));
}

hipError_t soft_hipIpcOpenMemHandle(void **devPtr, hipIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle is;

	memcpy(&is, &handle, sizeof is);
	ON_DEVICE;
	return state_said(soft_cu.cuIpcOpenMemHandle_v2((CUdeviceptr *)(void *)devPtr, is, flags));
}

hipError_t soft_hipIpcCloseMemHandle(void *devPtr)
{
	ON_DEVICE;
	return state_said(soft_cu.cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)devPtr));
}

hipError_t soft_hipMemGetAddressRange(hipDeviceptr_t *pbase, size_t *psize, hipDeviceptr_t dptr)
{
	ON_DEVICE;
	return state_said(
		soft_cu.cuMemGetAddressRange_v2((CUdeviceptr *)(void *)pbase, psize, (CUdeviceptr)(uintptr_t)dptr));
}

hipError_t soft_hipPointerGetAttribute(void *data, int attribute, hipDeviceptr_t ptr)
{
	ON_DEVICE;
	return state_said(
		soft_cu.cuPointerGetAttribute(data, (CUpointer_attribute)attribute, (CUdeviceptr)(uintptr_t)ptr));
}

hipError_t soft_hipHostMalloc(void **ptr, size_t size, unsigned int flags)
{
	(void)flags;
	ON_DEVICE;
	return state_said(soft_cu.cuMemHostAlloc(ptr, size, 0));
}

hipError_t soft_hipHostFree(void *ptr)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemFreeHost(ptr));
}

/* A format of HIP's arrays is one of CUDA's. */
static hipError_t array(hipArray_t *ret, const HIP_ARRAY3D_DESCRIPTOR *d)
{
	CUDA_ARRAY3D_DESCRIPTOR is = { .Width = d->Width,
				       .Height = d->Height,
				       .Depth = d->Depth,
				       .Format = (CUarray_format)d->Format,
				       .NumChannels = d->NumChannels };

	ON_DEVICE;
	return state_said(soft_cu.cuArray3DCreate_v2((CUarray *)(void *)ret, &is));
}

hipError_t soft_hipArrayCreate(hipArray_t *pHandle, const HIP_ARRAY_DESCRIPTOR *d)
{
	HIP_ARRAY3D_DESCRIPTOR is = { d->Width, d->Height, 0, d->Format, d->NumChannels, 0 };

	return array(pHandle, &is);
}

hipError_t soft_hipArray3DCreate(hipArray_t *pHandle, const HIP_ARRAY3D_DESCRIPTOR *d)
{
	return array(pHandle, d);
}

hipError_t soft_hipMallocArray(hipArray_t *pHandle, const hipChannelFormatDesc *desc, size_t width, size_t height,
			       unsigned int flags)
{
	unsigned int channels = !!desc->x + !!desc->y + !!desc->z + !!desc->w;
	HIP_ARRAY3D_DESCRIPTOR is = { width, height, 0, 0, channels, 0 };

	(void)flags;
	if (desc->f == 2)
		is.Format = desc->x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
	else
		is.Format = desc->x == 8    ? CU_AD_FORMAT_UNSIGNED_INT8
			    : desc->x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16
					    : CU_AD_FORMAT_UNSIGNED_INT32;
	return array(pHandle, &is);
}

hipError_t soft_hipFreeArray(hipArray_t pHandle)
{
	ON_DEVICE;
	return state_said(soft_cu.cuArrayDestroy((CUarray)(void *)pHandle));
}

hipError_t soft_hipArrayDestroy(hipArray_t pHandle)
{
	return soft_hipFreeArray(pHandle);
}

/* Pools -------------------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipMallocAsync(void **dev_ptr, size_t size, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemAllocAsync((CUdeviceptr *)(void *)dev_ptr, size, (CUstream)(void *)stream));
}

hipError_t soft_hipMallocFromPoolAsync(void **dev_ptr, size_t size, hipMemPool_t mem_pool, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemAllocFromPoolAsync((CUdeviceptr *)(void *)dev_ptr, size,
							  (CUmemoryPool)(void *)mem_pool, (CUstream)(void *)stream));
}

hipError_t soft_hipFreeAsync(void *dev_ptr, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemFreeAsync((CUdeviceptr)(uintptr_t)dev_ptr, (CUstream)(void *)stream));
}

hipError_t soft_hipDeviceGetMemPool(hipMemPool_t *mem_pool, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetMemPool((CUmemoryPool *)(void *)mem_pool, device)) : r;
}

hipError_t soft_hipDeviceGetDefaultMemPool(hipMemPool_t *mem_pool, hip_ordinal device)
{
	hipError_t r = state_ready();

	return r == hipSuccess ? state_said(soft_cu.cuDeviceGetDefaultMemPool((CUmemoryPool *)(void *)mem_pool, device))
			       : r;
}

hipError_t soft_hipMemPoolCreate(hipMemPool_t *mem_pool, const hipMemPoolProps *p)
{
	CUmemPoolProps is = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			      .handleTypes = (CUmemAllocationHandleType)p->handleTypes,
			      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->location.id } };

	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolCreate((CUmemoryPool *)(void *)mem_pool, &is));
}

hipError_t soft_hipMemPoolDestroy(hipMemPool_t mem_pool)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolDestroy((CUmemoryPool)(void *)mem_pool));
}

hipError_t soft_hipMemPoolTrimTo(hipMemPool_t mem_pool, size_t min_bytes_to_hold)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolTrimTo((CUmemoryPool)(void *)mem_pool, min_bytes_to_hold));
}

hipError_t soft_hipMemPoolSetAttribute(hipMemPool_t mem_pool, hipMemPoolAttr attr, void *value)
{
	ON_DEVICE;
	return state_said(
		soft_cu.cuMemPoolSetAttribute((CUmemoryPool)(void *)mem_pool, (CUmemPool_attribute)attr, value));
}

hipError_t soft_hipMemPoolGetAttribute(hipMemPool_t mem_pool, hipMemPoolAttr attr, void *value)
{
	ON_DEVICE;
	return state_said(
		soft_cu.cuMemPoolGetAttribute((CUmemoryPool)(void *)mem_pool, (CUmemPool_attribute)attr, value));
}

hipError_t soft_hipMemPoolExportToShareableHandle(void *shared_handle, hipMemPool_t mem_pool,
						  hipMemAllocationHandleType handle_type, unsigned int flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolExportToShareableHandle(shared_handle, (CUmemoryPool)(void *)mem_pool,
								   (CUmemAllocationHandleType)handle_type, flags));
}

hipError_t soft_hipMemPoolImportFromShareableHandle(hipMemPool_t *mem_pool, void *shared_handle,
						    hipMemAllocationHandleType handle_type, unsigned int flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolImportFromShareableHandle((CUmemoryPool *)(void *)mem_pool, shared_handle,
								     (CUmemAllocationHandleType)handle_type, flags));
}

hipError_t soft_hipMemPoolExportPointer(hipMemPoolPtrExportData *export_data, void *dev_ptr)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolExportPointer((CUmemPoolPtrExportData *)(void *)export_data,
							 (CUdeviceptr)(uintptr_t)dev_ptr));
}

hipError_t soft_hipMemPoolImportPointer(void **dev_ptr, hipMemPool_t mem_pool, hipMemPoolPtrExportData *export_data)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemPoolImportPointer((CUdeviceptr *)(void *)dev_ptr, (CUmemoryPool)(void *)mem_pool,
							 (CUmemPoolPtrExportData *)(void *)export_data));
}

/* Memory that is made, reserved and mapped --------------------------------------------------------------------------
 */

hipError_t soft_hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size, const hipMemAllocationProp *prop,
			     unsigned long long flags)
{
	CUmemAllocationProp is = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .requestedHandleTypes = (CUmemAllocationHandleType)prop->requestedHandleType,
				   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = prop->location.id } };

	ON_DEVICE;
	return state_said(soft_cu.cuMemCreate((CUmemGenericAllocationHandle *)(void *)handle, size, &is, flags));
}

static CUmemGenericAllocationHandle plain(hipMemGenericAllocationHandle_t handle)
{
	return (CUmemGenericAllocationHandle)(uintptr_t)handle;
}

hipError_t soft_hipMemExportToShareableHandle(void *shareableHandle, hipMemGenericAllocationHandle_t handle,
					      hipMemAllocationHandleType handleType, unsigned long long flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemExportToShareableHandle(shareableHandle, plain(handle),
							       (CUmemAllocationHandleType)handleType, flags));
}

hipError_t soft_hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle, void *osHandle,
						hipMemAllocationHandleType shHandleType)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemImportFromShareableHandle((CUmemGenericAllocationHandle *)(void *)handle,
								 osHandle, (CUmemAllocationHandleType)shHandleType));
}

hipError_t soft_hipMemGetAllocationPropertiesFromHandle(hipMemAllocationProp *prop,
							hipMemGenericAllocationHandle_t handle)
{
	CUmemAllocationProp is;
	hipError_t r;

	ON_DEVICE;
	r = state_said(soft_cu.cuMemGetAllocationPropertiesFromHandle(&is, plain(handle)));
	*prop = (hipMemAllocationProp){ .type = (int)is.type,
					.requestedHandleType = (int)is.requestedHandleTypes,
					.location = { (int)is.location.type, is.location.id } };
	return r;
}

hipError_t soft_hipMemRelease(hipMemGenericAllocationHandle_t handle)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemRelease(plain(handle)));
}

hipError_t soft_hipMemMap(void *ptr, size_t size, size_t offset, hipMemGenericAllocationHandle_t handle,
			  unsigned long long flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemMap((CUdeviceptr)(uintptr_t)ptr, size, offset, plain(handle), flags));
}

hipError_t soft_hipMemUnmap(void *ptr, size_t size)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemUnmap((CUdeviceptr)(uintptr_t)ptr, size));
}

hipError_t soft_hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle, void *addr)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemRetainAllocationHandle((CUmemGenericAllocationHandle *)(void *)handle, addr));
}

hipError_t soft_hipMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr, unsigned long long flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemAddressReserve((CUdeviceptr *)(void *)ptr, size, alignment,
						      (CUdeviceptr)(uintptr_t)addr, flags));
}

hipError_t soft_hipMemAddressFree(void *devPtr, size_t size)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemAddressFree((CUdeviceptr)(uintptr_t)devPtr, size));
}

hipError_t soft_hipMemGetAllocationGranularity(size_t *granularity, const hipMemAllocationProp *prop,
					       hipMemAllocationGranularity_flags option)
{
	CUmemAllocationProp is = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = prop->location.id } };

	ON_DEVICE;
	return state_said(
		soft_cu.cuMemGetAllocationGranularity(granularity, &is, (CUmemAllocationGranularity_flags)option));
}

hipError_t soft_hipMemSetAccess(void *ptr, size_t size, const hipMemAccessDesc *desc, size_t count)
{
	CUmemAccessDesc is = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
			       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	hipError_t r = hipSuccess;

	ON_DEVICE;
	for (size_t i = 0; i < count && r == hipSuccess; i++) {
		is.location.id = desc[i].location.id;
		r = state_said(soft_cu.cuMemSetAccess((CUdeviceptr)(uintptr_t)ptr, size, &is, 1));
	}
	return r;
}

/* Copies and fills --------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipMemcpy(void *dst, const void *src, size_t sizeBytes, hipMemcpyKind kind)
{
	(void)kind; /* an address tells whose it is */
	ON_DEVICE;
	return state_said(soft_cu.cuMemcpy((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, sizeBytes));
}

hipError_t soft_hipMemcpyAsync(void *dst, const void *src, size_t sizeBytes, hipMemcpyKind kind, hipStream_t stream)
{
	(void)kind;
	ON_DEVICE;
	return state_said(soft_cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, sizeBytes,
						(CUstream)(void *)stream));
}

hipError_t soft_hipMemcpyHtoD(hipDeviceptr_t dst, void *src, size_t sizeBytes)
{
	return soft_hipMemcpy(dst, src, sizeBytes, hipMemcpyDefault);
}

hipError_t soft_hipMemcpyDtoH(void *dst, hipDeviceptr_t src, size_t sizeBytes)
{
	return soft_hipMemcpy(dst, src, sizeBytes, hipMemcpyDefault);
}

hipError_t soft_hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t sizeBytes)
{
	return soft_hipMemcpy(dst, src, sizeBytes, hipMemcpyDefault);
}

hipError_t soft_hipMemset(void *dst, int value, size_t sizeBytes)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemsetD8_v2((CUdeviceptr)(uintptr_t)dst, (unsigned char)value, sizeBytes));
}

hipError_t soft_hipMemsetAsync(void *dst, int value, size_t sizeBytes, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuMemsetD8Async((CUdeviceptr)(uintptr_t)dst, (unsigned char)value, sizeBytes,
						  (CUstream)(void *)stream));
}

/* Streams and events ------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipStreamCreateWithFlags(hipStream_t *stream, unsigned int flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamCreate((CUstream *)(void *)stream, flags));
}

hipError_t soft_hipStreamCreate(hipStream_t *stream)
{
	return soft_hipStreamCreateWithFlags(stream, 0);
}

hipError_t soft_hipStreamDestroy(hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamDestroy_v2((CUstream)(void *)stream));
}

hipError_t soft_hipStreamSynchronize(hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamSynchronize((CUstream)(void *)stream));
}

hipError_t soft_hipStreamQuery(hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamQuery((CUstream)(void *)stream));
}

hipError_t soft_hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned int flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamWaitEvent((CUstream)(void *)stream, (CUevent)(void *)event, flags));
}

hipError_t soft_hipStreamGetDevice(hipStream_t stream, hip_ordinal *device)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamGetDevice((CUstream)(void *)stream, device));
}

hipError_t soft_hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *pCaptureStatus)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	hipError_t r;

	ON_DEVICE;
	r = state_said(soft_cu.cuStreamIsCapturing((CUstream)(void *)stream, &status));
	*pCaptureStatus = (hipStreamCaptureStatus)status;
	return r;
}

hipError_t soft_hipDeviceSynchronize(void)
{
	ON_DEVICE;
	return state_said(soft_cu.cuCtxSynchronize());
}

hipError_t soft_hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventCreate((CUevent *)(void *)event, flags));
}

hipError_t soft_hipEventCreate(hipEvent_t *event)
{
	return soft_hipEventCreateWithFlags(event, 0);
}

hipError_t soft_hipEventRecord(hipEvent_t event, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventRecord((CUevent)(void *)event, (CUstream)(void *)stream));
}

hipError_t soft_hipEventSynchronize(hipEvent_t event)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventSynchronize((CUevent)(void *)event));
}

hipError_t soft_hipEventQuery(hipEvent_t event)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventQuery((CUevent)(void *)event));
}

hipError_t soft_hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventElapsedTime(ms, (CUevent)(void *)start, (CUevent)(void *)stop));
}

hipError_t soft_hipEventDestroy(hipEvent_t event)
{
	ON_DEVICE;
	return state_said(soft_cu.cuEventDestroy_v2((CUevent)(void *)event));
}

/* Graphs ------------------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamBeginCapture_v2((CUstream)(void *)stream, (CUstreamCaptureMode)mode));
}

hipError_t soft_hipStreamEndCapture(hipStream_t stream, hipGraph_t *pGraph)
{
	ON_DEVICE;
	return state_said(soft_cu.cuStreamEndCapture((CUstream)(void *)stream, (CUgraph *)(void *)pGraph));
}

hipError_t soft_hipGraphInstantiate(hipGraphExec_t *pGraphExec, hipGraph_t graph, hipGraphNode_t *pErrorNode,
				    char *pLogBuffer, size_t bufferSize)
{
	(void)pErrorNode;
	(void)pLogBuffer;
	(void)bufferSize;
	ON_DEVICE;
	return state_said(
		soft_cu.cuGraphInstantiateWithFlags((CUgraphExec *)(void *)pGraphExec, (CUgraph)(void *)graph, 0));
}

hipError_t soft_hipGraphLaunch(hipGraphExec_t graphExec, hipStream_t stream)
{
	ON_DEVICE;
	return state_said(soft_cu.cuGraphLaunch((CUgraphExec)(void *)graphExec, (CUstream)(void *)stream));
}

hipError_t soft_hipGraphExecDestroy(hipGraphExec_t graphExec)
{
	ON_DEVICE;
	return state_said(soft_cu.cuGraphExecDestroy((CUgraphExec)(void *)graphExec));
}

hipError_t soft_hipGraphDestroy(hipGraph_t graph)
{
	ON_DEVICE;
	return state_said(soft_cu.cuGraphDestroy((CUgraph)(void *)graph));
}

/* Code --------------------------------------------------------------------------------------------------------------
 */

hipError_t soft_hipModuleLoadData(hipModule_t *module, const void *image)
{
	ON_DEVICE;
	return state_said(soft_cu.cuModuleLoadData((CUmodule *)(void *)module, image));
}

hipError_t soft_hipModuleUnload(hipModule_t module)
{
	ON_DEVICE;
	return state_said(soft_cu.cuModuleUnload((CUmodule)(void *)module));
}

hipError_t soft_hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *kname)
{
	ON_DEVICE;
	return state_said(soft_cu.cuModuleGetFunction((CUfunction *)(void *)function, (CUmodule)(void *)module, kname));
}

hipError_t soft_hipModuleLaunchKernel(hipFunction_t f, unsigned int gridDimX, unsigned int gridDimY,
				      unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
				      unsigned int blockDimZ, unsigned int sharedMemBytes, hipStream_t stream,
				      void **kernelParams, void **extra)
{
	ON_DEVICE;
	return state_said(soft_cu.cuLaunchKernel((CUfunction)(void *)f, gridDimX, gridDimY, gridDimZ, blockDimX,
						 blockDimY, blockDimZ, sharedMemBytes, (CUstream)(void *)stream,
						 kernelParams, extra));
}

hipError_t soft_hipExtModuleLaunchKernel(hipFunction_t f, uint32_t globalWorkSizeX, uint32_t globalWorkSizeY,
					 uint32_t globalWorkSizeZ, uint32_t localWorkSizeX, uint32_t localWorkSizeY,
					 uint32_t localWorkSizeZ, size_t sharedMemBytes, hipStream_t hStream,
					 void **kernelParams, void **extra, hipEvent_t startEvent, hipEvent_t stopEvent,
					 uint32_t flags)
{
	(void)flags;
	if (!localWorkSizeX || !localWorkSizeY || !localWorkSizeZ || startEvent || stopEvent)
		return hipErrorNotSupported;
	return soft_hipModuleLaunchKernel(f, globalWorkSizeX / localWorkSizeX, globalWorkSizeY / localWorkSizeY,
					  globalWorkSizeZ / localWorkSizeZ, localWorkSizeX, localWorkSizeY,
					  localWorkSizeZ, (unsigned int)sharedMemBytes, hStream, kernelParams, extra);
}

/* What a HIP program registers before main(): here an image is PTX, in the wrapper that HIP has for one. */
struct wrapper {
	uint32_t magic, version;
	const void *image;
};

struct program {
	const void *image;
	hipModule_t module; /* NULL: not loaded yet */
};

struct symbol {
	const void *address;
	struct program *program;
	const char *name;
	hipFunction_t function; /* NULL: not looked up yet */
	struct symbol *next;
};

static struct symbol *symbols;

void **soft___hipRegisterFatBinary(const void *data)
{
	const struct wrapper *w = data;
	struct program *p = calloc(1, sizeof *p);

	if (p)
		p->image = w->image;
	return (void **)p;
}

void soft___hipUnregisterFatBinary(void **modules)
{
	(void)modules; /* the process ends */
}

void soft___hipRegisterFunction(void **modules, const void *hostFunction, char *deviceFunction, const char *deviceName,
				unsigned int threadLimit, void *tid, void *bid, dim3 *blockDim, dim3 *gridDim,
				int *wSize)
{
	struct symbol *s = calloc(1, sizeof *s);

	(void)deviceFunction;
	(void)threadLimit;
	(void)tid;
	(void)bid;
	(void)blockDim;
	(void)gridDim;
	(void)wSize;
	if (!s)
		return;
	*s = (struct symbol){ hostFunction, (struct program *)modules, deviceName, NULL, symbols };
	symbols = s;
}

static hipError_t find(const void *address, hipFunction_t *ret)
{
	struct symbol *s = symbols;
	hipError_t r = hipSuccess;

	while (s && s->address != address)
		s = s->next;
	if (!s || !s->program)
		return hipErrorNotFound;
	if (!s->program->module)
		r = soft_hipModuleLoadData(&s->program->module, s->program->image);
	if (r == hipSuccess && !s->function)
		r = soft_hipModuleGetFunction(&s->function, s->program->module, s->name);
	*ret = s->function;
	return r;
}

hipError_t soft_hipLaunchKernel(const void *function_address, dim3 numBlocks, dim3 dimBlocks, void **args,
				size_t sharedMemBytes, hipStream_t stream)
{
	hipFunction_t f;
	hipError_t r = find(function_address, &f);

	return r == hipSuccess
		       ? soft_hipModuleLaunchKernel(f, numBlocks.x, numBlocks.y, numBlocks.z, dimBlocks.x, dimBlocks.y,
						    dimBlocks.z, (unsigned int)sharedMemBytes, stream, args, NULL)
		       : r;
}

const char *soft_hipKernelNameRef(const hipFunction_t f)
{
	const char *name = NULL;

	return soft_cu.cuFuncGetName && soft_cu.cuFuncGetName(&name, (CUfunction)(void *)f) == CUDA_SUCCESS ? name
													    : NULL;
}

const char *soft_hipKernelNameRefByPtr(const void *hostFunction, hipStream_t stream)
{
	const struct symbol *s = symbols;

	(void)stream;
	while (s && s->address != hostFunction)
		s = s->next;
	return s ? s->name : NULL;
}
