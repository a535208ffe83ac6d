/* pointer.c: what the driver knows of an address. */
#include "softdev/context.h"
#include "softdev/managed.h"
#include "softdev/memory.h"
#include "softdev/mempool.h"
#include "softdev/vmm.h"

#include <string.h>

/* The value of an attribute of the range at `address`. Value: CUDA_ERROR_INVALID_VALUE where it has none. */
static CUresult attribute_locked(void *data, CUpointer_attribute attribute, const struct range *r, CUdeviceptr address)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		if (r->kind == RANGE_MAPPED || r->pool)
			return CUDA_ERROR_INVALID_VALUE; /* belongs to a device, not to a context */
		*(CUcontext *)data = (CUcontext)r->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = range_on_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!range_on_host(r) && !range_managed(r))
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = r->sync_memops;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = r->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = range_managed(r);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = r->device->ordinal;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(int *)data = r->kind == RANGE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*(int *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = r->begin;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = r->bytes;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = 1;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = r->kind == RANGE_MAPPED ? r->allocation->props.requestedHandleTypes
					      : r->kind == RANGE_POOL ? r->pool->props.handleTypes
								      : 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = r->kind == RANGE_MAPPED ? r->flags : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = r->kind != RANGE_IMPORTED ? (CUmemoryPool)r->pool : NULL;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* What cuPointerGetAttributes gives for an address that the driver does not know, or an attribute it has not. */
static void attribute_none(void *data, CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = CU_DEVICE_INVALID;
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		memset(data, 0, sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS));
		break;
	default:
		*(uint64_t *)data = 0;
		break;
	}
}

static struct range *pointer_range_locked(CUdeviceptr address)
{
	struct range *r = mempool_range_locked(address);

	return r && r->kind != RANGE_ARRAY ? r : NULL;
}

CUresult soft_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	r = pointer_range_locked(address);
	e = r ? attribute_locked(data, attribute, r, address) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuPointerGetAttributes(unsigned count, CUpointer_attribute *attribute, void **data, CUdeviceptr address)
{
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!count || !attribute || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < count; i++)
		if (!data[i] || attribute[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
		    attribute[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
			return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	r = pointer_range_locked(address);
	for (unsigned i = 0; i < count; i++)
		if (!r || attribute_locked(data[i], attribute[i], r, address))
			attribute_none(data[i], attribute[i]);
	pthread_mutex_unlock(&memory_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	r = pointer_range_locked(address);
	if (r)
		r->sync_memops = !!*(const unsigned *)value;
	else
		e = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}
