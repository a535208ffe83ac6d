/* pools.c: see pools.h. */
#include "hip/pools.h"
#include "core/capture.h"
#include "core/map.h"
#include "hip/devices.h"
#include "hip/memory.h"
#include "hip/work.h"

#include <pthread.h>
#include <stdatomic.h>

#define POOLS_AT_ONCE 32u

enum {
	UNITS,
	DEVICE,
	POOL
}; /* the values of what a pool keeps; NULL: memory that is in no pool, or in none any more */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards kept */
static struct map kept;
static _Atomic bool holds; /* a pool was told to keep memory */

static uint64_t key_of(hipMemPool_t pool, unsigned int device)
{
	return map_hash((uint64_t)(uintptr_t)pool) ^ device ^ 1ull << 63;
}

/* Value: false: no memory. */
static bool keep_locked(hipMemPool_t pool, unsigned int device, uint64_t units)
{
	struct map_entry entry = { .key = key_of(pool, device), .value = { units, device, (uint64_t)(uintptr_t)pool } };
	struct map_entry *e = map_find(&kept, entry.key);

	if (!e)
		return map_add(&kept, &entry);
	e->value[UNITS] += units;
	return true;
}

static void keep(hipMemPool_t pool, unsigned int device, uint32_t units)
{
	bool kept_so;

	if (!units)
		return;
	pthread_mutex_lock(&lock);
	kept_so = keep_locked(pool, device, units);
	pthread_mutex_unlock(&lock);
	if (!kept_so)
		memory_give(device, units);
}

/* What is on its way back. */
struct back {
	unsigned int device;
	bool plain; /* what no pool may keep, alone */
	uint64_t units;
	hipMemPool_t pool[POOLS_AT_ONCE];
	unsigned int pools;
};

static bool collect_one(const struct map_entry *e, void *data)
{
	struct back *b = data;
	hipMemPool_t pool = (hipMemPool_t)(uintptr_t)e->value[POOL];

	if (e->value[DEVICE] != b->device || (b->plain && pool))
		return false;
	for (unsigned int i = 0; pool && i < b->pools; i++)
		if (b->pool[i] == pool)
			pool = NULL;
	if (pool && b->pools == POOLS_AT_ONCE)
		return false;
	if (pool)
		b->pool[b->pools++] = pool;
	b->units += e->value[UNITS];
	return true;
}

/* Before the wait: what is freed later may not have been given back by it. */
static void collect(struct back *b, unsigned int device, bool plain)
{
	*b = (struct back){ .device = device, .plain = plain };
	pthread_mutex_lock(&lock);
	map_sweep(&kept, collect_one, b);
	pthread_mutex_unlock(&lock);
}

static void finish(const struct back *b, bool waited)
{
	if (!waited) {
		keep(b->pools ? b->pool[0] : NULL, b->device, (uint32_t)b->units);
		return;
	}
	for (unsigned int i = 0; i < b->pools; i++)
		shim_real.hipMemPoolTrimTo(b->pool[i], 0);
	if (b->units)
		memory_give(b->device, (uint32_t)b->units);
}

hipError_t pools_wait(hipError_t (*wait)(void))
{
	unsigned int device;
	struct back b;
	hipError_t r;

	if (!start_is_metered() || !kept.count || !devices_current(&device))
		return wait();
	collect(&b, device, atomic_load(&holds));
	r = wait();
	finish(&b, r == hipSuccess);
	return r;
}

bool pools_shrink(unsigned int device)
{
	struct back b;
	bool waited;

	if (capture_going() || !face->enter(devices_place(device)))
		return false;
	collect(&b, device, false);
	waited = b.units && shim_real.hipDeviceSynchronize() == hipSuccess;
	if (b.units)
		finish(&b, waited);
	face->leave();
	return waited;
}

uint64_t pools_reset(unsigned int device)
{
	struct back b;

	collect(&b, device, false);
	return b.units;
}

void pools_let_go(const struct record *record)
{
	if (record->kind == RECORD_POOL)
		keep((hipMemPool_t)(uintptr_t)record->context, record->device, record->units);
	else
		memory_give(record->device, record->units);
}

/* The calls ---------------------------------------------------------------------------------------------------------
 */

/*
 * It is charged whatever the pool keeps: whether something of that serves the request only the library knows. What is
 * charged twice goes back with what is kept.
 */
static hipError_t allocate(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream, unsigned int device,
			   hipError_t (*call)(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream))
{
	struct making m;
	hipError_t r = memory_begin_on(&m, device, size);

	if (r == hipSuccess)
		r = call(pointer, size, pool, stream);
	if (r != hipSuccess) {
		memory_made(&m, r, 0, 0, 0);
		return r;
	}
	m.charge.context = pool;
	if (memory_made(&m, r, record_pointer((uint64_t)(uintptr_t)*pointer), RECORD_POOL, 0))
		return r;
	shim_real.hipFreeAsync(*pointer, stream);
	*pointer = NULL;
	return start_no_memory();
}

static hipError_t from_current(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream)
{
	(void)pool;
	return shim_real.hipMallocAsync(pointer, size, stream);
}

static hipError_t from_pool(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream)
{
	return shim_real.hipMallocFromPoolAsync(pointer, size, pool, stream);
}

/* Each launch of a graph would take it again. */
static bool is_recorded(hipStream_t stream)
{
	return capture_going() && face->captured(stream, false);
}

hipError_t shim_hipMallocAsync(void **dev_ptr, size_t size, hipStream_t stream)
{
	hipError_t r = start_refusal();
	hipMemPool_t pool = NULL;
	unsigned int device;
	hip_ordinal real;

	if (r != hipSuccess)
		return r;
	if (!start_is_metered() || !size)
		return shim_real.hipMallocAsync(dev_ptr, size, stream);
	if (is_recorded(stream))
		return hipErrorNotSupported;
	if (!work_device(stream, &device) || !devices_real(device, &real))
		return start_no_memory();
	if (shim_real.hipDeviceGetMemPool(&pool, real) != hipSuccess)
		pool = NULL;
	return allocate(dev_ptr, size, pool, stream, device, from_current);
}

hipError_t shim_hipMallocFromPoolAsync(void **dev_ptr, size_t size, hipMemPool_t mem_pool, hipStream_t stream)
{
	hipError_t r = start_refusal();
	unsigned int device;

	if (r != hipSuccess)
		return r;
	if (!start_is_metered() || !size)
		return shim_real.hipMallocFromPoolAsync(dev_ptr, size, mem_pool, stream);
	if (is_recorded(stream))
		return hipErrorNotSupported;
	if (!work_device(stream, &device))
		return start_no_memory();
	return allocate(dev_ptr, size, mem_pool, stream, device, from_pool);
}

hipError_t shim_hipFreeAsync(void *dev_ptr, hipStream_t stream)
{
	struct record record;
	bool ours = start_is_metered() && records_take(record_pointer((uint64_t)(uintptr_t)dev_ptr), &record);
	hipError_t r = shim_real.hipFreeAsync(dev_ptr, stream);

	if (!ours)
		return r;
	if (r != hipSuccess)
		records_add(&record);
	else if (record.kind == RECORD_POOL)
		keep((hipMemPool_t)(uintptr_t)record.context, record.device, record.units);
	else /* plain memory: it goes when the stream has come so far */
		keep(NULL, record.device, record.units);
	return r;
}

hipError_t shim_hipMemPoolSetAttribute(hipMemPool_t mem_pool, hipMemPoolAttr attr, void *value)
{
	hipError_t r = shim_real.hipMemPoolSetAttribute(mem_pool, attr, value);

	if (r == hipSuccess && attr == hipMemPoolAttrReleaseThreshold && value && *(const uint64_t *)value)
		atomic_store(&holds, true);
	return r;
}

/* Of a pool that ends: by device. */
struct ending {
	hipMemPool_t pool;
	uint64_t units[WIRE_MAX_DEVICES];
};

static bool take_ending(const struct map_entry *e, void *data)
{
	struct ending *ending = data;

	if (e->value[POOL] != (uint64_t)(uintptr_t)ending->pool)
		return false;
	ending->units[e->value[DEVICE] % WIRE_MAX_DEVICES] += e->value[UNITS];
	return true;
}

/*
 * What it keeps goes when its work is done: the next wait gives it back, and does not ask the pool. The next pool may
 * have its handle.
 */
hipError_t shim_hipMemPoolDestroy(hipMemPool_t mem_pool)
{
	struct ending ending = { .pool = mem_pool };

	pthread_mutex_lock(&lock);
	if (mem_pool)
		map_sweep(&kept, take_ending, &ending);
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < WIRE_MAX_DEVICES; i++)
		keep(NULL, i, (uint32_t)ending.units[i]);
	return shim_real.hipMemPoolDestroy(mem_pool);
}

hipError_t shim_hipMemPoolCreate(hipMemPool_t *mem_pool, const hipMemPoolProps *pool_props)
{
	hipError_t r = start_refusal();
	hipMemPoolProps props;

	if (r != hipSuccess || !pool_props)
		return r == hipSuccess ? shim_real.hipMemPoolCreate(mem_pool, pool_props) : r;
	props = *pool_props;
	props.location = devices_location(props.location);
	return shim_real.hipMemPoolCreate(mem_pool, &props);
}

void pools_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	kept = (struct map){ 0 };
}
