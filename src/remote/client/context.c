/* context.c: see context.h. What softdev/context.c does, with the driver's contexts elsewhere. */
#include "remote/client/context.h"

#include "cuda_remote.h"
#include "remote/client/deeds.h"
#include "remote/client/pinned.h"
#include "remote/client/ranges.h"
#include "remote/client/unified.h"
#include "remote/client/start.h"
#include "remote/client/textures.h"
#include "remote/client/thread.h"
#include "remote/client/visible.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards who retains, and the list */
static struct context *primary[SESSION_DEVICES];
static struct context *unused; /* of contexts that have ended: other threads may still hold the pointer */
static _Atomic unsigned long long next_number;
static _Atomic int made[SESSION_DEVICES]; /* contexts that are not primary ones */

/* ---- life ---- */

static struct context *context_new_locked(void)
{
	struct context *c = unused;

	if (c)
		unused = c->next_free;
	else
		c = calloc(1, sizeof *c);
	return c;
}

/* Its handle, with everything that the client knows of it. */
static struct context *context_make(struct session *s, CUdevice device, uint64_t *ret_id)
{
	struct context *c;
	uint64_t handle;

	pthread_mutex_lock(&lock);
	c = context_new_locked();
	pthread_mutex_unlock(&lock);
	if (!c)
		return NULL;
	handle = handles_add(&s->handles, KIND_CONTEXT, 0, 0, ret_id);
	if (!handle) {
		free(c);
		return NULL;
	}
	*c = (struct context){ .handle = handle,
			       .id = *ret_id,
			       .session = s,
			       .device = device,
			       .api_version = 3020,
			       .shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE,
			       .number = ++next_number };
	client_keep((const void *)(uintptr_t)handle, c, NULL);
	return c;
}

static void context_end(struct context *c)
{
	made[c->device]--;
	textures_drop_context(c->handle);
	unified_drop_context(c->handle);
	ranges_drop_context(c->handle, pinned_gone);
	client_drop((const void *)(uintptr_t)c->handle);
	pthread_mutex_lock(&lock);
	c->next_free = unused;
	unused = c;
	pthread_mutex_unlock(&lock);
}

bool context_any(CUdevice device)
{
	return device >= 0 && device < session_devices &&
	       (made[device] > 0 || atomic_load_explicit(&primary[device]->active, memory_order_acquire));
}

CUresult context_open(void)
{
	for (int d = 0; d < session_devices; d++) {
		int32_t local;
		struct session *s = visible_find(d, &local);
		uint64_t id;

		primary[d] = context_make(s, d, &id);
		if (!primary[d])
			return CUDA_ERROR_OUT_OF_MEMORY;
		primary[d]->primary = true;
		primary[d]->id = 0; /* until it is retained */
	}
	return CUDA_SUCCESS;
}

void context_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
}

struct context *context_of(CUcontext handle)
{
	return client_kept(KIND_CONTEXT, handle);
}

CUdevice context_device(uint64_t handle)
{
	struct context *c = context_of((CUcontext)(uintptr_t)handle);

	return c ? c->device : -1;
}

/* ---- current ---- */

static bool usable(struct context *c)
{
	return !c->primary || atomic_load_explicit(&c->active, memory_order_acquire);
}

CUresult context_current(struct thread *t, struct context **ret)
{
	uint64_t handle = t->depth ? t->contexts[t->depth - 1] : 0;

	if (!handle)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret = context_of((CUcontext)(uintptr_t)handle);
	return *ret && usable(*ret) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult thread_ready(struct thread **ret)
{
	CUresult r = start_ready();

	if (r != CUDA_SUCCESS)
		return r;
	*ret = thread_get();
	if (!*ret)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return (*ret)->calls_back ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult context_find(CUcontext handle, struct context **ret)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	if (!handle)
		return context_current(t, ret);
	*ret = context_of(handle);
	if (!*ret)
		return CUDA_ERROR_INVALID_CONTEXT;
	return usable(*ret) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult context_sound(void)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);
	size_t free_bytes, total;

	if (r != CUDA_SUCCESS || !atomic_load_explicit(&c->session->faulted, memory_order_relaxed))
		return r;
	return client_cuMemGetInfo_v2(&free_bytes, &total);
}

static CUresult push(struct thread *t, uint64_t handle)
{
	if (t->depth == THREAD_CONTEXTS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	t->contexts[t->depth++] = handle;
	return CUDA_SUCCESS;
}

CUresult client_cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	return context_of(ctx) ? push(t, (uint64_t)(uintptr_t)ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult client_cuCtxPushCurrent(CUcontext ctx)
{
	return client_cuCtxPushCurrent_v2(ctx);
}

CUresult client_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	if (!t->depth || !t->contexts[t->depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	t->depth--;
	if (pctx)
		*pctx = (CUcontext)(uintptr_t)t->contexts[t->depth];
	return CUDA_SUCCESS;
}

CUresult client_cuCtxPopCurrent(CUcontext *pctx)
{
	return client_cuCtxPopCurrent_v2(pctx);
}

CUresult client_cuCtxSetCurrent(CUcontext ctx)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	if (ctx && !context_of(ctx))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (t->depth)
		t->depth--;
	return ctx ? push(t, (uint64_t)(uintptr_t)ctx) : CUDA_SUCCESS;
}

CUresult client_cuCtxGetCurrent(CUcontext *pctx)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = t->depth ? (CUcontext)(uintptr_t)t->contexts[t->depth - 1] : NULL;
	return CUDA_SUCCESS;
}

/* ---- primary contexts ---- */

static CUresult primary_find(CUdevice device, struct context **ret)
{
	struct thread *t;
	CUresult r = thread_ready(&t);

	if (r != CUDA_SUCCESS)
		return r;
	if (device < 0 || device >= session_devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*ret = primary[device];
	return CUDA_SUCCESS;
}

/* A call about a device's primary context. */
static CUresult primary_call(enum cuda_call call, CUdevice device, uint64_t handle, uint64_t *ret_id)
{
	struct client_call c;
	int32_t local;

	client_call(&c, call);
	local = client_use_device(&c, device);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &local, sizeof local);
		client_send(&c);
		if (ret_id && c.result == CUDA_SUCCESS) {
			remote_get(&c.in, ret_id, sizeof *ret_id);
			deeds_name(&c, handle, *ret_id);
		}
	}
	return client_end(&c);
}

static CUresult retain_locked(struct context *p)
{
	CUresult r;

	if (!p->active) {
		r = primary_call(CUDA_CALL_cuDevicePrimaryCtxRetain, p->device, p->handle, &p->id);
		if (r != CUDA_SUCCESS)
			return r;
		handles_renew(&p->session->handles, p->handle, p->id);
		/* Release: pairs with usable(). */
		atomic_store_explicit(&p->active, true, memory_order_release);
	}
	p->retains++;
	return CUDA_SUCCESS;
}

CUresult client_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct context *p;
	CUresult r = primary_find(dev, &p);

	if (r != CUDA_SUCCESS)
		return r;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	r = retain_locked(p);
	pthread_mutex_unlock(&lock);
	if (r == CUDA_SUCCESS)
		*pctx = (CUcontext)(uintptr_t)p->handle;
	return r;
}

/* Everything that lives in it goes, here and there. */
static CUresult primary_close_locked(struct context *p, enum cuda_call call)
{
	CUresult r = primary_call(call, p->device, 0, NULL);

	p->retains = 0;
	atomic_store_explicit(&p->active, false, memory_order_release);
	textures_drop_context(p->handle);
	unified_drop_context(p->handle);
	ranges_drop_context(p->handle, pinned_gone);
	handles_renew(&p->session->handles, p->handle, 0);
	return r;
}

CUresult client_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct context *p;
	CUresult r = primary_find(dev, &p);

	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&lock);
	if (!p->retains)
		r = CUDA_ERROR_INVALID_CONTEXT;
	else if (p->retains > 1)
		p->retains--;
	else
		r = primary_close_locked(p, CUDA_CALL_cuDevicePrimaryCtxRelease_v2);
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult client_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return client_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult client_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct context *p;
	CUresult r = primary_find(dev, &p);

	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&lock);
	if (p->active)
		r = primary_close_locked(p, CUDA_CALL_cuDevicePrimaryCtxReset_v2);
	p->flags = 0;
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult client_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return client_cuDevicePrimaryCtxReset_v2(dev);
}

bool context_flags_good(unsigned int flags)
{
	unsigned int sched = flags & CU_CTX_SCHED_MASK;

	return !(flags & ~(unsigned int)CU_CTX_FLAGS_MASK) &&
	       (sched <= CU_CTX_SCHED_YIELD || sched == CU_CTX_SCHED_BLOCKING_SYNC);
}

/* How a thread of this process waits is not the worker's business: flags stay here. */
CUresult client_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct context *p;
	CUresult r = primary_find(dev, &p);

	if (r != CUDA_SUCCESS)
		return r;
	if (!context_flags_good(flags))
		return CUDA_ERROR_INVALID_VALUE;
	p->flags = flags;
	return CUDA_SUCCESS;
}

CUresult client_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return client_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult client_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct context *p;
	CUresult r = primary_find(dev, &p);

	if (r != CUDA_SUCCESS)
		return r;
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = p->flags;
	*active = p->active;
	return CUDA_SUCCESS;
}

/* ---- created contexts ---- */

static CUresult context_create(CUcontext *ret, unsigned int flags, CUdevice dev, unsigned int api_version)
{
	struct context *context = NULL;
	struct client_call c;
	int32_t local;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuCtxCreate_v2);
	local = client_use_device(&c, dev);
	if (c.result == CUDA_SUCCESS && (!ret || !context_flags_good(flags)))
		c.result = CUDA_ERROR_INVALID_VALUE;
	if (c.result == CUDA_SUCCESS && c.thread->depth == THREAD_CONTEXTS)
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (c.result == CUDA_SUCCESS && !(context = context_make(c.session, dev, &id)))
		c.result = CUDA_ERROR_OUT_OF_MEMORY;
	if (context) {
		made[dev]++;
		c.made = context->handle;
	}
	if (client_begin(&c, true)) {
		remote_put(&c.out, &local, sizeof local);
		remote_put(&c.out, &id, sizeof id);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS) {
		context->flags = flags;
		context->api_version = api_version;
		push(c.thread, context->handle);
		*ret = (CUcontext)(uintptr_t)context->handle;
	} else if (context) {
		context_end(context);
	}
	return client_end(&c);
}

CUresult client_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return context_create(pctx, flags, dev, 3010);
}

CUresult client_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return context_create(pctx, flags, dev, 3020);
}

CUresult client_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
			       CUdevice dev)
{
	if (numParams < 0 || (numParams && !paramsArray))
		return CUDA_ERROR_INVALID_VALUE;
	return numParams ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : context_create(pctx, flags, dev, 3020);
}

CUresult client_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return params ? client_cuCtxCreate_v3(pctx, params->execAffinityParams, params->numExecAffinityParams, flags,
					      dev)
		      : context_create(pctx, flags, dev, 3020);
}

CUresult client_cuCtxDestroy_v2(CUcontext ctx)
{
	struct context *context = context_of(ctx);
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuCtxDestroy_v2);
	if (c.result == CUDA_SUCCESS && (!context || context->primary))
		c.result = CUDA_ERROR_INVALID_CONTEXT;
	id = client_use(&c, KIND_CONTEXT, ctx);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof id);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS) {
		if (c.thread->depth && c.thread->contexts[c.thread->depth - 1] == context->handle)
			c.thread->depth--;
		context_end(context);
	}
	return client_end(&c);
}

CUresult client_cuCtxDestroy(CUcontext ctx)
{
	return client_cuCtxDestroy_v2(ctx);
}

CUresult client_cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	if (!pctx || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)(uintptr_t)c->handle;
	return CUDA_SUCCESS;
}

CUresult client_cuCtxDetach(CUcontext ctx)
{
	struct context *c;
	CUresult r = context_find(NULL, &c);

	if (r != CUDA_SUCCESS)
		return r;
	return c->handle == (uint64_t)(uintptr_t)ctx && !c->primary ? client_cuCtxDestroy_v2(ctx)
								    : CUDA_ERROR_INVALID_CONTEXT;
}
