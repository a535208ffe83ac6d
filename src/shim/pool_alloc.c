/*
 * pool_alloc.c: allocations from pools.
 *
 * How much an allocation makes a pool grow is the pool's affair: nothing when it finds room in what the pool keeps,
 * else what the driver takes at a time. The most is charged first: the size, rounded up to the pieces in which a real
 * driver's pools have been seen to grow. Where the quota has no room for that, the software device is never asked: the
 * stream is waited for and pools give back what nobody uses until there is room, or there is none. A real driver, where
 * giving back is dear, is asked first if the pool keeps enough; an allocation that made the pool grow beyond the quota
 * after all is taken back before the program sees it.
 */
#include "cuda_shim.h"
#include "core/capture.h"
#include "core/charge.h"
#include "core/sharing.h"
#include "shim/contexts.h"
#include "shim/devices.h"
#include "shim/pool.h"
#include "shim/start.h"

#define TRIES 64u /* each one: the current pool was destroyed just now */

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
	reserved = pool_reserved_locked(p);
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
	pool_settle_locked(p, ret_units);
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
		p->piece_units = pool_first_piece(p->device);
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
				 .extra = pool_slot(p) };
	uint32_t missing = 0, left = c->units;
	CUdeviceptr made = 0;
	CUresult r;

	pthread_mutex_lock(&p->lock);
	if (ask_locked(p, c, call, &made, bytes, given, stream, &r))
		missing = pool_settle_locked(p, &left);
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
		missing = pool_settle_locked(p, &left);
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
			if (pool_is_movable(p))
				return pool_moving_alloc(p, per_thread(call), dptr, bytes, stream);
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
