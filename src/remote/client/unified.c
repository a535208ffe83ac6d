/* unified.c: see unified.h: the list of places, and when their two copies are made equal (unified_copy.c). */
#include "remote/client/unified.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/copy.h"
#include "remote/client/handles.h"
#include "remote/client/thread.h"
#include "remote/client/unified_copy.h"
#include "remote/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)

/* Held over round trips; whoever waits for the device does so only in this module's own streams. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and the bytes while they move */
static struct unified *all;
static __thread bool inside;

/* Whoever has just been told of a place by another thread sees it. */
static bool is_any(void)
{
	return __atomic_load_n(&all, __ATOMIC_RELAXED);
}

/* For all places of a session, each in its own context. False: this thread is at it already. */
static bool enter(void)
{
	if (inside)
		return false;
	pthread_mutex_lock(&lock);
	inside = true;
	return true;
}

static void leave(void)
{
	inside = false;
	pthread_mutex_unlock(&lock);
}

static bool context_enter(const struct unified *u)
{
	return client_cuCtxPushCurrent_v2((CUcontext)(uintptr_t)u->place.context) == CUDA_SUCCESS;
}

/* The stream waits for what goes out. False: it cannot. */
static bool follow(struct unified *u, CUstream stream, bool new)
{
	if (!u->gone_out && client_plain_cuEventCreate(&u->gone_out, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
		return false;
	if (new &&client_cuEventRecord(u->gone_out, u->stream) != CUDA_SUCCESS)
		return false;
	/* The stream of a thread without a name is another one in each. */
	if (!new && u->waits == stream && stream != CU_STREAM_PER_THREAD)
		return true;
	u->waits = stream;
	u->going_out = client_cuStreamWaitEvent(stream, u->gone_out, 0) == CUDA_SUCCESS;
	return u->going_out;
}

/* `stream`: what is to wait for it; NULL: this thread. A stream in capture would make it part of the graph. */
static void push_place(struct unified *u, const CUstream *stream)
{
	bool new = unified_push(u);

	if ((!new && !u->going_out) || (stream && !captures_any() && follow(u, *stream, new)))
		return;
	client_plain_cuStreamSynchronize(u->stream);
	u->going_out = false;
}

/* Whether the stream means the same in the place's context: those without a handle are of the current one. */
static bool is_here(const struct unified *u, CUstream stream)
{
	struct thread *t = thread_get();
	struct context *context;

	return handle_kind((uint64_t)(uintptr_t)stream) == KIND_STREAM ||
	       (t && context_current(t, &context) == CUDA_SUCCESS && context->handle == u->place.context);
}

static void push_all(struct session *s, const CUstream *stream)
{
	for (struct unified *u = all; u; u = u->next) {
		bool here = u->place.session == s && stream && is_here(u, *stream);
		uint8_t *there = unified_shared(u);

		if (u->place.session != s)
			continue;
		if (there)
			unified_push_shared(u, there);
		if (there || !context_enter(u))
			continue;
		push_place(u, here ? stream : NULL);
		client_cuCtxPopCurrent_v2(NULL);
	}
}

/* `t`: those that come together. */
static CUresult pull_place(struct unified *u, struct unified_together *t)
{
	u->going_out = false;
	if (u->place.bytes > UNIFIED_PIECE)
		return unified_pull(u);
	t->place[t->count++] = u;
	t->bytes += u->place.bytes;
	return t->count == UNIFIED_TOGETHER || t->bytes > UNIFIED_TOGETHER_BYTES ? unified_pull_together(t)
										 : CUDA_SUCCESS;
}

static CUresult pull_all(struct session *s)
{
	struct unified_together t = { .count = 0 };
	CUresult r = CUDA_SUCCESS, e;

	for (struct unified *u = all; u; u = u->next) {
		uint8_t *there = unified_shared(u);

		if (u->place.session != s)
			continue;
		if (there)
			unified_pull_shared(u, there);
		if (there || !context_enter(u))
			continue;
		e = pull_place(u, &t);
		r = r == CUDA_SUCCESS ? e : r;
		client_cuCtxPopCurrent_v2(NULL);
	}
	if (t.count && context_enter(t.place[0])) {
		e = unified_pull_together(&t);
		r = r == CUDA_SUCCESS ? e : r;
		client_cuCtxPopCurrent_v2(NULL);
	}
	return r;
}

/* ---- when ---- */

static struct unified_queue queue_of(CUstream stream)
{
	const uint64_t handle = stream == CU_STREAM_LEGACY ? 0 : (uint64_t)(uintptr_t)stream;
	struct thread *t = thread_get();
	struct context *context;
	struct unified_queue q = { .stream = handle, .thread = t ? t->number : 0 };

	if (handle_kind(handle) == KIND_STREAM)
		q.context = client_context(stream);
	else if (t && context_current(t, &context) == CUDA_SUCCESS)
		q.context = context->handle;
	return q;
}

static bool is_same_context(const struct unified_queue *a, const struct unified_queue *b)
{
	return a->context == b->context && a->thread == b->thread;
}

static bool is_same(const struct unified_queue *a, const struct unified_queue *b)
{
	return a->stream == b->stream && is_same_context(a, b);
}

static void begin_work(struct session *s, const struct unified_queue *q)
{
	s->unified_several |= s->unified_work && !is_same(&s->unified_last, q);
	s->unified_mixed |= s->unified_work && !is_same_context(&s->unified_last, q);
	s->unified_last = *q;
	s->unified_work = true;
}

void unified_begin(struct session *s, CUstream stream)
{
	const struct unified_queue q = queue_of(stream);
	int saved = errno;

	if (!enter())
		return;
	push_all(s, &stream);
	begin_work(s, &q);
	leave();
	errno = saved;
}

void unified_begin_unknown(struct session *s)
{
	const struct unified_queue q = queue_of(NULL);
	int saved = errno;

	if (!enter())
		return;
	push_all(s, NULL);
	begin_work(s, &q);
	s->unified_several = true;
	leave();
	errno = saved;
}

/*
 * Work of other streams goes on: it is looked at again. So is what did not come. Another thread may submit work at any
 * time: whether it has been waited for as well is not known.
 */
static void end_work(struct session *s, const struct unified_queue *q, bool whole)
{
	s->unified_work = whole ? s->unified_mixed || !is_same_context(&s->unified_last, q)
				: s->unified_several || !is_same(&s->unified_last, q);
	s->unified_several = s->unified_work;
	s->unified_mixed &= s->unified_work;
}

static CUresult end(struct session *s, const struct unified_queue *q, bool whole)
{
	CUresult r = CUDA_SUCCESS;
	int saved = errno;

	if (!enter())
		return r;
	if (s->unified_work)
		r = pull_all(s);
	if (s->unified_work && r == CUDA_SUCCESS)
		end_work(s, q, whole);
	leave();
	errno = saved;
	/* A capture refuses copies, which is no mistake of the program's: they are made at the next wait. */
	return captures_any() ? CUDA_SUCCESS : r;
}

static CUresult end_all(const struct unified_queue *q, bool whole)
{
	CUresult r = CUDA_SUCCESS, e;

	for (unsigned int i = 0; i < session_count; i++) {
		e = unified_any(sessions[i]) ? end(sessions[i], q, whole) : CUDA_SUCCESS;
		r = r == CUDA_SUCCESS ? e : r;
	}
	return r;
}

static bool any_place(void)
{
	bool any = false;

	for (unsigned int i = 0; i < session_count && !any; i++)
		any = unified_any(sessions[i]);
	return any;
}

CUresult unified_waited(CUstream stream)
{
	struct unified_queue q;

	if (!any_place())
		return CUDA_SUCCESS;
	q = queue_of(stream);
	return end_all(&q, false);
}

CUresult unified_waited_context(CUcontext context)
{
	struct unified_queue q;

	if (!any_place())
		return CUDA_SUCCESS;
	q = queue_of(NULL);
	if (context)
		q.context = (uint64_t)(uintptr_t)context;
	return end_all(&q, true);
}

CUresult unified_waited_event(struct session *s)
{
	const struct unified_queue q = { .stream = UINT64_MAX }; /* it does not say which has been waited for */

	return unified_any(s) ? end(s, &q, false) : CUDA_SUCCESS;
}

void unified_host_begin(struct session *s)
{
	if (!unified_any(s) || !enter())
		return;
	pull_all(s);
	leave();
}

void unified_host_end(struct session *s)
{
	if (!unified_any(s) || !enter())
		return;
	push_all(s, NULL);
	leave();
}

bool unified_pending(const struct session *s)
{
	bool pending;

	if (!enter())
		return false;
	pending = s->unified_work;
	leave();
	return pending;
}

/* ---- places ---- */

/* The pages are kept for this address (ranges.h) and readable by nobody until now. */
static bool open_pages(const struct unified_place *p)
{
	uint64_t begin = p->host / PAGE * PAGE, end = (p->host + p->bytes + PAGE - 1) / PAGE * PAGE;

	if (p->start == UNIFIED_FROM_HOST)
		return true; /* pinned memory, which is open */
	if (mprotect((void *)(uintptr_t)begin, end - begin, PROT_READ | PROT_WRITE))
		return false;
	memset((void *)(uintptr_t)p->host, 0, p->bytes < 2 * PAGE ? p->bytes : PAGE);
	if (p->bytes >= 2 * PAGE) {
		uint64_t inner = (p->host + PAGE - 1) / PAGE * PAGE, rest = end - PAGE;

		memset((void *)(uintptr_t)rest, 0, p->host + p->bytes - rest);
		if (rest > inner)
			madvise((void *)(uintptr_t)inner, rest - inner, MADV_DONTNEED);
	}
	return true;
}

static void unified_free(struct unified *u)
{
	munmap(u->known, u->place.bytes);
	advice_free(u->advice);
	free(u);
}

static bool has_locked(uint64_t host)
{
	bool found = false;

	for (struct unified *u = all; u && !found; u = u->next)
		found = u->place.host == host;
	return found;
}

/* Its context is current: its stream is not to end with another one. `u` is owned. */
static CUresult add_here(struct unified *u)
{
	const struct unified_place *place = &u->place;
	const uint8_t *there = unified_shared(u);
	CUresult r = CUDA_SUCCESS;

	if (!there)
		r = client_plain_cuStreamCreate(&u->stream, CU_STREAM_NON_BLOCKING);
	if (r == CUDA_SUCCESS && place->start == UNIFIED_ZERO)
		r = client_cuMemsetD8Async(place->device, 0, place->bytes, u->stream);
	if (r != CUDA_SUCCESS) {
		unified_free(u);
		return r;
	}
	pthread_mutex_lock(&lock);
	if (place->start == UNIFIED_FROM_HOST && has_locked(place->host)) { /* another thread was as quick */
		pthread_mutex_unlock(&lock);
		if (u->stream)
			client_plain_cuStreamDestroy_v2(u->stream);
		unified_free(u);
		return CUDA_SUCCESS;
	}
	inside = true;
	if (there)
		memcpy(u->known, there, place->bytes);
	else if (place->start == UNIFIED_FROM_DEVICE)
		unified_pull(u);
	else if (place->start == UNIFIED_FROM_HOST)
		unified_move(u, 0, u->known, place->bytes, false);
	else
		client_plain_cuStreamSynchronize(u->stream);
	u->next = all;
	__atomic_store_n(&all, u, __ATOMIC_RELAXED);
	atomic_fetch_add_explicit(&place->session->unified, 1, memory_order_relaxed);
	leave();
	return CUDA_SUCCESS;
}

CUresult unified_add(const struct unified_place *place)
{
	struct unified *u = calloc(1, sizeof(*u));
	int saved = errno;
	CUresult r;

	if (!u)
		return CUDA_ERROR_OUT_OF_MEMORY;
	u->place = *place;
	u->known = mmap(NULL, place->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (u->known == MAP_FAILED || !open_pages(place)) {
		if (u->known != MAP_FAILED)
			munmap(u->known, place->bytes);
		free(u);
		errno = saved;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	errno = saved;
	if (!context_enter(u)) {
		unified_free(u);
		return CUDA_ERROR_INVALID_CONTEXT;
	}
	r = add_here(u);
	client_cuCtxPopCurrent_v2(NULL);
	return r;
}

static bool of_host(const struct unified *u, uint64_t host)
{
	return u->place.host == host;
}

static bool of_context(const struct unified *u, uint64_t context)
{
	return u->place.context == context;
}

static bool of_owner(const struct unified *u, uint64_t owner)
{
	return u->place.owner == owner;
}

static void drop(bool (*which)(const struct unified *u, uint64_t arg), uint64_t arg, bool stream)
{
	struct unified **at = &all, *u;

	if (!enter())
		return;
	while ((u = *at)) {
		if (!which(u, arg)) {
			at = &u->next;
			continue;
		}
		__atomic_store_n(at, u->next, __ATOMIC_RELAXED);
		atomic_fetch_sub_explicit(&u->place.session->unified, 1, memory_order_relaxed);
		if (stream && u->stream && context_enter(u)) {
			if (u->gone_out)
				client_cuEventDestroy_v2(u->gone_out);
			client_cuStreamDestroy_v2(u->stream);
			client_cuCtxPopCurrent_v2(NULL);
		}
		unified_free(u);
	}
	leave();
}

bool unified_has(uint64_t host)
{
	bool found;

	if (!is_any() || !enter())
		return false;
	found = has_locked(host);
	leave();
	return found;
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a < b ? b - a < a_bytes : a - b < b_bytes;
}

bool unified_find(uint64_t host, uint64_t bytes, struct unified_place *ret)
{
	bool found = false;

	if (!is_any() || !enter())
		return false;
	for (struct unified *u = all; u && !found; u = u->next) {
		const struct unified_place *p = &u->place;

		found = host >= p->host && bytes <= p->bytes && host - p->host <= p->bytes - bytes;
		if (found)
			*ret = *p;
	}
	leave();
	return found;
}

bool unified_touches(uint64_t address, uint64_t bytes)
{
	bool found = false;

	if (!is_any() || !enter())
		return false;
	for (struct unified *u = all; u && !found; u = u->next)
		found = overlap(address, bytes, u->place.host, u->place.bytes) ||
			overlap(address, bytes, u->place.device, u->place.bytes);
	leave();
	return found;
}

struct advice **unified_advice_enter(struct advice_span part, struct advice_span *ret_whole)
{
	if (!is_any() || !part.bytes || !enter())
		return NULL;
	for (struct unified *u = all; u; u = u->next) {
		const struct unified_place *p = &u->place;

		if (p->start == UNIFIED_FROM_HOST || part.begin < p->host || part.begin - p->host >= p->bytes ||
		    part.bytes > p->bytes - (part.begin - p->host))
			continue;
		*ret_whole = (struct advice_span){ p->host, p->bytes };
		return &u->advice;
	}
	leave();
	return NULL;
}

void unified_advice_leave(void)
{
	leave();
}

void unified_remove(uint64_t host)
{
	if (is_any())
		drop(of_host, host, true);
}

/* Its streams go with it. */
void unified_drop_context(uint64_t context)
{
	if (is_any())
		drop(of_context, context, false);
}

void unified_drop_owner(uint64_t owner)
{
	if (is_any())
		drop(of_owner, owner, true);
}

/* ---- moving to another worker ---- */

static bool is_aside(const struct unified *u, const struct session *session)
{
	return u->place.session == session && u->place.start == UNIFIED_FROM_HOST && !unified_shared(u);
}

uint64_t unified_aside(const struct session *session)
{
	uint64_t bytes = 0;

	if (!is_any() || !enter())
		return 0;
	for (const struct unified *u = all; u; u = u->next)
		bytes += is_aside(u, session) ? u->place.bytes : 0;
	leave();
	return bytes;
}

static CUresult copy_aside(const struct unified *u, bool out)
{
	struct copy k = unified_copy_of(u, 0, u->aside, u->place.bytes, !out);
	CUresult r;

	if (!context_enter(u))
		return CUDA_ERROR_INVALID_CONTEXT;
	k.stream = NULL;
	k.async = false;
	r = copy_plain(&k);
	client_cuCtxPopCurrent_v2(NULL);
	return r;
}

CUresult unified_out(const struct session *session)
{
	CUresult r = CUDA_SUCCESS;

	if (!is_any() || !enter())
		return r;
	for (struct unified *u = all; r == CUDA_SUCCESS && u; u = u->next) {
		if (!is_aside(u, session))
			continue;
		u->aside = malloc(u->place.bytes);
		r = u->aside ? copy_aside(u, true) : CUDA_ERROR_OUT_OF_MEMORY;
		if (r == CUDA_SUCCESS)
			merge(u->known, u->aside, unified_at(u, 0), u->place.bytes);
	}
	leave();
	return r;
}

/* The next worker may be one that shares the arena, where the one before did not. */
static CUresult put_aside(struct unified *u)
{
	const struct wall *wall = &u->place.session->link.wall;
	uint8_t *there = wall->arena + u->place.copy;

	if (!(wall->welcome.flags & WALL_COHERENT))
		return copy_aside(u, false);
	if (there != unified_at(u, 0))
		memcpy(there, u->aside, u->place.bytes);
	return CUDA_SUCCESS;
}

CUresult unified_in(const struct session *session)
{
	CUresult r = CUDA_SUCCESS;

	if (!is_any() || !enter())
		return r;
	for (struct unified *u = all; r == CUDA_SUCCESS && u; u = u->next)
		if (is_aside(u, session) && u->aside)
			r = put_aside(u);
	leave();
	return r;
}

void unified_keep_none(void)
{
	if (!is_any() || !enter())
		return;
	for (struct unified *u = all; u; u = u->next) {
		free(u->aside);
		u->aside = NULL;
	}
	leave();
}

void unified_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	all = NULL;
	inside = false;
}
