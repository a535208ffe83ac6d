/*
 * contexts.c: see contexts.h.
 *
 * The client keeps the stacks of its threads; a request names its context, and the executing thread makes that current
 * when it is another one than that of its last request. The driver's stack of a thread never has more than one entry.
 *
 * A per-thread default stream synchronises with the legacy stream, as a plain (blocking) stream does, and ends with its
 * context.
 */
#include "remote/worker/contexts.h"

#include "remote/worker/uses.h"

#include <stdlib.h>

#define STACK_MOST 64u
#define PRIMARY_LOCKS 64u

struct thread_stream {
	struct thread_stream *next;
	uint32_t thread;
	uint64_t context;
	CUstream stream;
};

/* What this thread has made current. */
static _Thread_local struct {
	const struct worker *worker;
	uint64_t epoch, context;
} now;

void contexts_init(struct contexts *contexts)
{
	*contexts = (struct contexts){ .lock = PTHREAD_MUTEX_INITIALIZER, .epoch = 1 };
}

void contexts_deinit(struct contexts *contexts)
{
	for (unsigned int i = 0; i < 256; i++)
		for (struct thread_stream *s = contexts->stream[i], *next; s; s = next) {
			next = s->next;
			free(s);
		}
	contexts_init(contexts);
	now.worker = NULL;
}

static bool no_context(struct work *work)
{
	work->result = CUDA_ERROR_INVALID_CONTEXT;
	return false;
}

bool contexts_enter(struct work *work)
{
	struct worker *worker = work->worker;
	uint64_t epoch = atomic_load_explicit(&worker->contexts.epoch, memory_order_acquire), id = work->head.context;
	struct id_entry *e = NULL;
	CUcontext context;
	CUresult r;

	if (now.worker == worker && now.epoch == epoch && now.context == id)
		return true;
	now.worker = NULL;
	if (id && !(e = ids_find(&worker->ids, KIND_CONTEXT, id)))
		return no_context(work);
	context = e ? atomic_load_explicit(&e->handle, memory_order_relaxed) : NULL;
	r = work->driver->cuCtxSetCurrent(context);
	if (r != CUDA_SUCCESS) {
		work->result = r;
		return false;
	}
	now.worker = worker;
	now.epoch = epoch;
	now.context = id;
	return true;
}

bool contexts_disturbs(uint16_t call)
{
	return (call >= CUDA_CALL_cuDevicePrimaryCtxRetain && call <= CUDA_CALL_cuCtxGetCurrent) ||
	       call == CUDA_CALL_cuCtxAttach || call == CUDA_CALL_cuCtxDetach || call == CUDA_CALL_cuGreenCtxCreate;
}

void contexts_settle(struct work *work)
{
	CUcontext context = NULL;

	now.worker = NULL;
	for (unsigned int i = 0; i < STACK_MOST; i++)
		if (work->driver->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
		    work->driver->cuCtxPopCurrent_v2(&context) != CUDA_SUCCESS)
			break;
}

static unsigned int place_of(uint32_t thread, uint64_t context)
{
	return (unsigned int)((thread * UINT64_C(0x9e3779b97f4a7c15) + context * 31) >> 7) % 256u;
}

static CUstream find_locked(struct contexts *contexts, uint32_t thread, uint64_t context)
{
	struct thread_stream *s = contexts->stream[place_of(thread, context)];

	while (s && (s->thread != thread || s->context != context))
		s = s->next;
	return s ? s->stream : NULL;
}

static CUresult make_locked(struct contexts *contexts, struct work *work, CUstream *ret)
{
	unsigned int at = place_of(work->head.thread, work->head.context);
	struct thread_stream *s;
	CUresult r;

	if (contexts->streams >= THREAD_STREAMS_MOST || !(s = calloc(1, sizeof(*s))))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r = work->driver->cuStreamCreate(&s->stream, CU_STREAM_DEFAULT);
	if (r != CUDA_SUCCESS) {
		free(s);
		return r;
	}
	s->thread = work->head.thread;
	s->context = work->head.context;
	s->next = contexts->stream[at];
	contexts->stream[at] = s;
	contexts->streams++;
	*ret = s->stream;
	return CUDA_SUCCESS;
}

CUstream contexts_thread_stream(struct work *work)
{
	struct contexts *contexts = &work->worker->contexts;
	CUstream stream;
	CUresult r = CUDA_SUCCESS;

	if (!work->head.context) {
		work->result = CUDA_ERROR_INVALID_CONTEXT;
		return NULL;
	}
	pthread_mutex_lock(&contexts->lock);
	stream = find_locked(contexts, work->head.thread, work->head.context);
	if (!stream)
		r = make_locked(contexts, work, &stream);
	pthread_mutex_unlock(&contexts->lock);
	if (r != CUDA_SUCCESS)
		work->result = r;
	return stream;
}

void contexts_changed(struct contexts *contexts)
{
	atomic_fetch_add(&contexts->epoch, 1);
}

static pthread_mutex_t primary_lock[PRIMARY_LOCKS] = { [0 ... PRIMARY_LOCKS - 1] = PTHREAD_MUTEX_INITIALIZER };

static pthread_mutex_t *lock_of(int32_t device)
{
	return &primary_lock[(uint32_t)device % PRIMARY_LOCKS];
}

void contexts_primary_lock(struct work *work, int32_t device)
{
	if (!pthread_mutex_trylock(lock_of(device)))
		return;
	worker_yield(work);
	/* Who holds the lock may be waiting for whoever uses this request's context. */
	uses_leave(work);
	pthread_mutex_lock(lock_of(device));
}

void contexts_primary_unlock(int32_t device)
{
	pthread_mutex_unlock(lock_of(device));
}

void contexts_gone(struct contexts *contexts, uint64_t id)
{
	contexts_changed(contexts);
	pthread_mutex_lock(&contexts->lock);
	for (unsigned int i = 0; i < 256; i++)
		for (struct thread_stream **at = &contexts->stream[i], *s; (s = *at);) {
			if (s->context != id) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			free(s);
			contexts->streams--;
		}
	pthread_mutex_unlock(&contexts->lock);
}

CUresult contexts_borrow(const struct cuda_table *driver, CUcontext context)
{
	now.worker = NULL;
	return driver->cuCtxSetCurrent(context);
}
