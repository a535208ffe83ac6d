/* stream_calls.c: the calls on streams. */
#include "softdev/event.h"
#include "softdev/graph.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>

static int priority_near(int priority)
{
	return priority > 0 ? 0 : priority < STREAM_PRIORITY_GREATEST ? STREAM_PRIORITY_GREATEST : priority;
}

CUresult soft_cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
	struct context *c;
	struct stream *s;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	s = stream_new(c, flags, priority_near(priority));
	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamCreate(CUstream *ret, unsigned flags)
{
	return soft_cuStreamCreateWithPriority(ret, flags, 0);
}

CUresult soft_cuStreamDestroy_v2(CUstream h)
{
	CUresult e = driver_ready();
	struct stream *s;

	if (e)
		return e;
	s = handle_find(HANDLE_STREAM, h);
	if (!s || s->legacy || s->per_thread)
		return CUDA_ERROR_INVALID_HANDLE;
	capture_abandon(s);
	stream_retire(s);
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamDestroy(CUstream h)
{
	return soft_cuStreamDestroy_v2(h);
}

CUresult soft_cuStreamQuery(CUstream h)
{
	struct stream *s;
	struct point p;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (capture_of(s))
		return capture_forbidden(s);
	e = capture_clash(s, false);
	if (e)
		return e;
	p = stream_point(s);
	if (!point_reached(&p))
		return CUDA_ERROR_NOT_READY;
	return (CUresult)s->context->sticky;
}

CUresult soft_cuStreamSynchronize(CUstream h)
{
	struct stream *s;
	struct point p;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (capture_of(s))
		return capture_forbidden(s);
	e = capture_clash(s, false);
	if (e)
		return e;
	p = stream_point(s);
	point_wait(&p);
	mempool_synchronised(s->context->device);
	return (CUresult)s->context->sticky;
}

CUresult soft_cuStreamWaitEvent(CUstream h, CUevent event, unsigned flags)
{
	struct work w = { .kind = WORK_WAIT };
	struct shared_record record;
	struct point p;
	struct event *ev;
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (!e)
		e = event_find(event, &ev);
	if (e)
		return e;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s) || event_captured(ev))
		return capture_wait(s, ev, flags);
	e = capture_clash(s, false);
	if (e)
		return e;
	if (event_foreign(ev, &record)) {
		if (shared_record_reached(ev->shared, record))
			return CUDA_SUCCESS;
		w = (struct work){ .kind = WORK_AWAIT, .await = { shared_event_ref(ev->shared), record } };
		return stream_submit(s, &w, false);
	}
	pthread_mutex_lock(&stream_mutex);
	p = ev->point;
	pthread_mutex_unlock(&stream_mutex);
	if (point_reached(&p))
		return CUDA_SUCCESS;
	return stream_submit_after(s, &w, &p, 1);
}

CUresult soft_cuStreamAddCallback(CUstream h, CUstreamCallback f, void *data, unsigned flags)
{
	struct work w = { .kind = WORK_CALLBACK, .callback = { f, h, data } };
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!f || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s))
		return capture_forbidden(s);
	return stream_submit(s, &w, false);
}

CUresult soft_cuLaunchHostFunc(CUstream h, CUhostFn f, void *data)
{
	struct work w = { .kind = WORK_HOST, .host = { f, data } };
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	return f ? stream_submit(s, &w, false) : CUDA_ERROR_INVALID_VALUE;
}

/* Whether the thread that calls the function sleeps or spins before it is not for the program to see here. */
CUresult soft_cuLaunchHostFunc_v2(CUstream h, CUhostFn f, void *data, unsigned mode)
{
	return mode > CU_HOST_TASK_SPINWAIT ? CUDA_ERROR_INVALID_VALUE : soft_cuLaunchHostFunc(h, f, data);
}

CUresult soft_cuStreamGetPriority(CUstream h, int *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->priority;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetFlags(CUstream h, unsigned *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->flags;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetId(CUstream h, unsigned long long *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->id;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCtx(CUstream h, CUcontext *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUcontext)s->context;
	return CUDA_SUCCESS;
}

CUresult soft_cuStreamGetCtx_v2(CUstream h, CUcontext *ret, CUgreenCtx *ret_green)
{
	CUresult e = soft_cuStreamGetCtx(h, ret);

	if (!e && ret_green)
		*ret_green = NULL;
	return e;
}

CUresult soft_cuStreamGetDevice(CUstream h, CUdevice *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = s->context->device->ordinal;
	return CUDA_SUCCESS;
}

/* ---- attributes: kept for the program; only the priority and the way of waiting mean something here ---- */

CUresult soft_cuStreamGetAttribute(CUstream h, CUstreamAttrID attribute, CUstreamAttrValue *ret)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		ret->syncPolicy = s->sync_policy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		ret->priority = s->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		ret->accessPolicyWindow = s->window;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		ret->memSyncDomain = s->domain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		ret->memSyncDomainMap = s->domain_map;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static bool property_good(CUaccessProperty p)
{
	return (int)p >= CU_ACCESS_PROPERTY_NORMAL && (int)p <= CU_ACCESS_PROPERTY_PERSISTING;
}

static bool window_good(const CUaccessPolicyWindow *w)
{
	return w->hitRatio >= 0 && w->hitRatio <= 1 && property_good(w->hitProp) && property_good(w->missProp) &&
	       w->missProp != CU_ACCESS_PROPERTY_PERSISTING;
}

CUresult soft_cuStreamSetAttribute(CUstream h, CUstreamAttrID attribute, const CUstreamAttrValue *value)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
			return CUDA_ERROR_INVALID_VALUE;
		s->sync_policy = value->syncPolicy;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		s->priority = priority_near(value->priority);
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		if (!window_good(&value->accessPolicyWindow))
			return CUDA_ERROR_INVALID_VALUE;
		s->window = value->accessPolicyWindow;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		if ((unsigned)value->memSyncDomain > CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
			return CUDA_ERROR_INVALID_VALUE;
		s->domain = value->memSyncDomain;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		if (value->memSyncDomainMap.default_ || value->memSyncDomainMap.remote)
			return CUDA_ERROR_INVALID_VALUE; /* there is one domain, 0 */
		s->domain_map = value->memSyncDomainMap;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuStreamCopyAttributes(CUstream to, CUstream from)
{
	struct stream *s, *t;
	CUresult e = stream_find(to, &t);

	if (!e)
		e = stream_find(from, &s);
	if (e)
		return e;
	if (s->context != t->context)
		return CUDA_ERROR_INVALID_VALUE;
	t->sync_policy = s->sync_policy;
	t->window = s->window;
	t->domain = s->domain;
	t->domain_map = s->domain_map;
	return CUDA_SUCCESS;
}
