/*
 * payload.c: see payload.h and worker.h.
 *
 * What is waited for is an event behind the work, one per thing to tell. Of each stream the oldest is asked for, again
 * and again with naps in between: whoever slept on one event would leave the other streams' staging unreturned.
 */
#include "remote/worker/payload.h"

#include "remote/worker/contexts.h"
#include "remote/worker/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define NAP_LEAST_NS 5000
#define NAP_MOST_NS 200000
#define NAP_ANSWER_NS 20000 /* while somebody waits for an answer */

enum pending_kind { PENDING_RETIRE, PENDING_ANSWER, PENDING_MIRROR };

struct pending {
	struct pending *next;
	enum pending_kind kind;
	CUevent event;
	CUstream stream;
	CUcontext context;
	uint64_t serial;
	struct call_reply head;
	struct call_payload payload;
	size_t bytes;
	uint8_t body[]; /* of the reply */
};

static struct {
	pthread_mutex_t lock; /* guards all */
	pthread_cond_t more;
	struct worker *worker;
	struct pending *first, **last;
	bool started, telling;
	pthread_cond_t told;
	unsigned int mirrors;	  /* in the list, or taken out and not yet told */
	uint64_t wanted, settled; /* payload_settle(): asked for, done */
	pthread_cond_t settled_more;
	uint64_t registered; /* id of the context in which the arena is registered */
	uint64_t left;	     /* contexts that have ended, and 1: the next one may have the handle of one of them */
} later = { .lock = PTHREAD_MUTEX_INITIALIZER,
	    .more = PTHREAD_COND_INITIALIZER,
	    .last = &later.first,
	    .left = 1,
	    .told = PTHREAD_COND_INITIALIZER,
	    .settled_more = PTHREAD_COND_INITIALIZER };

/* ---- telling ---- */

static void tell(struct worker *worker, struct pending *p)
{
	struct call_reply mirror = { .call = CALL_NOTICE_MIRROR };

	switch (p->kind) {
	case PENDING_RETIRE:
		worker_notice(worker, CALL_NOTICE_RETIRED, &p->serial, sizeof(p->serial));
		break;
	case PENDING_ANSWER:
		worker_reply(worker, &p->head, p->payload.bytes ? &p->payload : NULL, p->body, p->bytes);
		break;
	case PENDING_MIRROR:
		worker_reply(worker, &mirror, &p->payload, NULL, 0);
		break;
	}
}

static void borrow_locked(const struct cuda_table *driver, CUcontext context)
{
	static _Thread_local uint64_t seen;
	CUcontext now = NULL;

	if (seen != later.left || driver->cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != context)
		contexts_borrow(driver, context);
	seen = later.left;
}

/* Whether the device has come there. An event that is gone went with its context, which had waited for its work. */
static bool reached(const struct cuda_table *driver, struct pending *p)
{
	CUresult r = driver->cuEventQuery(p->event);

	if (r == CUDA_ERROR_NOT_READY)
		return false;
	if (r != CUDA_SUCCESS && p->kind == PENDING_ANSWER && p->head.result == CUDA_SUCCESS)
		p->head.result = (int32_t)r;
	return true;
}

static void end(const struct cuda_table *driver, struct pending *p)
{
	driver->cuEventDestroy_v2(p->event);
	free(p);
}

/* ---- the thread ---- */

static bool older_locked(const struct pending *p)
{
	for (const struct pending *o = later.first; o != p; o = o->next)
		if (o->stream == p->stream && o->context == p->context)
			return true;
	return false;
}

static struct pending *unlist_locked(struct pending **at)
{
	struct pending *p = *at;

	*at = p->next;
	if (later.last == &p->next)
		later.last = at;
	return p;
}

/* Takes out the first whose event is reached. */
static struct pending *ready_locked(const struct cuda_table *driver, enum pending_kind *only)
{
	for (struct pending **at = &later.first; *at; at = &(*at)->next) {
		if ((only && (*at)->kind != *only) || (!only && older_locked(*at)))
			continue;
		if (!only)
			borrow_locked(driver, (*at)->context);
		if (reached(driver, *at))
			return unlist_locked(at);
	}
	return NULL;
}

static void settled_locked(uint64_t wanted)
{
	if (later.settled == wanted)
		return;
	later.settled = wanted;
	pthread_cond_broadcast(&later.settled_more);
}

static void tell_mirror_locked(const struct cuda_table *driver, struct pending *p)
{
	tell(later.worker, p);
	end(driver, p);
	if (!--later.mirrors)
		settled_locked(later.wanted);
	pthread_cond_broadcast(&later.told);
}

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static bool answers_locked(void)
{
	for (const struct pending *p = later.first; p; p = p->next)
		if (p->kind == PENDING_ANSWER)
			return true;
	return false;
}

static void *later_run(void *arg)
{
	const struct cuda_table *driver = worker_driver(arg);
	uint64_t nap_ns = NAP_LEAST_NS, wanted, most;

	/* Else each nap is longer by 50 us, which a program that waits for a copy would see. */
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&later.lock);
	for (;;) {
		struct worker *worker;
		struct pending *p;

		while (!later.first)
			pthread_cond_wait(&later.more, &later.lock);
		worker = later.worker;
		wanted = later.wanted;
		p = ready_locked(driver, NULL);
		most = answers_locked() ? NAP_ANSWER_NS : NAP_MOST_NS;
		if (p && p->kind == PENDING_MIRROR) {
			/* With the lock: whoever finds it told already is to find it sent. */
			tell_mirror_locked(driver, p);
			continue;
		}
		if (!p)
			settled_locked(wanted);
		later.telling = p;
		pthread_mutex_unlock(&later.lock);
		if (p) {
			tell(worker, p);
			end(driver, p);
			nap_ns = NAP_LEAST_NS;
		} else {
			nap(nap_ns);
			nap_ns = nap_ns * 2 > most ? most : nap_ns * 2;
		}
		pthread_mutex_lock(&later.lock);
		later.telling = false;
		pthread_cond_broadcast(&later.told);
	}
	return NULL;
}

void payload_end(void)
{
	pthread_mutex_lock(&later.lock);
	while (later.first)
		free(unlist_locked(&later.first));
	while (later.telling)
		pthread_cond_wait(&later.told, &later.lock);
	later.mirrors = 0;
	later.settled = later.wanted;
	pthread_cond_broadcast(&later.settled_more);
	later.registered = 0;
	pthread_mutex_unlock(&later.lock);
}

static bool awaits_locked(CUcontext context)
{
	const struct pending *p = later.first;

	while (p && p->context != context)
		p = p->next;
	return p || later.telling;
}

void payload_leave(CUcontext context)
{
	pthread_mutex_lock(&later.lock);
	while (awaits_locked(context))
		pthread_cond_wait(&later.told, &later.lock);
	later.left++;
	pthread_mutex_unlock(&later.lock);
}

static bool start_locked(struct work *work)
{
	pthread_t thread;

	later.worker = work->worker;
	if (later.started)
		return true;
	if (pthread_create(&thread, NULL, later_run, work->worker))
		return false;
	pthread_detach(thread);
	later.started = true;
	return true;
}

/* ---- adding ---- */

static CUcontext context_here(struct work *work)
{
	CUcontext context = NULL;

	return work->driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

/* Behind what is in the stream now. Takes `p` over. */
static CUresult add(struct work *work, CUstream stream, struct pending *p)
{
	CUresult r;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->next = NULL;
	p->stream = stream;
	p->context = context_here(work);
	r = work->driver->cuEventCreate(&p->event, CU_EVENT_DISABLE_TIMING);
	if (r != CUDA_SUCCESS) {
		free(p);
		return r;
	}
	r = work->driver->cuEventRecord(p->event, stream);
	if (r != CUDA_SUCCESS) {
		end(work->driver, p);
		return r;
	}
	pthread_mutex_lock(&later.lock);
	if (!start_locked(work))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS) {
		later.mirrors += p->kind == PENDING_MIRROR;
		*later.last = p;
		later.last = &p->next;
		pthread_cond_signal(&later.more);
	}
	pthread_mutex_unlock(&later.lock);
	if (r != CUDA_SUCCESS)
		end(work->driver, p);
	return r;
}

static struct pending *pending_new(enum pending_kind kind, size_t bytes)
{
	struct pending *p = calloc(1, sizeof(*p) + bytes);

	if (p)
		p->kind = kind;
	return p;
}

/* If nothing can be put behind the work, it is waited for: staging must come back in any case. */
CUresult worker_retire_after(struct work *work, CUstream stream, uint64_t serial)
{
	struct pending *p = pending_new(PENDING_RETIRE, 0);
	CUresult r;

	if (p)
		p->serial = serial;
	r = add(work, stream, p);
	if (r != CUDA_SUCCESS) {
		work->driver->cuStreamSynchronize(stream);
		worker_notice(work->worker, CALL_NOTICE_RETIRED, &serial, sizeof(serial));
	}
	return r;
}

CUresult worker_answer_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes)
{
	struct pending *p = pending_new(PENDING_ANSWER, work->out.used);
	CUresult r;

	if (p) {
		p->head = worker_reply_head(work);
		p->payload = (struct call_payload){ .offset = offset, .bytes = bytes };
		p->bytes = work->out.used;
		memcpy(p->body, work->out.data, work->out.used);
	}
	r = add(work, stream, p);
	work->answered = r == CUDA_SUCCESS;
	return r;
}

CUresult worker_mirror_after(struct work *work, CUstream stream, uint64_t offset, uint64_t bytes)
{
	struct pending *p;

	if (worker_coherent(work->worker))
		return CUDA_SUCCESS;
	p = pending_new(PENDING_MIRROR, 0);
	if (p)
		p->payload = (struct call_payload){ .offset = offset, .bytes = bytes };
	return add(work, stream, p);
}

void payload_flush(struct work *work)
{
	enum pending_kind mirrors = PENDING_MIRROR;
	struct pending *p;

	if (worker_coherent(work->worker))
		return;
	pthread_mutex_lock(&later.lock);
	while (later.mirrors && (p = ready_locked(work->driver, &mirrors)))
		tell_mirror_locked(work->driver, p);
	pthread_mutex_unlock(&later.lock);
}

void payload_settle(struct worker *worker)
{
	uint64_t wanted;

	if (worker_coherent(worker))
		return;
	pthread_mutex_lock(&later.lock);
	wanted = later.mirrors ? ++later.wanted : later.settled;
	while (later.settled < wanted)
		pthread_cond_wait(&later.settled_more, &later.lock);
	pthread_mutex_unlock(&later.lock);
}

/* ---- payloads of requests ---- */

static const uint64_t *arrived_word(struct worker *worker)
{
	return wall_arena(worker->wall, WALL_BOARD_ARRIVED, sizeof(uint64_t));
}

static bool has_come(struct worker *worker, uint64_t serial)
{
	/* Acquire: pairs with the relay's release, behind the bytes. */
	return worker_coherent(worker) || __atomic_load_n(arrived_word(worker), __ATOMIC_ACQUIRE) >= serial;
}

static bool arrived(struct work *work)
{
	return !work->payload.bytes || has_come(work->worker, work->payload.serial);
}

/* Whether there is still somebody who could send it. */
static bool client_there(struct worker *worker)
{
	return !atomic_load_explicit(&worker->inbox.ended, memory_order_relaxed) &&
	       worker->wall->bell.bell.alive(&worker->wall->bell.bell);
}

void payload_arrive(struct worker *worker, uint64_t serial)
{
	while (!has_come(worker, serial) && client_there(worker))
		nap(NAP_LEAST_NS);
}

CUresult worker_payload_before(struct work *work, CUstream stream)
{
	if (arrived(work))
		return CUDA_SUCCESS;
	payload_register(work);
	return work->driver->cuStreamWaitValue64_v2(stream, (CUdeviceptr)(uintptr_t)arrived_word(work->worker),
						    work->payload.serial, CU_STREAM_WAIT_VALUE_GEQ);
}

bool payload_wait_here(struct work *work)
{
	if (!arrived(work))
		payload_arrive(work->worker, work->payload.serial);
	return arrived(work);
}

void worker_payload_reply(struct work *work, uint64_t offset, uint64_t bytes)
{
	work->reply_payload = (struct call_payload){ .offset = offset, .bytes = bytes };
}

/* It goes with the context in which it was done. */
bool payload_register(struct work *work)
{
	const struct wall_welcome *w = worker_welcome(work->worker);
	bool done;

	if (!work->head.context)
		return false;
	pthread_mutex_lock(&later.lock);
	done = later.registered && ids_find(&work->worker->ids, KIND_CONTEXT, later.registered);
	if (!done && work->driver->cuMemHostRegister_v2(worker_arena(work, 0, w->heap_offset), w->heap_offset,
							CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ==
			     CUDA_SUCCESS) {
		later.registered = work->head.context;
		done = true;
	}
	pthread_mutex_unlock(&later.lock);
	work->result = CUDA_SUCCESS;
	return done;
}
