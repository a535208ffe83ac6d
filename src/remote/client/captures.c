/* captures.c: see captures.h. */
#include "remote/client/captures.h"

#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/graphs.h"
#include "remote/client/handles.h"
#include "remote/client/ranges.h"
#include "remote/client/recordings.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FORBIDDING 64u /* captures that forbid calls, at a time; more count as relaxed */

/* What the program's threads may not do meanwhile: the worker's captures are relaxed, because its threads are others.
 */
struct forbidding {
	CUstream stream; /* NULL: a free place */
	uint32_t thread; /* that began it */
	CUstreamCaptureMode mode;
};

/* Begun and not ended, or more: a capture that ends with its stream stays counted. */
static atomic_uint begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; never held over a call */
static struct forbidding list[FORBIDDING];

bool captures_any(void)
{
	return atomic_load_explicit(&begun, memory_order_relaxed);
}

void captures_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	memset(list, 0, sizeof(list));
	atomic_store_explicit(&begun, 0, memory_order_relaxed);
}

static void forbid(CUstream stream, CUstreamCaptureMode mode)
{
	struct thread *t = thread_get();

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; t && i < FORBIDDING; i++)
		if (!list[i].stream) {
			list[i] = (struct forbidding){ stream, t->number, mode };
			break;
		}
	pthread_mutex_unlock(&lock);
}

static void allow(CUstream stream)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < FORBIDDING; i++)
		if (list[i].stream == stream)
			list[i].stream = NULL;
	pthread_mutex_unlock(&lock);
}

/* Whether this capture forbids unsafe calls in this thread. */
static bool forbids(const struct forbidding *f, const struct thread *t)
{
	if (!f->stream || t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return f->thread == t->number ||
	       (f->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && t->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* To ask a stream in capture whether it is done spoils the capture. Value: it was in one. */
static bool spoil(CUstream stream)
{
	struct client_call c;
	uint64_t id;

	client_request(&c, CUDA_CALL_cuStreamQuery);
	id = client_use_stream(&c, stream);
	if (client_begin(&c, true)) {
		remote_put(&c.out, &id, sizeof(id));
		client_send(&c);
	}
	client_end(&c);
	return c.result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || c.result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult captures_unsafe(void)
{
	struct forbidding copy[FORBIDDING];
	CUresult r = CUDA_SUCCESS;
	struct thread *t;

	if (!captures_any() || !(t = thread_get()))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	memcpy(copy, list, sizeof(copy));
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < FORBIDDING; i++) {
		if (!forbids(&copy[i], t))
			continue;
		if (spoil(copy[i].stream))
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		else
			allow(copy[i].stream); /* it has ended with its stream */
	}
	return r;
}

/* What is said from now on is kept; CUDA_SUCCESS, or what the stream is wrong with. */
static void record(CUstream stream, bool on)
{
	struct client_call c;

	client_request(&c, CUDA_CALL_cuStreamBeginCapture_v2);
	client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && !c.session)
		client_use_current(&c);
	if (c.result == CUDA_SUCCESS && c.stream != ID_STREAM_LEGACY)
		(on ? recordings_begin : recordings_stop)(&c);
	client_end(&c);
}

/* The graph is 0 where there is none. */
static void recorded(CUstream stream, CUgraph graph)
{
	struct client_call c;

	client_request(&c, CUDA_CALL_cuStreamEndCapture);
	client_use_stream(&c, stream);
	if (c.result == CUDA_SUCCESS && !c.session)
		client_use_current(&c);
	if (c.result == CUDA_SUCCESS)
		recordings_end(c.session, c.stream, (uint64_t)(uintptr_t)graph);
	client_end(&c);
}

static CUresult began(CUresult r, CUstream stream, CUstreamCaptureMode mode)
{
	if (r != CUDA_SUCCESS) {
		record(stream, false);
		return r;
	}
	atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed);
	if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		forbid(stream, mode);
	return r;
}

CUresult client_cuStreamBeginCapture(CUstream hStream)
{
	record(hStream, true);
	return began(client_plain_cuStreamBeginCapture(hStream), hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* A stream of the program's own begins without a doubt while none is in capture: nobody waits for it. */
CUresult client_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	bool sure = handle_kind((uint64_t)(uintptr_t)hStream) == KIND_STREAM && !captures_any() &&
		    (unsigned int)mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
	struct client_call c;
	uint64_t id;

	record(hStream, true);
	client_call(&c, CUDA_CALL_cuStreamBeginCapture_v2);
	id = client_use_stream(&c, hStream);
	if (client_begin(&c, !sure)) {
		remote_put(&c.out, &id, sizeof id);
		remote_put(&c.out, &mode, sizeof mode);
		client_send(&c);
	}
	return began(client_end(&c), hStream, mode);
}

CUresult client_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					    const CUgraphEdgeData *dependencyData, size_t numDependencies,
					    CUstreamCaptureMode mode)
{
	record(hStream, true);
	return began(client_plain_cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
							      numDependencies, mode),
		     hStream, mode);
}

/* Invalid or unjoined, it has ended as well, and there is no graph. */
CUresult client_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	CUresult r = client_plain_cuStreamEndCapture(hStream, phGraph);
	bool failed = r == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || r == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;

	if (failed && phGraph)
		*phGraph = NULL;
	else if (r == CUDA_SUCCESS && phGraph)
		graphs_own(*phGraph);
	if (r == CUDA_SUCCESS || failed) {
		allow(hStream);
		recorded(hStream, r == CUDA_SUCCESS && phGraph ? *phGraph : NULL);
	}
	if ((r == CUDA_SUCCESS || failed) && captures_any())
		atomic_fetch_sub_explicit(&begun, 1, memory_order_relaxed);
	return r;
}

/* Nobody is asked while none is in capture. */
CUresult client_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	struct client_call c;

	if (captures_any() || !captureStatus)
		return client_plain_cuStreamIsCapturing(hStream, captureStatus);
	client_call_stream(&c, CUDA_CALL_cuStreamIsCapturing, hStream);
	if (c.result == CUDA_SUCCESS)
		*captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
	return client_end(&c);
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
