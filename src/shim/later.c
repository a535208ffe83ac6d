/*
 * later.c: see later.h. Behind the driver's call a marker is put into the stream; what cannot be marked is waited for.
 * A marker that fails says nothing about the memory: it stays charged until its context ends.
 */
#include "shim/later.h"
#include "core/face.h"
#include "core/gate.h"
#include "cuda_shim.h"
#include "shim/memory.h"
#include "shim/pools.h"
#include "shim/start.h"

#include <pthread.h>
#include <stdatomic.h>

#define LATER_MOST 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; the driver is asked with it, and nobody
							    of the program's */
static struct later {
	face_marker marker; /* NULL: a free place */
	struct record record;
	face_context context; /* of the stream, and of the marker */
} list[LATER_MOST];
static _Atomic unsigned int waiting; /* places taken; changed with the lock held */

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

static bool keep(const struct record *r, face_context context, face_marker marker)
{
	bool kept = false;

	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST && !kept; l++)
		if (!l->marker) {
			*l = (struct later){ marker, *r, context };
			atomic_fetch_add_explicit(&waiting, 1, memory_order_release);
			kept = true;
		}
	pthread_mutex_unlock(&lock);
	return kept;
}

void later_free(const struct record *r, CUstream stream, bool per_thread)
{
	face_context context = NULL;
	face_marker marker;

	if ((uintptr_t)stream > 2)
		context = face->context(stream, per_thread);
	else if (shim_real.cuCtxGetCurrent((CUcontext *)&context) != CUDA_SUCCESS)
		context = NULL;
	marker = context ? face->marker_new(context) : NULL;
	if (marker && face->marker_put(marker, stream, per_thread) && keep(r, context, marker)) {
		pools_arm();
		return;
	}
	wait_for(stream, per_thread);
	if (marker)
		face->marker_free(marker);
	give_back(r);
}

/* One whose turn has come leaves the list. */
static bool take_done(struct record *ret)
{
	face_marker marker = NULL;

	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST && !marker; l++)
		if (l->marker && face->marker_look(l->marker) == FACE_HAPPENED) {
			marker = l->marker;
			*ret = l->record;
			l->marker = NULL;
			atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
		}
	pthread_mutex_unlock(&lock);
	if (marker)
		face->marker_free(marker);
	return marker;
}

bool later_look(void)
{
	struct record r;
	bool some = false;

	if (!atomic_load_explicit(&waiting, memory_order_acquire) || !gate_try())
		return false;
	while (take_done(&r)) {
		memory_refund(&r);
		some = true;
	}
	gate_leave();
	return some;
}

uint64_t later_units(unsigned int device)
{
	uint64_t units = 0;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST; l++)
		if (l->marker && l->record.device == device && face->marker_look(l->marker) != FACE_HAPPENED)
			units += l->record.units;
	pthread_mutex_unlock(&lock);
	return units;
}

/* The driver has ended a marker of the context along with it. */
uint64_t later_forget(const void *context)
{
	uint64_t units = 0;

	if (!atomic_load_explicit(&waiting, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&lock);
	for (struct later *l = list; l < list + LATER_MOST; l++)
		if (l->marker && (l->context == context || l->record.context == context)) {
			units += memory_refund(&l->record);
			if (l->context != context)
				face->marker_free(l->marker);
			l->marker = NULL;
			atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
		}
	pthread_mutex_unlock(&lock);
	return units;
}

void later_reset(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	for (struct later *l = list; l < list + LATER_MOST; l++)
		l->marker = NULL;
	atomic_store_explicit(&waiting, 0, memory_order_relaxed);
}
