/*
 * unified.c: see unified.h.
 *
 * Of each place a third copy is kept: what the device had when the two were last made equal. What differs from it here
 * has been written by the program, what differs at the worker by the device; compared and moved are lines of LINE
 * bytes, so that what one side writes does not undo what the other has written beside it. Signals and page faults are
 * not used: this is a guest in somebody's process.
 *
 * The bytes go through a stream of their own, which waits for no other: it is used only when the program's have been
 * waited for, or have not begun. Nobody here waits for what goes out: the streams that work is submitted to do. What
 * comes back from several places is asked for at once.
 */
#include "remote/client/unified.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/copy.h"
#include "remote/client/handles.h"
#include "remote/client/thread.h"
#include "remote/client/waited.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)
#define LINE UINT64_C(64)
#define PIECE (UINT64_C(1) << 20)
#define TOGETHER 64u
#define TOGETHER_BYTES (UINT64_C(4) << 20)

struct unified {
	struct unified *next;
	struct unified_place place;
	CUstream stream;
	CUevent gone_out; /* recorded in it behind what goes out; NULL: not made yet */
	CUstream waits;	  /* the last stream that waits for it, while `going_out` */
	bool going_out;
	uint8_t *known;	       /* what the device had */
	uint8_t *aside;	       /* of a session that moves: what the device has; or NULL */
	struct advice *advice; /* owned */
};

/* Held over round trips; whoever waits for the device does so only in this module's own streams. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and the bytes while they move */
static struct unified *all;
static __thread bool inside;

static uint8_t *host_at(const struct unified *u, uint64_t offset)
{
	return (uint8_t *)(uintptr_t)u->place.host + offset;
}

/* ---- moving ---- */

static struct copy copy_of(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out)
{
	struct copy k = {
		.width = bytes, .height = 1, .depth = 1, .stream = u->stream, .async = true, .at = u->place.session
	};

	*(out ? &k.to : &k.from) =
		(struct copy_end){ .type = CU_MEMORYTYPE_DEVICE, .address = u->place.device + offset };
	*(out ? &k.from : &k.to) =
		(struct copy_end){ .type = CU_MEMORYTYPE_HOST, .address = (uint64_t)(uintptr_t)here };
	return k;
}

static CUresult move(const struct unified *u, uint64_t offset, void *here, uint64_t bytes, bool out)
{
	struct copy k = copy_of(u, offset, here, bytes, out);

	return copy_plain(&k);
}

static uint64_t line_bytes(const struct unified *u, uint64_t offset)
{
	return u->place.bytes - offset < LINE ? u->place.bytes - offset : LINE;
}

/* Where the program's bytes begin to differ, from `offset` on; the end of the place when they do not. */
static uint64_t differ(const struct unified *u, uint64_t offset)
{
	while (offset < u->place.bytes) {
		uint64_t page = u->place.bytes - offset < PAGE ? u->place.bytes - offset : PAGE;

		if (memcmp(host_at(u, offset), u->known + offset, page)) {
			while (!memcmp(host_at(u, offset), u->known + offset, line_bytes(u, offset)))
				offset += LINE;
			return offset;
		}
		offset += page;
	}
	return u->place.bytes;
}

/* Whether anything had to go out. */
static bool push(struct unified *u)
{
	bool any = false;

	for (uint64_t at = differ(u, 0); at < u->place.bytes; at = differ(u, at)) {
		uint64_t end = at;

		while (end < u->place.bytes && end - at < PIECE &&
		       memcmp(host_at(u, end), u->known + end, line_bytes(u, end)))
			end += line_bytes(u, end);
		memcpy(u->known + at, host_at(u, at), end - at);
		if (move(u, at, u->known + at, end - at, true) != CUDA_SUCCESS)
			return any;
		any = true;
		at = end;
	}
	return any;
}

static void take_line(struct unified *u, uint64_t offset, const uint8_t *from)
{
	uint64_t bytes = line_bytes(u, offset);

	if (!memcmp(u->known + offset, from, bytes))
		return;
	memcpy(u->known + offset, from, bytes);
	memcpy(host_at(u, offset), from, bytes);
}

static void take(struct unified *u, uint64_t at, const uint8_t *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += LINE)
		take_line(u, at + i, from + i);
}

static void pull(struct unified *u)
{
	uint64_t piece = u->place.bytes < PIECE ? u->place.bytes : PIECE;
	uint8_t *room = malloc(piece);

	for (uint64_t at = 0; room && at < u->place.bytes; at += piece) {
		uint64_t bytes = u->place.bytes - at < piece ? u->place.bytes - at : piece;

		if (move(u, at, room, bytes, false) != CUDA_SUCCESS)
			break;
		take(u, at, room, bytes);
	}
	free(room);
}

/* Places that come back together. */
struct together {
	struct unified *place[TOGETHER];
	unsigned int count;
	uint64_t bytes;
};

static void pull_together(struct together *t)
{
	struct copy k[TOGETHER];
	uint8_t *room = t->count > 1 ? malloc(t->bytes) : NULL;
	uint64_t at = 0;
	bool good;

	for (unsigned int i = 0; room && i < t->count; i++) {
		k[i] = copy_of(t->place[i], 0, room + at, t->place[i]->place.bytes, false);
		at += t->place[i]->place.bytes;
	}
	good = room && copy_out_all(k, t->count) == CUDA_SUCCESS;
	at = 0;
	for (unsigned int i = 0; i < t->count; i++) {
		if (good)
			take(t->place[i], 0, room + at, t->place[i]->place.bytes);
		else
			pull(t->place[i]); /* each by itself: the others need not suffer */
		at += t->place[i]->place.bytes;
	}
	free(room);
	*t = (struct together){ .count = 0 };
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
	bool new = push(u);

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

		if (u->place.session != s || !context_enter(u))
			continue;
		push_place(u, here ? stream : NULL);
		client_cuCtxPopCurrent_v2(NULL);
	}
}

static void pull_all(struct session *s)
{
	struct together t = { .count = 0 };

	for (struct unified *u = all; u; u = u->next) {
		if (u->place.session != s)
			continue;
		if (!context_enter(u))
			continue;
		if (u->place.bytes > PIECE)
			pull(u);
		else
			t.place[t.count++] = u;
		t.bytes += u->place.bytes > PIECE ? 0 : u->place.bytes;
		if (t.count == TOGETHER || t.bytes > TOGETHER_BYTES)
			pull_together(&t);
		u->going_out = false;
		client_cuCtxPopCurrent_v2(NULL);
	}
	if (t.count && context_enter(t.place[0])) {
		pull_together(&t);
		client_cuCtxPopCurrent_v2(NULL);
	}
}

/* ---- when ---- */

void unified_begin(struct session *s, CUstream stream)
{
	int saved = errno;

	if (!enter())
		return;
	push_all(s, &stream);
	s->unified_several |= s->unified_work && s->unified_stream != stream;
	s->unified_stream = stream;
	s->unified_work = true;
	leave();
	errno = saved;
}

void unified_begin_unknown(struct session *s)
{
	int saved = errno;

	if (!enter())
		return;
	push_all(s, NULL);
	s->unified_several = true;
	s->unified_work = true;
	leave();
	errno = saved;
}

void unified_end(struct session *s, CUstream stream, bool whole)
{
	int saved = errno;

	if (!enter())
		return;
	if (s->unified_work) {
		pull_all(s);
		/* Work of other streams goes on: it is looked at again. */
		s->unified_work = !whole && (s->unified_several || s->unified_stream != stream);
		s->unified_several = s->unified_work;
	}
	leave();
	errno = saved;
}

void unified_waited(CUstream stream, bool whole)
{
	for (unsigned int i = 0; i < session_count; i++)
		if (unified_any(sessions[i]))
			unified_end(sessions[i], stream, whole);
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
	CUresult r = client_plain_cuStreamCreate(&u->stream, CU_STREAM_NON_BLOCKING);

	if (r == CUDA_SUCCESS && place->start == UNIFIED_ZERO)
		r = client_cuMemsetD8Async(place->device, 0, place->bytes, u->stream);
	if (r != CUDA_SUCCESS) {
		unified_free(u);
		return r;
	}
	pthread_mutex_lock(&lock);
	if (place->start == UNIFIED_FROM_HOST && has_locked(place->host)) { /* another thread was as quick */
		pthread_mutex_unlock(&lock);
		client_plain_cuStreamDestroy_v2(u->stream);
		unified_free(u);
		return CUDA_SUCCESS;
	}
	inside = true;
	if (place->start == UNIFIED_FROM_DEVICE)
		pull(u);
	else if (place->start == UNIFIED_FROM_HOST)
		move(u, 0, u->known, place->bytes, false);
	else
		client_plain_cuStreamSynchronize(u->stream);
	u->next = all;
	all = u;
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
		*at = u->next;
		atomic_fetch_sub_explicit(&u->place.session->unified, 1, memory_order_relaxed);
		if (stream && context_enter(u)) {
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

	if (!all || !enter())
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

	if (!all || !enter())
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

	if (!all || !enter())
		return false;
	for (struct unified *u = all; u && !found; u = u->next)
		found = overlap(address, bytes, u->place.host, u->place.bytes) ||
			overlap(address, bytes, u->place.device, u->place.bytes);
	leave();
	return found;
}

struct advice **unified_advice_enter(struct advice_span part, struct advice_span *ret_whole)
{
	if (!all || !part.bytes || !enter())
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
	if (all)
		drop(of_host, host, true);
}

/* Its streams go with it. */
void unified_drop_context(uint64_t context)
{
	if (all)
		drop(of_context, context, false);
}

void unified_drop_owner(uint64_t owner)
{
	if (all)
		drop(of_owner, owner, true);
}

/* ---- moving to another worker ---- */

static bool is_aside(const struct unified *u, const struct session *session)
{
	return u->place.session == session && u->place.start == UNIFIED_FROM_HOST;
}

uint64_t unified_aside(const struct session *session)
{
	uint64_t bytes = 0;

	if (!all || !enter())
		return 0;
	for (const struct unified *u = all; u; u = u->next)
		bytes += is_aside(u, session) ? u->place.bytes : 0;
	leave();
	return bytes;
}

static CUresult copy_aside(const struct unified *u, bool out)
{
	struct copy k = copy_of(u, 0, u->aside, u->place.bytes, !out);
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

	if (!all || !enter())
		return r;
	for (struct unified *u = all; r == CUDA_SUCCESS && u; u = u->next) {
		if (!is_aside(u, session))
			continue;
		u->aside = malloc(u->place.bytes);
		r = u->aside ? copy_aside(u, true) : CUDA_ERROR_OUT_OF_MEMORY;
	}
	leave();
	return r;
}

CUresult unified_in(const struct session *session)
{
	CUresult r = CUDA_SUCCESS;

	if (!all || !enter())
		return r;
	for (struct unified *u = all; r == CUDA_SUCCESS && u; u = u->next)
		if (is_aside(u, session) && u->aside)
			r = copy_aside(u, false);
	leave();
	return r;
}

void unified_keep_none(void)
{
	if (!all || !enter())
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

/* ---- calls that wait ---- */

static CUresult stream_wait(CUstream stream)
{
	struct client_call c;
	uint64_t id;
	bool done;

	client_call(&c, CUDA_CALL_cuStreamSynchronize);
	id = client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && waited_still(&c, id))
		return client_end(&c);
	done = c.result == CUDA_SUCCESS && waited_done(&c, id);
	if (client_begin(&c, !done)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	if (c.waits)
		waited_note(&c, id);
	else
		waited_sent(&c, id);
	return client_end(&c);
}

CUresult client_cuStreamSynchronize(CUstream hStream)
{
	CUresult r = stream_wait(hStream);

	if (r == CUDA_SUCCESS)
		unified_waited(hStream, false);
	return r;
}

static CUresult stream_ask(CUstream stream)
{
	struct client_call c;
	uint64_t id;

	client_call(&c, CUDA_CALL_cuStreamQuery);
	id = client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && waited_done(&c, id))
		return client_end(&c);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	waited_asked(&c, id);
	return client_end(&c);
}

CUresult client_cuStreamQuery(CUstream hStream)
{
	CUresult r = stream_ask(hStream);

	if (r == CUDA_SUCCESS)
		unified_waited(hStream, false);
	return r;
}
