/* pools.c: see pools.h. */
#include "hip/pools.h"
#include "core/capture.h"
#include "core/map.h"
#include "hip/devices.h"
#include "hip/external.h"
#include "hip/ipc.h"
#include "hip/memory.h"
#include "hip/work.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define POOLS_AT_ONCE 32u
#define SHRINK_S 10 /* for another thread to have done so */

/*
 * Each pool has a number of its own, for the next pool may have its handle: memory of a number that is no pool's any
 * more is in no pool. So is memory of number 0.
 */
enum { UNITS, DEVICE, NUMBER }; /* the values of what a pool keeps, and of what is in use of it */
enum { NAME, PLACE };		/* of a pool by its handle: its number, and 1 + its device */

#define RESERVED 5 /* hipMemPoolAttrReservedMemCurrent */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the maps, last_number and given */
static struct map kept, used;
static struct map pools;   /* by handle */
static struct map handles; /* by number */
static uint32_t last_number;
static uint64_t given;	   /* how often something of `kept` was taken out */
static _Atomic bool holds; /* a pool was told to keep memory */
/* Read: a pool that is trimmed stays; write: one ends. Taken before the lock, and held over the library's call. */
static pthread_rwlock_t living = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t shrinking = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t shrunk; /* how often something was given back so */

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
static bool add_locked(struct map *m, uint64_t number, unsigned int device, uint64_t units)
{
	struct map_entry entry = { .key = key_of(number, device), .value = { units, device, number } };
	struct map_entry *e = map_find(m, entry.key);

	if (!e)
		return map_add(m, &entry);
	e->value[UNITS] += units;
	return true;
}

/* What is counted of a pool, on all devices. */
struct sum {
	uint64_t number, units;
};

static bool add_one(const struct map_entry *e, void *data)
{
	struct sum *sum = data;

	sum->units += e->value[NUMBER] == sum->number ? e->value[UNITS] : 0;
	return false;
}

static uint64_t sum_locked(struct map *m, uint64_t number)
{
	struct sum sum = { .number = number };

	map_sweep(m, add_one, &sum);
	return sum.units;
}

/* A pool that has ended lets go of what it keeps when nothing of it is in use any more: then that is in no pool. */
static bool is_over_locked(uint64_t number)
{
	return !handle_locked(number) && !sum_locked(&used, number);
}

static bool keep_locked(uint64_t number, unsigned int device, uint64_t units)
{
	struct map_entry before = { 0 };

	if (!number || !is_over_locked(number))
		return add_locked(&kept, number, device, units);
	map_remove(&kept, key_of(number, device), &before);
	return add_locked(&kept, 0, device, units + before.value[UNITS]);
}

static void use(uint64_t number, unsigned int device, uint64_t units)
{
	if (!number)
		return;
	pthread_mutex_lock(&lock);
	add_locked(&used, number, device, units);
	pthread_mutex_unlock(&lock);
}

static void unuse_locked(uint64_t number, unsigned int device, uint64_t units)
{
	struct map_entry *e = map_find(&used, key_of(number, device));

	if (e && e->value[UNITS] > units)
		e->value[UNITS] -= units;
	else if (e)
		map_remove(&used, e->key, NULL);
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

/* Memory of a pool is in use no more. */
static void keep_used(uint64_t number, unsigned int device, uint64_t units)
{
	bool kept_so;

	pthread_mutex_lock(&lock);
	unuse_locked(number, device, units);
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
	if (e->value[NUMBER] && (b->pools == POOLS_AT_ONCE || !handle_locked(e->value[NUMBER])))
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
	given++;
	pthread_mutex_unlock(&lock);
}

/*
 * A pool lets go of no block of which a part is in use, and an allocation may have got a block that is larger: what it
 * has of the device beyond what is counted stays charged. What others free or take meanwhile makes this too much, never
 * too little. Value: units; 0 also where the library does not say.
 */
static uint64_t trim(hipMemPool_t pool, uint64_t counted)
{
	uint64_t reserved = 0, units;

	shim_real.hipMemPoolTrimTo(pool, 0);
	if (shim_real.hipMemPoolGetAttribute(pool, RESERVED, &reserved) != hipSuccess)
		return 0;
	units = wire_units(reserved);
	return units > counted ? units - counted : 0;
}

/*
 * What is counted of a pool beyond what it has of the device goes back: a request that it served from what it kept was
 * charged anew. What others take meanwhile makes this too little; where somebody gives back meanwhile, nothing goes.
 */
static void correct(uint64_t number, unsigned int device)
{
	uint64_t reserved = 0, counted, before, more = 0;
	struct map_entry *e;
	hipMemPool_t pool;

	pthread_mutex_lock(&lock);
	pool = map_find(&kept, key_of(number, device)) ? handle_locked(number) : NULL;
	counted = sum_locked(&used, number) + sum_locked(&kept, number);
	before = given;
	pthread_mutex_unlock(&lock);
	if (!pool || shim_real.hipMemPoolGetAttribute(pool, RESERVED, &reserved) != hipSuccess ||
	    wire_units(reserved) >= counted)
		return;
	counted -= wire_units(reserved);
	pthread_mutex_lock(&lock);
	e = before == given ? map_find(&kept, key_of(number, device)) : NULL;
	if (e) {
		more = e->value[UNITS] < counted ? e->value[UNITS] : counted;
		e->value[UNITS] -= more;
		given++;
		if (!e->value[UNITS])
			map_remove(&kept, e->key, NULL);
	}
	pthread_mutex_unlock(&lock);
	if (more)
		memory_give(device, (uint32_t)more);
}

/* Another thread may end the pool meanwhile. Value: units that it has not let go of. */
static uint64_t trim_numbered(uint64_t number)
{
	uint64_t counted, left = 0;
	hipMemPool_t pool;

	pthread_rwlock_rdlock(&living);
	pthread_mutex_lock(&lock);
	pool = handle_locked(number);
	counted = sum_locked(&used, number) + sum_locked(&kept, number);
	pthread_mutex_unlock(&lock);
	if (pool)
		left = trim(pool, counted);
	pthread_rwlock_unlock(&living);
	return left;
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

/* Value: something has been given back. */
static bool finish(const struct back *b, bool waited)
{
	uint64_t units = b->units;

	if (!waited) {
		put_back(b);
		return false;
	}
	for (unsigned int i = 0; i < b->pools; i++) {
		uint64_t left = trim_numbered(b->pool[i]);

		left = left < b->of[i] ? left : b->of[i];
		keep(b->pool[i], b->device, left);
		units -= left;
	}
	if (units)
		memory_give(b->device, (uint32_t)units);
	return units;
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

static bool shrink_alone(unsigned int device)
{
	struct back b;
	bool some;

	if (!face->enter(devices_place(device)))
		return false;
	collect(&b, device, false);
	some = b.units && finish(&b, shim_real.hipDeviceSynchronize() == hipSuccess);
	face->leave();
	return some;
}

/* What another thread is giving back is waited for: it may be what is needed. */
bool pools_shrink(unsigned int device)
{
	uint64_t before = atomic_load(&shrunk);
	struct timespec until;
	bool some;

	if (capture_going())
		return false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += SHRINK_S;
	if (pthread_mutex_timedlock(&shrinking, &until))
		return false;
	some = atomic_load(&shrunk) != before || shrink_alone(device);
	if (some)
		atomic_fetch_add(&shrunk, 1);
	pthread_mutex_unlock(&shrinking);
	return some;
}

static bool is_of_device(const struct map_entry *e, void *data)
{
	struct back *b = data;

	if (e->value[DEVICE] != b->device)
		return false;
	b->units += e->value[UNITS];
	return true;
}

uint64_t pools_reset(unsigned int device)
{
	struct back b = { .device = device }, ended = { .device = device };

	pthread_mutex_lock(&lock);
	map_sweep(&kept, is_of_device, &b);
	map_sweep(&used, is_of_device, &ended); /* whose records go as all others do */
	pthread_mutex_unlock(&lock);
	return b.units;
}

void pools_let_go(const struct record *record)
{
	if (ipc_is(record))
		ipc_let_go(record);
	else if (record->kind == RECORD_EXTERNAL)
		external_let_go(record);
	else if (record->kind == RECORD_POOL)
		keep_used(record->extra, record->device, record->units);
	else
		memory_give(record->device, record->units);
}

/* The calls ---------------------------------------------------------------------------------------------------------
 */

/*
 * It is charged whatever the pool keeps: whether something of that serves the request only the library knows. What was
 * charged twice goes back afterwards.
 */
static hipError_t allocate(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream, unsigned int device,
			   hipError_t (*call)(void **pointer, size_t size, hipMemPool_t pool, hipStream_t stream))
{
	struct making m;
	uint32_t number = number_of(pool);
	hipError_t r = memory_begin_on(&m, device, size);

	if (r == hipSuccess)
		r = call(pointer, size, pool, stream);
	if (r != hipSuccess) {
		memory_made(&m, r, 0, 0, 0);
		return r;
	}
	if (memory_made(&m, r, record_pointer((uint64_t)(uintptr_t)*pointer), RECORD_POOL, number)) {
		use(number, device, wire_units(size));
		correct(number, device);
		return r;
	}
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
	else if (record.kind == RECORD_POOL)
		keep_used(record.extra, record.device, record.units);
	else /* it goes when the stream has come so far */
		keep(0, record.device, record.units);
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

	lock = shrinking = unlocked;
	living = unlocked_too;
	kept = used = pools = handles = (struct map){ 0 };
}
