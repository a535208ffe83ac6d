/* graph_test.c: graphs made by hand and captured; what their memory takes, and when. */
#include "softdev/soft.h"

#include <stdint.h>

#define KIB ((size_t)1 << 10)

static int order[16], at;

static void note(void *p)
{
	order[at++ % 16] = (int)(intptr_t)p;
}

static CUgraphNode host(CUgraph g, CUgraphNode *need, size_t count, int n)
{
	CUDA_HOST_NODE_PARAMS p = { note, (void *)(intptr_t)n };
	CUgraphNode node = NULL;

	CU(cuGraphAddHostNode(&node, g, need, count, &p));
	return node;
}

/* The edges decide, not the order in which nodes were made. */
static void by_hand(void)
{
	CUgraphNode a, b, c, nodes[4];
	CUgraphExec x;
	CUgraph g, copy;
	size_t count = 4;

	CU(cuGraphCreate(&g, 0));
	a = host(g, NULL, 0, 1);
	b = host(g, NULL, 0, 2);
	c = host(g, &b, 1, 3);
	CU(cuGraphAddDependencies(g, &c, &a, NULL, 1));
	CU(cuGraphClone(&copy, g));
	CU(cuGraphInstantiate(&x, copy, 0));
	for (int i = 0; i < 2; i++) {
		at = 0;
		CU(cuGraphLaunch(x, NULL));
		CU(cuStreamSynchronize(NULL));
		ok(at == 3 && order[0] == 2 && order[1] == 3 && order[2] == 1);
	}
	CU(cuGraphExecDestroy(x));
	CU(cuGraphGetRootNodes(g, nodes, &count));
	ok(count == 1 && nodes[0] == b);
	CU(cuGraphAddDependencies(g, &a, &b, NULL, 1));
	FAILS(cuGraphInstantiate(&x, g, 0), CUDA_ERROR_INVALID_VALUE); /* a circle */
	CU(cuGraphDestroyNode(c));
	CU(cuGraphDestroy(copy));
	CU(cuGraphDestroy(g));
	FAILS(cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
}

static void captured(void)
{
	CUstreamCaptureStatus status;
	CUdeviceptr d, e;
	CUstream s, t;
	CUevent fork_point, join_point;
	CUgraphExec x;
	CUgraph g;
	int n[2] = { 0 };
	size_t count = 0;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	CU(cuEventCreate(&fork_point, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&join_point, CU_EVENT_DISABLE_TIMING));
	CU(cuMemAlloc(&d, 8));
	CU(cuMemAlloc(&e, 8));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuStreamIsCapturing(s, &status));
	is(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CU(cuMemsetD32Async(d, 5, 2, s));
	CU(cuEventRecord(fork_point, s));
	CU(cuStreamWaitEvent(t, fork_point, 0));
	CU(cuMemcpyDtoDAsync(e, d, 8, t));
	CU(cuEventRecord(join_point, t));
	CU(cuStreamWaitEvent(s, join_point, 0));
	CU(cuMemsetD32Async(d, 6, 1, s));
	CU(cuStreamEndCapture(s, &g));
	CU(cuStreamIsCapturing(t, &status));
	is(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CU(cuGraphGetNodes(g, NULL, &count));
	is(count, 3);
	CU(cuMemcpyDtoH(n, e, 8));
	is(n[0], 0); /* nothing has run */
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(n, e, 8));
	ok(n[0] == 5 && n[1] == 5);
	CU(cuMemcpyDtoH(n, d, 8));
	ok(n[0] == 6 && n[1] == 5);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	FAILS(cuMemsetD32Async(d, 5, 2, s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	FAILS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(fork_point, s));
	CU(cuStreamWaitEvent(t, fork_point, 0));
	CU(cuMemsetD32Async(d, 5, 2, t));
	FAILS(cuStreamEndCapture(t, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	FAILS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuEventRecord(fork_point, s));
	CU(cuStreamWaitEvent(t, fork_point, 0));
	CU(cuMemsetD32Async(d, 5, 2, t));
	FAILS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	FAILS(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
	FAILS(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CU(cuMemFree(d));
	CU(cuMemFree(e));
	CU(cuEventDestroy(fork_point));
	CU(cuEventDestroy(join_point));
	CU(cuStreamDestroy(s));
	CU(cuStreamDestroy(t));
}

static cuuint64_t graph_bytes(CUgraphMem_attribute which)
{
	cuuint64_t value = ~0ull;

	cuDeviceGetGraphMemAttribute(0, which, &value);
	return value;
}

#define RESERVED CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
#define USED CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT

/* Memory of a graph is taken at the launch, kept for the next one, and given back by a trim. */
static void memory(void)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location = { CU_MEM_LOCATION_TYPE_DEVICE, { 0 } } },
					 .bytesize = 100 * KIB - 5 };
	CUDA_MEMSET_NODE_PARAMS fill = { .value = 9, .elementSize = 1, .width = 10, .height = 1 };
	size_t all = soft_free();
	CUgraphNode alloc, set, end;
	CUgraphExec x;
	CUdeviceptr d;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p));
	fill.dst = p.dptr;
	CU(cuGraphAddMemsetNode(&set, g, &alloc, 1, &fill, NULL));
	CU(cuGraphAddMemFreeNode(&end, g, &set, 1, p.dptr));
	CU(cuGraphInstantiate(&x, g, 0));
	is(soft_free(), all);
	for (int i = 0; i < 3; i++)
		CU(cuGraphLaunch(x, NULL));
	is(all - soft_free(), 100 * KIB);
	is(graph_bytes(RESERVED), 100 * KIB);
	is(graph_bytes(USED), 0);
	CU(cuCtxSynchronize());
	CU(cuDeviceGraphMemTrim(0));
	is(soft_free(), all);
	is(graph_bytes(RESERVED), 0);

	/* Not enough: nothing has changed, and later it works. */
	CU(cuMemAlloc(&d, all - 100 * KIB + 512));
	FAILS(cuGraphLaunch(x, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	is(soft_free(), 100 * KIB - 512);
	CU(cuMemFree(d));
	CU(cuGraphLaunch(x, NULL));
	CU(cuStreamSynchronize(NULL));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	is(soft_free(), all); /* what it reserved goes with it */
}

/* Memory that a graph leaves allocated belongs to the program. */
static void left_over(void)
{
	size_t all = soft_free();
	CUgraphExec x;
	CUdeviceptr d;
	CUstream s;
	CUgraph g;
	char c = 0;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	CU(cuMemAllocAsync(&d, 4096, s));
	CU(cuMemsetD8Async(d, 3, 4096, s));
	CU(cuStreamEndCapture(s, &g));
	is(soft_free(), all);
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphLaunch(x, s));
	CU(cuStreamSynchronize(s));
	CU(cuMemcpyDtoH(&c, d, 1));
	is(c, 3);
	is(graph_bytes(USED), 4096);
	FAILS(cuGraphLaunch(x, s), CUDA_ERROR_INVALID_VALUE); /* still allocated */
	CU(cuDeviceGraphMemTrim(0));
	is(all - soft_free(), 4096);
	CU(cuMemFreeAsync(d, s));
	FAILS(cuMemFree(d), CUDA_ERROR_INVALID_VALUE);
	FAILS(cuMemcpyDtoH(&c, d, 1), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphLaunch(x, s));
	CU(cuMemFree(d));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphInstantiate(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
	CU(cuGraphLaunch(x, s));
	CU(cuGraphLaunch(x, s));
	is(graph_bytes(USED), 4096);
	CU(cuStreamSynchronize(s));
	CU(cuMemFree(d));
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	CU(cuStreamDestroy(s));
	is(soft_free(), all);
}

int main(void)
{
	soft_begin("1", "64M");
	soft_context();
	by_hand();
	captured();
	memory();
	left_over();
	return soft_end();
}
