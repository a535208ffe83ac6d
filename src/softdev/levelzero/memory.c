/*
 * memory.c: contexts, memory, and memory between processes. See soft.h.
 *
 * A context's memory stays when the context is destroyed, as with Intel's driver. What is freed "later" is freed when
 * the device has nothing to do, at the next call that takes, frees or looks at memory.
 */
#include "softdev/levelzero/soft.h"

#include <stdlib.h>
#include <string.h>

static ze_result_t context_create(ze_driver_handle_t hDriver, const ze_context_desc_t *desc,
				  ze_context_handle_t *phContext)
{
	(void)hDriver;
	(void)desc;
	*phContext = calloc(1, sizeof **phContext);
	return *phContext ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

static ze_result_t context_destroy(ze_context_handle_t hContext)
{
	free(hContext);
	return ZE_RESULT_SUCCESS;
}

/* What is freed later -----------------------------------------------------------------------------------------------
 */

static struct later {
	struct ze_device *device;
	CUdeviceptr address;
	struct later *next;
} * later;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards `later` */

static ze_result_t free_now(struct ze_device *d, CUdeviceptr address)
{
	ON_DEVICE(d);
	return soft_said(soft_cu.cuMemFree_v2(address));
}

static void free_what_can_be(void)
{
	pthread_mutex_lock(&lock);
	for (struct later **at = &later, *is; (is = *at);) {
		if (!soft_is_idle(is->device)) {
			at = &is->next;
			continue;
		}
		free_now(is->device, is->address);
		*at = is->next;
		free(is);
	}
	pthread_mutex_unlock(&lock);
}

/* Where it lies, and whether it is the host's. False: it is no memory of ours. */
static bool find(const void *pointer, uint32_t *ret_type, struct ze_device **ret_device)
{
	CUdeviceptr p = (CUdeviceptr)(uintptr_t)pointer;
	unsigned int memory = 0, managed = 0;
	int ordinal = 0;

	if (soft_cu.cuPointerGetAttribute(&memory, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p) != CUDA_SUCCESS ||
	    soft_cu.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p) != CUDA_SUCCESS)
		return false;
	soft_cu.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
	*ret_type = managed			   ? ZE_MEMORY_TYPE_SHARED
		    : memory == CU_MEMORYTYPE_HOST ? ZE_MEMORY_TYPE_HOST
						   : ZE_MEMORY_TYPE_DEVICE;
	*ret_device = soft_device_at(ordinal);
	return *ret_device;
}

static ze_result_t alloc_device(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *desc, size_t size,
				size_t alignment, ze_device_handle_t hDevice, void **pptr)
{
	(void)hContext;
	(void)desc;
	(void)alignment;
	free_what_can_be();
	*pptr = NULL;
	if (!size)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	ON_DEVICE(hDevice);
	return soft_said(soft_cu.cuMemAlloc_v2((CUdeviceptr *)(void *)pptr, size));
}

static ze_result_t alloc_shared(ze_context_handle_t hContext, const ze_device_mem_alloc_desc_t *device_desc,
				const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
				ze_device_handle_t hDevice, void **pptr)
{
	(void)hContext;
	(void)device_desc;
	(void)host_desc;
	(void)alignment;
	free_what_can_be();
	*pptr = NULL;
	if (!size)
		return ZE_RESULT_ERROR_INVALID_SIZE;
	ON_DEVICE(hDevice ? hDevice : soft_device_at(0));
	return soft_said(soft_cu.cuMemAllocManaged((CUdeviceptr *)(void *)pptr, size, CU_MEM_ATTACH_GLOBAL));
}

static ze_result_t alloc_host(ze_context_handle_t hContext, const ze_host_mem_alloc_desc_t *desc, size_t size,
			      size_t alignment, void **pptr)
{
	(void)hContext;
	(void)desc;
	(void)alignment;
	*pptr = NULL;
	ON_DEVICE(soft_device_at(0));
	return soft_said(soft_cu.cuMemHostAlloc(pptr, size, CU_MEMHOSTALLOC_DEVICEMAP));
}

static ze_result_t ipc_close(ze_context_handle_t hContext, const void *ptr);

/* What another process has made is closed, as by Intel's. */
static ze_result_t mem_free(ze_context_handle_t hContext, void *ptr)
{
	ze_result_t r;
	struct ze_device *d;
	uint32_t type;

	free_what_can_be();
	if (!find(ptr, &type, &d))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	if (type != ZE_MEMORY_TYPE_HOST) {
		r = free_now(d, (CUdeviceptr)(uintptr_t)ptr);
		return r == ZE_RESULT_SUCCESS ? r : ipc_close(hContext, ptr);
	}
	ON_DEVICE(d);
	return soft_said(soft_cu.cuMemFreeHost(ptr));
}

static ze_result_t mem_free_ext(ze_context_handle_t hContext, const ze_memory_free_ext_desc_t *desc, void *ptr)
{
	struct ze_device *d;
	struct later *is;
	uint32_t type;

	if (!(desc->freePolicy & ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE) || !find(ptr, &type, &d) ||
	    type == ZE_MEMORY_TYPE_HOST || soft_is_idle(d) || !(is = calloc(1, sizeof *is)))
		return mem_free(hContext, ptr);
	pthread_mutex_lock(&lock);
	*is = (struct later){ d, (CUdeviceptr)(uintptr_t)ptr, later };
	later = is;
	pthread_mutex_unlock(&lock);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t alloc_properties(ze_context_handle_t hContext, const void *ptr, ze_memory_allocation_properties_t *p,
				    ze_device_handle_t *phDevice)
{
	struct ze_device *d = NULL;

	(void)hContext;
	free_what_can_be();
	p->type = ZE_MEMORY_TYPE_UNKNOWN;
	p->id = 0;
	p->pageSize = 4096;
	find(ptr, &p->type, &d);
	if (phDevice)
		*phDevice = d;
	return ZE_RESULT_SUCCESS;
}

static ze_result_t address_range(ze_context_handle_t hContext, const void *ptr, void **pBase, size_t *pSize)
{
	CUdeviceptr base = 0;
	struct ze_device *d;
	uint32_t type;
	size_t size = 0;
	CUresult r;

	(void)hContext;
	if (!find(ptr, &type, &d))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	ON_DEVICE(d);
	r = soft_cu.cuMemGetAddressRange_v2(&base, &size, (CUdeviceptr)(uintptr_t)ptr);
	if (pBase)
		*pBase = (void *)(uintptr_t)base;
	if (pSize)
		*pSize = size;
	return soft_said(r);
}

/* Between processes: a handle is one of the software device's, of the same size. ------------------------------------
 */

_Static_assert(sizeof(ze_ipc_mem_handle_t) == sizeof(CUipcMemHandle), "a handle is one of the driver's");

static ze_result_t ipc_get(ze_context_handle_t hContext, const void *ptr, ze_ipc_mem_handle_t *handle)
{
	struct ze_device *d;
	uint32_t type;

	(void)hContext;
	if (!find(ptr, &type, &d))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	ON_DEVICE(d);
	return soft_said(soft_cu.cuIpcGetMemHandle((CUipcMemHandle *)(void *)handle, (CUdeviceptr)(uintptr_t)ptr));
}

static ze_result_t ipc_open(ze_context_handle_t hContext, ze_device_handle_t hDevice, ze_ipc_mem_handle_t handle,
			    uint32_t flags, void **pptr)
{
	CUipcMemHandle is;

	(void)hContext;
	(void)flags;
	memcpy(&is, &handle, sizeof is);
	ON_DEVICE(hDevice);
	return soft_said(
		soft_cu.cuIpcOpenMemHandle_v2((CUdeviceptr *)(void *)pptr, is, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

static ze_result_t ipc_close(ze_context_handle_t hContext, const void *ptr)
{
	struct ze_device *d;
	uint32_t type;

	(void)hContext;
	if (!find(ptr, &type, &d))
		return ZE_RESULT_ERROR_INVALID_ARGUMENT;
	ON_DEVICE(d);
	return soft_said(soft_cu.cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)ptr));
}

static ze_result_t ipc_descriptor(ze_context_handle_t hContext, ze_ipc_mem_handle_t handle, uint64_t *pHandle)
{
	(void)hContext;
	(void)handle;
	(void)pHandle;
	return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
}

/* Memory that is made, reserved and mapped --------------------------------------------------------------------------
 */

static CUmemAllocationProp prop_of(const struct ze_device *d)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->ordinal } };
}

static ze_result_t page_size(ze_context_handle_t hContext, ze_device_handle_t hDevice, size_t size, size_t *pagesize)
{
	CUmemAllocationProp prop = prop_of(hDevice);

	(void)hContext;
	(void)size;
	return soft_said(soft_cu.cuMemGetAllocationGranularity(pagesize, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

static ze_result_t physical_create(ze_context_handle_t hContext, ze_device_handle_t hDevice,
				   ze_physical_mem_desc_t *desc, ze_physical_mem_handle_t *ret)
{
	CUmemAllocationProp prop = prop_of(hDevice);

	(void)hContext;
	ON_DEVICE(hDevice);
	return soft_said(soft_cu.cuMemCreate((CUmemGenericAllocationHandle *)(void *)ret, desc->size, &prop, 0));
}

static ze_result_t physical_destroy(ze_context_handle_t hContext, ze_physical_mem_handle_t memory)
{
	(void)hContext;
	return soft_said(soft_cu.cuMemRelease((CUmemGenericAllocationHandle)(uintptr_t)memory));
}

static ze_result_t reserve(ze_context_handle_t hContext, const void *pStart, size_t size, void **pptr)
{
	(void)hContext;
	(void)pStart;
	ON_DEVICE(soft_device_at(0));
	return soft_said(soft_cu.cuMemAddressReserve((CUdeviceptr *)(void *)pptr, size, 0, 0, 0));
}

static ze_result_t unreserve(ze_context_handle_t hContext, const void *ptr, size_t size)
{
	(void)hContext;
	return soft_said(soft_cu.cuMemAddressFree((CUdeviceptr)(uintptr_t)ptr, size));
}

static ze_result_t map(ze_context_handle_t hContext, const void *ptr, size_t size, ze_physical_mem_handle_t memory,
		       size_t offset, uint32_t access)
{
	CUmemAccessDesc is = { .location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } },
			       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult r;

	(void)hContext;
	(void)access;
	ON_DEVICE(soft_device_at(0));
	r = soft_cu.cuMemMap((CUdeviceptr)(uintptr_t)ptr, size, offset, (CUmemGenericAllocationHandle)(uintptr_t)memory,
			     0);
	return soft_said(r == CUDA_SUCCESS ? soft_cu.cuMemSetAccess((CUdeviceptr)(uintptr_t)ptr, size, &is, 1) : r);
}

static ze_result_t unmap(ze_context_handle_t hContext, const void *ptr, size_t size)
{
	(void)hContext;
	return soft_said(soft_cu.cuMemUnmap((CUdeviceptr)(uintptr_t)ptr, size));
}

/* Images: arrays of four channels or one, of the layouts that the tests use. ----------------------------------------
 */

static bool array_of(const ze_image_desc_t *desc, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	static const struct {
		CUarray_format format;
		unsigned int channels;
	} of[] = { { CU_AD_FORMAT_UNSIGNED_INT8, 1 },  { CU_AD_FORMAT_UNSIGNED_INT16, 1 },
		   { CU_AD_FORMAT_UNSIGNED_INT32, 1 }, { CU_AD_FORMAT_UNSIGNED_INT8, 2 },
		   { CU_AD_FORMAT_UNSIGNED_INT8, 4 },  { CU_AD_FORMAT_UNSIGNED_INT16, 2 },
		   { CU_AD_FORMAT_UNSIGNED_INT16, 4 }, { CU_AD_FORMAT_UNSIGNED_INT32, 2 },
		   { CU_AD_FORMAT_UNSIGNED_INT32, 4 } };

	if (desc->format.layout >= sizeof of / sizeof *of)
		return false;
	*ret = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = desc->width,
					  .Height = desc->type >= ZE_IMAGE_TYPE_2D ? desc->height : 0,
					  .Depth = desc->type > ZE_IMAGE_TYPE_2D ? desc->depth : 0,
					  .Format = of[desc->format.layout].format,
					  .NumChannels = of[desc->format.layout].channels };
	return true;
}

static ze_result_t image_create(ze_context_handle_t hContext, ze_device_handle_t hDevice, const ze_image_desc_t *desc,
				ze_image_handle_t *phImage)
{
	CUDA_ARRAY3D_DESCRIPTOR is;

	(void)hContext;
	if (!array_of(desc, &is))
		return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
	ON_DEVICE(hDevice);
	return soft_said(soft_cu.cuArray3DCreate_v2((CUarray *)(void *)phImage, &is));
}

static ze_result_t image_destroy(ze_image_handle_t hImage)
{
	ON_DEVICE(soft_device_at(0));
	return soft_said(soft_cu.cuArrayDestroy((CUarray)(void *)hImage));
}

void soft_fill_memory(struct levelzero_table *t)
{
	t->zeContextCreate = context_create;
	t->zeContextDestroy = context_destroy;
	t->zeMemAllocDevice = alloc_device;
	t->zeMemAllocShared = alloc_shared;
	t->zeMemAllocHost = alloc_host;
	t->zeMemFree = mem_free;
	t->zeMemFreeExt = mem_free_ext;
	t->zeMemGetAllocProperties = alloc_properties;
	t->zeMemGetAddressRange = address_range;
	t->zeMemGetIpcHandle = ipc_get;
	t->zeMemOpenIpcHandle = ipc_open;
	t->zeMemCloseIpcHandle = ipc_close;
	t->zeMemGetFileDescriptorFromIpcHandleExp = ipc_descriptor;
	t->zeVirtualMemQueryPageSize = page_size;
	t->zeVirtualMemReserve = reserve;
	t->zeVirtualMemFree = unreserve;
	t->zeVirtualMemMap = map;
	t->zeVirtualMemUnmap = unmap;
	t->zePhysicalMemCreate = physical_create;
	t->zePhysicalMemDestroy = physical_destroy;
	t->zeImageCreate = image_create;
	t->zeImageDestroy = image_destroy;
}
