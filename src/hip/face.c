/*
 * face.c: what the core asks (core/face.h), in HIP's calls.
 *
 * A lane is a device of the grant: HIP's streams and events are of a device, whatever context is current.
 */
#include "core/face.h"
#include "hip/devices.h"
#include "hip/external.h"
#include "hip/inside.h"
#include "hip/pools.h"
#include "hip/vmm.h"
#include "hip/work.h"

#include <string.h>

static __thread hip_ordinal before; /* the device that was current when enter() was called */

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	INSIDE;
	hip_ordinal real;

	if (!start_is_metered())
		return FACE_NOWHERE;
	if (shim_real.hipGetDevice(&real) != hipSuccess)
		return FACE_NOWHERE;
	if (!devices_find(real, ret_device))
		return FACE_ELSEWHERE;
	*ret_context = devices_place(*ret_device);
	return FACE_GRANTED;
}

static face_context context_of_default(void)
{
	INSIDE;
	unsigned int device;

	return start_is_metered() && devices_current(&device) ? devices_place(device) : NULL;
}

static bool enter(face_context context)
{
	INSIDE;
	unsigned int device;
	hip_ordinal real;

	return devices_placed(context, &device) && devices_real(device, &real) &&
	       shim_real.hipGetDevice(&before) == hipSuccess && shim_real.hipSetDevice(real) == hipSuccess;
}

static void leave(void)
{
	INSIDE;

	shim_real.hipSetDevice(before);
}

static face_context context_of(face_queue queue, bool per_thread)
{
	INSIDE;
	unsigned int device;

	(void)per_thread;
	return work_device(queue, &device) ? devices_place(device) : NULL;
}

static hipStream_t named(face_queue queue, bool per_thread)
{
	return per_thread && !queue ? hipStreamPerThread : queue;
}

static bool captured(face_queue queue, bool per_thread)
{
	INSIDE;
	hipStreamCaptureStatus status = 0;

	return shim_real.hipStreamIsCapturing(named(queue, per_thread), &status) != hipSuccess || status;
}

/* An event is of the device that is current when it is made. */
static face_marker marker_new(face_context context)
{
	INSIDE;
	hipEvent_t event = NULL;

	if (!enter(context))
		return NULL;
	if (shim_real.hipEventCreateWithFlags(&event, hipEventBlockingSync) != hipSuccess)
		event = NULL;
	leave();
	return event;
}

static void marker_free(face_marker marker)
{
	INSIDE;

	shim_real.hipEventDestroy(marker);
}

static bool marker_put(face_marker marker, face_queue queue, bool per_thread)
{
	INSIDE;

	return shim_real.hipEventRecord(marker, named(queue, per_thread)) == hipSuccess;
}

static enum face_state state_of(hipError_t r)
{
	switch (r) {
	case hipSuccess:
		return FACE_HAPPENED;
	case hipErrorNotReady:
		return FACE_PENDING;
	case hipErrorDeinitialized:
		return FACE_GONE;
	default:
		return FACE_FAILED;
	}
}

static enum face_state marker_look(face_marker marker)
{
	INSIDE;

	return state_of(shim_real.hipEventQuery(marker));
}

static enum face_state marker_wait(face_marker marker)
{
	INSIDE;

	return state_of(shim_real.hipEventSynchronize(marker));
}

static bool marker_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	INSIDE;
	float ms;

	if (shim_real.hipEventElapsedTime(&ms, from, to) != hipSuccess)
		return false;
	*ret_ns = (int64_t)((double)ms * 1e6);
	return true;
}

/* A thread of the core's own is inside for good. */
static void thread_begins(void)
{
	inside_enter();
}

static const char *name_of(face_function function)
{
	INSIDE;
	const char *name = start_has(HIP_CALL_hipKernelNameRef) ? shim_real.hipKernelNameRef(function) : NULL;

	return name ? name : "kernel";
}

/* What the library holds for this process is told nowhere in HIP. */
static void figure(unsigned int device, struct figure *ret)
{
	(void)device;
	memset(ret, 0, sizeof *ret);
}

/* Told by no figure, so that there is nothing to set off against it. */
static uint64_t kept(unsigned int device)
{
	(void)device;
	return 0;
}

static bool shrink(unsigned int device)
{
	INSIDE;

	return pools_shrink(device);
}

static void undo(uint64_t address)
{
	INSIDE;

	shim_real.hipFree((void *)(uintptr_t)address);
}

static void forget(void)
{
	pools_forget();
	vmm_forget();
	external_forget();
	start_forget();
}

static const struct face hip_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = devices_placed,
	.enter = enter,
	.leave = leave,
	.context_of_default = context_of_default,
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

const struct face *const face = &hip_face;
