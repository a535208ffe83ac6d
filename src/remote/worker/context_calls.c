/*
 * context_calls.c: the calls about contexts that the client writes by hand (client/context.c). Who has which context
 * current, and who retains a primary one, the client knows; here a primary context is retained once.
 */
#include "cuda_remote.h"
#include "remote/worker/payload.h"
#include "remote/worker/uses.h"

#include <errno.h>

static bool whole(const struct work *work)
{
	return !work->in.bad && work->in.used == work->in.size;
}

/* The device's primary context and its id. False: work->result says why. */
static bool retain(struct work *work, int32_t device, CUcontext *ret, uint64_t *ret_id)
{
	work->result = work->driver->cuDevicePrimaryCtxRetain(ret, device);
	if (work->result != CUDA_SUCCESS)
		return false;
	*ret_id = worker_name(work, KIND_CONTEXT, *ret, 0);
	if (*ret_id)
		return true;
	work->driver->cuDevicePrimaryCtxRelease_v2(device);
	work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return false;
}

int worker_cuDevicePrimaryCtxRetain(struct work *work)
{
	CUcontext context;
	int32_t device;
	uint64_t id;

	remote_get(&work->in, &device, sizeof(device));
	if (!whole(work))
		return -EPROTO;
	contexts_primary_lock(work, device);
	if (retain(work, device, &context, &id))
		remote_put(&work->out, &id, sizeof(id));
	contexts_primary_unlock(device);
	return 0;
}

/*
 * Nobody in the client retains it any more, so all that is in it goes: whoever else retains it here begins anew, when
 * it has gone.
 */
static int primary_end(struct work *work)
{
	CUcontext context;
	int32_t device;
	uint64_t id;

	remote_get(&work->in, &device, sizeof(device));
	if (!whole(work))
		return -EPROTO;
	worker_yield(work);
	uses_leave(work);
	contexts_primary_lock(work, device);
	if (retain(work, device, &context, &id) && worker_ending(work, id, context)) {
		payload_leave(context);
		work->result = work->driver->cuDevicePrimaryCtxReset_v2(device);
		worker_remove(work, id);
	}
	contexts_primary_unlock(device);
	return 0;
}

int worker_cuDevicePrimaryCtxRelease_v2(struct work *work)
{
	return primary_end(work);
}

int worker_cuDevicePrimaryCtxReset_v2(struct work *work)
{
	return primary_end(work);
}

int worker_cuCtxCreate_v2(struct work *work)
{
	CUcontext context;
	int32_t device;
	uint64_t id;
	int r;

	remote_get(&work->in, &device, sizeof(device));
	remote_get(&work->in, &id, sizeof(id));
	if (!whole(work))
		return -EPROTO;
	work->result = work->driver->cuCtxCreate_v2(&context, CU_CTX_SCHED_BLOCKING_SYNC, device);
	if (work->result != CUDA_SUCCESS)
		return 0;
	r = worker_add(work, KIND_CONTEXT, id, context, 0);
	if (!r)
		return 0;
	work->driver->cuCtxDestroy_v2(context);
	work->result = CUDA_ERROR_OUT_OF_MEMORY;
	return r == -EPROTO ? r : 0;
}

/* The context that an id names; 0 the current one. NULL: work->result says why. */
static bool take_context(struct work *work, uint64_t *ret_id, CUcontext *ret)
{
	bool known;

	remote_get(&work->in, ret_id, sizeof(*ret_id));
	if (!whole(work))
		return false;
	*ret = worker_find(work, KIND_CONTEXT, *ret_id ? *ret_id : work->head.context, &known);
	if (!*ret && known)
		work->result = CUDA_ERROR_INVALID_CONTEXT;
	return true;
}

int worker_cuCtxDestroy_v2(struct work *work)
{
	CUcontext context;
	uint64_t id;

	if (!take_context(work, &id, &context))
		return -EPROTO;
	if (!context)
		return 0;
	worker_yield(work);
	/* Of two requests each may have the other's context current. */
	uses_leave(work);
	if (!worker_ending(work, id, context)) {
		work->result = CUDA_ERROR_INVALID_CONTEXT;
		return 0;
	}
	payload_leave(context);
	work->result = work->driver->cuCtxDestroy_v2(context);
	worker_remove(work, id);
	return 0;
}

int worker_cuCtxSynchronize_v2(struct work *work)
{
	CUcontext context, before = NULL;
	uint64_t id;

	if (!take_context(work, &id, &context))
		return -EPROTO;
	if (!context)
		return 0;
	worker_yield(work);
	if (id && id != work->head.context)
		work->result = work->driver->cuCtxPushCurrent_v2(context);
	if (work->result != CUDA_SUCCESS)
		return 0;
	work->result = work->driver->cuCtxSynchronize();
	if (id && id != work->head.context)
		work->driver->cuCtxPopCurrent_v2(&before);
	return 0;
}

/* A call about the context that is named, which nobody else waits for. */
static int about(struct work *work, CUresult (*call)(const struct work *work, CUcontext context))
{
	CUcontext context;
	uint64_t id;

	if (!take_context(work, &id, &context))
		return -EPROTO;
	if (context)
		work->result = call(work, context);
	return 0;
}

static CUresult reset_cache(const struct work *work, CUcontext context)
{
	(void)context;
	return work->driver->cuCtxResetPersistingL2Cache();
}

static CUresult enable_peer(const struct work *work, CUcontext context)
{
	return work->driver->cuCtxEnablePeerAccess(context, 0);
}

static CUresult disable_peer(const struct work *work, CUcontext context)
{
	return work->driver->cuCtxDisablePeerAccess(context);
}

int worker_cuCtxResetPersistingL2Cache(struct work *work)
{
	return about(work, reset_cache);
}

int worker_cuCtxEnablePeerAccess(struct work *work)
{
	return about(work, enable_peer);
}

int worker_cuCtxDisablePeerAccess(struct work *work)
{
	return about(work, disable_peer);
}

int worker_cuCtxSetLimit(struct work *work)
{
	uint64_t sent[2];

	remote_get(&work->in, sent, sizeof(sent));
	if (!whole(work))
		return -EPROTO;
	work->result = work->driver->cuCtxSetLimit((CUlimit)sent[0], sent[1]);
	return 0;
}

int worker_cuCtxGetLimit(struct work *work)
{
	uint64_t limit;
	size_t value = 0;

	remote_get(&work->in, &limit, sizeof(limit));
	if (!whole(work))
		return -EPROTO;
	work->result = work->driver->cuCtxGetLimit(&value, (CUlimit)limit);
	if (work->result == CUDA_SUCCESS)
		remote_put(&work->out, &value, sizeof(value));
	return 0;
}

int worker_cuCtxSetCacheConfig(struct work *work)
{
	uint32_t config;

	remote_get(&work->in, &config, sizeof(config));
	if (!whole(work))
		return -EPROTO;
	work->result = work->driver->cuCtxSetCacheConfig((CUfunc_cache)config);
	return 0;
}
