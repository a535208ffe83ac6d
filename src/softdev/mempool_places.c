/*
 * mempool_places.c: which pools a place of memory has, see mempool.h: of a device, of the host, managed memory that
 * prefers either or nothing; its default pool, and the one that is current.
 */
#include "softdev/mempool.h"

#include "base/numa_node.h"
#include "softdev/context.h"

/* Pools of memory that is no device's own. */
enum { SHARED_HOST, SHARED_MANAGED, SHARED_MANAGED_HOST, SHARED_MANAGED_ON };
static struct shared_pool {
	struct mempool *standard, *now;
} shared_pools[SHARED_MANAGED_ON + SEGMENT_MAX_DEVICES]; /* mempool_mutex guards them */

CUresult mempool_location_device(const CUmemLocation *l, struct device **ret)
{
	if (l->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return device_find(l->id, ret) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool mempool_location_host(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_TYPE_HOST || l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
	       (l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && numa_node_there(l->id));
}

/* Of memory that belongs to no device: the device of the thread's context. NULL: there is none. */
static struct device *device_here(void)
{
	struct context *c;

	return context_current(&c) ? NULL : c->device;
}

CUresult mempool_kind(const CUmemLocation *l, CUmemAllocationType type, struct device **ret_device, bool *ret_host)
{
	const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;

	*ret_host = false;
	if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->type == CU_MEM_LOCATION_TYPE_DEVICE)
		return mempool_location_device(l, ret_device);
	if (l->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
	    (!mempool_location_host(l) && !(managed && l->type == CU_MEM_LOCATION_TYPE_NONE)))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_device = device_here();
	*ret_host = !managed;
	return CUDA_SUCCESS;
}

struct mempool *mempool_of_kind(struct device *d, const CUmemPoolProps *props, bool on_host)
{
	struct mempool *p = mempool_new(d ? d : &driver.device[0]);

	if (!p)
		return NULL;
	p->unplaced = !d && !on_host;
	p->props = *props;
	p->on_host = on_host;
	p->managed = props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
	if (p->on_host || p->managed)
		p->peers = UINT32_MAX;
	return p;
}

void mempool_replace_locked(const struct mempool *p)
{
	for (size_t i = 0; i < sizeof(shared_pools) / sizeof(*shared_pools); i++)
		if (shared_pools[i].now == p)
			shared_pools[i].now = shared_pools[i].standard;
}

/* The device's default pool (`standard`), or the one that is current. */
static CUresult device_get(CUmemoryPool *ret, CUdevice ordinal, bool standard)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e && !ret)
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		*ret = (CUmemoryPool)(standard ? d->default_pool : d->pool);
	return e;
}

CUresult soft_cuDeviceGetDefaultMemPool(CUmemoryPool *ret, CUdevice ordinal)
{
	return device_get(ret, ordinal, true);
}

CUresult soft_cuDeviceGetMemPool(CUmemoryPool *ret, CUdevice ordinal)
{
	return device_get(ret, ordinal, false);
}

CUresult soft_cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool h)
{
	struct mempool *p;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (!e)
		e = mempool_find(h, &p);
	if (e)
		return e;
	if (p->device != d || p->imported || p->on_host || p->managed)
		return CUDA_ERROR_INVALID_VALUE;
	d->pool = p;
	return CUDA_SUCCESS;
}

/* The default and the current pool of memory that is no device's own; made when they are asked for. */
static CUresult shared_find_locked(const CUmemLocation *l, CUmemAllocationType type, struct shared_pool **ret)
{
	CUmemPoolProps props = { .allocType = type, .location = *l };
	struct shared_pool *s = &shared_pools[SHARED_HOST];
	struct device *d;
	bool on_host;
	CUresult e = mempool_kind(l, type, &d, &on_host);

	if (e)
		return e;
	if (!on_host)
		s = &shared_pools[l->type == CU_MEM_LOCATION_TYPE_DEVICE ? SHARED_MANAGED_ON + d->ordinal
				  : l->type == CU_MEM_LOCATION_TYPE_NONE ? SHARED_MANAGED
									 : SHARED_MANAGED_HOST];
	if (!s->standard)
		s->standard = s->now = mempool_of_kind(d, &props, on_host);
	*ret = s;
	return s->standard ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult shared_get(CUmemoryPool *ret, const CUmemLocation *l, CUmemAllocationType type, bool standard)
{
	struct shared_pool *s;
	CUresult e;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mempool_mutex);
	e = shared_find_locked(l, type, &s);
	if (!e)
		*ret = (CUmemoryPool)(standard ? s->standard : s->now);
	pthread_mutex_unlock(&mempool_mutex);
	return e;
}

/* Pinned memory of a device is what the older calls know. */
static bool of_device(const CUmemLocation *l, CUmemAllocationType type)
{
	return type == CU_MEM_ALLOCATION_TYPE_PINNED && l->type == CU_MEM_LOCATION_TYPE_DEVICE;
}

/* The same of any place. */
static CUresult place_get(CUmemoryPool *ret, const CUmemLocation *location, CUmemAllocationType type, bool standard)
{
	struct device *d;
	CUresult e = driver_ready();

	if (!e && !location)
		e = CUDA_ERROR_INVALID_VALUE;
	if (e)
		return e;
	if (!of_device(location, type))
		return shared_get(ret, location, type, standard);
	e = mempool_location_device(location, &d);
	return e ? e : device_get(ret, d->ordinal, standard);
}

CUresult soft_cuMemGetDefaultMemPool(CUmemoryPool *ret, CUmemLocation *location, CUmemAllocationType type)
{
	return place_get(ret, location, type, true);
}

CUresult soft_cuMemGetMemPool(CUmemoryPool *ret, CUmemLocation *location, CUmemAllocationType type)
{
	return place_get(ret, location, type, false);
}

CUresult soft_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	struct shared_pool *s;
	struct mempool *p;
	struct device *d;
	CUresult e = mempool_find(pool, &p);

	if (!e && !location)
		e = CUDA_ERROR_INVALID_VALUE;
	if (e)
		return e;
	if (of_device(location, type)) {
		e = mempool_location_device(location, &d);
		return e ? e : soft_cuDeviceSetMemPool(d->ordinal, pool);
	}
	if (p->props.allocType != type || p->props.location.type != location->type)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mempool_mutex);
	e = shared_find_locked(location, type, &s);
	if (!e)
		s->now = p;
	pthread_mutex_unlock(&mempool_mutex);
	return e;
}
