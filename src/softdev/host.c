/* host.c: host memory that the driver knows: allocated by it, or the program's own and registered. */
#include "softdev/check.h"
#include "softdev/context.h"
#include "softdev/graph.h"
#include "softdev/memory.h"
#include "softdev/space.h"
#include "softdev/stream.h"

#include <stdlib.h>

#define ALLOC_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                                                                 \
	(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |                    \
	 CU_MEMHOSTREGISTER_READ_ONLY)

/* Of a pool's memory `units` say how long it is, as the program may have asked for less. */
void host_release(struct range *r)
{
	if (r->owned)
		space_give((uint64_t)(uintptr_t)r->owned, r->pool ? r->units * SEGMENT_UNIT_BYTES : r->bytes);
	free(r);
}

struct range *host_new(struct device *d, struct mempool *p, uint64_t bytes)
{
	struct range *r = calloc(1, sizeof(*r));
	bool added;

	if (!r)
		return NULL;
	r->owned = space_take_memory(bytes);
	if (!r->owned) {
		free(r);
		return NULL;
	}
	r->kind = RANGE_HOST;
	r->begin = (uint64_t)(uintptr_t)r->owned;
	r->bytes = bytes;
	r->units = bytes / SEGMENT_UNIT_BYTES;
	r->device = d;
	r->pool = p;
	r->flags = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP;
	pthread_mutex_lock(&memory_mutex);
	added = range_add_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	if (!added) {
		host_release(r);
		return NULL;
	}
	return r;
}

/* Makes a range known. Value: CUDA_SUCCESS; otherwise nothing has been kept. */
static CUresult host_add(struct context *c, enum range_kind kind, void *p, size_t bytes, unsigned flags, bool owned)
{
	struct range *r = calloc(1, sizeof(*r));
	bool added;

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->kind = kind;
	r->begin = (uint64_t)(uintptr_t)p;
	r->bytes = bytes;
	r->context = c;
	r->device = c->device;
	r->flags = flags;
	pthread_mutex_lock(&memory_mutex);
	added = range_add_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	if (!added) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->owned = owned ? p : NULL;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	struct context *c;
	void *p;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	if (!ret || !bytes || flags & ~(unsigned)ALLOC_FLAGS || bytes > SIZE_MAX / 2)
		return CUDA_ERROR_INVALID_VALUE;
	p = space_take_memory(bytes);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = host_add(c, RANGE_HOST, p, bytes, flags, true);
	if (e)
		space_give((uint64_t)(uintptr_t)p, bytes);
	else
		*ret = p;
	return e;
}

CUresult soft_cuMemAllocHost_v2(void **ret, size_t bytes)
{
	return soft_cuMemHostAlloc(ret, bytes, 0);
}

/* Takes a range of this kind that begins at p out of the map. NULL: there is none. */
static struct range *host_take(void *p, enum range_kind kind)
{
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked((uint64_t)(uintptr_t)p);
	if (r && (r->kind != kind || r->pool || r->begin != (uint64_t)(uintptr_t)p))
		r = NULL;
	if (r)
		range_remove_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	return r;
}

CUresult soft_cuMemFreeHost(void *p)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	r = host_take(p, RANGE_HOST);
	if (!r) {
		report_call("cuMemFreeHost: invalid free", (uint64_t)(uintptr_t)p, 0);
		return CUDA_ERROR_INVALID_VALUE;
	}
	stream_wait_device(r->device);
	host_release(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	uint64_t begin = (uint64_t)(uintptr_t)p;
	struct context *c;
	bool overlaps;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!p || !bytes || begin + bytes < begin || flags & ~(unsigned)REGISTER_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&memory_mutex);
	overlaps = range_overlaps_locked(begin, bytes);
	pthread_mutex_unlock(&memory_mutex);
	if (overlaps)
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return host_add(c, RANGE_REGISTERED, p, bytes, flags, false);
}

CUresult soft_cuMemHostRegister(void *p, size_t bytes, unsigned flags)
{
	return soft_cuMemHostRegister_v2(p, bytes, flags);
}

CUresult soft_cuMemHostUnregister(void *p)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	r = host_take(p, RANGE_REGISTERED);
	if (!r)
		return p ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_ERROR_INVALID_VALUE;
	stream_wait_device(r->device);
	host_release(r);
	return CUDA_SUCCESS;
}

/* The flags of host memory that contains p. */
static CUresult host_flags(void *p, enum range_kind *ret_kind, unsigned *ret_flags)
{
	CUresult e = CUDA_ERROR_INVALID_VALUE;
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked((uint64_t)(uintptr_t)p);
	if (r && (r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED)) {
		*ret_kind = r->kind;
		*ret_flags = r->flags;
		e = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *p, unsigned flags)
{
	enum range_kind kind;
	unsigned given;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	e = host_flags(p, &kind, &given);
	if (!e)
		*ret = (CUdeviceptr)(uintptr_t)p;
	return e;
}

CUresult soft_cuMemHostGetFlags(unsigned *ret, void *p)
{
	enum range_kind kind;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	return ret ? host_flags(p, &kind, ret) : CUDA_ERROR_INVALID_VALUE;
}
