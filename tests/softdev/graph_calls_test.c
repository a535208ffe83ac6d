/* graph_calls_test.c: what the calls on graphs and captures promise beside running: edges, attributes, errors. */
#include "softdev/soft.h"

#include "graph_ptx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

static CUmodule module;
static CUdeviceptr memory;

static CUgraphNode launch(CUgraph g, CUgraphNode *need, size_t count, const char *name)
{
	CUDA_KERNEL_NODE_PARAMS p = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1, .blockDimY = 1,
				      .blockDimZ = 1 };
	CUgraphNode n = NULL;

	CU(cuModuleGetFunction(&p.func, module, name));
	CU(cuGraphAddKernelNode(&n, g, need, count, &p));
	return n;
}

static void edges(void)
{
	CUgraphEdgeData early = { .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
				  .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC },
			bad = { .from_port = 7 }, got[2];
	CUgraphNode a, b, c, from[2], to[2];
	size_t count = 2;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, "nothing");
	b = launch(g, NULL, 0, "nothing");
	CU(cuGraphAddEmptyNode(&c, g, &b, 1));
	CU(cuGraphAddDependencies(g, &a, &b, &early, 1));
	FAILS(cuGraphAddDependencies(g, &a, &b, NULL, 1), CUDA_ERROR_INVALID_VALUE); /* it is there */
	FAILS(cuGraphAddDependencies(g, &a, &c, &early, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphAddDependencies(g, &a, &c, &bad, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphAddDependencies(g, &a, &a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphGetEdges(g, from, to, NULL, &count), CUDA_ERROR_LOSSY_QUERY);
	count = 2;
	CU(cuGraphGetEdges(g, from, to, got, &count));
	is(count, 2);
	ok(from[0] == a && to[0] == b && !memcmp(&got[0], &early, sizeof(early)));
	ok(from[1] == b && to[1] == c && !got[1].type);
	count = 1;
	CU(cuGraphNodeGetDependentNodes(b, to, NULL, &count));
	ok(count == 1 && to[0] == c);
	FAILS(cuGraphRemoveDependencies(g, &a, &b, NULL, 1), CUDA_ERROR_INVALID_VALUE); /* another kind of edge */
	CU(cuGraphRemoveDependencies(g, &a, &b, &early, 1));
	CU(cuGraphDestroy(g));
}

static void attributes(void)
{
	CUkernelNodeAttrValue v = { .priority = -3 }, got;
	CUgraphNode a, b, empty;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, "nothing");
	b = launch(g, NULL, 0, "nothing");
	CU(cuGraphAddEmptyNode(&empty, g, NULL, 0));
	CU(cuGraphKernelNodeSetAttribute(a, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v));
	CU(cuGraphKernelNodeCopyAttributes(b, a));
	CU(cuGraphKernelNodeGetAttribute(b, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &got));
	is(got.priority, -3);
	CU(cuGraphKernelNodeGetAttribute(b, CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &got));
	is(got.cooperative, 0);
	v.clusterDim.x = 4;
	FAILS(cuGraphKernelNodeSetAttribute(a, 99, &v), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphKernelNodeSetAttribute(empty, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &v), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphDestroy(g));
}

static void circle(void)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS p = { 0 };
	CUgraphNode a, b;
	CUgraphExec x;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, "nothing");
	b = launch(g, &a, 1, "nothing");
	CU(cuGraphAddDependencies(g, &b, &a, NULL, 1));
	FAILS(cuGraphInstantiateWithParams(&x, g, &p), CUDA_ERROR_INVALID_VALUE);
	is(p.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
	ok(p.hErrNode_out == a || p.hErrNode_out == b);
	FAILS(cuGraphInstantiate(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_ERROR_NOT_SUPPORTED);
	CU(cuGraphDestroy(g));
}

static _Atomic int destroyed;

static void destroy(void *p)
{
	destroyed += (int)(intptr_t)p;
}

static void wait_destroyed(int n)
{
	for (int i = 0; i < 5000 && destroyed != n; i++)
		usleep(1000);
	is(destroyed, n);
}

static void user_objects(void)
{
	CUuserObject o;
	CUgraphExec x;
	CUgraph g, copy;

	FAILS(cuUserObjectCreate(&o, NULL, destroy, 1, 0), CUDA_ERROR_INVALID_VALUE);
	CU(cuUserObjectCreate(&o, (void *)1, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	FAILS(cuGraphReleaseUserObject(g, o, 2), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphClone(&copy, g));
	CU(cuGraphInstantiate(&x, copy, 0));
	CU(cuUserObjectRelease(o, 1));
	CU(cuGraphDestroy(g));
	CU(cuGraphDestroy(copy));
	usleep(20000);
	is(destroyed, 0);
	CU(cuGraphLaunch(x, NULL));
	CU(cuGraphExecDestroy(x));
	wait_destroyed(1);
	FAILS(cuUserObjectRetain(o, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuUserObjectCreate(&o, (void *)1, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	CU(cuUserObjectRetain(o, 2));
	CU(cuUserObjectRelease(o, 3));
	wait_destroyed(2);
}

/* An update brings the new graph's along, and lets go of the old one's when no launch needs them any more. */
static void updated_objects(void)
{
	CUgraphExecUpdateResultInfo info;
	void *worth[] = { (void *)1, (void *)10 };
	CUuserObject o;
	CUgraphExec x;
	CUgraph g[2];

	destroyed = 0;
	for (int i = 0; i < 2; i++) {
		CU(cuGraphCreate(&g[i], 0));
		launch(g[i], NULL, 0, "nothing");
		CU(cuUserObjectCreate(&o, worth[i], destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
		CU(cuGraphRetainUserObject(g[i], o, 1, CU_GRAPH_USER_OBJECT_MOVE));
	}
	CU(cuGraphInstantiate(&x, g[0], 0));
	CU(cuGraphDestroy(g[0]));
	CU(cuGraphExecUpdate_v2(x, g[1], &info));
	wait_destroyed(1);
	CU(cuGraphDestroy(g[1]));
	usleep(20000);
	CU(cuGraphLaunch(x, NULL));
	CU(cuStreamSynchronize(NULL));
	is(destroyed, 1);
	CU(cuGraphExecDestroy(x));
	wait_destroyed(11);
}

/* Numbers name graphs and nodes, in the process. */
static void numbers(void)
{
	unsigned int one = 0, other = 0, exec = 0, local = 9;
	unsigned long long first = 0, second = 0;
	CUgraph g, h, in = NULL, clone;
	CUgraphNode a, b, child;
	CUgraphExec x;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&h, 0));
	a = launch(g, NULL, 0, "nothing");
	b = launch(g, &a, 1, "nothing");
	CU(cuGraphGetId(g, &one));
	CU(cuGraphGetId(h, &other));
	ok(one && other && one != other);
	CU(cuGraphNodeGetLocalId(a, &local));
	is(local, 0);
	CU(cuGraphNodeGetLocalId(b, &local));
	is(local, 1);
	CU(cuGraphNodeGetToolsId(a, &first));
	CU(cuGraphNodeGetToolsId(b, &second));
	ok(first != second);
	CU(cuGraphNodeGetContainingGraph(b, &in));
	ok(in == g);
	CU(cuGraphAddChildGraphNode(&child, h, NULL, 0, g));
	CU(cuGraphChildGraphNodeGetGraph(child, &clone));
	CU(cuGraphNodeGetContainingGraph(child, &in));
	ok(in == h);
	CU(cuGraphGetId(clone, &other));
	ok(other != one);
	CU(cuGraphInstantiate(&x, h, 0));
	CU(cuGraphExecGetId(x, &exec));
	ok(exec && exec != one && exec != other);
	FAILS(cuGraphGetId(g, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphExecGetId(x, NULL), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuGraphNodeGetLocalId(NULL, &local), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(h));
	CU(cuGraphDestroy(g));
}

/* What a node was made with, as one structure for all kinds. */
static void params(void)
{
	CUgraphNodeParams fill = { .type = CU_GRAPH_NODE_TYPE_MEMSET }, got;
	CUgraphNode a, b;
	CUdeviceptr p;
	CUgraph g;

	CU(cuMemAlloc(&p, 64));
	CU(cuGraphCreate(&g, 0));
	fill.memset.dst = p;
	fill.memset.value = 5;
	fill.memset.elementSize = 4;
	fill.memset.width = 16;
	fill.memset.height = 1;
	CU(cuCtxGetCurrent(&fill.memset.ctx));
	CU(cuGraphAddNode_v3(&a, g, NULL, NULL, 0, &fill));
	CU(cuGraphNodeGetParams(a, &got));
	is(got.type, CU_GRAPH_NODE_TYPE_MEMSET);
	ok(got.memset.dst == p && got.memset.value == 5 && got.memset.width == 16 && got.memset.ctx == fill.memset.ctx);
	fill.memset.value = 6;
	CU(cuGraphNodeSetParams_v2(a, &fill));
	CU(cuGraphNodeGetParams(a, &got));
	is(got.memset.value, 6);
	b = launch(g, &a, 1, "nothing");
	CU(cuGraphNodeGetParams(b, &got));
	ok(got.type == CU_GRAPH_NODE_TYPE_KERNEL && got.kernel.gridDimX == 1 && got.kernel.func);
	FAILS(cuGraphNodeGetParams(a, NULL), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphDestroy(g));
	CU(cuMemFree(p));
}

static void dot(void)
{
	char path[128], text[4096] = { 0 }, edge[128];
	unsigned int id = 0;
	CUgraphNode a;
	CUgraph g;
	FILE *f;

	snprintf(path, sizeof(path), "%s/graph.dot", soft_dir);
	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, "nothing");
	launch(g, &a, 1, "nothing");
	CU(cuGraphDebugDotPrint(g, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
	f = fopen(path, "r");
	ok(f && fread(text, 1, sizeof(text) - 1, f));
	CU(cuGraphGetId(g, &id));
	snprintf(edge, sizeof(edge), "\"graph_%u_node_0\" -> \"graph_%u_node_1\"", id, id);
	ok(strstr(text, "digraph") && strstr(text, "grid (1, 1, 1)") && strstr(text, edge));
	if (f)
		fclose(f);
	unlink(path);
	FAILS(cuGraphDebugDotPrint(g, "/nowhere/at/all", 0), CUDA_ERROR_OPERATING_SYSTEM);
	CU(cuGraphDestroy(g));
}

/* Memory that has been freed before serves again, and what idle graphs have reserved goes to those that need it. */
static void reuse(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } },
					 .bytesize = 8 << 20 },
				   q = p, r = p;
	CUgraphNode a, b, c, d, e;
	size_t all = soft_free();
	CUgraphExec x, y;
	CUgraph g, other, copy;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddMemAllocNode(&a, g, NULL, 0, &p));
	CU(cuGraphAddMemFreeNode(&b, g, &a, 1, p.dptr));
	FAILS(cuGraphAddMemFreeNode(&c, g, &a, 1, p.dptr), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphAddMemAllocNode(&c, g, &b, 1, &q));
	ok(q.dptr == p.dptr);
	CU(cuGraphAddMemAllocNode(&d, g, &a, 1, &r)); /* not after the free */
	ok(r.dptr != p.dptr);
	CU(cuGraphAddMemFreeNode(&e, g, &c, 1, q.dptr));
	CU(cuGraphAddMemFreeNode(&e, g, &d, 1, r.dptr));
	FAILS(cuGraphClone(&copy, g), CUDA_ERROR_NOT_SUPPORTED);
	FAILS(cuGraphDestroyNode(e), CUDA_ERROR_NOT_SUPPORTED);
	CU(cuGraphInstantiate(&x, g, 0));
	FAILS(cuGraphInstantiate(&y, g, 0), CUDA_ERROR_NOT_SUPPORTED);
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch(x, NULL));
	CU(cuCtxSynchronize());
	is(all - soft_free(), 16 << 20);
	CU(cuGraphCreate(&other, 0));
	p.bytesize = 60 << 20;
	CU(cuGraphAddMemAllocNode(&a, other, NULL, 0, &p));
	CU(cuGraphAddMemFreeNode(&b, other, &a, 1, p.dptr));
	CU(cuGraphInstantiate(&y, other, 0));
	CU(cuGraphLaunch(y, NULL)); /* 64 MiB have no room for both */
	CU(cuCtxSynchronize());
	is(all - soft_free(), 60 << 20);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphExecDestroy(y));
	CU(cuGraphDestroy(g));
	CU(cuGraphDestroy(other));
	is(soft_free(), all);
}

#define ENDS(s, wanted)                                                                                                \
	do {                                                                                                           \
		CUgraph ended = (CUgraph)1;                                                                            \
		FAILS(cuStreamEndCapture(s, &ended), wanted);                                                          \
		ok(!ended);                                                                                            \
	} while (0)

static CUcontext context;

static void *other_thread(void *stream)
{
	CUgraph g;

	CU(cuCtxSetCurrent(context));
	FAILS(cuStreamEndCapture(stream, &g), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	return NULL;
}

/* Calls that a capture does not allow spoil it, as its mode says. */
static void forbidden(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUstream blocking, s, t;
	CUevent e, outside;
	CUdeviceptr d;
	pthread_t thread;
	CUgraph g;

	CU(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&outside, CU_EVENT_DISABLE_TIMING));
	CU(cuEventRecord(outside, t));

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(cuMemAlloc(&d, 512), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CU(cuThreadExchangeStreamCaptureMode(&mode));
	is(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CU(cuMemAlloc(&d, 512));
	CU(cuMemFree(d));
	CU(cuThreadExchangeStreamCaptureMode(&mode));
	CU(cuStreamEndCapture(s, &g));
	CU(cuGraphDestroy(g));

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	pthread_create(&thread, NULL, other_thread, s);
	pthread_join(thread, NULL);
	FAILS(cuEventQuery(outside), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	/* The default stream would have to wait for the capture. */
	CU(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuMemsetD8(memory, 0, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ENDS(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CU(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ENDS(blocking, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemsetD8(memory, 0, 1)); /* this one does not */
	FAILS(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	/* Events: of the outside, of another capture, asked about. */
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuStreamWaitEvent(s, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuStreamBeginCapture(t, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	FAILS(cuStreamWaitEvent(t, e, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ENDS(t, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(e, s));
	FAILS(cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
	ENDS(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CU(cuEventQuery(e));
	CU(cuStreamDestroy(blocking));
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
	CU(cuEventDestroy(e));
	CU(cuEventDestroy(outside));
}

/* A capture into a graph that exists, and a launch that becomes a child. */
static void into_graph(void)
{
	const CUgraphNode *need;
	CUstreamCaptureStatus status;
	size_t count = 4;
	CUgraphNode a, nodes[4];
	CUgraphNodeType type;
	CUgraph g, got, part;
	CUgraphExec x;
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuGraphCreate(&part, 0));
	launch(part, NULL, 0, "nothing");
	CU(cuGraphInstantiate(&x, part, 0));
	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, "nothing");
	CU(cuStreamBeginCaptureToGraph(s, g, &a, NULL, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphLaunch(x, s));
	CU(cuStreamGetCaptureInfo(s, &status, NULL, &got, &need, NULL, &count));
	ok(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && got == g && count == 1);
	CU(cuGraphNodeGetType(need[0], &type));
	is(type, CU_GRAPH_NODE_TYPE_GRAPH);
	CU(cuStreamUpdateCaptureDependencies(s, &a, NULL, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
	CU(cuMemsetD32Async(memory, 3, 1, s));
	CU(cuStreamEndCapture(s, &got));
	ok(got == g);
	count = 4;
	CU(cuGraphGetNodes(g, nodes, &count));
	is(count, 3);
	CU(cuGraphNodeGetDependencies(nodes[2], NULL, NULL, &count));
	is(count, 2);
	CUDA_MEMSET_NODE_PARAMS fill;
	CU(cuGraphMemsetNodeGetParams(nodes[2], &fill));
	ok(fill.dst == memory && fill.value == 3 && fill.elementSize == 4 && fill.width == 1);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(part));
	CU(cuGraphDestroy(g));
	CU(cuStreamDestroy(s));
}

int main(void)
{
	soft_begin("1", "64M");
	context = soft_context();
	reuse();
	CU(cuModuleLoadData(&module, graph_ptx));
	CU(cuMemAlloc(&memory, 4096));
	edges();
	attributes();
	circle();
	user_objects();
	updated_objects();
	numbers();
	params();
	dot();
	forbidden();
	into_graph();
	return soft_end();
}
