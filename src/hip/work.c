/* work.c: copies, graphs, and what tells that work has ended. See work.h; kernels are in kernels.c. */
#include "hip/work.h"
#include "core/account.h"
#include "core/capture.h"
#include "core/copies.h"
#include "core/gate.h"
#include "core/records.h"
#include "hip/devices.h"
#include "hip/ipc.h"
#include "hip/pools.h"

#define COPY_SEED 0x68697063u
#define GRAPH_SEED 0x68697067u
#define OWN_STREAMS 3u		/* handles below are names of default streams */

bool work_device(hipStream_t stream, unsigned int *ret_device)
{
	hip_ordinal real;

	if ((uintptr_t)stream < OWN_STREAMS)
		return devices_current(ret_device);
	if (start_has(HIP_CALL_hipStreamGetDevice))
		return shim_real.hipStreamGetDevice(stream, &real) == hipSuccess && devices_find(real, ret_device);
	if (start_has(HIP_CALL_hipGetStreamDeviceId))
		return devices_find(shim_real.hipGetStreamDeviceId(stream), ret_device);
	return devices_current(ret_device); /* ROCm before 5.4 does not say */
}

/* Copies ------------------------------------------------------------------------------------------------------------
 */

static void begin(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread, bool waits)
{
	struct work w;

	l->pace = NULL;
	marks_break(stream, per_thread, WIRE_COPY);
	if (!pace_gated(WIRE_COPY))
		return;
	w = copies_work(estimate_mix(COPY_SEED, (uint64_t)call), bytes, stream, per_thread, waits, hip_call_name[call]);
	copies_begin(l, &w);
}

void work_copy_begin(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread)
{
	begin(l, call, bytes, stream, per_thread, false);
}

void work_copy_begin_waiting(struct launch *l, enum hip_call call, uint64_t bytes, hipStream_t stream, bool per_thread)
{
	begin(l, call, bytes, stream, per_thread, true);
}

hipError_t work_copy_end_waiting(struct launch *l, hipStream_t stream, hipError_t r)
{
	if (r == hipSuccess)
		marks_ended(stream, false);
	if (l->pace)
		pace_end_host(l, r == hipSuccess);
	return r;
}

/* Those that name devices. */
hipError_t shim_hipMemcpyPeer(void *dst, hip_ordinal dstDeviceId, const void *src, hip_ordinal srcDeviceId,
			      size_t sizeBytes)
{
	struct launch l;

	work_copy_begin_waiting(&l, HIP_CALL_hipMemcpyPeer, sizeBytes, NULL, false);
	return work_copy_end_waiting(
		&l, NULL,
		shim_real.hipMemcpyPeer(dst, devices_in(dstDeviceId), src, devices_in(srcDeviceId), sizeBytes));
}

hipError_t shim_hipMemcpyPeerAsync(void *dst, hip_ordinal dstDeviceId, const void *src, hip_ordinal srcDevice,
				   size_t sizeBytes, hipStream_t stream)
{
	struct launch l;
	hipError_t r;

	work_copy_begin(&l, HIP_CALL_hipMemcpyPeerAsync, sizeBytes, stream, false);
	r = shim_real.hipMemcpyPeerAsync(dst, devices_in(dstDeviceId), src, devices_in(srcDevice), sizeBytes, stream);
	pace_end(&l, r == hipSuccess);
	return r;
}

hipError_t shim_hipMemPrefetchAsync(const void *dev_ptr, size_t count, hip_ordinal device, hipStream_t stream)
{
	struct launch l;
	hipError_t r;

	work_copy_begin(&l, HIP_CALL_hipMemPrefetchAsync, count, stream, false);
	r = shim_real.hipMemPrefetchAsync(dev_ptr, count, devices_in(device), stream);
	pace_end(&l, r == hipSuccess);
	return r;
}

hipError_t shim_hipMemPrefetchAsync_v2(const void *dev_ptr, size_t count, hipMemLocation location, unsigned int flags,
				       hipStream_t stream)
{
	struct launch l;
	hipError_t r;

	work_copy_begin(&l, HIP_CALL_hipMemPrefetchAsync_v2, count, stream, false);
	r = shim_real.hipMemPrefetchAsync_v2(dev_ptr, count, devices_location(location), flags, stream);
	pace_end(&l, r == hipSuccess);
	return r;
}

/* Graphs: one is one unit, which cannot be cut, and its nodes are not seen -------------------------------------------
 */

static hipError_t launch_graph(hipError_t (*call)(hipGraphExec_t exec, hipStream_t stream), hipGraphExec_t exec,
			       hipStream_t stream, bool per_thread)
{
	struct work w = { .engine = WIRE_COMPUTE,
			  .key = estimate_mix(GRAPH_SEED, (uint64_t)(uintptr_t)exec) | 1,
			  .stream = stream,
			  .per_thread = per_thread,
			  .what = "graph" };
	struct launch l = { 0 };
	hipError_t r;

	if (pace_gated(WIRE_COMPUTE) && (per_thread || !pace_begin_fast(&l, WIRE_COMPUTE, w.key, stream)))
		pace_begin_slow(&l, &w);
	r = call(exec, stream);
	pace_end(&l, r == hipSuccess);
	return r;
}

hipError_t shim_hipGraphLaunch(hipGraphExec_t graphExec, hipStream_t stream)
{
	return launch_graph(shim_real.hipGraphLaunch, graphExec, stream, false);
}

hipError_t shim_hipGraphLaunch_spt(hipGraphExec_t graphExec, hipStream_t stream)
{
	return launch_graph(shim_real.hipGraphLaunch_spt, graphExec, stream, true);
}

hipError_t shim_hipGraphAddNode(hipGraphNode_t *pGraphNode, hipGraph_t graph, const hipGraphNode_t *pDependencies,
				size_t numDependencies, hipGraphNodeParams *nodeParams)
{
	if (nodeParams && nodeParams->type == hipGraphNodeTypeMemAlloc && start_is_metered())
		return hipErrorNotSupported;
	return shim_real.hipGraphAddNode(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
}

/* The end of work, as the program learns of it -----------------------------------------------------------------------
 */

static hipError_t stream_ended(hipStream_t stream, bool per_thread, hipError_t r)
{
	if (r == hipSuccess)
		marks_ended(stream, per_thread);
	return r;
}

static hipError_t all_ended(hipError_t r)
{
	if (r == hipSuccess)
		marks_ended_all();
	return r;
}

hipError_t shim_hipStreamSynchronize(hipStream_t stream)
{
	return stream_ended(stream, false, shim_real.hipStreamSynchronize(stream));
}

hipError_t shim_hipStreamSynchronize_spt(hipStream_t stream)
{
	return stream_ended(stream, true, shim_real.hipStreamSynchronize_spt(stream));
}

hipError_t shim_hipStreamQuery(hipStream_t stream)
{
	return stream_ended(stream, false, shim_real.hipStreamQuery(stream));
}

hipError_t shim_hipStreamQuery_spt(hipStream_t stream)
{
	return stream_ended(stream, true, shim_real.hipStreamQuery_spt(stream));
}

hipError_t shim_hipDeviceSynchronize(void)
{
	return all_ended(pools_wait(shim_real.hipDeviceSynchronize));
}

hipError_t shim_hipCtxSynchronize(void)
{
	return all_ended(pools_wait(shim_real.hipCtxSynchronize));
}

hipError_t shim_hipEventSynchronize(hipEvent_t event)
{
	return all_ended(shim_real.hipEventSynchronize(event));
}

hipError_t shim_hipEventQuery(hipEvent_t event)
{
	return all_ended(shim_real.hipEventQuery(event));
}

hipError_t shim_hipStreamDestroy(hipStream_t stream)
{
	marks_queue_goes(stream);
	return shim_real.hipStreamDestroy(stream);
}

/* What becomes of a device, and with it of all that was made on it ----------------------------------------------------
 */

struct sweep {
	unsigned int device;
	uint64_t units;
	struct record shared[WIRE_MAX_OBJECTS];
	unsigned int shared_count;
};

/*
 * A reset frees what the process has made of the device. Memory of another API on the same card stays, and its records
 * with it: they know their context, which is none of ours. So does what was imported, until the program ends it.
 */
static bool is_ours(const struct record *r, void *data)
{
	struct sweep *s = data;

	if (r->device != s->device || r->context != devices_place(s->device) || r->kind == RECORD_EXTERNAL)
		return false;
	if (ipc_is(r)) {
		if (s->shared_count == WIRE_MAX_OBJECTS)
			return false;
		s->shared[s->shared_count++] = *r;
		return true;
	}
	s->units += r->units;
	return true;
}

static void swept(unsigned int device)
{
	struct sweep s = { .device = device };

	records_sweep(is_ours, &s);
	s.units += pools_reset(device);
	gate_enter();
	while (s.units) {
		uint32_t part = s.units > UINT32_MAX ? UINT32_MAX : (uint32_t)s.units;

		account_give(device, part);
		s.units -= part;
	}
	gate_leave();
	for (unsigned int i = 0; i < s.shared_count; i++)
		ipc_let_go(&s.shared[i]);
}

hipError_t shim_hipDeviceReset(void)
{
	unsigned int device;
	bool metered = start_is_metered() && devices_current(&device);
	hipError_t r;

	if (metered)
		marks_context_leaves(devices_place(device));
	r = shim_real.hipDeviceReset();
	if (metered)
		marks_context_left(devices_place(device), r == hipSuccess);
	if (metered && r == hipSuccess)
		swept(device);
	return r;
}

hipError_t shim_hipDevicePrimaryCtxReset(hip_ordinal dev)
{
	unsigned int device;
	bool metered = start_is_metered() && devices_find(devices_in(dev), &device);
	hipError_t r = start_refusal();

	if (r != hipSuccess)
		return r;
	if (metered)
		marks_context_leaves(devices_place(device));
	r = shim_real.hipDevicePrimaryCtxReset(devices_in(dev));
	if (metered)
		marks_context_left(devices_place(device), r == hipSuccess);
	if (metered && r == hipSuccess)
		swept(device);
	return r;
}

/* Streams that are recorded ------------------------------------------------------------------------------------------
 */

static hipError_t begun(hipError_t r)
{
	if (r != hipSuccess)
		capture_failed();
	return r;
}

hipError_t shim_hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode)
{
	capture_begins();
	return begun(shim_real.hipStreamBeginCapture(stream, mode));
}

hipError_t shim_hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode)
{
	capture_begins();
	return begun(shim_real.hipStreamBeginCapture_spt(stream, mode));
}

hipError_t shim_hipStreamBeginCaptureToGraph(hipStream_t stream, hipGraph_t graph, const hipGraphNode_t *dependencies,
					     const void *dependencyData, size_t numDependencies, int mode)
{
	capture_begins();
	return begun(shim_real.hipStreamBeginCaptureToGraph(stream, graph, dependencies, dependencyData,
							    numDependencies, mode));
}

static hipError_t end(hipError_t (*call)(hipStream_t stream, hipGraph_t *graph), hipStream_t stream, hipGraph_t *graph,
		      bool per_thread)
{
	bool was = capture_going() && face->captured(stream, per_thread);
	hipError_t r;

	capture_hold();
	r = call(stream, graph);
	capture_release();
	if (was && !face->captured(stream, per_thread))
		capture_ended();
	return r;
}

hipError_t shim_hipStreamEndCapture(hipStream_t stream, hipGraph_t *pGraph)
{
	return end(shim_real.hipStreamEndCapture, stream, pGraph, false);
}

hipError_t shim_hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t *pGraph)
{
	return end(shim_real.hipStreamEndCapture_spt, stream, pGraph, true);
}
