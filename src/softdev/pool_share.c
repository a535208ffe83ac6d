/*
 * pool_share.c: memory pools between processes.
 *
 * A pool that was made for it travels as a descriptor of its object; a pointer of it as the place of its memory. The
 * importing process sees memory of the pool pointer by pointer and frees each; its account stays with the exporter.
 */
#include "softdev/context.h"
#include "softdev/mempool.h"
#include "softdev/share.h"

#include <string.h>

#define POINTER_MAGIC 0x7063706du

struct pointer_text {
	uint32_t magic;
	uint32_t unused;
	uint64_t generation; /* of the segment */
	uint64_t pool;	     /* object */
	struct share_place place;
	uint64_t bytes;
};

_Static_assert(sizeof(struct pointer_text) <= sizeof(CUmemPoolPtrExportData), "fits into a handle");

CUresult soft_cuMemPoolExportToShareableHandle(void *ret, CUmemoryPool h, CUmemAllocationHandleType type,
					       unsigned long long flags)
{
	struct mempool *p;
	CUresult e = mempool_find(h, &p);
	int fd;

	if (e)
		return e;
	if (!ret || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !p->object || p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	fd = segment_object_give(&driver.place, p->object);
	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(int *)ret = fd;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolImportFromShareableHandle(CUmemoryPool *ret, void *handle, CUmemAllocationHandleType type,
						 unsigned long long flags)
{
	uint64_t object, units;
	struct mempool *p;
	struct device *d;
	uint32_t index;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if (segment_object_find(&driver.place, SEGMENT_POOL, (int)(intptr_t)handle, &object, &index, &units))
		return CUDA_ERROR_INVALID_VALUE;
	d = device_at(index);
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	e = mempool_import(d, object, &p);
	if (!e)
		*ret = (CUmemoryPool)p;
	return e;
}

CUresult soft_cuMemPoolExportPointer(CUmemPoolPtrExportData *ret, CUdeviceptr address)
{
	struct pointer_text text = { .magic = POINTER_MAGIC };
	struct range *r;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && r->kind == RANGE_POOL && r->begin == address && !r->released && r->object) {
		text.generation = driver.place.segment->generation;
		text.pool = r->pool->object;
		text.place = (struct share_place){ .object = r->object };
		text.bytes = r->bytes;
	} else {
		e = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&memory_mutex);
	if (e)
		return e;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->reserved, &text, sizeof(text));
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolImportPointer(CUdeviceptr *ret, CUmemoryPool h, CUmemPoolPtrExportData *data)
{
	struct pointer_text text;
	struct mempool *p;
	struct range *r;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (!ret || !data || !p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&text, data->reserved, sizeof(text));
	if (text.magic != POINTER_MAGIC || text.generation != driver.place.segment->generation ||
	    text.pool != p->object)
		return CUDA_ERROR_INVALID_VALUE;
	e = share_import(p->device, p->device->primary, &text.place, text.bytes, &r);
	if (e)
		return e == CUDA_ERROR_INVALID_HANDLE ? CUDA_ERROR_INVALID_VALUE : e;
	mempool_imported_add(r, p);
	*ret = r->begin;
	return CUDA_SUCCESS;
}
