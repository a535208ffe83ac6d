/* cuda_face.c: what the core asks (face.h), in CUDA's calls. */
#include "cuda_shim.h"
#include "shim/contexts.h"
#include "shim/cuda_figure.h"
#include "shim/devices.h"
#include "shim/external.h"
#include "core/face.h"
#include "shim/faults.h"
#include "shim/graphs.h"
#include "shim/later.h"
#include "shim/launches.h"
#include "shim/modules.h"
#include "shim/movable.h"
#include "shim/pieces.h"
#include "shim/mover.h"
#include "shim/pools.h"
#include "shim/start.h"
#include "shim/vmm.h"

static face_context current(void)
{
	CUcontext context = NULL;

	return shim_real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

static enum face_place here(face_context *ret_context, unsigned int *ret_device)
{
	CUdevice real;

	if (!start_is_metered())
		return start_refuses() ? FACE_ELSEWHERE : FACE_NOWHERE;
	*ret_context = current();
	if (!*ret_context || shim_real.cuCtxGetDevice(&real) != CUDA_SUCCESS)
		return FACE_NOWHERE;
	return devices_find(real, ret_device) ? FACE_GRANTED : FACE_ELSEWHERE;
}

static face_context context_of_default(void)
{
	face_context sole = contexts_sole();

	return sole ? sole : current();
}

/* A thread's stack of contexts may be full: then the one on top makes room meanwhile. */
static __thread CUcontext aside __attribute__((tls_model("initial-exec")));

static bool enter(face_context context)
{
	CUcontext top;

	if (shim_real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS)
		return true;
	top = aside ? NULL : current();
	if (!top || shim_real.cuCtxSetCurrent(context) != CUDA_SUCCESS)
		return false;
	aside = top;
	return true;
}

static void leave(void)
{
	CUcontext top = aside;

	aside = NULL;
	if (top)
		shim_real.cuCtxSetCurrent(top);
	else
		shim_real.cuCtxPopCurrent_v2(&top);
}

static bool device(face_context context, unsigned int *ret_device)
{
	CUdevice real;
	bool known;

	if (contexts_device(context, ret_device))
		return true;
	if (!enter(context))
		return false;
	known = shim_real.cuCtxGetDevice(&real) == CUDA_SUCCESS;
	leave();
	return known && devices_find(real, ret_device);
}

static face_context context_of(face_queue queue, bool per_thread)
{
	CUcontext context = NULL;
	CUresult r;

	r = per_thread ? shim_real.cuStreamGetCtx_ptsz(queue, &context) : shim_real.cuStreamGetCtx(queue, &context);
	return r == CUDA_SUCCESS ? context : NULL;
}

static bool captured(face_queue queue, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r = per_thread ? shim_real.cuStreamIsCapturing_ptsz(queue, &status)
				: shim_real.cuStreamIsCapturing(queue, &status);

	return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static face_marker marker_new(face_context context)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUevent event = NULL;
	face_context is;

	/* Somebody's capture may forbid calls that may synchronise; ours do not concern it. */
	shim_real.cuThreadExchangeStreamCaptureMode(&mode);
	is = current();
	if (is == context || enter(context)) {
		if (shim_real.cuEventCreate(&event, CU_EVENT_BLOCKING_SYNC) != CUDA_SUCCESS)
			event = NULL;
		if (is != context)
			leave();
	}
	shim_real.cuThreadExchangeStreamCaptureMode(&mode);
	return event;
}

static void marker_free(face_marker marker)
{
	shim_real.cuEventDestroy_v2(marker);
}

static bool marker_put(face_marker marker, face_queue queue, bool per_thread)
{
	return (per_thread ? shim_real.cuEventRecord_ptsz(marker, queue) : shim_real.cuEventRecord(marker, queue)) ==
	       CUDA_SUCCESS;
}

static enum face_state state_of(CUresult r)
{
	switch (r) {
	case CUDA_SUCCESS:
		return FACE_HAPPENED;
	case CUDA_ERROR_NOT_READY:
		return FACE_PENDING;
	case CUDA_ERROR_DEINITIALIZED:
		return FACE_GONE;
	default:
		return FACE_FAILED;
	}
}

static enum face_state marker_look(face_marker marker)
{
	return state_of(shim_real.cuEventQuery(marker));
}

static enum face_state marker_wait(face_marker marker)
{
	return state_of(shim_real.cuEventSynchronize(marker));
}

static bool marker_between(face_marker from, face_marker to, int64_t *ret_ns)
{
	float ms;

	if (shim_real.cuEventElapsedTime(&ms, from, to) != CUDA_SUCCESS)
		return false;
	*ret_ns = (int64_t)((double)ms * 1e6);
	return true;
}

static void thread_begins(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	shim_real.cuThreadExchangeStreamCaptureMode(&mode);
}

/* A CUfunction may be a CUkernel in disguise. */
static const char *name_of(face_function function)
{
	const char *name = NULL;

	if (shim_has(CUDA_CALL_cuFuncGetName) && shim_real.cuFuncGetName(&name, function) == CUDA_SUCCESS && name)
		return name;
	name = NULL;
	if (shim_has(CUDA_CALL_cuKernelGetName) && shim_real.cuKernelGetName(&name, function) != CUDA_SUCCESS)
		name = NULL;
	return name ? name : "kernel";
}

static void undo(uint64_t address)
{
	shim_real.cuMemFree_v2(address);
}

static uint64_t kept(unsigned int device)
{
	return pools_reserved(device) + graphs_reserved(device) + later_units(device);
}

static bool shrink(unsigned int device)
{
	if (movable_wanted())
		later_release();
	return movable_trim(true) || pieces_drop_tails() || pools_shrink(device);
}

static void forget(void)
{
	pools_reset();
	movable_reset();
	mover_reset();
	vmm_reset();
	external_forget();
	contexts_reset();
	faults_reset();
	modules_reset();
	graphs_reset();
	later_reset();
	cuda_figure_reset();
	start_forget();
}

static const struct face cuda_face = {
	.version = FACE_VERSION,
	.here = here,
	.device = device,
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
	.arm = launches_arm,
	.name = name_of,
	.figure = cuda_figure_read,
	.kept = kept,
	.shrink = shrink,
	.undo = undo,
	.forget = forget,
};

const struct face *const face = &cuda_face;
