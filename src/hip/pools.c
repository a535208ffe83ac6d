/* pools.c: see pools.h. */
#include "hip/pools.h"
#include "core/capture.h"
#include "core/map.h"
#include "hip/devices.h"
#include "hip/ipc.h"
#include "hip/memory.h"
#include "hip/work.h"

#include <pthread.h>
#include <stdatomic.h>

#define POOLS_AT_ONCE 32u

/*
 * Each pool has a number of its own, for the next pool may have its handle: memory of a number that is no pool's any
 * more is in no pool. So is memory of number 0.
 */
enum { UNITS, DEVICE, NUMBER }; /* the values of what a pool keeps */
enum { NAME, PLACE };		/* of a pool by its handle: its number, and 1 + its device */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the maps and last_number */
static struct map kept;
static struct map pools;   /* by handle */
static struct map handles; /* by number */
static uint32_t last_number;
static _Atomic bool holds; /* a pool was told to keep memory */
/* Read: a pool that is trimmed stays; write: one ends. Taken before the lock, and held over the library's call. */
static pthread_rwlock_t living = PTHREAD_RWLOCK_INITIALIZER;

static uint64_t key_of_pool(hipMemPool_t pool)
{
	return (uint64_t)(uintptr_t)pool;
}

/* The device's own pools have no device here (0), which is that of the one who asks. Value: NULL: no memory. */
static const struct map_entry *name_locked(hipMemPool_t pool, unsigned int place)
{
	struct map_entry entry = { .key = key_of_pool(pool), .value = { last_number + 1, place } };
	struct map_entry handle = { .key = last_number + 1, .value = { key_of_pool(pool) } };
	const struct map_entry *known = map_find(&pools, entry.key);

	if (known)
		return known;
	if (!map_add(&handles, &handle))
		return NULL;
	if (!map_add(&pools, &entry)) {
		map_remove(&handles, handle.key, NULL);
		return NULL;
	}
	last_number++;
	return map_find(&pools, entry.key);
}

static uint32_t number_of(hipMemPool_t pool)
{
	const struct map_entry *e;
	uint32_t number;

	if (!pool)
		return 0;
	pthread_mutex_lock(&lock);
	e = name_locked(pool, 0);
	number = e ? (uint32_t)e->value[NAME] : 0;
	pthread_mutex_unlock(&lock);
	return number;
}

/* NULL: it has ended. */
static hipMemPool_t handle_locked(uint64_t number)
{
	const struct map_entry *e = map_find(&handles, number);

	return e ? (hipMemPool_t)(uintptr_t)e->value[0] : NULL;
}

/* The device on which a pool of the program's own has its memory. False: it is the stream's. */
static bool place_of(hipMemPool_t pool, unsigned int *ret_device)
{
	const struct map_entry *e;
	uint64_t place;

	pthread_mutex_lock(&lock);
	e = map_find(&pools, key_of_pool(pool));
	place = e ? e->value[PLACE] : 0;
	pthread_mutex_unlock(&lock);
	if (!place)
		return false;
	*ret_device = (unsigned int)place - 1;
	return true;
}

static uint64_t key_of(uint64_t number, unsigned int device)
{
	return number << 8 | device | 1ull << 63;
}

/* Value: false: no memory. */
static bool keep_locked(uint64_t number, unsigned int device, uint64_t units)
{
	struct map_entry entry = { .value = { units, device, handle_locked(number) ? number : 0 } };
	struct map_entry *e;

	entry.key = key_of(entry.value[NUMBER], device);
	e = map_find(&kept, entry.key);
	if (!e)
		return map_add(&kept, &entry);
	e->value[UNITS] += units;
	return true;
}

static void keep(uint64_t number, unsigned int device, uint64_t units)
{
	bool kept_so;

	if (!units)
		return;
	pthread_mutex_lock(&lock);
	kept_so = keep_locked(number, device, units);
	pthread_mutex_unlock(&lock);
	if (!kept_so)
		memory_give(device, (uint32_t)units);
}

/* What is on its way back. */
struct back {
	unsigned int device;
	bool plain;		      /* what no pool may keep, alone */
	uint64_t units;		      /* of all of it */
	uint64_t pool[POOLS_AT_ONCE]; /* their numbers */
	uint64_t of[POOLS_AT_ONCE];   /* how much of it is theirs */
	unsigned int pools;
};

static bool collect_one(const struct map_entry *e, void *data)
{
	struct back *b = data;

	if (e->value[DEVICE] != b->device || (b->plain && e->value[NUMBER]))
		return false;
	if (e->value[NUMBER] && b->pools == POOLS_AT_ONCE)
		return false;
	if (e->value[NUMBER]) {
		b->pool[b->pools] = e->value[NUMBER];
		b->of[b->pools++] = e->value[UNITS];
	}
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

/* Another thread may end the pool meanwhile. */
static void trim(uint64_t number)
{
	hipMemPool_t pool;

	pthread_rwlock_rdlock(&living);
	pthread_mutex_lock(&lock);
	pool = handle_locked(number);
	pthread_mutex_unlock(&lock);
	if (pool)
		shim_real.hipMemPoolTrimTo(pool, 0);
	pthread_rwlock_unlock(&living);
}

static void put_back(const struct back *b)
{
	uint64_t left = b->units;

	for (unsigned int i = 0; i < b->pools; i++) {
		keep(b->pool[i], b->device, b->of[i]);
		left -= b->of[i];
	}
	keep(0, b->device, left);
}

static void finish(const struct back *b, bool waited)
{
	if (!waited) {
		put_back(b);
		return;
	}
	for (unsigned int i = 0; i < b->pools; i++)
		trim(b->pool[i]);
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
	if (ipc_is(record))
		ipc_let_go(record);
	else if (record->kind == RECORD_POOL)
		keep(record->extra, record->device, record->units);
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
	if (memory_made(&m, r, record_pointer((uint64_t)(uintptr_t)*pointer), RECORD_POOL, number_of(pool)))
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
	if (!place_of(mem_pool, &device) && !work_device(stream, &device))
		return start_no_memory();
	return allocate(dev_ptr, size, mem_pool, stream, device, from_pool);
}

/* The library lets go when the stream has come so far. */
static void ipc_let_go_after(const struct record *record, hipStream_t stream)
{
	shim_real.hipStreamSynchronize(stream);
	ipc_let_go(record);
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
	else if (ipc_is(&record)) /* when the stream has come so far */
		ipc_let_go_after(&record, stream);
	else /* what is in no pool goes when the stream has come so far */
		keep(record.kind == RECORD_POOL ? record.extra : 0, record.device, record.units);
	return r;
}

hipError_t shim_hipMemPoolSetAttribute(hipMemPool_t mem_pool, hipMemPoolAttr attr, void *value)
{
	hipError_t r = shim_real.hipMemPoolSetAttribute(mem_pool, attr, value);

	if (r == hipSuccess && attr == hipMemPoolAttrReleaseThreshold && value && *(const uint64_t *)value)
		atomic_store(&holds, true);
	return r;
}

/* Of a pool that ends. */
struct ending {
	uint64_t number;
	uint64_t units[WIRE_MAX_DEVICES];
};

static bool take_ending(const struct map_entry *e, void *data)
{
	struct ending *ending = data;

	if (!ending->number || e->value[NUMBER] != ending->number)
		return false;
	ending->units[e->value[DEVICE] % WIRE_MAX_DEVICES] += e->value[UNITS];
	return true;
}

/* What the pool keeps is out of everybody's reach, so that nobody gives it back while the library is asked. */
static struct ending end_begin(hipMemPool_t pool)
{
	struct ending ending = { 0 };
	const struct map_entry *e;

	pthread_mutex_lock(&lock);
	e = pool ? map_find(&pools, key_of_pool(pool)) : NULL;
	ending.number = e ? e->value[NAME] : 0;
	map_sweep(&kept, take_ending, &ending);
	pthread_mutex_unlock(&lock);
	return ending;
}

/*
 * What it keeps goes when its work is done: the next wait gives it back, and does not ask the pool. The library may
 * refuse (a device's own pool does not end): then all of it stays the pool's.
 */
hipError_t shim_hipMemPoolDestroy(hipMemPool_t mem_pool)
{
	struct ending ending;
	hipError_t r;

	pthread_rwlock_wrlock(&living);
	ending = end_begin(mem_pool);
	r = shim_real.hipMemPoolDestroy(mem_pool);
	if (r == hipSuccess && ending.number) {
		pthread_mutex_lock(&lock);
		map_remove(&pools, key_of_pool(mem_pool), NULL);
		map_remove(&handles, ending.number, NULL);
		pthread_mutex_unlock(&lock);
	}
	for (unsigned int i = 0; i < WIRE_MAX_DEVICES; i++)
		keep(ending.number, i, ending.units[i]);
	pthread_rwlock_unlock(&living);
	return r;
}

/* A pool whose device could not be remembered is not had: its memory would be charged to the stream's. */
static hipError_t created(hipError_t r, hipMemPool_t *pool, const hipMemLocation *where)
{
	unsigned int device;
	bool named;

	if (r != hipSuccess || !start_is_metered() || where->type != hipMemLocationTypeDevice ||
	    !devices_find(where->id, &device))
		return r;
	pthread_mutex_lock(&lock);
	named = name_locked(*pool, device + 1) != NULL;
	pthread_mutex_unlock(&lock);
	if (named)
		return r;
	shim_real.hipMemPoolDestroy(*pool);
	*pool = NULL;
	return start_no_memory();
}

hipError_t shim_hipMemPoolCreate(hipMemPool_t *mem_pool, const hipMemPoolProps *pool_props)
{
	hipError_t r = start_refusal();
	hipMemPoolProps props;

	if (r != hipSuccess || !pool_props)
		return r == hipSuccess ? shim_real.hipMemPoolCreate(mem_pool, pool_props) : r;
	props = *pool_props;
	props.location = devices_location(props.location);
	return created(shim_real.hipMemPoolCreate(mem_pool, &props), mem_pool, &props.location);
}

void pools_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t unlocked_too = PTHREAD_RWLOCK_INITIALIZER;

	lock = unlocked;
	living = unlocked_too;
	kept = pools = handles = (struct map){ 0 };
}
