/*
 * later.c: see later.h. Behind the driver's call a marker is put into the stream; what cannot be marked is waited for.
 * A marker that fails says nothing about the memory: it stays charged until its context ends.
 */
#include "shim/later.h"
#include "core/face.h"
#include "core/gate.h"
#include "cuda_shim.h"
#include "shim/memory.h"
#include "shim/movable.h"
#include "shim/pools.h"
#include "shim/start.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LATER_MOST 512u

enum state {
	LATER_FREE,  /* the place */
	LATER_WAITS, /* for its marker */
	LATER_KEPT,  /* its turn has come; its pool keeps it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; the driver is asked with it, and nobody
							    of the program's */
static struct later {
	enum state state;
	face_marker marker; /* while it waits */
	struct record record;
	face_context context; /* of the stream, and of the marker */
	uint64_t order;	      /* names the stream; 0: it has no name */
} list[LATER_MOST];
static _Atomic unsigned int waiting;	    /* places taken; changed with the lock held */
static uint64_t freed_bytes[MOVABLE_POOLS]; /* of the movable memory of each pool, in the list */

static void wait_for(CUstream stream, bool per_thread)
{
	if (per_thread)
		shim_real.cuStreamSynchronize_ptsz(stream);
	else
		shim_real.cuStreamSynchronize(stream);
}

static void give_back(const struct record *r)
{
	gate_enter();
	memory_refund(r);
	gate_leave();
}

static face_context context_of(CUstream stream, bool per_thread)
{
	face_context context = NULL;

	if ((uintptr_t)stream > 2)
		return face->context(stream, per_thread);
	return shim_real.cuCtxGetCurrent((CUcontext *)&context) == CUDA_SUCCESS ? context : NULL;
}

/*
 * Handles of streams are used again, their numbers are not. A thread's own default stream has no name here, because
 * another thread's has the same handle.
 */
static uint64_t order_of(CUstream stream, bool per_thread)
{
	unsigned long long id;

	if (stream == CU_STREAM_LEGACY || (!stream && !per_thread))
		return 1;
	if ((uintptr_t)stream <= 2 || !shim_has(CUDA_CALL_cuStreamGetId) ||
	    shim_real.cuStreamGetId(stream, &id) != CUDA_SUCCESS)
		return 0;
	return id + 2;
}

/* With the lock held: a record enters the list, or leaves it. */
static void count_locked(const struct record *r, bool enters)
{
	uint64_t bytes;
	uint32_t pool;

	if (r->kind == RECORD_MOVABLE && movable_pool(r, &pool, &bytes))
		freed_bytes[pool] += enters ? bytes : -bytes;
}

static bool keep(const struct later *what)
{
	bool kept = false;

	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST && !kept; l++)
		if (l->state == LATER_FREE) {
			*l = *what;
			count_locked(&l->record, true);
			atomic_fetch_add_explicit(&waiting, 1, memory_order_release);
			kept = true;
		}
	pthread_mutex_unlock(&lock);
	return kept;
}

void later_free(const struct record *r, CUstream stream, bool per_thread)
{
	struct later l = { .state = LATER_WAITS,
			   .record = *r,
			   .context = context_of(stream, per_thread),
			   .order = r->kind == RECORD_MOVABLE ? order_of(stream, per_thread) : 0 };

	l.marker = l.context ? face->marker_new(l.context) : NULL;
	if (l.marker && face->marker_put(l.marker, stream, per_thread) && (keep(&l) || (later_release() && keep(&l)))) {
		pools_arm();
		return;
	}
	wait_for(stream, per_thread);
	if (l.marker)
		face->marker_free(l.marker);
	give_back(r);
}

/* With the lock held: the place is free. Value: its marker, for the caller to free without the lock; may be NULL. */
static face_marker leave_locked(struct later *l)
{
	l->state = LATER_FREE;
	count_locked(&l->record, false);
	atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
	return l->marker;
}

bool later_take(unsigned int device, uint32_t size_units, CUstream stream, bool per_thread, struct record *ret)
{
	face_context context;
	face_marker marker = NULL;
	bool found = false;
	uint64_t order;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return false;
	order = order_of(stream, per_thread);
	context = context_of(stream, per_thread);
	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST && !found; l++) {
		const struct record *r = &l->record;

		if (l->state == LATER_FREE || r->kind != RECORD_MOVABLE || r->device != device ||
		    r->size_units != size_units)
			continue;
		if (l->state == LATER_WAITS && (!order || l->order != order || l->context != context))
			continue;
		*ret = *r;
		marker = leave_locked(l);
		found = true;
	}
	pthread_mutex_unlock(&lock);
	if (marker)
		face->marker_free(marker);
	return found;
}

/* With the lock held. */
static bool stays_kept(const struct later *l)
{
	uint64_t bytes;
	uint32_t pool;

	return l->record.kind == RECORD_MOVABLE && movable_pool(&l->record, &pool, &bytes) &&
	       pools_keeps(pool, freed_bytes[pool]);
}

/* One whose turn has come leaves the list; `all`: whatever pools keep. */
static bool take_done(bool all, struct record *ret)
{
	face_marker done = NULL;
	bool found = false;

	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST && !found; l++) {
		if (l->state == LATER_FREE || (l->state == LATER_KEPT && !all && stays_kept(l)) ||
		    (l->state == LATER_WAITS && face->marker_look(l->marker) != FACE_HAPPENED))
			continue;
		found = true;
		*ret = l->record;
		done = l->marker;
		if (!all && stays_kept(l)) {
			l->state = LATER_KEPT;
			l->marker = NULL;
			ret->kind = 0;
		} else {
			leave_locked(l);
		}
	}
	pthread_mutex_unlock(&lock);
	if (done)
		face->marker_free(done);
	return found;
}

static bool look(bool all)
{
	struct record r;
	bool some = false;

	if (!atomic_load_explicit(&waiting, memory_order_acquire) || !gate_try())
		return false;
	while (take_done(all, &r)) {
		if (r.kind)
			memory_refund(&r);
		some |= r.kind;
	}
	gate_leave();
	if (some)
		movable_trim(false);
	return some;
}

/* With the lock held: one that a pool keeps on the device, and that lies beside others. */
static struct later *find_packed_locked(unsigned int device)
{
	for (struct later *l = list; l < list + LATER_MOST; l++)
		if (l->state == LATER_KEPT && l->record.device == device && movable_is_packed(&l->record))
			return l;
	return NULL;
}

void later_unkeep_packed(unsigned int device)
{
	struct record r;
	struct later *l;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return;
	do {
		pthread_mutex_lock(&lock);
		l = find_packed_locked(device);
		if (l) {
			r = l->record;
			leave_locked(l); /* what is kept has no marker */
		}
		pthread_mutex_unlock(&lock);
		if (l)
			movable_forget(&r);
	} while (l);
}

bool later_look(void)
{
	return look(false);
}

bool later_release(void)
{
	return look(true);
}

uint64_t later_units(unsigned int device)
{
	uint64_t units = 0;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST; l++)
		if (l->state == LATER_WAITS && l->record.kind == RECORD_PLAIN && l->record.device == device &&
		    face->marker_look(l->marker) != FACE_HAPPENED)
			units += l->record.units;
	pthread_mutex_unlock(&lock);
	return units;
}

uint64_t later_pool_bytes(uint32_t pool)
{
	uint64_t bytes;

	pthread_mutex_lock(&lock);
	bytes = freed_bytes[pool];
	pthread_mutex_unlock(&lock);
	return bytes;
}

/* The driver has ended a marker of the context along with it. */
uint64_t later_forget(const void *context)
{
	uint64_t units = 0;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST; l++)
		if (l->state != LATER_FREE && (l->context == context || l->record.context == context)) {
			units += memory_refund(&l->record);
			if (l->context != context && l->marker)
				face->marker_free(l->marker);
			leave_locked(l);
		}
	pthread_mutex_unlock(&lock);
	return units;
}

void later_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	for (struct later *l = list; l < list + LATER_MOST; l++)
		l->state = LATER_FREE;
	memset(freed_bytes, 0, sizeof freed_bytes);
	atomic_store_explicit(&waiting, 0, memory_order_relaxed);
}
