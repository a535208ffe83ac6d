/* streams.c: see streams.h. */
#include "core/streams.h"

#include <stdlib.h>
#include <string.h>

/* What the streams of a lane share that find no place in the table. It stays the lane's. */
struct crowd {
	struct crowd *next;
	struct stream stream;
};

struct stream streams[STREAMS];

static _Atomic(struct crowd *) crowds; /* those that there are; no lock to read it, the lock below to add one */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards which places are taken, and by whom */

/* Places that were ever taken, densely: most programs have a few streams. */
static _Atomic uint16_t known[STREAMS];
static _Atomic uint32_t known_count;

uint64_t stream_key_default(const struct face *f, bool per_thread)
{
	face_context context = f->context_of_default ? f->context_of_default() : NULL;

	return context ? (uint64_t)(uintptr_t)context | (per_thread ? 2 : 1) : 0;
}

static bool idle(const struct stream *s)
{
	for (int e = 0; e < WIRE_ENGINES; e++)
		if (atomic_load_explicit(&s->flow[e].submitted, memory_order_relaxed) !=
		    __atomic_load_n(&s->flow[e].completed, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

static struct stream *free_place_locked(uint64_t key)
{
	uint32_t place = stream_place(key);

	for (uint32_t i = 0; i < STREAMS_PROBES; i++) {
		struct stream *s = &streams[(place + i) % STREAMS];
		uint64_t is = atomic_load_explicit(&s->key, memory_order_relaxed);

		if (!is || (is == STREAM_GONE && idle(s)))
			return s;
	}
	return NULL;
}

/* Work in the legacy default stream waits for other streams: a mark that comes late would tie them together. */
static void untie_locked(struct lane *l)
{
	struct stream *s = stream_lookup((uint64_t)(uintptr_t)l->context | 1);

	for (int e = 0; s && e < WIRE_ENGINES; e++)
		atomic_fetch_or_explicit(&s->flow[e].slow, FLOW_IMMEDIATE, memory_order_relaxed);
}

static void fill_locked(struct stream *s, uint64_t key, face_queue handle, bool per_thread, struct lane *l)
{
	bool others = atomic_fetch_add_explicit(&l->streams, 1, memory_order_relaxed) > 0;
	bool is_default = (uintptr_t)handle <= 2;

	s->handle = handle;
	s->per_thread = per_thread;
	s->lane = l;
	s->shared = (uintptr_t)handle == 2 || (per_thread && !handle);
	for (int e = 0; e < WIRE_ENGINES; e++) {
		struct flow *f = &s->flow[e];

		f->marked = atomic_load_explicit(&f->submitted, memory_order_relaxed);
		__atomic_store_n(&f->completed, f->marked, __ATOMIC_RELAXED); /* which it was: the place was idle */
		f->last_end_ns = f->busy_from_ns = 0;
		f->single = 0;
		f->claimed = false;
		atomic_store_explicit(&f->key, 0, memory_order_relaxed);
		atomic_store_explicit(&f->slow, FLOW_FRESH | (s->shared || (is_default && others) ? FLOW_IMMEDIATE : 0),
				      memory_order_relaxed);
	}
	if (others)
		untie_locked(l);
	atomic_store_explicit(&s->key, key, memory_order_release);
}

/* A place that was never used is known from now on. */
static void take_place_locked(struct stream *s, uint64_t key, face_queue handle, bool per_thread, struct lane *l)
{
	uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
	bool first = !atomic_load_explicit(&s->key, memory_order_relaxed);

	if (first)
		atomic_store_explicit(&known[count], (uint16_t)(s - streams), memory_order_relaxed);
	fill_locked(s, key, handle, per_thread, l);
	if (first)
		atomic_store_explicit(&known_count, count + 1, memory_order_release);
}

/* NULL: no memory. */
static struct stream *new_crowd_locked(void)
{
	struct crowd *c = aligned_alloc(_Alignof(struct crowd), sizeof *c);

	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	c->next = atomic_load_explicit(&crowds, memory_order_relaxed);
	atomic_store_explicit(&crowds, c, memory_order_release);
	return &c->stream;
}

static struct stream *join_crowd_locked(struct lane *l)
{
	uint64_t key = (uint64_t)(uintptr_t)l->context | 3;
	struct stream *s = l->crowd ? l->crowd : new_crowd_locked();

	if (!s || (atomic_load_explicit(&s->key, memory_order_relaxed) != key && !idle(s)))
		return NULL;
	if (atomic_load_explicit(&s->key, memory_order_relaxed) != key)
		fill_locked(s, key, (face_queue)2, false, l);
	l->crowd = s;
	return s;
}

/* With more streams than places, those that find none share a record for each context. */
static struct stream *add(uint64_t key, face_queue handle, bool per_thread, struct lane *l)
{
	struct stream *s;

	pthread_mutex_lock(&lock);
	s = stream_lookup(key);
	if (!s && (s = free_place_locked(key)))
		take_place_locked(s, key, handle, per_thread, l);
	else if (!s)
		s = join_crowd_locked(l);
	pthread_mutex_unlock(&lock);
	return s;
}

struct stream *stream_add(const struct face *f, face_queue handle, bool per_thread, bool *ret_full)
{
	uint64_t key = stream_key_by(f, handle, per_thread);
	struct stream *s = key ? stream_lookup(key) : NULL;
	struct lane *l;

	*ret_full = false;
	if (s || !key)
		return s;
	l = lane_find(f,
		      (uintptr_t)handle > 2 ? f->context(handle, per_thread)
					    : (face_context)(uintptr_t)(key & ~(uint64_t)3),
		      ret_full);
	if (!l)
		return NULL;
	s = add(key, handle, per_thread, l);
	*ret_full = !s;
	return s;
}

struct stream *stream_beside(struct lane *l)
{
	struct stream *s;

	pthread_mutex_lock(&lock);
	s = join_crowd_locked(l);
	pthread_mutex_unlock(&lock);
	return s;
}

static void retire_locked(struct stream *s)
{
	atomic_store_explicit(&s->key, STREAM_GONE, memory_order_release);
	atomic_fetch_sub_explicit(&s->lane->streams, 1, memory_order_relaxed);
}

void streams_hold(void)
{
	pthread_mutex_lock(&lock);
}

void streams_let_go(void)
{
	pthread_mutex_unlock(&lock);
}

void stream_retire(struct stream *s)
{
	pthread_mutex_lock(&lock);
	retire_locked(s);
	pthread_mutex_unlock(&lock);
}

void streams_retire(struct lane *l)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		uint64_t is = atomic_load_explicit(&s->key, memory_order_relaxed);

		if (is && is != STREAM_GONE && s->lane == l)
			retire_locked(s);
	}
	if (l->crowd && atomic_load_explicit(&l->crowd->key, memory_order_relaxed) != STREAM_GONE)
		retire_locked(l->crowd);
	pthread_mutex_unlock(&lock);
}

uint32_t streams_known(void)
{
	return atomic_load_explicit(&known_count, memory_order_acquire);
}

struct stream *stream_known(uint32_t i)
{
	struct stream *s = &streams[atomic_load_explicit(&known[i], memory_order_relaxed)];
	uint64_t key = atomic_load_explicit(&s->key, memory_order_acquire);

	return key && key != STREAM_GONE ? s : NULL;
}

void streams_each(void (*f)(struct stream *s))
{
	for (uint32_t i = 0; i < streams_known(); i++) {
		struct stream *s = stream_known(i);

		if (s)
			f(s);
	}
	/* Acquire: pairs with the release in new_crowd_locked(). */
	for (struct crowd *c = atomic_load_explicit(&crowds, memory_order_acquire); c; c = c->next) {
		uint64_t key = atomic_load_explicit(&c->stream.key, memory_order_acquire);

		if (key && key != STREAM_GONE)
			f(&c->stream);
	}
}

void streams_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	struct crowd *next;

	lock = unlocked;
	memset(streams, 0, sizeof streams);
	atomic_store_explicit(&known_count, 0, memory_order_relaxed);
	for (struct crowd *c = atomic_exchange_explicit(&crowds, NULL, memory_order_relaxed); c; c = next) {
		next = c->next;
		free(c);
	}
}
