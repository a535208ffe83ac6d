/* recordings.c: see recordings.h. */
#include "remote/client/recordings.h"

#include "cuda_remote.h"
#include "remote/client/deeds.h"
#include "remote/client/session.h"
#include "remote/client/thread.h"

#include <stdlib.h>
#include <string.h>

/* A stream; that of a thread itself is another one in each. */
struct place {
	uint64_t stream;
	uint32_t thread;
};

struct recording {
	struct recording *next;
	struct session *session;
	uint64_t number;
	struct place *place;
	uint64_t *event; /* ids, recorded in one of the streams */
	size_t places, events;
	struct deed *newest, *oldest;
	struct deed *needs; /* what made the streams and events */
	bool spoilt;	    /* the graph cannot be made again */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; taken before a session's handles' */
static struct recording *all;
static uint64_t last_number;
static _Atomic uint32_t count;

bool recordings_any(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}

void recordings_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	all = NULL;
	atomic_store_explicit(&count, 0, memory_order_relaxed);
}

static void recording_free(struct recording *r)
{
	deeds_free(r->newest);
	deeds_free(r->needs);
	free(r->place);
	free(r->event);
	free(r);
}

/* ---- which it is ---- */

static struct place place_of(const struct client_call *c)
{
	return (struct place){ c->stream, c->stream == ID_STREAM_PER_THREAD ? c->thread->number : 0 };
}

static struct recording *find_locked(const struct session *session, struct place at)
{
	for (struct recording *r = all; r; r = r->next)
		for (size_t i = 0; r->session == session && i < r->places; i++)
			if (r->place[i].stream == at.stream && r->place[i].thread == at.thread)
				return r;
	return NULL;
}

static bool has_event(const struct recording *r, uint64_t event)
{
	for (size_t i = 0; i < r->events; i++)
		if (r->event[i] == event)
			return true;
	return false;
}

static void place_add(struct recording *r, struct place at)
{
	struct place *more = realloc(r->place, (r->places + 1) * sizeof(*more));

	if (!more) {
		r->spoilt = true;
		return;
	}
	r->place = more;
	r->place[r->places++] = at;
}

static void event_add(struct recording *r, uint64_t event)
{
	uint64_t *more;

	if (has_event(r, event))
		return;
	more = realloc(r->event, (r->events + 1) * sizeof(*more));
	if (!more) {
		r->spoilt = true;
		return;
	}
	r->event = more;
	r->event[r->events++] = event;
}

static void event_remove_locked(uint64_t event)
{
	for (struct recording *r = all; r; r = r->next)
		for (size_t i = 0; i < r->events; i++)
			if (r->event[i] == event)
				r->event[i--] = r->event[--r->events];
}

static uint64_t word_at(const struct client_call *c, size_t i)
{
	uint64_t word;

	memcpy(&word, c->out.data + i * sizeof(word), sizeof(word));
	return word;
}

static size_t words_of(const struct client_call *c)
{
	return c->out.used / sizeof(uint64_t);
}

/* The first id of this kind among the arguments, or 0. */
static uint64_t first_of(const struct client_call *c, enum remote_kind kind)
{
	for (size_t i = DEED_FIRST; i < words_of(c); i++)
		if (word_at(c, i) >> 56 == kind)
			return word_at(c, i);
	return 0;
}

/* The stream that the handle of a library was set to last. */
static uint64_t stream_of_handle(const struct client_call *c)
{
	return c->subject ? handles_deed_word(&c->session->handles, c->subject, KIND_STREAM) : 0;
}

static struct recording *recording_of_locked(const struct client_call *c)
{
	struct recording *r = c->stream ? find_locked(c->session, place_of(c)) : NULL;
	uint64_t event;

	if (r || !c->session)
		return r;
	if (c->call == CUDA_CALL_cuStreamWaitEvent) {
		event = first_of(c, KIND_EVENT);
		for (r = all; r && (r->session != c->session || !has_event(r, event)); r = r->next)
			;
		if (r)
			place_add(r, place_of(c));
		return r;
	}
	if (c->call >= CALL_LIBRARY)
		return find_locked(c->session, (struct place){ stream_of_handle(c), 0 });
	return NULL;
}

/* ---- what is kept ---- */

static bool is_needed(const struct recording *r, uint64_t id)
{
	for (const struct deed *d = r->needs; d; d = d->next)
		if (d->made_id == id)
			return true;
	return false;
}

static void need(struct recording *r, uint64_t id)
{
	struct deed *d;

	if (is_needed(r, id))
		return;
	d = handles_deed_copy(&r->session->handles, id);
	if (!d)
		return; /* a number that looks like one; or it was made in another way, and then it has to live */
	d->made_id = id;
	d->next = r->needs;
	r->needs = d;
}

/* Memory that graphs take lies elsewhere each time; what launches other graphs would need those. */
static bool spoils(uint16_t call)
{
	switch (call) {
	case CUDA_CALL_cuMemAllocAsync:
	case CUDA_CALL_cuMemAllocFromPoolAsync:
	case CUDA_CALL_cuMemFreeAsync:
	case CUDA_CALL_cuGraphLaunch:
		return true;
	default:
		return false;
	}
}

static void follow_locked(const struct client_call *c, struct recording *r)
{
	const uint64_t event = first_of(c, KIND_EVENT);

	if (c->call == CUDA_CALL_cuEventRecord || c->call == CUDA_CALL_cuEventRecordWithFlags) {
		if (r)
			event_add(r, event);
		else
			event_remove_locked(event);
	}
	if (!r)
		return;
	r->spoilt |= spoils(c->call) || c->payload_bytes;
	for (size_t i = DEED_FIRST; i < words_of(c); i++) {
		const uint64_t kind = word_at(c, i) >> 56;

		if (kind == KIND_STREAM || kind == KIND_EVENT)
			need(r, word_at(c, i));
	}
}

void recordings_note(struct client_call *c)
{
	struct recording *r;

	pthread_mutex_lock(&lock);
	r = recording_of_locked(c);
	follow_locked(c, r);
	c->recording = r ? r->number : 0;
	pthread_mutex_unlock(&lock);
}

void recordings_add(struct client_call *c, struct deed *take)
{
	struct recording *r;

	pthread_mutex_lock(&lock);
	for (r = all; r && r->number != c->recording; r = r->next)
		;
	if (r && !take->spoilt) {
		take->next = r->newest;
		r->newest = take;
		if (!r->oldest)
			r->oldest = take;
		take = NULL;
	} else if (r) {
		r->spoilt = true;
	}
	pthread_mutex_unlock(&lock);
	deeds_free(take);
}

void recordings_spoil(struct client_call *c)
{
	pthread_mutex_lock(&lock);
	for (struct recording *r = all; r; r = r->next)
		r->spoilt |= r->number == c->recording;
	pthread_mutex_unlock(&lock);
}

void recordings_ends(const struct session *session, uint64_t id)
{
	pthread_mutex_lock(&lock);
	for (struct recording *r = all; r; r = r->next)
		for (struct deed *d = r->session == session ? r->needs : NULL; d; d = d->next)
			if (d->made_id == id)
				d->until = deeds_now();
	pthread_mutex_unlock(&lock);
}

/* ---- begin and end ---- */

void recordings_begin(struct client_call *c)
{
	struct recording *r;

	if (!c->session || !(c->session->link.wall.welcome.flags & WALL_MOVES))
		return;
	r = calloc(1, sizeof(*r));
	if (!r)
		return; /* a graph without it stays where it is */
	r->session = c->session;
	pthread_mutex_lock(&lock);
	r->number = ++last_number;
	place_add(r, place_of(c));
	r->next = all;
	all = r;
	pthread_mutex_unlock(&lock);
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
}

static struct recording *take_out(struct session *session, struct place at)
{
	struct recording *r, **link = &all;

	pthread_mutex_lock(&lock);
	r = find_locked(session, at);
	while (r && *link != r)
		link = &(*link)->next;
	if (r)
		*link = r->next;
	pthread_mutex_unlock(&lock);
	if (r)
		atomic_fetch_sub_explicit(&count, 1, memory_order_relaxed);
	return r;
}

void recordings_stop(struct client_call *c)
{
	struct recording *r = take_out(c->session, place_of(c));

	if (r)
		recording_free(r);
}

/* Each is there from when it was made on until it ended, but no longer than the capture lasts. */
static void needs_bound(struct recording *r)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (const struct deed *d = r->newest; d; d = d->next) {
		first = d->seq < first ? d->seq : first;
		last = d->seq > last ? d->seq : last;
	}
	for (struct deed *d = r->needs; d; d = d->next) {
		d->from = d->seq > first ? d->seq : first;
		d->until = d->until ? d->until : last;
	}
}

void recordings_end(struct session *session, uint64_t stream, uint64_t graph)
{
	struct thread *t = thread_get();
	struct recording *r =
		take_out(session, (struct place){ stream, stream == ID_STREAM_PER_THREAD ? t->number : 0 });

	if (!r)
		return;
	if (graph && r->oldest && !r->spoilt) {
		needs_bound(r);
		r->oldest->needs = r->needs;
		r->needs = NULL;
		handles_deeds(&session->handles, graph, r->newest, r->oldest);
		r->newest = NULL;
	} else if (graph) {
		handles_deed(&session->handles, graph, NULL);
	}
	recording_free(r);
}
