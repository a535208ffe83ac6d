/*
 * roam_captures.c: graphs that were captured, over several streams and with what graphs hold, and their instances: a
 * graph ends before its instance does, streams and events of a capture end before it is launched, an instance is
 * updated by another capture, a copy of a graph, a child. Within a capture events and streams come and go, so that one
 * has the place of another; and a graph has more nodes than are named at once.
 */
#include "roamer.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 2048u
#define NODES 2500u /* more than MOVE_NAMES_MOST */

static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
			   ".visible .entry turn(.param .u64 to, .param .u32 n) {\n"
			   "	.reg .u64 %d<4>; .reg .u32 %r<6>;\n"
			   "	ld.param.u64 %d0, [to]; ld.param.u32 %r0, [n];\n"
			   "	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 32, %r2;\n"
			   "	mul.wide.u32 %d2, %r1, 4; add.u64 %d0, %d0, %d2;\n"
			   "	ld.global.u32 %r3, [%d0]; mad.lo.u32 %r3, %r3, 69069, %r0; add.u32 %r3, %r3, %r1;\n"
			   "	st.global.u32 [%d0], %r3; ret;\n}\n";

static struct {
	CUmodule module;
	CUfunction turn;
	CUstream stream, side;
	CUdeviceptr a, b, c;
	uint32_t *pinned, heard;
	CUgraph kept, copy, many;
	CUgraphExec forked, updated, of_kept, of_copy, of_parent;
} t;

static void turn(CUdeviceptr at, uint32_t n, CUstream stream)
{
	void *args[] = { &at, &n };

	run(t.turn, WORDS, stream, args);
}

static void CUDA_CB hear(void *data)
{
	*(uint32_t *)data = *(uint32_t *)data * 3 + 1;
}

static CUgraph capture_end(CUstream stream)
{
	CUgraph graph;

	must(cuStreamEndCapture(stream, &graph), "the end of a capture");
	return graph;
}

static CUgraphExec instance(CUgraph graph)
{
	CUgraphExec exec;

	must(cuGraphInstantiate(&exec, graph, 0), "an instance");
	return exec;
}

/* Streams and events that end before the capture does, each in the place of the one before. */
static void pass_by(CUstream one)
{
	for (uint32_t i = 0; i < 3; i++) {
		CUevent there, back;
		CUstream side;

		must(cuEventCreate(&there, CU_EVENT_DISABLE_TIMING), "an event");
		must(cuEventRecord(there, one), "an event");
		must(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING), "a stream");
		must(cuStreamWaitEvent(side, there, 0), "a fork");
		must(cuEventDestroy(there), "an event's end");
		turn(t.b, 60 + i, side);
		must(cuEventCreate(&back, CU_EVENT_DISABLE_TIMING), "an event");
		must(cuEventRecord(back, side), "an event");
		must(cuStreamWaitEvent(one, back, 0), "a join");
		must(cuEventDestroy(back), "an event's end");
		if (i)
			must(cuStreamDestroy(side), "a stream's end");
		else
			t.side = side;
	}
}

/* Two streams and two events that nothing is left of. */
static CUgraph fork_and_join(void)
{
	CUstream one, two;
	CUevent forks, joins;
	CUgraph graph;

	must(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuStreamCreateWithPriority(&two, CU_STREAM_NON_BLOCKING, 0), "a stream");
	must(cuEventCreate(&forks, CU_EVENT_DISABLE_TIMING), "an event");
	must(cuEventCreate(&joins, CU_EVENT_DISABLE_TIMING), "an event");
	must(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "a capture");
	turn(t.a, 5, one);
	pass_by(one);
	must(cuEventRecord(forks, one), "an event");
	must(cuStreamWaitEvent(two, forks, 0), "a fork");
	turn(t.b, 7, two);
	turn(t.a, 9, one);
	must(cuEventRecord(joins, two), "an event");
	must(cuStreamWaitEvent(one, joins, 0), "a join");
	must(cuMemcpyDtoDAsync(t.b, t.a, WORDS * 2, one), "a copy");
	must(cuMemcpyHtoDAsync(t.c, t.pinned, 256, one), "a copy from pinned memory");
	must(cuLaunchHostFunc(one, hear, &t.heard), "a function");
	must(cuMemsetD32Async(t.c + 256, 11, 16, one), "a fill");
	graph = capture_end(one);
	must(cuStreamDestroy(one), "a stream's end");
	must(cuStreamDestroy(two), "a stream's end");
	must(cuStreamDestroy(t.side), "a stream's end");
	must(cuEventDestroy(forks), "an event's end");
	must(cuEventDestroy(joins), "an event's end");
	return graph;
}

static CUgraph plain_capture(uint32_t n)
{
	must(cuStreamBeginCapture(t.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
	turn(t.b, n, t.stream);
	turn(t.c, n + 1, t.stream);
	return capture_end(t.stream);
}

/* All of its nodes are named. */
static void make_many(void)
{
	CUgraphNode *node = calloc(NODES, sizeof(*node));
	size_t count = NODES;

	must(cuStreamBeginCapture(t.stream, CU_STREAM_CAPTURE_MODE_RELAXED), "a capture");
	for (uint32_t i = 0; i < NODES; i++)
		must(cuMemsetD32Async(t.a, i, 1, t.stream), "a fill");
	t.many = capture_end(t.stream);
	must(cuGraphGetNodes(t.many, node, &count), "the nodes");
	free(node);
}

static void update(unsigned int n)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph = plain_capture(n);

	must(cuGraphExecUpdate(t.updated, graph, &info), "an update");
	must(cuGraphDestroy(graph), "a graph's end");
}

/* A child of which the program keeps nothing. */
static void make_parent(void)
{
	CUgraph parent, child = plain_capture(40);
	CUgraphNode node;

	must(cuGraphCreate(&parent, 0), "a graph");
	must(cuGraphAddChildGraphNode(&node, parent, NULL, 0, child), "a child");
	must(cuGraphDestroy(child), "a graph's end");
	t.of_parent = instance(parent);
	must(cuGraphDestroy(parent), "a graph's end");
}

void captures_make(void)
{
	CUgraph graph;

	must(cuModuleLoadData(&t.module, text), "a module");
	t.turn = function_of(t.module, "turn");
	must(cuStreamCreate(&t.stream, CU_STREAM_NON_BLOCKING), "a stream");
	must(cuMemAlloc(&t.a, WORDS * 4), "memory");
	must(cuMemAlloc(&t.b, WORDS * 4), "memory");
	must(cuMemAlloc(&t.c, WORDS * 4), "memory");
	must(cuMemsetD32(t.a, 1, WORDS), "a fill");
	must(cuMemsetD32(t.b, 2, WORDS), "a fill");
	must(cuMemsetD32(t.c, 3, WORDS), "a fill");
	must(cuMemAllocHost((void **)&t.pinned, 4096), "pinned memory");
	memset(t.pinned, 7, 4096);
	graph = fork_and_join();
	t.forked = instance(graph);
	must(cuGraphDestroy(graph), "a graph's end");
	graph = plain_capture(100);
	t.updated = instance(graph);
	must(cuGraphDestroy(graph), "a graph's end");
	t.kept = plain_capture(200);
	t.of_kept = instance(t.kept);
	must(cuGraphClone(&t.copy, t.kept), "a copy of a graph");
	t.of_copy = instance(t.copy);
	make_parent();
	make_many();
}

/* A node of a captured graph, and of its instance, is told otherwise. */
static void change(unsigned int n)
{
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraphNode node[4];
	size_t count = 4;
	CUdeviceptr at = t.a;
	uint32_t add = n;
	void *args[] = { &at, &add };

	must(cuGraphGetNodes(t.kept, node, &count), "the nodes");
	must(cuGraphKernelNodeGetParams(node[n % 2], &p), "what a node does");
	p.kernelParams = args;
	must(cuGraphExecKernelNodeSetParams(t.of_kept, node[n % 2], &p), "another thing for the instance");
	if (n % 2)
		must(cuGraphKernelNodeSetParams(node[0], &p), "another thing for the node");
}

static void renew(unsigned int n)
{
	must(cuGraphExecDestroy(t.of_kept), "an instance's end");
	t.of_kept = instance(t.kept);
	must(cuGraphExecDestroy(t.of_copy), "an instance's end");
	must(cuGraphDestroy(t.copy), "a graph's end");
	must(cuGraphClone(&t.copy, t.kept), "a copy of a graph");
	t.of_copy = instance(t.copy);
	if (n % 12)
		return;
	must(cuGraphExecDestroy(t.forked), "an instance's end");
	{
		CUgraph graph = fork_and_join();

		t.forked = instance(graph);
		must(cuGraphDestroy(graph), "a graph's end");
	}
}

void captures_round(unsigned int n, uint64_t *d)
{
	CUgraphExec list[] = { t.forked, t.updated, t.of_kept, t.of_copy, t.of_parent };
	uint32_t back[WORDS];

	t.pinned[n % 64] = n * 17;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		must(cuGraphLaunch(list[i], t.stream), "a graph");
	must(cuStreamSynchronize(t.stream), "a wait");
	must(cuMemcpyDtoH(back, t.a, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	must(cuMemcpyDtoH(back, t.b, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	must(cuMemcpyDtoH(back, t.c, sizeof(back)), "a copy");
	digest(d, back, sizeof(back));
	digest(d, &t.heard, sizeof(t.heard));
	if (n % 2)
		update(n);
	if (n % 3 == 0)
		change(n);
	if (n % 4 == 0)
		renew(n);
}
