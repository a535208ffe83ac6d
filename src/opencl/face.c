/*
 * face.c: what the core asks (core/face.h), in OpenCL's calls.
 *
 * A lane is a device of the grant: markers of one device tell the same clock, whatever context they come from. A marker
 * is an event of the driver's while it is on its way, and its time afterwards: an event that was kept would keep the
 * program's context.
 */
#include "core/face.h"
#include "opencl/devices.h"
#include "opencl/layer.h"
#include "opencl/memory.h"
#include "opencl/queues.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 64u

struct marker {
	pthread_mutex_t lock; /* guards the rest */
	cl_event event;	      /* NULL: it has happened, or was never put */
	cl_ulong at_ns;	      /* by the device's clock; 0: the driver does not say */
	bool failed;
};

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	(void)ret_context;
	(void)ret_device;
	return FACE_NOWHERE; /* a thread is nowhere in OpenCL: each call names its context */
}

static bool enter(face_context context)
{
	(void)context;
	return true;
}

static void leave(void)
{
}

static face_context context_of(face_queue queue, bool per_thread)
{
	cl_device_id device = NULL;
	unsigned int is;

	(void)per_thread;
	if (opencl_real.clGetCommandQueueInfo((cl_command_queue)queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) !=
		    CL_SUCCESS ||
	    !devices_find(device, &is))
		return NULL;
	return devices_place(is);
}

static bool captured(face_queue queue, bool per_thread)
{
	(void)queue;
	(void)per_thread;
	return false;
}

static face_marker marker_new(face_context context)
{
	struct marker *m = calloc(1, sizeof *m);

	(void)context;
	if (m)
		pthread_mutex_init(&m->lock, NULL);
	return m;
}

static void drop_locked(struct marker *m)
{
	if (m->event)
		opencl_real.clReleaseEvent(m->event);
	m->event = NULL;
}

static void marker_free(face_marker marker)
{
	struct marker *m = marker;

	drop_locked(m);
	free(m);
}

/* The queue's work has to begin for somebody to wait for its end: so it is flushed. */
static bool marker_put(face_marker marker, face_queue queue, bool per_thread)
{
	struct marker *m = marker;
	bool put;

	(void)per_thread;
	pthread_mutex_lock(&m->lock);
	drop_locked(m);
	m->at_ns = 0;
	m->failed = false;
	put = opencl_real.clEnqueueMarkerWithWaitList((cl_command_queue)queue, 0, NULL, &m->event) == CL_SUCCESS;
	if (!put)
		m->event = NULL;
	pthread_mutex_unlock(&m->lock);
	if (put)
		opencl_real.clFlush((cl_command_queue)queue);
	return put;
}

/* It has happened, or failed: what is known of it stays, the event goes. */
static enum face_state settle_locked(struct marker *m, bool failed)
{
	m->failed = failed;
	if (opencl_real.clGetEventProfilingInfo(m->event, CL_PROFILING_COMMAND_END, sizeof m->at_ns, &m->at_ns, NULL) !=
	    CL_SUCCESS)
		m->at_ns = 0;
	drop_locked(m);
	return failed ? FACE_FAILED : FACE_HAPPENED;
}

static enum face_state look_locked(struct marker *m)
{
	cl_int status = CL_QUEUED;

	if (!m->event)
		return m->failed ? FACE_FAILED : FACE_HAPPENED;
	if (opencl_real.clGetEventInfo(m->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) !=
	    CL_SUCCESS)
		return settle_locked(m, true);
	return status > CL_COMPLETE ? FACE_PENDING : settle_locked(m, status < CL_COMPLETE);
}

static enum face_state marker_look(face_marker marker)
{
	struct marker *m = marker;
	enum face_state state;

	pthread_mutex_lock(&m->lock);
	state = look_locked(m);
	pthread_mutex_unlock(&m->lock);
	return state;
}

static enum face_state marker_wait(face_marker marker)
{
	struct marker *m = marker;
	cl_event event;

	pthread_mutex_lock(&m->lock);
	event = m->event;
	if (event)
		opencl_real.clRetainEvent(event);
	pthread_mutex_unlock(&m->lock);
	if (event) {
		opencl_real.clWaitForEvents(1, &event);
		opencl_real.clReleaseEvent(event);
	}
	return marker_look(marker);
}

static bool marker_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	struct marker *a = from, *b = to;

	if (marker_look(a) != FACE_HAPPENED || marker_look(b) != FACE_HAPPENED || !a->at_ns || !b->at_ns)
		return false;
	*ret_ns = (int64_t)(b->at_ns - a->at_ns);
	return true;
}

static const char *name_of(face_function function)
{
	static __thread char name[NAME_BYTES];
	size_t size = 0;

	if (opencl_real.clGetKernelInfo((cl_kernel)function, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &size) !=
		    CL_SUCCESS ||
	    !size)
		return "kernel";
	return name;
}

/* What the driver says of this process's memory is told nowhere in OpenCL. */
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

static void forget(void)
{
	memory_forget();
	devices_forget();
	queues_forget();
}

static const struct face opencl_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = devices_placed,
	.enter = enter,
	.leave = leave,
	.context = context_of,
	.captured = captured,
	.marker_new = marker_new,
	.marker_free = marker_free,
	.marker_put = marker_put,
	.marker_look = marker_look,
	.marker_wait = marker_wait,
	.marker_between = marker_between,
	.name = name_of,
	.figure = figure,
	.kept = kept,
	.forget = forget,
};

const struct face *const face = &opencl_face;
