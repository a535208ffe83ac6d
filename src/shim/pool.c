/*
 * pool.c: see pool.h.
 *
 * A pool's slot is locked from the driver's call to the reading of what the pool has reserved, so that growth is
 * attributed once. Those calls (allocate, query, trim) do not call back, and wait for the device only where an
 * allocation is undone (pool_alloc.c).
 */
#include "shim/pool.h"
#include "cuda_shim.h"
#include "core/attach.h"
#include "core/gate.h"
#include "shim/pools.h"

#define PIECE_BYTES                                                                                                    \
	(32u << 20) /* a real driver's pools grow by this much; smaller ones are learnt from what they do              \
		     */

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER; /* guards taking a slot */
struct pool pools[POOLS_MAX] = { [0 ... POOLS_MAX - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
_Atomic uint32_t pool_count;

struct pool *pool_find(CUmemoryPool handle)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		bool match;

		pthread_mutex_lock(&pools[i].lock);
		match = pools[i].used && pools[i].handle == handle;
		pthread_mutex_unlock(&pools[i].lock);
		if (match)
			return &pools[i];
	}
	return NULL;
}

uint32_t pool_first_piece(unsigned int device)
{
	return accounts[device].granule_units == 1 ? 1 : PIECE_BYTES / WIRE_UNIT_BYTES;
}

struct pool *pool_get(CUmemoryPool handle, unsigned int device, bool placed, bool created)
{
	uint32_t count, i, most = created ? POOLS_CREATED_MAX : POOLS_MAX;
	struct pool *p = pool_find(handle);

	if (p && !created)
		return p;
	pthread_mutex_lock(&slots_lock);
	p = pool_find(handle); /* another thread may have been quicker */
	if (p && !created) {
		pthread_mutex_unlock(&slots_lock);
		return p;
	}
	count = atomic_load_explicit(&pool_count, memory_order_relaxed);
	for (i = 0; !p && i < count && pools[i].used; i++)
		;
	if (p)
		i = pool_slot(p);
	if (i < most) {
		p = &pools[i];
		pthread_mutex_lock(&p->lock);
		if (p->used)
			account_give(p->device, p->charged_units);
		p->handle = handle;
		p->device = device;
		p->unplaced = !placed;
		p->charged_units = 0;
		p->piece_units = pool_first_piece(device);
		p->live_bytes = p->moving_most_bytes = p->reserved_most_bytes = 0;
		atomic_store_explicit(&p->moving_bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&p->threshold_bytes, 0, memory_order_relaxed);
		p->backing = BACKING_UNKNOWN;
		p->created = created;
		p->exportable = false;
		p->dying = false;
		p->used = true;
		pthread_mutex_unlock(&p->lock);
		if (i == count)
			atomic_store_explicit(&pool_count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&slots_lock);
	if (count == 0)
		pools_arm();
	return p;
}

/* A driver that only answers with an error of the device's still has what it had; a handle it does not know is gone. */
uint64_t pool_reserved_locked(const struct pool *p)
{
	cuuint64_t bytes = 0;
	CUresult r = shim_real.cuMemPoolGetAttribute(p->handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes);

	if (r == CUDA_SUCCESS)
		return bytes;
	return r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_INVALID_HANDLE
		       ? 0
		       : (uint64_t)p->charged_units * WIRE_UNIT_BYTES;
}

/* A destroyed pool that has nothing left. */
static void end_locked(struct pool *p)
{
	shim_real.cuMemPoolDestroy(p->handle);
	p->handle = NULL;
	p->dying = p->used = false;
}

uint32_t pool_settle_locked(struct pool *p, uint32_t *ret_units)
{
	uint64_t reserved, units;
	uint32_t growth;

	if (!p->used)
		return 0;
	if (p->dying)
		shim_real.cuMemPoolTrimTo(p->handle, 0);
	reserved = pool_reserved_locked(p);
	units = wire_units(reserved);
	if (!reserved)
		p->live_bytes = 0;
	if (units <= p->charged_units) {
		account_give(p->device, p->charged_units - (uint32_t)units);
		p->charged_units = (uint32_t)units;
		if (p->dying && !units && !pool_moving_bytes(p))
			end_locked(p);
		return 0;
	}
	growth = (uint32_t)(units - p->charged_units);
	if (growth > *ret_units) {
		if (!account_take(p->device, growth - *ret_units, false))
			return growth - *ret_units;
		*ret_units = growth;
	}
	*ret_units -= growth;
	p->charged_units += growth;
	while (growth % p->piece_units)
		p->piece_units = p->piece_units > 1 ? p->piece_units / 2 : 1;
	return 0;
}

void pool_settle_and_leave(struct pool *p)
{
	uint32_t none = 0, missing;
	unsigned int device;

	pthread_mutex_lock(&p->lock);
	missing = pool_settle_locked(p, &none);
	device = p->device;
	pthread_mutex_unlock(&p->lock);
	gate_leave();
	if (missing)
		attach_event(device, "a memory pool has grown by %llu bytes that no allocation asked for",
			     (unsigned long long)missing * WIRE_UNIT_BYTES);
}

void pool_settle(struct pool *p)
{
	gate_enter();
	pool_settle_and_leave(p);
}

void pools_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_relaxed);

	slots_lock = unlocked;
	for (uint32_t i = 0; i < count; i++)
		pools[i] = (struct pool){ .lock = unlocked };
	atomic_store_explicit(&pool_count, 0, memory_order_relaxed);
}
