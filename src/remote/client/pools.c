/*
 * pools.c: see pools.h; attributes of pools, whose size depends on which it is; streams that the legacy stream does not
 * wait for.
 */
#include "remote/client/pools.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/handles.h"
#include "remote/client/session.h"

#include <string.h>

/* Bytes of an attribute's value; 0: there is no such attribute. */
static size_t value_bytes(CUmemPool_attribute attribute)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return sizeof(int);
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return sizeof(cuuint64_t);
	default:
		return 0;
	}
}

/* `value` is read, or written. */
static CUresult attribute(enum cuda_call call, CUmemoryPool pool, CUmemPool_attribute attr, void *value, bool set)
{
	uint64_t sent[3] = { 0, (uint64_t)attr, 0 };
	size_t bytes = value_bytes(attr);
	struct client_call c;
	uint64_t got = 0;

	client_call(&c, call);
	if (c.result == CUDA_SUCCESS && (!value || !bytes))
		c.result = CUDA_ERROR_INVALID_VALUE;
	sent[0] = client_use(&c, KIND_MEMORY_POOL, pool);
	if (c.result == CUDA_SUCCESS && set)
		memcpy(&sent[2], value, bytes);
	if (client_begin(&c, true)) {
		remote_put(&c.out, sent, sizeof sent);
		client_send(&c);
		if (c.result == CUDA_SUCCESS && !set) {
			remote_get(&c.in, &got, sizeof got);
			if (!c.in.bad)
				memcpy(value, &got, bytes);
		}
	}
	return client_end(&c);
}

CUresult client_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	return attribute(CUDA_CALL_cuMemPoolSetAttribute, pool, attr, value, true);
}

CUresult client_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	return attribute(CUDA_CALL_cuMemPoolGetAttribute, pool, attr, value, false);
}

/* ---- where they lie ---- */

static CUresult lies_on(CUresult r, const CUmemoryPool *pool, CUdevice device)
{
	_Atomic uint32_t *word = r == CUDA_SUCCESS ? client_word(*pool) : NULL;

	if (word)
		atomic_store_explicit(word, (uint32_t)device + 1, memory_order_relaxed);
	return r;
}

CUdevice pools_device(CUmemoryPool pool)
{
	const _Atomic uint32_t *word = pool ? client_word(pool) : NULL;

	return word ? (CUdevice)atomic_load_explicit(word, memory_order_relaxed) - 1 : -1;
}

CUresult client_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	return lies_on(client_plain_cuDeviceGetDefaultMemPool(pool_out, dev), pool_out, dev);
}

CUresult client_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return lies_on(client_plain_cuDeviceGetMemPool(pool, dev), pool, dev);
}

/*
 * Host memory that device and program share lies in the arena, which the worker's driver does not allocate from: of
 * pools only those of a device's memory are there.
 */
static bool elsewhere(const CUmemLocation *l, CUmemAllocationType type)
{
	return l && (type == CU_MEM_ALLOCATION_TYPE_MANAGED || l->type == CU_MEM_LOCATION_TYPE_HOST ||
		     l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
}

static CUresult not_here(enum cuda_call call)
{
	client_refused(call);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult client_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult r = elsewhere(location, type) ? not_here(CUDA_CALL_cuMemGetDefaultMemPool)
					       : client_plain_cuMemGetDefaultMemPool(pool_out, location, type);

	if (r == CUDA_SUCCESS && location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		lies_on(r, pool_out, location->id);
	return r;
}

CUresult client_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUresult r = elsewhere(location, type) ? not_here(CUDA_CALL_cuMemGetMemPool)
					       : client_plain_cuMemGetMemPool(pool, location, type);

	if (r == CUDA_SUCCESS && location->type == CU_MEM_LOCATION_TYPE_DEVICE)
		lies_on(r, pool, location->id);
	return r;
}

/* A location that is no device is a wrong value. */
static CUresult location(CUresult r)
{
	return r == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : r;
}

#define HANDLE_TYPES                                                                                                   \
	(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT |          \
	 CU_MEM_HANDLE_TYPE_FABRIC)

/* Pools that other processes could open are not made. What is no such type the driver refuses. */
CUresult client_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	CUmemPoolProps own;
	CUresult r;

	if (poolProps && elsewhere(&poolProps->location, poolProps->allocType))
		return not_here(CUDA_CALL_cuMemPoolCreate);
	if (!poolProps || poolProps->handleTypes & ~(unsigned int)(HANDLE_TYPES))
		return location(client_plain_cuMemPoolCreate(pool, poolProps));
	if (poolProps->handleTypes)
		client_refused(CUDA_CALL_cuMemPoolExportToShareableHandle);
	own = *poolProps;
	own.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
	r = location(client_plain_cuMemPoolCreate(pool, &own));
	return own.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? lies_on(r, pool, own.location.id) : r;
}

CUresult client_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	return location(client_plain_cuMemPoolSetAccess(pool, map, count));
}

CUresult client_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *at)
{
	return location(client_plain_cuMemPoolGetAccess(flags, memPool, at));
}

/* From the first such stream on, copies at once wait for their end: see copy.c. */
static void apart(CUstream stream, unsigned int flags)
{
	int session = handle_session((uint64_t)(uintptr_t)stream);

	if (flags & CU_STREAM_NON_BLOCKING && session >= 0 && (unsigned int)session < session_count)
		atomic_store_explicit(&sessions[session]->apart, 1, memory_order_relaxed);
}

CUresult client_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	CUresult r = client_plain_cuStreamCreate(phStream, Flags);

	if (r == CUDA_SUCCESS)
		apart(*phStream, Flags);
	return r;
}

CUresult client_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	CUresult r = client_plain_cuStreamCreateWithPriority(phStream, flags, priority);

	if (r == CUDA_SUCCESS)
		apart(*phStream, flags);
	return r;
}

/* Waited for, because a device's own pool cannot be destroyed. */
CUresult client_cuMemPoolDestroy(CUmemoryPool pool)
{
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuMemPoolDestroy);
	id = client_use(&c, KIND_MEMORY_POOL, pool);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof id);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		client_drop(pool);
	return client_end(&c);
}
