/*
 * pool_moving.c: pools whose memory may move. It lies in blocks of movable.h, and what is freed is later.c's; the
 * driver's pool of the same handle remains empty.
 */
#include "cuda_shim.h"
#include "shim/devices.h"
#include "shim/later.h"
#include "shim/movable.h"
#include "shim/pool.h"
#include "shim/pools.h"
#include "shim/start.h"

static bool is_standard_locked(const struct pool *p)
{
	CUmemoryPool standard;
	CUdevice real;

	return devices_real(p->device, &real) && shim_real.cuDeviceGetDefaultMemPool(&standard, real) == CUDA_SUCCESS &&
	       standard == p->handle;
}

bool pool_is_movable(struct pool *p)
{
	bool is;

	if (!movable_wanted() || pool_slot(p) >= MOVABLE_POOLS || !shim_has(CUDA_CALL_cuMemCreate))
		return false;
	pthread_mutex_lock(&p->lock);
	if (p->backing == BACKING_UNKNOWN)
		p->backing = is_standard_locked(p) ? BACKING_MOVABLE : BACKING_DRIVER;
	is = p->used && !p->dying && p->backing == BACKING_MOVABLE;
	pthread_mutex_unlock(&p->lock);
	return is;
}

static void moving_made(struct pool *p, uint64_t bytes)
{
	uint64_t freed = later_pool_bytes(pool_slot(p)), used;

	pthread_mutex_lock(&p->lock);
	used = pool_moving_bytes(p) + bytes;
	atomic_store_explicit(&p->moving_bytes, used, memory_order_relaxed);
	if (used > p->moving_most_bytes)
		p->moving_most_bytes = used;
	if (used + freed > p->reserved_most_bytes)
		p->reserved_most_bytes = used + freed;
	pthread_mutex_unlock(&p->lock);
}

bool pools_keeps(uint32_t slot, uint64_t freed_bytes)
{
	uint64_t most = atomic_load_explicit(&pools[slot].threshold_bytes, memory_order_relaxed);
	uint64_t used = pool_moving_bytes(&pools[slot]);

	return most && used <= most && freed_bytes <= most - used;
}

void pools_moving_freed(uint32_t slot, uint64_t bytes)
{
	struct pool *p = &pools[slot];
	uint64_t used;
	bool ends;

	pthread_mutex_lock(&p->lock);
	used = pool_moving_bytes(p);
	used -= bytes < used ? bytes : used;
	atomic_store_explicit(&p->moving_bytes, used, memory_order_relaxed);
	ends = p->dying && !used;
	pthread_mutex_unlock(&p->lock);
	if (ends)
		pool_settle(p);
}

/* What was freed in the order of other streams is there when they have come to it: they are waited for before it fails.
 */
CUresult pool_moving_alloc(struct pool *p, bool per_thread, CUdeviceptr *dptr, size_t bytes, CUstream stream)
{
	uint32_t slot = pool_slot(p), units;
	struct record again;
	CUresult r;

	if (wire_units(bytes) > WIRE_MAX_UNITS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	units = (uint32_t)wire_units(bytes);
	if (later_take(p->device, units, stream, per_thread, &again)) {
		r = movable_renew(&again, slot, bytes, dptr);
	} else {
		later_unkeep_packed(p->device);
		r = movable_alloc_pool(p->device, slot, bytes, dptr);
		if (r == CUDA_ERROR_OUT_OF_MEMORY) {
			shim_real.cuCtxSynchronize();
			later_release();
			r = movable_alloc_pool(p->device, slot, bytes, dptr);
		}
	}
	if (r == CUDA_SUCCESS)
		moving_made(p, bytes);
	return r;
}

uint64_t pool_moving_figure(struct pool *p, CUmemPool_attribute attr)
{
	uint64_t freed = later_pool_bytes(pool_slot(p)), is = 0;

	pthread_mutex_lock(&p->lock);
	switch (attr) {
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		is = pool_moving_bytes(p);
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		is = p->moving_most_bytes;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		is = pool_moving_bytes(p) + freed;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		is = p->reserved_most_bytes;
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&p->lock);
	return is;
}
