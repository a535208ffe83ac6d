/*
 * pools.c: see pools.h.
 *
 * A pool's slot is locked from the driver's call to the reading of what the pool has reserved, so that growth is
 * attributed once. Those calls (allocate, query, trim) do not call back, and wait for the device only in undo_locked().
 *
 * How much an allocation makes a pool grow is the pool's affair: nothing when it finds room in what the pool keeps,
 * else what the driver takes at a time. The most is charged first: the size, rounded up to the pieces in which a real
 * driver's pools have been seen to grow. Where the quota has no room for that, the software device is never asked: the
 * stream is waited for and pools give back what nobody uses until there is room, or there is none. A real driver, where
 * giving back is dear, is asked first if the pool keeps enough; an allocation that made the pool grow beyond the quota
 * after all is taken back before the program sees it.
 */
#include "shim/pools.h"
#include "cuda_shim.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/capture.h"
#include "core/charge.h"
#include "shim/contexts.h"
#include "shim/devices.h"
#include "core/gate.h"
#include "shim/graphs.h"
#include "shim/later.h"
#include "shim/launches.h"
#include "shim/movable.h"
#include "core/records.h"
#include "shim/scratch.h"
#include "core/sharing.h"
#include "shim/start.h"

#include <pthread.h>
#include <stdatomic.h>

#define CREATED_MAX 496u
#define POOLS_MAX                                                                                                      \
	(CREATED_MAX + 3 * WIRE_MAX_DEVICES) /* the rest: those that devices and the host have by themselves */
#define TRIES 64u			     /* each one: the current pool was destroyed just now */
#define PIECE_BYTES                                                                                                    \
	(32u << 20) /* a real driver's pools grow by this much; smaller ones are learnt from what they do              \
		     */

/* What a process's pools are made of whose memory may move. */
enum pool_backing {
	BACKING_UNKNOWN, /* a pool that the driver has by itself: not yet */
	BACKING_DRIVER,	 /* the driver's own memory, which stays */
	BACKING_MOVABLE, /* blocks of movable.h; the driver's pool remains empty */
};

struct pool {
	pthread_mutex_t lock; /* guards the rest */
	CUmemoryPool handle;
	unsigned int device;
	bool unplaced; /* managed memory that prefers no device, made without a context: its first allocation decides */
	bool used;     /* the slot is taken */
	bool created;  /* by the program, which may destroy it */
	bool exportable;
	bool dying; /* destroyed by the program; by the driver only once it has nothing reserved */
	uint32_t charged_units;
	uint32_t piece_units; /* it grows by multiples of this */
	uint64_t live_bytes;  /* allocated and not released by the program */
	enum pool_backing backing;
	/* of what moves */
	_Atomic uint64_t moving_bytes;	  /* as live_bytes; read without the lock as well */
	uint64_t moving_most_bytes;	  /* the most since that was reset */
	uint64_t reserved_most_bytes;	  /* the same with what was freed and not given back */
	_Atomic uint64_t threshold_bytes; /* what may be kept, in all; read without the lock */
};

static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER; /* guards taking a slot */
static struct pool pools[POOLS_MAX] = { [0 ... POOLS_MAX - 1] = { .lock = PTHREAD_MUTEX_INITIALIZER } };
static _Atomic uint32_t pool_count; /* slots ever taken: those above it are free */

static const enum cuda_call sync_calls[] = { CUDA_CALL_cuStreamSynchronize, CUDA_CALL_cuStreamSynchronize_ptsz,
					     CUDA_CALL_cuCtxSynchronize, CUDA_CALL_cuCtxSynchronize_v2,
					     CUDA_CALL_cuEventSynchronize };

static uint64_t moving_bytes(const struct pool *p)
{
	return atomic_load_explicit(&p->moving_bytes, memory_order_relaxed);
}

static struct pool *pool_find(CUmemoryPool handle)
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

void pools_arm(void)
{
	static _Atomic bool armed;

	if (!atomic_exchange_explicit(&armed, true, memory_order_relaxed))
		for (size_t i = 0; i < sizeof sync_calls / sizeof *sync_calls; i++)
			start_treat(sync_calls[i]);
}

static uint32_t piece_at_first(unsigned int device)
{
	return accounts[device].granule_units == 1 ? 1 : PIECE_BYTES / WIRE_UNIT_BYTES;
}

/*
 * The slot of a pool on a device of the grant. NULL: no place. A new pool may come under the handle of one that went
 * with its context: then the slot starts anew. The last slots are for the pools that the devices have by themselves.
 */
static struct pool *pool_get(CUmemoryPool handle, unsigned int device, bool placed, bool created)
{
	uint32_t count, i, most = created ? CREATED_MAX : POOLS_MAX;
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
		i = (uint32_t)(p - pools);
	if (i < most) {
		p = &pools[i];
		pthread_mutex_lock(&p->lock);
		if (p->used)
			account_give(p->device, p->charged_units);
		p->handle = handle;
		p->device = device;
		p->unplaced = !placed;
		p->charged_units = 0;
		p->piece_units = piece_at_first(device);
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
static uint64_t reserved_locked(const struct pool *p)
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

/*
 * Brings the charge to what the pool has reserved, paying growth from `ret_units` (units already in held) and then from
 * the credit at hand; what is left in *ret_units is the caller's. Value: units that are missing, and then nothing of
 * the growth that they belong to is charged yet.
 */
static uint32_t settle_locked(struct pool *p, uint32_t *ret_units)
{
	uint64_t reserved, units;
	uint32_t growth;

	if (!p->used)
		return 0;
	if (p->dying)
		shim_real.cuMemPoolTrimTo(p->handle, 0);
	reserved = reserved_locked(p);
	units = wire_units(reserved);
	if (!reserved)
		p->live_bytes = 0;
	if (units <= p->charged_units) {
		account_give(p->device, p->charged_units - (uint32_t)units);
		p->charged_units = (uint32_t)units;
		if (p->dying && !units && !moving_bytes(p))
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

/* Inside the gate, which it leaves. */
static void settle_and_leave(struct pool *p)
{
	uint32_t none = 0, missing;
	unsigned int device;

	pthread_mutex_lock(&p->lock);
	missing = settle_locked(p, &none);
	device = p->device;
	pthread_mutex_unlock(&p->lock);
	gate_leave();
	if (missing)
		attach_event(device, "a memory pool has grown by %llu bytes that no allocation asked for",
			     (unsigned long long)missing * WIRE_UNIT_BYTES);
}

static void settle(struct pool *p)
{
	gate_enter();
	settle_and_leave(p);
}

void pools_settle(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pools[i].used && pools[i].device == device)
			settle(&pools[i]);
}

uint64_t pools_reserved(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);
	uint64_t units = 0;

	for (uint32_t i = 0; i < count; i++) {
		pthread_mutex_lock(&pools[i].lock);
		if (pools[i].used && pools[i].device == device &&
		    !(pools[i].exportable && accounts[device].soft)) /* figure.h: its memory is shared objects */
			units += wire_units(reserved_locked(&pools[i]));
		pthread_mutex_unlock(&pools[i].lock);
	}
	return units;
}

bool pools_shrink(unsigned int device)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);
	bool shrunk = later_look();

	for (uint32_t i = 0; i < count; i++) {
		struct pool *p = &pools[i];
		uint32_t before, none = 0;

		gate_enter();
		pthread_mutex_lock(&p->lock);
		if (p->used && p->device == device && p->charged_units) {
			before = p->charged_units;
			shim_real.cuMemPoolTrimTo(p->handle, 0);
			settle_locked(p, &none);
			shrunk |= p->charged_units < before;
		}
		pthread_mutex_unlock(&p->lock);
		gate_leave();
	}
	return graphs_shrink(device) || shrunk;
}

void pools_freed(uint32_t slot, uint64_t bytes)
{
	struct pool *p = &pools[slot];

	pthread_mutex_lock(&p->lock);
	p->live_bytes = p->live_bytes > bytes ? p->live_bytes - bytes : 0;
	pthread_mutex_unlock(&p->lock);
	settle(p);
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

/* Which of the four symbols the program called. */
enum pool_call { CURRENT, CURRENT_PTSZ, GIVEN, GIVEN_PTSZ };

static CUresult ask_driver(enum pool_call call, CUdeviceptr *p, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	switch (call) {
	case CURRENT:
		return shim_real.cuMemAllocAsync(p, bytes, stream);
	case CURRENT_PTSZ:
		return shim_real.cuMemAllocAsync_ptsz(p, bytes, stream);
	case GIVEN:
		return shim_real.cuMemAllocFromPoolAsync(p, bytes, pool, stream);
	case GIVEN_PTSZ:
		return shim_real.cuMemAllocFromPoolAsync_ptsz(p, bytes, pool, stream);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static bool per_thread(enum pool_call call)
{
	return call == CURRENT_PTSZ || call == GIVEN_PTSZ;
}

static bool capturing(enum pool_call call, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = per_thread(call) ? shim_real.cuStreamIsCapturing_ptsz(stream, &status)
				      : shim_real.cuStreamIsCapturing(stream, &status);

	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/*
 * In a capture nothing is allocated: a node is added, and its memory is graph memory (graphs.c). True: it is captured;
 * *ret_r is what the driver said.
 */
static bool captured(enum pool_call call, CUdeviceptr *dptr, size_t bytes, CUmemoryPool given, CUstream stream,
		     CUresult *ret_r)
{
	bool is;

	if (!capturing(call, stream))
		return false;
	capture_hold();
	is = capturing(call, stream);
	if (is)
		*ret_r = ask_driver(call, dptr, bytes, given, stream);
	capture_release();
	return is;
}

/*
 * The driver's device of a stream; special streams belong to the thread's context. The thread's stack of contexts may
 * be full, so a context that is known is not made current.
 */
static CUresult stream_device(enum pool_call call, CUstream stream, CUdevice *ret)
{
	CUcontext context = NULL, current = NULL, popped;
	unsigned int device;
	CUresult r;

	if ((uintptr_t)stream <= 2)
		return shim_real.cuCtxGetDevice(ret);
	r = per_thread(call) ? shim_real.cuStreamGetCtx_ptsz(stream, &context)
			     : shim_real.cuStreamGetCtx(stream, &context);
	if (r != CUDA_SUCCESS)
		return r;
	if (shim_real.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context)
		return shim_real.cuCtxGetDevice(ret);
	if (contexts_device(context, &device) && devices_real(device, ret))
		return CUDA_SUCCESS;
	r = shim_real.cuCtxPushCurrent_v2(context);
	if (r != CUDA_SUCCESS)
		return r;
	r = shim_real.cuCtxGetDevice(ret);
	shim_real.cuCtxPopCurrent_v2(&popped);
	return r;
}

/* The device whose default or current pool this is. False: none's. */
static bool standard_device(CUmemoryPool handle, unsigned int *ret_device)
{
	CUdevice real;
	CUmemoryPool one;

	for (unsigned int d = 0; d < account_count; d++)
		if (devices_real(d, &real) &&
		    ((shim_real.cuDeviceGetDefaultMemPool(&one, real) == CUDA_SUCCESS && one == handle) ||
		     (shim_real.cuDeviceGetMemPool(&one, real) == CUDA_SUCCESS && one == handle))) {
			*ret_device = d;
			return true;
		}
	return false;
}

enum where { WHERE_KNOWN, WHERE_REFUSED, WHERE_DESTROYED, WHERE_UNKNOWN };

static bool is_live(struct pool *p, CUmemoryPool handle)
{
	bool live;

	pthread_mutex_lock(&p->lock);
	live = p->used && p->handle == handle && !p->dying;
	pthread_mutex_unlock(&p->lock);
	return live;
}

/* WHERE_REFUSED: *ret_r says why. The driver is not asked then: a moment later it may find a device after all. */
static enum where find_pool(enum pool_call call, CUmemoryPool given, CUstream stream, struct pool **ret,
			    CUmemoryPool *ret_handle, CUresult *ret_r)
{
	CUmemoryPool handle = NULL;
	unsigned int device;
	CUdevice real;

	*ret_handle = given;
	if (call == GIVEN || call == GIVEN_PTSZ) {
		*ret = given ? pool_find(given) : NULL;
		if (*ret)
			return (*ret)->dying ? WHERE_DESTROYED : WHERE_KNOWN;
		if (!given || !standard_device(given, &device))
			return WHERE_UNKNOWN;
		*ret = pool_get(given, device, true, false);
		*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
		return *ret ? WHERE_KNOWN : WHERE_REFUSED;
	}
	*ret_r = stream_device(call, stream, &real);
	if (*ret_r == CUDA_SUCCESS)
		*ret_r = shim_real.cuDeviceGetMemPool(&handle, real);
	if (*ret_r != CUDA_SUCCESS)
		return WHERE_REFUSED;
	*ret_r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!devices_find(real, &device))
		return WHERE_REFUSED;
	*ret = pool_get(handle, device, true, false);
	*ret_handle = handle;
	return *ret ? WHERE_KNOWN : WHERE_REFUSED;
}

/* What the pool must grow by at least, given what it has reserved and what the program still uses of it. */
static uint64_t least_units(struct pool *p, size_t bytes)
{
	uint64_t reserved, least, live;

	pthread_mutex_lock(&p->lock);
	reserved = reserved_locked(p);
	live = p->live_bytes;
	pthread_mutex_unlock(&p->lock);
	if (__builtin_add_overflow(live, (uint64_t)bytes, &least))
		return UINT64_MAX;
	return least > reserved ? wire_units(least - reserved) : 0;
}

/* What it can make the pool grow by at most. The software device shares memory by whole pages. */
static uint64_t most_units(struct pool *p, unsigned int device, size_t bytes)
{
	uint64_t units = charge_units(device, bytes), piece = p->piece_units;

	if (p->exportable && accounts[device].soft && piece < SOFT_PAGE_UNITS)
		piece = SOFT_PAGE_UNITS;
	return (units + piece - 1) / piece * piece;
}

static void wait_for(enum pool_call call, CUstream stream)
{
	if (per_thread(call))
		shim_real.cuStreamSynchronize_ptsz(stream);
	else
		shim_real.cuStreamSynchronize(stream);
}

/* Charges an allocation to c->device. `cheap`: on a real driver rather trust what the pool keeps than make pools give
 * back. */
static bool begin(struct charge *c, struct pool *p, enum pool_call call, size_t bytes, CUstream stream, bool cheap)
{
	unsigned int device = c->device;
	uint64_t most = most_units(p, device, bytes);
	bool kept, soft = accounts[device].soft;

	if (charge_try_units(c, device, most) == CHARGE_HELD)
		return true;
	kept = least_units(p, bytes) == 0;
	if (kept && cheap && !soft)
		return charge_begin_units(c, device, 0) == CHARGE_HELD;
	if (charge_begin_units(c, device, most) == CHARGE_HELD)
		return true;
	if (!kept)
		return false;
	/* what was freed in stream order is free once the stream has come there */
	wait_for(call, stream);
	if (charge_begin_units(c, device, most) == CHARGE_HELD)
		return true;
	return !soft && least_units(p, bytes) == 0 && charge_begin_units(c, device, 0) == CHARGE_HELD;
}

/* The allocation made the pool grow beyond what may be had: it goes back, and so does the growth. Inside the gate. */
static void undo_locked(struct pool *p, enum pool_call call, CUdeviceptr pointer, CUstream stream, uint32_t *ret_units)
{
	if (per_thread(call))
		shim_real.cuMemFreeAsync_ptsz(pointer, stream);
	else
		shim_real.cuMemFreeAsync(pointer, stream);
	wait_for(call, stream);
	shim_real.cuMemPoolTrimTo(p->handle, 0);
	settle_locked(p, ret_units);
}

/*
 * Makes the driver's call where the pool is still what it was when it was charged for. False: it has been destroyed, or
 * another thread's allocation has decided for another device.
 */
static bool ask_locked(struct pool *p, const struct charge *c, enum pool_call call, CUdeviceptr *ret, size_t bytes,
		       CUmemoryPool given, CUstream stream, CUresult *ret_r)
{
	*ret_r = CUDA_ERROR_INVALID_VALUE;
	if (!p->used || p->handle != given || p->dying || (!p->unplaced && p->device != c->device))
		return false;
	if (p->unplaced) {
		p->device = c->device;
		p->piece_units = piece_at_first(p->device);
		p->unplaced = false;
	}
	*ret_r = ask_driver(call, ret, bytes, given, stream);
	return true;
}

/* CUDA_ERROR_INVALID_VALUE: see ask_locked(). */
static CUresult allocate(struct pool *p, struct charge *c, enum pool_call call, CUdeviceptr *dptr, size_t bytes,
			 CUmemoryPool given, CUstream stream)
{
	struct record record = { .kind = RECORD_POOL,
				 .device = (uint8_t)c->device,
				 .size_units = (uint32_t)wire_units(bytes),
				 .extra = (uint32_t)(p - pools) };
	uint32_t missing = 0, left = c->units;
	CUdeviceptr made = 0;
	CUresult r;

	pthread_mutex_lock(&p->lock);
	if (ask_locked(p, c, call, &made, bytes, given, stream, &r))
		missing = settle_locked(p, &left);
	while (r == CUDA_SUCCESS && missing) {
		bool more;

		pthread_mutex_unlock(&p->lock);
		c->units = left;
		more = charge_more(c, missing);
		left = c->units;
		pthread_mutex_lock(&p->lock);
		if (!more) {
			undo_locked(p, call, made, stream, &left);
			r = CUDA_ERROR_OUT_OF_MEMORY;
			break;
		}
		missing = settle_locked(p, &left);
	}
	if (r == CUDA_SUCCESS) {
		record.key = record_pointer(made);
		if (records_add(&record)) {
			p->live_bytes += (uint64_t)record.size_units * WIRE_UNIT_BYTES;
		} else {
			undo_locked(p, call, made, stream, &left);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	pthread_mutex_unlock(&p->lock);
	c->units = left;
	charge_cancel(c);
	if (r == CUDA_SUCCESS)
		*dptr = made;
	return r;
}

/* The device that an allocation is charged to: the pool's, or where that is not decided yet the stream's. */
static CUresult home_of(struct pool *p, enum pool_call call, CUstream stream, unsigned int *ret)
{
	bool unplaced;
	CUdevice real;
	CUresult r;

	pthread_mutex_lock(&p->lock);
	unplaced = p->unplaced;
	*ret = p->device;
	pthread_mutex_unlock(&p->lock);
	if (!unplaced)
		return CUDA_SUCCESS;
	r = stream_device(call, stream, &real);
	return r != CUDA_SUCCESS || devices_find(real, ret) ? r : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult allocate_from(struct pool *p, enum pool_call call, CUdeviceptr *dptr, size_t bytes, CUmemoryPool given,
			      CUstream stream)
{
	struct charge c = { 0 };
	unsigned int device, now;
	CUresult r = home_of(p, call, stream, &device);

	if (r != CUDA_SUCCESS)
		return r;
	c.device = device;
	r = CUDA_ERROR_OUT_OF_MEMORY;
	if (begin(&c, p, call, bytes, stream, true))
		r = allocate(p, &c, call, dptr, bytes, given, stream);
	if (r == CUDA_ERROR_OUT_OF_MEMORY && !accounts[device].soft && begin(&c, p, call, bytes, stream, false))
		r = allocate(p, &c, call, dptr, bytes, given, stream);
	if (r == CUDA_ERROR_INVALID_VALUE && is_live(p, given) && home_of(p, call, stream, &now) == CUDA_SUCCESS &&
	    now != device)
		return allocate_from(p, call, dptr, bytes, given, stream); /* decided once and for all */
	return r;
}

/* Memory that moves --------------------------------------------------------------------------------------------- */

static bool is_standard_locked(const struct pool *p)
{
	CUmemoryPool standard;
	CUdevice real;

	return devices_real(p->device, &real) && shim_real.cuDeviceGetDefaultMemPool(&standard, real) == CUDA_SUCCESS &&
	       standard == p->handle;
}

static bool is_movable(struct pool *p)
{
	bool is;

	if (!movable_wanted() || (uint32_t)(p - pools) >= MOVABLE_POOLS || !shim_has(CUDA_CALL_cuMemCreate))
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
	uint64_t freed = later_pool_bytes((uint32_t)(p - pools)), used;

	pthread_mutex_lock(&p->lock);
	used = moving_bytes(p) + bytes;
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
	uint64_t used = moving_bytes(&pools[slot]);

	return most && used <= most && freed_bytes <= most - used;
}

void pools_moving_freed(uint32_t slot, uint64_t bytes)
{
	struct pool *p = &pools[slot];
	uint64_t used;
	bool ends;

	pthread_mutex_lock(&p->lock);
	used = moving_bytes(p);
	used -= bytes < used ? bytes : used;
	atomic_store_explicit(&p->moving_bytes, used, memory_order_relaxed);
	ends = p->dying && !used;
	pthread_mutex_unlock(&p->lock);
	if (ends)
		settle(p);
}

CUmemoryPool pools_handle(uint32_t slot)
{
	CUmemoryPool handle;

	pthread_mutex_lock(&pools[slot].lock);
	handle = pools[slot].used ? pools[slot].handle : NULL;
	pthread_mutex_unlock(&pools[slot].lock);
	return handle;
}

/* What was freed in the order of other streams is there when they have come to it: they are waited for before it fails.
 */
static CUresult moving_alloc(struct pool *p, enum pool_call call, CUdeviceptr *dptr, size_t bytes, CUstream stream)
{
	uint32_t slot = (uint32_t)(p - pools), units;
	struct record again;
	CUresult r;

	if (wire_units(bytes) > WIRE_MAX_UNITS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	units = (uint32_t)wire_units(bytes);
	if (later_take(p->device, units, stream, per_thread(call), &again)) {
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

static uint64_t moving_figure(struct pool *p, CUmemPool_attribute attr)
{
	uint64_t freed = later_pool_bytes((uint32_t)(p - pools)), is = 0;

	pthread_mutex_lock(&p->lock);
	switch (attr) {
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		is = moving_bytes(p);
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		is = p->moving_most_bytes;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		is = moving_bytes(p) + freed;
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

CUresult shim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	CUresult r = shim_real.cuMemPoolGetAttribute(pool, attr, value);
	struct pool *p = r == CUDA_SUCCESS && value ? pool_find(pool) : NULL;
	uint64_t more = p ? moving_figure(p, attr) : 0;

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
		p->moving_most_bytes = moving_bytes(p);
	else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		p->reserved_most_bytes = moving_bytes(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

/*
 * The driver is told from which pool: another thread may make another one current between the charge and the
 * allocation, or destroy this one; then its successor is charged.
 */
static CUresult pool_alloc(enum pool_call call, CUdeviceptr *dptr, size_t bytes, CUmemoryPool given, CUstream stream)
{
	enum pool_call named = per_thread(call) ? GIVEN_PTSZ : GIVEN;
	struct pool *p = NULL;
	CUmemoryPool handle;
	CUresult r;

	if (!start_is_metered() || !dptr || !bytes)
		return ask_driver(call, dptr, bytes, given, stream);
	if (captured(call, dptr, bytes, given, stream, &r))
		return r;
	for (unsigned int tries = 0; tries < TRIES; tries++) {
		switch (find_pool(call, given, stream, &p, &handle, &r)) {
		case WHERE_KNOWN:
			if (is_movable(p))
				return moving_alloc(p, call, dptr, bytes, stream);
			r = allocate_from(p, named, dptr, bytes, handle, stream);
			if (r == CUDA_ERROR_INVALID_VALUE && call != named && !is_live(p, handle))
				continue;
			return r;
		case WHERE_REFUSED:
			return r;
		case WHERE_DESTROYED:
			return CUDA_ERROR_INVALID_VALUE;
		default:
			return ask_driver(call, dptr, bytes, given, stream);
		}
	}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult shim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return pool_alloc(CURRENT, dptr, bytesize, NULL, hStream);
}

CUresult shim_cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return pool_alloc(CURRENT_PTSZ, dptr, bytesize, NULL, hStream);
}

CUresult shim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	return pool_alloc(GIVEN, dptr, bytesize, pool, hStream);
}

CUresult shim_cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	return pool_alloc(GIVEN_PTSZ, dptr, bytesize, pool, hStream);
}

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
			settle_locked(p, &none);
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

/*
 * Memory of another process's pool. It stays charged there, by what the pool has reserved, and is charged here too:
 * when that process ends or gives it up it lives on for this one, and nobody is told. So memory that two processes have
 * counts twice while both have it.
 */
/* Its size and its device of the grant, whatever context there is: neither needs one. */
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

/* What cannot be charged, because nobody says how large it is or where it lies, is not had. */
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

	if (p && is_movable(p) && minBytesToKeep < later_pool_bytes((uint32_t)(p - pools)) && later_release())
		movable_trim(true);
	if (p)
		settle(p);
	return r;
}

/*
 * After a wait. Nobody waits here for one who has the gate to himself: the driver may make that one wait for a function
 * of the program, and behind a wall this may be a copy that the function needs. The next wait settles.
 */
static CUresult settled(CUresult r)
{
	uint32_t count = atomic_load_explicit(&pool_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++)
		if (pools[i].used && gate_try())
			settle_and_leave(&pools[i]);
	graphs_settle();
	later_look();
	return r;
}

CUresult shim_cuStreamSynchronize(CUstream hStream)
{
	return launches_synced(hStream, false, settled(shim_real.cuStreamSynchronize(hStream)));
}

CUresult shim_cuStreamSynchronize_ptsz(CUstream hStream)
{
	return launches_synced(hStream, true, settled(shim_real.cuStreamSynchronize_ptsz(hStream)));
}

CUresult shim_cuCtxSynchronize(void)
{
	return launches_synced_all(settled(shim_real.cuCtxSynchronize()));
}

CUresult shim_cuCtxSynchronize_v2(CUcontext ctx)
{
	return launches_synced_all(settled(shim_real.cuCtxSynchronize_v2(ctx)));
}

CUresult shim_cuEventSynchronize(CUevent hEvent)
{
	return launches_synced_all(settled(shim_real.cuEventSynchronize(hEvent)));
}
