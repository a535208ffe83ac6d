/*
 * face.c: what the core asks (core/face.h), in Level Zero's calls. A context is a struct home, a queue a struct queue,
 * a marker a struct marker.
 */
#include "core/face.h"
#include "levelzero/devices.h"
#include "levelzero/lists.h"
#include "levelzero/markers.h"
#include "levelzero/memory.h"

#include <string.h>

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	(void)ret_context;
	(void)ret_device;
	return FACE_NOWHERE; /* Level Zero has no current device */
}

static bool device_of(face_context context, unsigned int *ret_device)
{
	*ret_device = ((struct home *)context)->index;
	return true;
}

static bool enter(face_context context)
{
	return context;
}

static void leave(void)
{
}

static face_context context_of(face_queue queue, bool per_thread)
{
	(void)per_thread;
	return ((struct queue *)queue)->home;
}

/* Recording is no call on a queue. */
static bool captured(face_queue queue, bool per_thread)
{
	(void)queue;
	(void)per_thread;
	return false;
}

static void arm(void)
{
	atomic_store(&lists_armed, true);
}

static const char *name_of(face_function function)
{
	(void)function;
	return "kernel";
}

/* Every size is known beforehand. */
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
	return memory_look(device);
}

static void forget(void)
{
	memory_forget();
	queues_forget();
	devices_forget();
	start_forget();
}

static const struct face levelzero_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = device_of,
	.enter = enter,
	.leave = leave,
	.context = context_of,
	.captured = captured,
	.marker_new = markers_new,
	.marker_free = markers_free_one,
	.marker_put = markers_put,
	.marker_look = markers_look,
	.marker_wait = markers_wait,
	.marker_between = markers_between,
	.arm = arm,
	.name = name_of,
	.figure = figure,
	.kept = kept,
	.shrink = shrink,
	.forget = forget,
};

const struct face *const face = &levelzero_face;
