/* streams.c: see streams.h. */
#include "core/streams.h"

#include <string.h>

struct stream streams[STREAMS];

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
	if (!atomic_load_explicit(&s->key, memory_order_relaxed)) {
		uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);

		atomic_store_explicit(&known[count], (uint16_t)(s - streams), memory_order_relaxed);
		atomic_store_explicit(&known_count, count + 1, memory_order_release);
	}
	atomic_store_explicit(&s->key, key, memory_order_release);
}

/* With more streams than places, those that find none share a record for each context. */
static struct stream *add(uint64_t key, face_queue handle, bool per_thread, struct lane *l)
{
	struct stream *s;

	pthread_mutex_lock(&lock);
	s = stream_lookup(key);
	if (!s && (s = free_place_locked(key)))
		fill_locked(s, key, handle, per_thread, l);
	pthread_mutex_unlock(&lock);
	return s;
}

struct stream *stream_add(const struct face *f, face_queue handle, bool per_thread)
{
	uint64_t key = stream_key_by(f, handle, per_thread);
	struct stream *s = key ? stream_lookup(key) : NULL;
	struct lane *l;

	if (s || !key)
		return s;
	l = lane_find(f, (uintptr_t)handle > 2 ? f->context(handle, per_thread)
					       : (face_context)(uintptr_t)(key & ~(uint64_t)3));
	if (!l)
		return NULL;
	s = add(key, handle, per_thread, l);
	return s ? s : add((uint64_t)(uintptr_t)l->context | 3, (face_queue)2, false, l);
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
}

void streams_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	memset(streams, 0, sizeof streams);
	atomic_store_explicit(&known_count, 0, memory_order_relaxed);
}
