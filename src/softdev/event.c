/* event.c: see event.h. */
#include "softdev/event.h"

#include "softdev/graph.h"
#include "softdev/mempool.h"

#define FLAGS_KNOWN (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

CUresult event_find(CUevent h, struct event **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_EVENT, h);
	return *ret ? (CUresult)(*ret)->context->sticky : CUDA_ERROR_INVALID_HANDLE;
}

void event_recorded_locked(struct event *e, struct point p, struct work *w)
{
	e->point = p;
	w->record.event_generation = e->head.generation;
	w->record.version = ++e->version;
	if (e->shared) {
		w->record.shared = shared_event_ref(e->shared);
		w->record.shared_version = shared_event_record(e->shared).version;
		e->shared_version = w->record.shared_version;
	}
}

void event_reached_locked(struct event *e, uint64_t generation, uint64_t version, uint64_t at_ns)
{
	if (e->head.generation == generation && version > e->time_version) {
		e->time_ns = at_ns;
		e->time_version = version;
	}
}

void event_reached(struct event *e, uint64_t generation, uint64_t version, uint64_t at_ns)
{
	pthread_mutex_lock(&stream_mutex);
	event_reached_locked(e, generation, version, at_ns);
	pthread_mutex_unlock(&stream_mutex);
}

/* It is retired. */
static void event_end(void *object)
{
	struct event *e = object;

	pthread_mutex_lock(&stream_mutex);
	e->head.generation++; /* records on their way find another generation */
	pthread_mutex_unlock(&stream_mutex);
	shared_event_unref(e->shared);
	handle_free(e);
}

void event_free_all(struct context *c)
{
	handle_end_all(HANDLE_EVENT, c, event_end);
}

CUresult event_new(struct context *c, unsigned flags, struct shared_event *shared, struct event **ret)
{
	struct event *e = handle_new_of(HANDLE_EVENT, c);

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->context = c;
	e->flags = flags;
	e->shared = shared;
	*ret = e;
	return CUDA_SUCCESS;
}

CUresult soft_cuEventCreate(CUevent *ret, unsigned flags)
{
	struct shared_event *shared = NULL;
	struct context *c;
	struct event *ev;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret || flags & ~(unsigned)FLAGS_KNOWN)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		e = shared_event_new(c->device, &shared);
	if (!e)
		e = event_new(c, flags, shared, &ev);
	if (e)
		shared_event_unref(shared);
	else
		*ret = (CUevent)ev;
	return e;
}

CUresult soft_cuEventDestroy_v2(CUevent h)
{
	struct event *ev;
	CUresult e = driver_ready();

	if (e)
		return e;
	ev = handle_find(HANDLE_EVENT, h);
	if (!ev)
		return CUDA_ERROR_INVALID_HANDLE;
	if (handle_retire(ev))
		event_end(ev);
	return CUDA_SUCCESS;
}

CUresult soft_cuEventDestroy(CUevent h)
{
	return soft_cuEventDestroy_v2(h);
}

CUresult soft_cuEventRecordWithFlags(CUevent h, CUstream stream, unsigned flags)
{
	struct work w = { .kind = WORK_RECORD };
	struct event *ev;
	struct stream *s;
	CUresult e = stream_find(stream, &s);

	if (!e)
		e = event_find(h, &ev);
	if (e)
		return e;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	if (ev->context != s->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_of(s))
		return capture_record(s, ev, flags);
	if (flags)
		return CUDA_ERROR_ILLEGAL_STATE;
	w.record.event = ev;
	e = stream_submit(s, &w, false);
	if (!e)
		capture_event_recorded(ev);
	return e;
}

CUresult soft_cuEventRecord(CUevent h, CUstream stream)
{
	return soft_cuEventRecordWithFlags(h, stream, 0);
}

CUresult soft_cuEventQuery(CUevent h)
{
	struct event *ev;
	bool reached;
	CUresult e = event_find(h, &ev);

	if (e)
		return e;
	if (event_captured(ev))
		return capture_event_forbidden(ev);
	e = capture_unsafe();
	if (e)
		return e;
	pthread_mutex_lock(&stream_mutex);
	reached = ev->shared ? shared_record_reached(ev->shared, shared_event_latest(ev->shared))
			     : point_settled_locked(&ev->point);
	pthread_mutex_unlock(&stream_mutex);
	return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

bool event_foreign(const struct event *e, struct shared_record *ret)
{
	if (!e->shared)
		return false;
	*ret = shared_event_latest(e->shared);
	return ret->version && !(shared_record_own(*ret) && ret->version == e->shared_version);
}

CUresult soft_cuEventSynchronize(CUevent h)
{
	struct shared_record record;
	struct event *ev;
	struct point p;
	CUresult e = event_find(h, &ev);

	if (e)
		return e;
	if (event_captured(ev))
		return capture_event_forbidden(ev);
	e = capture_unsafe();
	if (e)
		return e;
	pthread_mutex_lock(&stream_mutex);
	p = ev->point;
	pthread_mutex_unlock(&stream_mutex);
	if (event_foreign(ev, &record))
		shared_record_wait(ev->shared, record, &ev->context->sticky);
	else
		point_wait(&p);
	mempool_synchronised(ev->context->device);
	return (CUresult)ev->context->sticky;
}

CUresult soft_cuEventElapsedTime_v2(float *ret, CUevent begin, CUevent end)
{
	struct event *a, *b;
	CUresult e = event_find(begin, &a);

	if (!e)
		e = event_find(end, &b);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if ((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event_captured(a) || event_captured(b))
		return capture_event_forbidden(event_captured(a) ? a : b);
	pthread_mutex_lock(&stream_mutex);
	if (!a->version || !b->version)
		e = CUDA_ERROR_INVALID_HANDLE;
	else if (!point_settled_locked(&a->point) || !point_settled_locked(&b->point))
		e = CUDA_ERROR_NOT_READY;
	else
		*ret = (float)((double)(int64_t)(b->time_ns - a->time_ns) / 1e6);
	pthread_mutex_unlock(&stream_mutex);
	return e;
}

CUresult soft_cuEventElapsedTime(float *ret, CUevent begin, CUevent end)
{
	return soft_cuEventElapsedTime_v2(ret, begin, end);
}

CUresult soft_cuCtxRecordEvent(CUcontext h, CUevent event)
{
	struct work w = { .kind = WORK_RECORD };
	struct context *c;
	struct event *ev;
	CUresult e = context_find(h, &c);

	if (!e)
		e = event_find(event, &ev);
	if (e)
		return e;
	if (ev->context != c)
		return CUDA_ERROR_INVALID_HANDLE;
	w.record.event = ev;
	return stream_submit(c->legacy, &w, false);
}

/* All streams of the context wait; new work in any of them comes after. */
CUresult soft_cuCtxWaitEvent(CUcontext h, CUevent event)
{
	struct work w = { .kind = WORK_WAIT };
	struct shared_record record;
	struct context *c;
	struct event *ev;
	struct point p;
	CUresult e = context_find(h, &c);

	if (!e)
		e = event_find(event, &ev);
	if (e)
		return e;
	if (event_foreign(ev, &record)) {
		p = (struct point){ 0 };
		w = (struct work){ .kind = WORK_AWAIT, .await = { ev->shared, record } };
		return stream_submit_all(c, &w, &p);
	}
	pthread_mutex_lock(&stream_mutex);
	p = ev->point;
	pthread_mutex_unlock(&stream_mutex);
	return stream_submit_all(c, &w, &p);
}
