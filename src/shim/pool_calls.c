/*
 * pool_calls.c: the calls that find, make, read, trim, end and import pools.
 */
#include "cuda_shim.h"
#include "core/charge.h"
#include "core/gate.h"
#include "shim/devices.h"
#include "shim/later.h"
#include "shim/movable.h"
#include "shim/pool.h"
#include "shim/scratch.h"
#include "shim/start.h"

/* Managed memory is charged to a device wherever it prefers to lie, as cuMemAllocManaged's is. */
static bool takes_device_memory(CUmemLocation location, CUmemAllocationType type)
{
	return location_is_device(location) || type == CU_MEM_ALLOCATION_TYPE_MANAGED;
}

/*
 * Who is charged for a pool; of managed memory that prefers no device, the thread's, or without a context nobody yet.
 * `location`: the driver's. False: a device that is not the grant's.
 */
static bool pool_device(CUmemLocation location, unsigned int *ret, bool *ret_placed)
{
	face_context context;
	int r;

	*ret = 0;
	*ret_placed = true;
	if (location_is_device(location))
		return devices_find(location_device(location), ret);
	r = charge_current(&context, ret);
	*ret_placed = r == CHARGE_HELD;
	return r != CHARGE_REFUSED;
}

/* A pool that the driver has by itself: it is known from here on. */
static CUresult found(CUresult r, CUmemoryPool *pool, const CUmemLocation *location, CUmemAllocationType type)
{
	unsigned int device;
	bool placed;

	if (r == CUDA_SUCCESS && start_is_metered() && takes_device_memory(*location, type) && !pool_find(*pool) &&
	    !(pool_device(*location, &device, &placed) && pool_get(*pool, device, placed, false)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return r;
}

CUresult shim_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
	CUmemLocation room, *seen = location_seen(location, &room);

	return found(shim_real.cuMemGetDefaultMemPool(pool_out, seen, type), pool_out, seen, type);
}

CUresult shim_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUmemLocation room, *seen = location_seen(location, &room);

	return found(shim_real.cuMemGetMemPool(pool, seen, type), pool, seen, type);
}

CUresult shim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	CUmemPoolProps props;
	unsigned int device;
	struct pool *p;
	bool placed;
	CUresult r;

	if (!poolProps || !start_is_metered() || !takes_device_memory(poolProps->location, poolProps->allocType))
		return shim_real.cuMemPoolCreate(pool, poolProps);
	props = *poolProps;
	props.location = location_in(props.location);
	r = shim_real.cuMemPoolCreate(pool, &props);
	if (r != CUDA_SUCCESS)
		return r;
	p = pool_device(props.location, &device, &placed) ? pool_get(*pool, device, placed, true) : NULL;
	if (p) {
		p->exportable = props.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
		p->backing = placed && !p->exportable && !props.maxSize &&
					     props.allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
					     location_is_device(props.location)
				     ? BACKING_MOVABLE
				     : BACKING_DRIVER;
		return r;
	}
	shim_real.cuMemPoolDestroy(*pool);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Makes another pool the device's current one, as the driver does when the current one is destroyed. */
static void replace_current(CUmemoryPool pool, unsigned int device)
{
	CUmemoryPool current, standard;
	CUdevice real;

	if (devices_real(device, &real) && shim_real.cuDeviceGetMemPool(&current, real) == CUDA_SUCCESS &&
	    current == pool && shim_real.cuDeviceGetDefaultMemPool(&standard, real) == CUDA_SUCCESS)
		shim_real.cuDeviceSetMemPool(real, standard);
}

/*
 * A pool lives on for as long as its allocations do, without a name that one could ask about. So the driver is told to
 * destroy it only when it has given everything back, which it does from now on as soon as it can.
 */
CUresult shim_cuMemPoolDestroy(CUmemoryPool pool)
{
	struct pool *p = pool ? pool_find(pool) : NULL;
	bool ours = false, again = false;
	uint32_t none = 0;

	if (!p)
		return shim_real.cuMemPoolDestroy(pool);
	gate_enter();
	pthread_mutex_lock(&p->lock);
	if (p->used && p->handle == pool && p->created) {
		again = p->dying;
		ours = true;
		if (!again) {
			replace_current(pool, p->device);
			p->dying = true;
			atomic_store_explicit(&p->threshold_bytes, 0, memory_order_relaxed);
			pool_settle_locked(p, &none);
		}
	}
	pthread_mutex_unlock(&p->lock);
	gate_leave();
	if (again)
		return CUDA_ERROR_INVALID_VALUE;
	/* What it has kept is given back, before its slot is another's. */
	if (ours)
		later_look();
	return ours ? CUDA_SUCCESS : shim_real.cuMemPoolDestroy(pool);
}

/* The size of memory of another process's pool, and its device of the grant. Neither question needs a context. */
static CUresult imported_place(CUdeviceptr made, size_t *ret_bytes, unsigned int *ret_device)
{
	CUdeviceptr base;
	int ordinal;
	CUresult r;

	r = shim_real.cuMemGetAddressRange_v2(&base, ret_bytes, made);
	if (r != CUDA_SUCCESS)
		r = shim_real.cuPointerGetAttribute(ret_bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, made);
	if (r == CUDA_SUCCESS)
		r = shim_real.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, made);
	if (r == CUDA_SUCCESS && !devices_find(ordinal, ret_device))
		r = CUDA_ERROR_INVALID_DEVICE;
	return r;
}

/*
 * Memory of another process's pool. It stays charged there, by what the pool has reserved, and is charged here too:
 * when that process ends or gives it up it lives on for this one, and nobody is told. So memory that two processes have
 * counts twice while both have it. What cannot be charged, because nobody says how large it is or where it lies, is not
 * had.
 */
CUresult shim_cuMemPoolImportPointer(CUdeviceptr *ptr, CUmemoryPool pool, CUmemPoolPtrExportData *data)
{
	unsigned int device, current;
	struct charge c = { 0 };
	face_context context;
	CUdeviceptr made = 0;
	size_t bytes = 0;
	CUresult r;

	if (!ptr || !start_is_metered())
		return shim_real.cuMemPoolImportPointer(ptr, pool, data);
	r = shim_real.cuMemPoolImportPointer(&made, pool, data);
	if (r != CUDA_SUCCESS)
		return r;
	r = imported_place(made, &bytes, &device);
	if (r == CUDA_SUCCESS && charge_begin_units(&c, device, charge_units(device, bytes)) != CHARGE_HELD)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		shim_real.cuMemFree_v2(made);
		return r;
	}
	if (charge_current(&context, &current) == CHARGE_HELD)
		c.context = context;
	if (!charge_end(&c, true, made, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ptr = made;
	return r;
}

CUresult shim_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	CUresult r = shim_real.cuMemPoolTrimTo(pool, minBytesToKeep);
	struct pool *p = pool ? pool_find(pool) : NULL;

	if (p && pool_is_movable(p) && minBytesToKeep < later_pool_bytes(pool_slot(p)) && later_release())
		movable_trim(true);
	if (p)
		pool_settle(p);
	return r;
}

CUresult shim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	CUresult r = shim_real.cuMemPoolGetAttribute(pool, attr, value);
	struct pool *p = r == CUDA_SUCCESS && value ? pool_find(pool) : NULL;
	uint64_t more = p ? pool_moving_figure(p, attr) : 0;

	if (more)
		*(cuuint64_t *)value += more;
	return r;
}

CUresult shim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	CUresult r = shim_real.cuMemPoolSetAttribute(pool, attr, value);
	struct pool *p = r == CUDA_SUCCESS ? pool_find(pool) : NULL;

	if (!p)
		return r;
	pthread_mutex_lock(&p->lock);
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		atomic_store_explicit(&p->threshold_bytes, *(cuuint64_t *)value, memory_order_relaxed);
	else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		p->moving_most_bytes = pool_moving_bytes(p);
	else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		p->reserved_most_bytes = pool_moving_bytes(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}
