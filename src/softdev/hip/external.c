/*
 * external.c: memory of another API on the software device, and what frees it as well. There is no other API here, so
 * what is imported is made by the import, as if its maker had let go of it: it is there until it is imported and mapped
 * no more.
 */
#include "hip_soft.h"
#include "softdev/hip/state.h"

#include <pthread.h>
#include <stdlib.h>

#define GRANULE (UINT64_C(2) << 20)

struct import {
	CUmemGenericAllocationHandle memory;
	size_t bytes;
	hip_ordinal device;
};

struct mapping {
	struct mapping *next;
	CUdeviceptr at;
	size_t bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

hipError_t soft_hipImportExternalMemory(hipExternalMemory_t *extMem_out,
					const hipExternalMemoryHandleDesc *memHandleDesc)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = state_device() } };
	struct import *import;
	hipError_t r;

	ON_DEVICE;
	if (!extMem_out || !memHandleDesc || !memHandleDesc->size)
		return state_said(CUDA_ERROR_INVALID_VALUE);
	import = malloc(sizeof(*import));
	if (!import)
		return state_said(CUDA_ERROR_OUT_OF_MEMORY);
	import->bytes = (memHandleDesc->size + GRANULE - 1) / GRANULE * GRANULE;
	import->device = prop.location.id;
	r = state_said(soft_cu.cuMemCreate(&import->memory, import->bytes, &prop, 0));
	if (r == hipSuccess)
		*extMem_out = import;
	else
		free(import);
	return r;
}

hipError_t soft_hipDestroyExternalMemory(hipExternalMemory_t extMem)
{
	struct import *import = extMem;
	CUresult r;

	ON_DEVICE;
	if (!import)
		return state_said(CUDA_ERROR_INVALID_VALUE);
	r = soft_cu.cuMemRelease(import->memory);
	free(import);
	return state_said(r);
}

static CUresult map(const struct import *import, struct mapping *ret)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = import->device },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUresult r = soft_cu.cuMemAddressReserve(&ret->at, import->bytes, 0, 0, 0);

	ret->bytes = import->bytes;
	if (r != CUDA_SUCCESS)
		return r;
	r = soft_cu.cuMemMap(ret->at, ret->bytes, 0, import->memory, 0);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuMemSetAccess(ret->at, ret->bytes, &access, 1);
	return r;
}

hipError_t soft_hipExternalMemoryGetMappedBuffer(void **devPtr, hipExternalMemory_t extMem,
						 const hipExternalMemoryBufferDesc *bufferDesc)
{
	struct mapping *m;
	CUresult r;

	ON_DEVICE;
	if (!devPtr || !extMem || !bufferDesc || bufferDesc->offset)
		return state_said(CUDA_ERROR_INVALID_VALUE);
	m = calloc(1, sizeof(*m));
	r = m ? map(extMem, m) : CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		free(m);
		return state_said(r);
	}
	*devPtr = (void *)(uintptr_t)m->at;
	pthread_mutex_lock(&lock);
	m->next = mappings;
	mappings = m;
	pthread_mutex_unlock(&lock);
	return state_said(r);
}

/* A mapped part is freed. False: it is none. */
static bool unmap(void *at, hipError_t *ret)
{
	struct mapping **place = &mappings, *m;
	CUresult r;

	pthread_mutex_lock(&lock);
	while (*place && (*place)->at != (CUdeviceptr)(uintptr_t)at)
		place = &(*place)->next;
	m = *place;
	if (m)
		*place = m->next;
	pthread_mutex_unlock(&lock);
	if (!m)
		return false;
	r = soft_cu.cuMemUnmap(m->at, m->bytes);
	if (r == CUDA_SUCCESS)
		r = soft_cu.cuMemAddressFree(m->at, m->bytes);
	free(m);
	*ret = state_said(r);
	return true;
}

hipError_t soft_hipFree(void *ptr)
{
	hipError_t r;

	ON_DEVICE;
	if (!ptr)
		return hipSuccess;
	return unmap(ptr, &r) ? r : state_said(soft_cu.cuMemFree_v2((CUdeviceptr)(uintptr_t)ptr));
}
