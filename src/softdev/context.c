/* context.c: see context.h. */
#include "softdev/context.h"

#include "softdev/array.h"
#include "softdev/check.h"
#include "softdev/event.h"
#include "softdev/fault.h"
#include "softdev/graph.h"
#include "softdev/memory.h"
#include "softdev/mempool.h"
#include "softdev/log.h"
#include "softdev/module.h"
#include "softdev/segment_fault.h"
#include "softdev/stream.h"
#include "softdev/texture.h"

#include <string.h>

#define STACK_DEPTH 128u
#define FLAGS_KNOWN CU_CTX_FLAGS_MASK

struct current {
	struct context *context;
	uint64_t generation;
};

static __thread struct current stack[STACK_DEPTH];
static __thread unsigned depth;

static pthread_mutex_t context_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t next_id;

/* ---- life ---- */

/* What a context's heap for malloc in kernels has without asking; it is part of what a context takes. */
#define HEAP_DEFAULT_BYTES ((size_t)8 << 20)

static void context_defaults(struct context *c)
{
	memset(c->limit, 0, sizeof(c->limit));
	c->limit[CU_LIMIT_STACK_SIZE] = 1024;
	c->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 7 << 20;
	c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = HEAP_DEFAULT_BYTES;
	c->limit[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	c->limit[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	c->limit[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
	c->cache = CU_FUNC_CACHE_PREFER_NONE;
	c->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	c->sticky = 0;
	c->heap_bytes = 0;
	c->peers = 0;
}

struct context *context_new(struct device *device, bool primary)
{
	struct context *c;

	pthread_mutex_lock(&stream_mutex); /* who waits for a device looks at all contexts */
	c = handle_begin(HANDLE_CONTEXT);
	if (c)
		c->device = device;
	pthread_mutex_unlock(&stream_mutex);
	if (!c)
		return NULL;
	c->primary = primary;
	c->id = ++next_id;
	context_defaults(c);
	handle_publish(c);
	return c;
}

static uint64_t context_units(const struct device *d)
{
	return (d->config->context_bytes + SEGMENT_UNIT_BYTES - 1) / SEGMENT_UNIT_BYTES;
}

/* What a heap larger than the default takes besides. */
static uint64_t heap_units(const struct context *c)
{
	size_t bytes = c->limit[CU_LIMIT_MALLOC_HEAP_SIZE];

	return bytes > HEAP_DEFAULT_BYTES ? (bytes - HEAP_DEFAULT_BYTES + SEGMENT_UNIT_BYTES - 1) / SEGMENT_UNIT_BYTES
					  : 0;
}

/* The heap's size is taken from the device when it is set; below what is in use it does not go. */
static CUresult heap_resize(struct context *c, size_t bytes)
{
	uint64_t before = heap_units(c), after;
	size_t old = c->limit[CU_LIMIT_MALLOC_HEAP_SIZE];

	if (bytes > c->device->config->total_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (bytes < atomic_load(&c->heap_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = bytes;
	after = heap_units(c);
	if (after > before && segment_charge(&driver.place, c->device->index, after - before)) {
		c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = old;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (after < before)
		segment_refund(&driver.place, c->device->index, before - after);
	return CUDA_SUCCESS;
}

/* Takes what a context takes. Value: CUDA_SUCCESS or CUDA_ERROR_OUT_OF_MEMORY, then nothing has changed. */
static CUresult context_open(struct context *c)
{
	/* In this order: whoever loses the device does it the other way round. */
	c->upsets = *segment_upsets(&driver.place, c->device->index);
	atomic_store(segment_cancel(&driver.place, c->device->index), driver.ending);
	if (segment_lost(driver.place.segment, c->device->index)) {
		log_line("device %u is lost (`mete soft fault`)", c->device->index);
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	}
	if (segment_charge(&driver.place, c->device->index, context_units(c->device)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->legacy = stream_new(c, CU_STREAM_DEFAULT, 0);
	if (!c->legacy) {
		segment_refund(&driver.place, c->device->index, context_units(c->device));
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	c->legacy->legacy = true;
	segment_context_add(&driver.place, c->device->index);
	c->closing = false;
	c->active = true;
	return CUDA_SUCCESS;
}

/* Everything that lives in the context goes. */
static void context_close(struct context *c)
{
	pthread_rwlock_wrlock(&module_life);
	c->closing = true;
	pthread_rwlock_unlock(&module_life);
	stream_wait_context(c);
	report_leaks(c);
	c->active = false;
	stream_free_all(c);
	event_free_all(c);
	module_free_all(c);
	texture_free_all(c);
	array_free_all(c);
	if (c->primary)
		mempool_forget(c->device);
	range_free_all(c);
	mempool_synchronised(c->device);
	segment_refund(&driver.place, c->device->index, context_units(c->device) + heap_units(c));
	context_defaults(c);
	segment_context_remove(&driver.place, c->device->index);
}

void context_fault(struct context *c, CUresult error)
{
	int none = 0;

	if (!context_sticky(c) && atomic_compare_exchange_strong(&c->sticky, &none, (int)error))
		fault_report(c, error);
}

void context_cut(struct context *c)
{
	int none = 0;

	atomic_compare_exchange_strong(&c->sticky, &none, CUDA_ERROR_DEINITIALIZED);
}

CUresult context_sticky(struct context *c)
{
	int none = 0;

	if (__builtin_expect(*segment_upsets(&driver.place, c->device->index) != c->upsets, 0))
		atomic_compare_exchange_strong(&c->sticky, &none,
					       (int)segment_upset_error(&driver.place, c->device->index));
	return (CUresult)c->sticky;
}

/* ---- current ---- */

static CUresult context_usable(struct context *c)
{
	if (__builtin_expect(!c->active || c->closing, 0))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return context_sticky(c);
}

CUresult context_current(struct context **ret)
{
	CUresult e = driver_ready();
	struct current *top;

	if (e)
		return e;
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	top = &stack[depth - 1];
	if (!top->context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (top->context->head.generation != top->generation)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret = top->context;
	return context_usable(*ret);
}

CUresult context_find(CUcontext h, struct context **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!h)
		return context_current(ret);
	*ret = handle_find(HANDLE_CONTEXT, h);
	if (!*ret)
		return CUDA_ERROR_INVALID_CONTEXT;
	return context_usable(*ret);
}

static CUresult stack_push(struct context *c)
{
	if (depth == STACK_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = (struct current){ c, c->head.generation };
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxPushCurrent_v2(CUcontext h)
{
	CUresult e = driver_ready();
	struct context *c;

	if (e)
		return e;
	c = handle_find(HANDLE_CONTEXT, h);
	return c ? stack_push(c) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult soft_cuCtxPushCurrent(CUcontext h)
{
	return soft_cuCtxPushCurrent_v2(h);
}

CUresult soft_cuCtxPopCurrent_v2(CUcontext *ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!depth || !stack[depth - 1].context)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ret)
		*ret = (CUcontext)stack[depth].context;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxPopCurrent(CUcontext *ret)
{
	return soft_cuCtxPopCurrent_v2(ret);
}

CUresult soft_cuCtxSetCurrent(CUcontext h)
{
	CUresult e = driver_ready();
	struct context *c;

	if (e)
		return e;
	if (!h) {
		if (depth)
			depth--;
		return CUDA_SUCCESS;
	}
	c = handle_find(HANDLE_CONTEXT, h);
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth)
		depth--;
	return stack_push(c);
}

CUresult soft_cuCtxGetCurrent(CUcontext *ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = depth ? (CUcontext)stack[depth - 1].context : NULL;
	return CUDA_SUCCESS;
}

/* ---- primary contexts ---- */

CUresult soft_cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&context_mutex);
	if (!d->primary->active)
		e = context_open(d->primary);
	if (!e) {
		d->primary->retains++;
		*ret = (CUcontext)d->primary;
	}
	pthread_mutex_unlock(&context_mutex);
	return e;
}

CUresult soft_cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	pthread_mutex_lock(&context_mutex);
	if (!d->primary->retains)
		e = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--d->primary->retains)
		context_close(d->primary);
	pthread_mutex_unlock(&context_mutex);
	return e;
}

CUresult soft_cuDevicePrimaryCtxRelease(CUdevice ordinal)
{
	return soft_cuDevicePrimaryCtxRelease_v2(ordinal);
}

CUresult soft_cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	pthread_mutex_lock(&context_mutex);
	d->primary->retains = 0;
	if (d->primary->active)
		context_close(d->primary);
	d->primary->flags = 0;
	pthread_mutex_unlock(&context_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuDevicePrimaryCtxReset(CUdevice ordinal)
{
	return soft_cuDevicePrimaryCtxReset_v2(ordinal);
}

static bool flags_good(unsigned flags)
{
	unsigned sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned)FLAGS_KNOWN) &&
	       (sched <= CU_CTX_SCHED_YIELD || sched == CU_CTX_SCHED_BLOCKING_SYNC);
}

CUresult soft_cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!flags_good(flags))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&context_mutex);
	d->primary->flags = flags;
	pthread_mutex_unlock(&context_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags)
{
	return soft_cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult soft_cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *ret_flags, int *ret_active)
{
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret_flags || !ret_active)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&context_mutex);
	*ret_flags = d->primary->flags;
	*ret_active = d->primary->active;
	pthread_mutex_unlock(&context_mutex);
	return CUDA_SUCCESS;
}

/* ---- created contexts ---- */

static CUresult context_create(CUcontext *ret, unsigned flags, CUdevice ordinal, unsigned api_version)
{
	struct context *c;
	struct device *d;
	CUresult e = device_find(ordinal, &d);

	if (e)
		return e;
	if (!ret || !flags_good(flags))
		return CUDA_ERROR_INVALID_VALUE;
	c = context_new(d, false);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->flags = flags;
	c->api_version = api_version;
	e = context_open(c);
	if (!e && (e = stack_push(c)))
		context_close(c);
	if (e) {
		handle_free(c);
		return e;
	}
	*ret = (CUcontext)c;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxCreate(CUcontext *ret, unsigned flags, CUdevice ordinal)
{
	return context_create(ret, flags, ordinal, 3010);
}

CUresult soft_cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice ordinal)
{
	return context_create(ret, flags, ordinal, 3020);
}

CUresult soft_cuCtxCreate_v3(CUcontext *ret, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice ordinal)
{
	if (count < 0 || (count && !affinity))
		return CUDA_ERROR_INVALID_VALUE;
	return count ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : context_create(ret, flags, ordinal, 3020);
}

CUresult soft_cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned flags, CUdevice ordinal)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return params ? soft_cuCtxCreate_v3(ret, params->execAffinityParams, params->numExecAffinityParams, flags,
					    ordinal)
		      : context_create(ret, flags, ordinal, 3020);
}

CUresult soft_cuCtxDestroy_v2(CUcontext h)
{
	CUresult e = driver_ready();
	struct context *c;

	if (e)
		return e;
	c = handle_find(HANDLE_CONTEXT, h);
	if (!c || c->primary || !handle_retire(c))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth && stack[depth - 1].context == c && stack[depth - 1].generation == c->head.generation)
		depth--;
	context_close(c);
	pthread_rwlock_wrlock(&module_life); /* its place is another's only after the calls that have looked at it */
	c->head.generation++;		     /* other threads that have it current see that it is gone */
	handle_free(c);
	pthread_rwlock_unlock(&module_life);
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxDestroy(CUcontext h)
{
	return soft_cuCtxDestroy_v2(h);
}

CUresult soft_cuCtxAttach(CUcontext *ret, unsigned flags)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUcontext)c;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxDetach(CUcontext h)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	return (CUcontext)c == h && !c->primary ? soft_cuCtxDestroy_v2(h) : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- asking and setting ---- */

CUresult soft_cuCtxGetDevice(CUdevice *ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->device->ordinal;
	return CUDA_SUCCESS;
}

/*
 * The context of a call that got it as an argument with CUDA 13.0. Programs of before that look for the name with _v2
 * first, and give no such argument; the driver of their time, which they asked for, has no such name.
 */
static CUresult of_version_13(CUcontext h, struct context **ret)
{
	return driver_version() < 13000 ? context_current(ret) : context_find(h, ret);
}

CUresult soft_cuCtxGetDevice_v2(CUdevice *ret, CUcontext h)
{
	struct context *c;
	CUresult e = of_version_13(h, &c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetFlags(unsigned *ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->flags;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetFlags(unsigned flags)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!flags_good(flags))
		return CUDA_ERROR_INVALID_VALUE;
	c->flags = flags;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetId(CUcontext h, unsigned long long *ret)
{
	struct context *c;
	CUresult e = context_find(h, &c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->id;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetApiVersion(CUcontext h, unsigned *ret)
{
	struct context *c;
	CUresult e = context_find(h, &c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->api_version ? c->api_version : 3020;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSynchronize(void)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_context(c);
	return e ? e : stream_wait_context(c);
}

CUresult soft_cuCtxSynchronize_v2(CUcontext h)
{
	struct context *c;
	CUresult e = of_version_13(h, &c);

	if (!e)
		e = capture_context(c);
	return e ? e : stream_wait_context(c);
}

static bool limit_settable(CUlimit limit)
{
	switch (limit) {
	case CU_LIMIT_STACK_SIZE:
	case CU_LIMIT_PRINTF_FIFO_SIZE:
	case CU_LIMIT_MALLOC_HEAP_SIZE:
	case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
	case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
	case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
	case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
		return true;
	default:
		return false;
	}
}

CUresult soft_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!limit_settable(limit))
		return (unsigned)limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
	if ((limit == CU_LIMIT_STACK_SIZE && value > 512 << 10) ||
	    (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > 128))
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
		return heap_resize(c, value);
	c->limit[limit] = value;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetLimit(size_t *ret, CUlimit limit)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || (unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!limit_settable(limit))
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*ret = c->limit[limit];
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetCacheConfig(CUfunc_cache *ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->cache;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetCacheConfig(CUfunc_cache config)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	c->cache = config;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxGetSharedMemConfig(CUsharedconfig *ret)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = c->shared_config;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult soft_cuCtxResetPersistingL2Cache(void)
{
	struct context *c;

	return context_current(&c);
}

CUresult soft_cuCtxGetExecAffinity(CUexecAffinityParam *ret, CUexecAffinityType type)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}

CUresult soft_cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (ret_least)
		*ret_least = 0;
	if (ret_greatest)
		*ret_greatest = STREAM_PRIORITY_GREATEST;
	return CUDA_SUCCESS;
}

/* ---- peers: all memory is one address space, but the rules are kept ---- */

CUresult soft_cuCtxEnablePeerAccess(CUcontext h, unsigned flags)
{
	struct context *c, *peer;
	CUresult e = context_current(&c);

	if (e)
		return e;
	peer = handle_find(HANDLE_CONTEXT, h);
	if (!peer || !peer->active || peer == c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (peer->device == c->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (c->peers & 1u << peer->device->ordinal)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	c->peers |= 1u << peer->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult soft_cuCtxDisablePeerAccess(CUcontext h)
{
	struct context *c, *peer;
	CUresult e = context_current(&c);

	if (e)
		return e;
	peer = handle_find(HANDLE_CONTEXT, h);
	if (!peer)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!(c->peers & 1u << peer->device->ordinal))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	c->peers &= ~(1u << peer->device->ordinal);
	return CUDA_SUCCESS;
}
