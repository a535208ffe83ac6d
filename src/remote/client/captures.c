/* captures.c: see captures.h. */
#include "remote/client/captures.h"

#include "cuda_remote.h"
#include "remote/client/ranges.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Begun and not ended, or more: a capture that ends with its stream stays counted. */
static atomic_uint begun;

bool captures_any(void)
{
	return atomic_load_explicit(&begun, memory_order_relaxed);
}

static CUresult began(CUresult r)
{
	if (r == CUDA_SUCCESS)
		atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
	return r;
}

CUresult client_cuStreamBeginCapture(CUstream hStream)
{
	return began(client_plain_cuStreamBeginCapture(hStream));
}

CUresult client_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return began(client_plain_cuStreamBeginCapture_v2(hStream, mode));
}

CUresult client_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					    const CUgraphEdgeData *dependencyData, size_t numDependencies,
					    CUstreamCaptureMode mode)
{
	return began(client_plain_cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
							      numDependencies, mode));
}

/* Invalid or unjoined, it has ended as well, and there is no graph. */
CUresult client_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	CUresult r = client_plain_cuStreamEndCapture(hStream, phGraph);
	bool failed = r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;

	if (failed && phGraph)
		*phGraph = NULL;
	if ((r == CUDA_SUCCESS || failed) && captures_any())
		atomic_fetch_sub_explicit(&begun, 1, memory_order_relaxed);
	return r;
}

/* The worker's captures are relaxed whatever their mode (see worker/captures.h): a thread's is kept here. */
CUresult client_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct thread *t = thread_get();
	CUstreamCaptureMode before;
	CUresult r = start_open();

	if (r != CUDA_SUCCESS)
		return r;
	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	before = (CUstreamCaptureMode)t->capture_mode;
	t->capture_mode = (uint8_t)*mode;
	*mode = before;
	return CUDA_SUCCESS;
}

/* ---- copies ---- */

/* With unified addresses it may be a device's after all. */
static bool on_device(const struct copy_end *e)
{
	struct range r;

	return e->type == CU_MEMORYTYPE_DEVICE ||
	       (ranges_find(e->address, &r) && r.kind != RANGE_HOST && r.kind != RANGE_REGISTERED);
}

static CUDA_MEMCPY3D node_of(const struct copy *k)
{
	const struct copy_end *from = &k->from, *to = &k->to;
	CUDA_MEMCPY3D m = { .srcXInBytes = from->x,
			    .srcY = from->y,
			    .srcZ = from->z,
			    .srcPitch = from->pitch ? from->pitch : from->x + k->width,
			    .srcHeight = from->height ? from->height : from->y + k->height,
			    .dstXInBytes = to->x,
			    .dstY = to->y,
			    .dstZ = to->z,
			    .dstPitch = to->pitch ? to->pitch : to->x + k->width,
			    .dstHeight = to->height ? to->height : to->y + k->height,
			    .WidthInBytes = k->width,
			    .Height = k->height,
			    .Depth = k->depth };

	if (from->type == CU_MEMORYTYPE_ARRAY) {
		m.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		m.srcArray = from->array;
	} else if (on_device(from)) {
		m.srcMemoryType = CU_MEMORYTYPE_DEVICE;
		m.srcDevice = from->address;
	} else {
		m.srcMemoryType = CU_MEMORYTYPE_HOST;
		m.srcHost = (const void *)(uintptr_t)from->address;
	}
	if (to->type == CU_MEMORYTYPE_ARRAY) {
		m.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		m.dstArray = to->array;
	} else if (on_device(to)) {
		m.dstMemoryType = CU_MEMORYTYPE_DEVICE;
		m.dstDevice = to->address;
	} else {
		m.dstMemoryType = CU_MEMORYTYPE_HOST;
		m.dstHost = (void *)(uintptr_t)to->address;
	}
	return m;
}

static CUresult node_add(const struct copy *k, CUgraph graph, const CUgraphNode *need, const CUgraphEdgeData *edge,
			 size_t count)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	CUgraphNode node;
	CUcontext context;
	CUresult r = client_cuCtxGetCurrent(&context);

	if (r != CUDA_SUCCESS)
		return r;
	p.memcpy.copyParams = node_of(k);
	p.memcpy.copyCtx = context;
	r = edge ? client_cuGraphAddNode_v2(&node, graph, need, edge, count, &p)
		 : client_cuGraphAddMemcpyNode(&node, graph, need, count, &p.memcpy.copyParams, context);
	if (r != CUDA_SUCCESS)
		return r;
	return client_cuStreamUpdateCaptureDependencies(k->stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

bool captures_copy(const struct copy *k, CUresult *ret)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	const CUgraphEdgeData *edge = NULL;
	const CUgraphNode *need = NULL;
	CUgraph graph = NULL;
	size_t count = 0;
	CUresult r;

	if (!k->stream || k->stream == CU_STREAM_LEGACY)
		return false;
	r = client_cuStreamGetCaptureInfo_v3(k->stream, &status, NULL, &graph, &need, &edge, &count);
	if (r != CUDA_SUCCESS || status == CU_STREAM_CAPTURE_STATUS_NONE)
		return false;
	*ret = status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? node_add(k, graph, need, edge, count)
							 : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	return true;
}
