/* pointers.c: what is known of an address, from the map alone: what softdev/pointer.c answers. */
#include "cuda_remote.h"
#include "remote/client/ranges.h"
#include "remote/client/start.h"

#include <string.h>

static bool on_host(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED || r->kind == RANGE_ALIAS;
}

static bool of_device_alone(const struct range *r)
{
	return r->kind == RANGE_MAPPED || r->kind == RANGE_POOL;
}

/* The same byte at the other of its two addresses. */
static uint64_t other_side(const struct range *r, uint64_t address)
{
	return r->other + (address - r->begin);
}

/* The value of an attribute. CUDA_ERROR_INVALID_VALUE where it has none. */
static CUresult attribute_of(void *data, CUpointer_attribute attribute, const struct range *r, CUdeviceptr address)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		if (of_device_alone(r))
			return CUDA_ERROR_INVALID_VALUE;
		*(CUcontext *)data = (CUcontext)(uintptr_t)r->context;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = on_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if ((r->kind == RANGE_REGISTERED && r->other == r->begin) ||
		    (r->kind == RANGE_HOST && !r->session->coherent && !(r->flags & CU_MEMHOSTALLOC_DEVICEMAP)))
			return CUDA_ERROR_INVALID_VALUE;
		*(CUdeviceptr *)data =
			r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED ? other_side(r, address) : address;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!on_host(r) && !r->managed)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)(r->kind == RANGE_ALIAS ? other_side(r, address) : address);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(int *)data = r->sync_memops;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = r->id;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = r->device;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = r->managed;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
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
		*(unsigned long long *)data = 0;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned int *)data = r->kind == RANGE_MAPPED ? r->flags : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = (CUmemoryPool)(uintptr_t)(r->kind == RANGE_POOL ? r->owner : 0);
		/* It came from the device's present one, as far as is known. */
		return r->kind == RANGE_POOL && !r->owner ? client_cuDeviceGetMemPool(data, r->device) : CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* What cuPointerGetAttributes gives for an address that is not known, or an attribute that it has not. */
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

CUresult client_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = start_ready();
	struct range range;

	if (r != CUDA_SUCCESS)
		return r;
	return data && ranges_find(ptr, &range) ? attribute_of(data, attribute, &range, ptr) : CUDA_ERROR_INVALID_VALUE;
}

CUresult client_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
				       CUdeviceptr ptr)
{
	CUresult r = start_ready();
	struct range range;
	bool known;

	if (r != CUDA_SUCCESS)
		return r;
	if (!numAttributes || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < numAttributes; i++)
		if (!data[i] || attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
		    attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
			return CUDA_ERROR_INVALID_VALUE;
	known = ranges_find(ptr, &range);
	for (unsigned int i = 0; i < numAttributes; i++)
		if (!known || attribute_of(data[i], attributes[i], &range, ptr) != CUDA_SUCCESS)
			attribute_none(data[i], attributes[i]);
	return CUDA_SUCCESS;
}

CUresult client_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult r = start_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ||
	    !ranges_set_sync(ptr, *(const unsigned int *)value))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult client_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	CUresult r = start_ready();
	struct range range;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ranges_find(dptr, &range) || range.kind == RANGE_REGISTERED)
		return CUDA_ERROR_NOT_FOUND;
	if (pbase)
		*pbase = range.begin;
	if (psize)
		*psize = range.bytes;
	return CUDA_SUCCESS;
}
