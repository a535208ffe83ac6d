/*
 * face.c: what the core asks (core/face.h), in the vendor's calls.
 *
 * A lane is a context of the runtime: its queues and events are made in a context, and a thread's calls are about the
 * queues of the context that is current.
 */
#include "core/face.h"
#include "beside/devices.h"
#include "beside/inside.h"
#include "beside/memory.h"
#include "beside/physical.h"
#include "beside/work.h"
#include "core/map.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards homes */
static struct map homes;				 /* by marker: its context */
static __thread face_context before;			 /* what was current when enter() was called; NULL: nothing */

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	INSIDE;

	return start_is_metered() ? devices_here(ret_context, ret_device) : FACE_NOWHERE;
}

static face_context current(void)
{
	face_context context;
	unsigned int device;

	return here(&context, &device) == FACE_GRANTED ? context : NULL;
}

static bool enter(face_context context)
{
	INSIDE;

	if (!vendor_context(&before))
		before = NULL;
	return before == context || vendor_enter(context);
}

/* A thread that had none keeps this one: the runtime knows no way out. */
static void leave(void)
{
	INSIDE;
	face_context now;

	if (before && !(vendor_context(&now) && now == before))
		vendor_enter(before);
}

/* The runtime refuses a queue that is not of the current context. */
static face_context context_of(face_queue queue, bool per_thread)
{
	(void)queue;
	(void)per_thread;
	return current();
}

static bool captured(face_queue queue, bool per_thread)
{
	INSIDE;

	(void)per_thread;
	return vendor_captured(queue);
}

static face_marker marker_new(face_context context)
{
	INSIDE;
	struct map_entry home = { .value = { (uint64_t)(uintptr_t)context, 0, 0 } };
	face_marker marker;
	bool added;

	if (!enter(context))
		return NULL;
	marker = vendor_event_new();
	leave();
	if (!marker)
		return NULL;
	home.key = (uint64_t)(uintptr_t)marker;
	pthread_mutex_lock(&lock);
	added = map_add(&homes, &home);
	pthread_mutex_unlock(&lock);
	if (added)
		return marker;
	vendor_event_free(marker);
	return NULL;
}

/* A thread of the core's is in no context until it is put into one; the runtime answers nothing there. */
static void settle(face_marker marker)
{
	const struct map_entry *home;
	face_context now;

	if (vendor_context(&now))
		return;
	pthread_mutex_lock(&lock);
	home = map_find(&homes, (uint64_t)(uintptr_t)marker);
	now = home ? (face_context)(uintptr_t)home->value[0] : NULL;
	pthread_mutex_unlock(&lock);
	if (now)
		vendor_enter(now);
}

static void marker_free(face_marker marker)
{
	INSIDE;

	settle(marker);
	pthread_mutex_lock(&lock);
	map_remove(&homes, (uint64_t)(uintptr_t)marker, NULL);
	pthread_mutex_unlock(&lock);
	vendor_event_free(marker);
}

static bool marker_put(face_marker marker, face_queue queue, bool per_thread)
{
	INSIDE;

	(void)per_thread;
	return vendor_event_put(marker, queue);
}

static enum face_state marker_look(face_marker marker)
{
	INSIDE;

	settle(marker);
	return vendor_event_look(marker);
}

static enum face_state marker_wait(face_marker marker)
{
	INSIDE;

	settle(marker);
	return vendor_event_wait(marker);
}

static bool marker_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	INSIDE;

	settle(from);
	return vendor_event_between(from, to, ret_ns);
}

/* A thread of the core's own is inside for good. */
static void thread_begins(void)
{
	inside_is = INSIDE_ALL;
}

static const char *name_of(face_function function)
{
	(void)function;
	return "kernel";
}

/* What the runtime holds for this process it does not tell by process. */
static void figure(unsigned int device, struct figure *ret)
{
	(void)device;
	memset(ret, 0, sizeof *ret);
}

static uint64_t kept(unsigned int device)
{
	(void)device;
	return 0;
}

static bool shrink(unsigned int device)
{
	(void)device;
	return false;
}

static void undo(uint64_t address)
{
	INSIDE;

	vendor_free(address);
}

static void forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	homes = (struct map){ 0 };
	physical_forget();
	devices_forget();
	start_forget();
}

static const struct face beside_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = devices_of,
	.enter = enter,
	.leave = leave,
	.context_of_default = current,
	.context = context_of,
	.captured = captured,
	.marker_new = marker_new,
	.marker_free = marker_free,
	.marker_put = marker_put,
	.marker_look = marker_look,
	.marker_wait = marker_wait,
	.marker_between = marker_between,
	.thread_begins = thread_begins,
	.name = name_of,
	.figure = figure,
	.kept = kept,
	.shrink = shrink,
	.undo = undo,
	.forget = forget,
};

const struct face *const face = &beside_face;
