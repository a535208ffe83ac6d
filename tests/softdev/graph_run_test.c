/* graph_run_test.c: how graphs run: branches, conditions, kernels, events, values, and what may change afterwards. */
#include "softdev/soft.h"

#include "graph_ptx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static CUmodule module;
static CUstream stream;
static CUdeviceptr memory;

static CUfunction kernel(const char *name)
{
	CUfunction f = NULL;

	CU(cuModuleGetFunction(&f, module, name));
	return f;
}

static CUgraphNode launch(CUgraph g, CUgraphNode *need, size_t count, CUfunction f, void **params)
{
	CUDA_KERNEL_NODE_PARAMS p = { .func = f, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 1,
				      .blockDimY = 1, .blockDimZ = 1, .kernelParams = params };
	CUgraphNode n = NULL;
	CUresult e = cuGraphAddKernelNode(&n, g, need, count, &p);

	if (e)
		CU(e);
	return n;
}

static unsigned word(unsigned at)
{
	unsigned v = ~0u;

	CU(cuMemcpyDtoH(&v, memory + 4 * at, 4));
	return v;
}

static void set_word(unsigned at, unsigned v)
{
	CU(cuMemcpyHtoD(memory + 4 * at, &v, 4));
}

/* On the stream of the graphs, which does not wait for the null stream; the plain call returns before it is done. */
static void clear(void)
{
	CU(cuMemsetD32Async(memory, 0, 32, stream));
}

/* Lets go what waits for this value. */
static void open_gate(unsigned v)
{
	CUstream s;

	CU(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CU(cuStreamWriteValue32(s, memory + 128, v, 0));
	CU(cuStreamSynchronize(s));
	CU(cuStreamDestroy(s));
}

static void run(CUgraphExec x)
{
	CU(cuGraphLaunch(x, stream));
	CU(cuStreamSynchronize(stream));
}

/* Layers of nodes, each after all of the layer before: no node may run early. */
static void branches(void)
{
	enum { LAYERS = 20, WIDE = 8 };
	CUfunction add = kernel("add"), digit = kernel("digit");
	CUdeviceptr at = memory, order = memory + 64;
	CUgraphNode layer[2][WIDE], join = NULL;
	unsigned one = 1;
	CUgraphExec x;
	CUgraph g;

	CU(cuGraphCreate(&g, 0));
	for (int i = 0; i < LAYERS; i++) {
		for (int k = 0; k < WIDE; k++)
			layer[1][k] = launch(g, &join, i ? 1 : 0, add, (void *[]){ &at, &one });
		memcpy(layer[0], layer[1], sizeof(layer[0]));
		unsigned d = (unsigned)i % 10;
		join = launch(g, layer[0], WIDE, digit, (void *[]){ &order, &d });
	}
	CU(cuGraphInstantiate(&x, g, 0));
	for (int i = 0; i < 20; i++) {
		unsigned long long digits = 0;

		clear();
		run(x);
		is(word(0), LAYERS * WIDE);
		CU(cuMemcpyDtoH(&digits, order, 8));
		ok(digits == 1234567890123456789ull);
	}
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
}

static CUgraph body_of(CUgraph g, CUgraphNode *need, size_t count, CUgraphConditionalHandle h,
		       CUgraphConditionalNodeType type, unsigned size, CUgraph *ret, CUgraphNode *ret_node)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUgraphNode n = NULL;

	p.conditional.handle = h;
	p.conditional.type = type;
	p.conditional.size = size;
	CU(cuCtxGetCurrent(&p.conditional.ctx));
	CU(cuGraphAddNode(&n, g, need, NULL, count, &p));
	for (unsigned i = 0; ret && i < size; i++)
		ret[i] = p.conditional.phGraph_out[i];
	if (ret_node)
		*ret_node = n;
	return p.conditional.phGraph_out ? p.conditional.phGraph_out[0] : NULL;
}

static void loop(void)
{
	CUgraphConditionalHandle h;
	CUdeviceptr left = memory, sum = memory + 4;
	unsigned five = 5;
	CUgraphExec x;
	CUgraphNode n;
	CUcontext c;
	CUgraph g, body;

	CU(cuCtxGetCurrent(&c));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&h, g, c, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
	FAILS(cuGraphInstantiate(&x, g, 0), CUDA_ERROR_INVALID_VALUE); /* a handle without a node */
	body = body_of(g, NULL, 0, h, CU_GRAPH_COND_TYPE_WHILE, 1, NULL, &n);
	launch(body, NULL, 0, kernel("add"), (void *[]){ &sum, &five });
	launch(body, NULL, 0, kernel("count_down"), (void *[]){ &left, &h });
	CU(cuGraphInstantiate(&x, g, 0));
	for (unsigned turns = 1; turns < 30; turns += 7) {
		set_word(0, turns);
		set_word(1, 0);
		run(x);
		is(word(0), 0);
		is(word(1), 5 * turns);
	}
	CU(cuGraphExecDestroy(x));
	FAILS(cuGraphDestroy(body), CUDA_ERROR_INVALID_VALUE);

	/* What a body may not contain. */
	CU(cuGraphAddHostNode(&n, body, NULL, 0, &(CUDA_HOST_NODE_PARAMS){ (CUhostFn)abort, NULL }));
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { 0 };
	FAILS(cuGraphInstantiateWithParams(&x, g, &params), CUDA_ERROR_NOT_SUPPORTED);
	is(params.result_out, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
	ok(params.hErrNode_out == n);
	CU(cuGraphDestroy(g));
}

static void choices(void)
{
	CUgraphConditionalHandle h, k;
	CUdeviceptr which = memory, sum = memory + 4;
	CUgraph g, copy, body[3], either[2];
	CUgraphNode choose[2];
	CUgraphExec x;
	CUcontext c;

	CU(cuCtxGetCurrent(&c));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphConditionalHandleCreate(&h, g, c, 0, 0));
	CU(cuGraphConditionalHandleCreate(&k, g, c, 0, 0));
	choose[0] = launch(g, NULL, 0, kernel("choose"), (void *[]){ &h, &which });
	choose[1] = launch(g, NULL, 0, kernel("choose"), (void *[]){ &k, &which });
	body_of(g, &choose[0], 1, h, CU_GRAPH_COND_TYPE_SWITCH, 3, body, NULL);
	body_of(g, &choose[1], 1, k, CU_GRAPH_COND_TYPE_IF, 2, either, NULL);
	for (unsigned i = 0; i < 3; i++) {
		unsigned v = i + 1;

		launch(body[i], NULL, 0, kernel("add"), (void *[]){ &sum, &v });
	}
	for (unsigned i = 0; i < 2; i++) {
		unsigned v = i ? 2000 : 1000;

		launch(either[i], NULL, 0, kernel("add"), (void *[]){ &sum, &v });
	}
	CU(cuGraphClone(&copy, g));
	CU(cuGraphInstantiate(&x, copy, 0));
	static const unsigned wanted[] = { 2001, 1002, 1003, 1000 };
	for (unsigned i = 0; i < 4; i++) {
		set_word(0, i);
		set_word(1, 0);
		run(x);
		is(word(1), wanted[i]);
	}
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ h, CU_GRAPH_COND_TYPE_WHILE, 2, NULL, c };
	CUgraphNode n;
	FAILS(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){ h + 1000, CU_GRAPH_COND_TYPE_IF, 1, NULL, c };
	FAILS(cuGraphAddNode(&n, g, NULL, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(copy));
	CU(cuGraphDestroy(g));
}

/* What is queued keeps what it was queued with; what comes later has the new. */
static void changed_while_queued(void)
{
	CUdeviceptr gate = memory + 128, sum = memory;
	CUfunction add = kernel("add");
	unsigned v = 1;
	CUgraphNode n, disabled;
	CUgraphExec x;
	CUgraph g;

	set_word(0, 0);
	set_word(32, 0);
	CU(cuGraphCreate(&g, 0));
	n = launch(g, NULL, 0, add, (void *[]){ &sum, &v });
	v = 1000;
	disabled = launch(g, &n, 1, add, (void *[]){ &sum, &v });
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuStreamWaitValue32(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ));
	CU(cuGraphLaunch(x, stream));
	CUDA_KERNEL_NODE_PARAMS p = { .func = add, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 2,
				      .blockDimY = 1, .blockDimZ = 1, .kernelParams = (void *[]){ &sum, &v } };
	v = 10;
	CU(cuGraphExecKernelNodeSetParams(x, n, &p));
	CU(cuGraphNodeSetEnabled(x, disabled, 0));
	CU(cuGraphNodeGetEnabled(x, disabled, &v));
	is(v, 0);
	CU(cuGraphLaunch(x, stream));
	CU(cuGraphDestroy(g));
	CU(cuGraphExecDestroy(x)); /* goes on */
	FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	open_gate(1);
	CU(cuStreamSynchronize(stream));
	is(word(0), 1 + 1000 + 20);
}

/* An event of a graph is reached when its node has run, and a node that waits holds up no other. */
static void events(void)
{
	CUdeviceptr sum = memory, gate = memory + 128;
	CUstreamBatchMemOpParams wait = { .waitValue = { CU_STREAM_MEM_OP_WAIT_VALUE_32, gate, { 1 },
							 CU_STREAM_WAIT_VALUE_EQ, 0 } };
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = { .count = 1, .paramArray = &wait }, q;
	CUgraphNode first, record, held, held_event, last;
	unsigned one = 1, hundred = 100;
	CUevent begun, go;
	CUstream other;
	CUgraphExec x;
	CUgraph g;

	set_word(0, 0);
	set_word(32, 0);
	CU(cuEventCreate(&begun, CU_EVENT_DEFAULT));
	CU(cuEventCreate(&go, CU_EVENT_DISABLE_TIMING));
	CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CU(cuCtxGetCurrent(&p.ctx));
	CU(cuGraphCreate(&g, 0));
	CU(cuGraphAddBatchMemOpNode(&held, g, NULL, 0, &p));
	CU(cuGraphBatchMemOpNodeGetParams(held, &q));
	ok(q.count == 1 && q.paramArray[0].waitValue.address == gate);
	CU(cuGraphAddEventWaitNode(&held_event, g, NULL, 0, go));
	first = launch(g, NULL, 0, kernel("add"), (void *[]){ &sum, &one });
	CU(cuGraphAddEventRecordNode(&record, g, &first, 1, begun));
	last = launch(g, (CUgraphNode[]){ held, held_event }, 2, kernel("add"), (void *[]){ &sum, &hundred });
	(void)last;
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuStreamWaitValue32(other, gate, 2, CU_STREAM_WAIT_VALUE_GEQ));
	CU(cuEventRecord(go, other));
	CU(cuGraphLaunch(x, stream));
	CU(cuEventSynchronize(begun)); /* though the graph cannot end */
	is(word(0), 1);
	FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	open_gate(1);
	FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY); /* the event is still missing */
	open_gate(2);
	CU(cuStreamSynchronize(other));
	open_gate(1);
	CU(cuStreamSynchronize(stream));
	is(word(0), 101);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	CU(cuEventDestroy(begun));
	CU(cuEventDestroy(go));
	CU(cuStreamDestroy(other));
}

/* The same shape takes the place of the old; another one is refused with the place named. */
static void updates(void)
{
	CUdeviceptr order = memory, sum = memory + 64;
	CUfunction digit = kernel("digit"), add = kernel("add");
	CUgraphExecUpdateResultInfo info;
	unsigned long long digits = 0;
	CUgraphNode a, b, c, n;
	CUgraph g, other;
	CUgraphExec x;
	unsigned v = 1;

	CU(cuGraphCreate(&g, 0));
	a = launch(g, NULL, 0, digit, (void *[]){ &order, &v });
	v = 2;
	b = launch(g, &a, 1, digit, (void *[]){ &order, &v });
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphCreate(&other, 0));
	v = 7;
	a = launch(other, NULL, 0, digit, (void *[]){ &order, &v });
	v = 8;
	b = launch(other, &a, 1, digit, (void *[]){ &order, &v });
	CU(cuGraphExecUpdate(x, other, &info));
	is(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	clear();
	run(x);
	CU(cuMemcpyDtoH(&digits, order, 8));
	is(digits, 78);

	/* One node more; one edge less; another kind. */
	c = launch(other, &b, 1, add, (void *[]){ &sum, &v });
	FAILS(cuGraphExecUpdate(x, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	is(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	ok(!info.errorNode);
	CU(cuGraphDestroyNode(c));
	CU(cuGraphRemoveDependencies(other, &a, &b, NULL, 1));
	FAILS(cuGraphExecUpdate(x, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	is(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	CU(cuGraphDestroyNode(b));
	CU(cuGraphAddEmptyNode(&n, other, &a, 1));
	FAILS(cuGraphExecUpdate(x, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	is(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	ok(info.errorNode == n);

	/* Nothing of that has changed what is launched. */
	clear();
	run(x);
	CU(cuMemcpyDtoH(&digits, order, 8));
	is(digits, 78);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(other));
	CU(cuGraphDestroy(g));
}

static void children(void)
{
	CUdeviceptr order = memory;
	CUfunction digit = kernel("digit");
	unsigned long long digits = 0;
	CUgraphNode n, child, inner;
	CUgraph g, part, inside;
	size_t count = 1;
	CUgraphExec x;
	unsigned v = 2;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&part, 0));
	inner = launch(part, NULL, 0, digit, (void *[]){ &order, &v });
	v = 3;
	launch(part, &inner, 1, digit, (void *[]){ &order, &v });
	v = 1;
	n = launch(g, NULL, 0, digit, (void *[]){ &order, &v });
	CU(cuGraphAddChildGraphNode(&child, g, &n, 1, part));
	v = 4;
	launch(g, &child, 1, digit, (void *[]){ &order, &v });
	CU(cuGraphInstantiate(&x, g, 0));
	clear();
	run(x);
	CU(cuMemcpyDtoH(&digits, order, 8));
	is(digits, 1234);

	/* A node within the child, by its handle there; then the child as a whole. */
	CU(cuGraphChildGraphNodeGetGraph(child, &inside));
	CU(cuGraphGetRootNodes(inside, &inner, &count));
	CUDA_KERNEL_NODE_PARAMS p;
	CU(cuGraphKernelNodeGetParams(inner, &p));
	v = 9;
	p.kernelParams = (void *[]){ &order, &v };
	CU(cuGraphExecKernelNodeSetParams(x, inner, &p));
	clear();
	run(x);
	CU(cuMemcpyDtoH(&digits, order, 8));
	is(digits, 1934);
	CU(cuGraphExecChildGraphNodeSetParams(x, child, part));
	clear();
	run(x);
	CU(cuMemcpyDtoH(&digits, order, 8));
	is(digits, 1234);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(part));
	CU(cuGraphDestroy(g));
}

/* The same executable on two streams: one launch after the other, whatever the streams. */
static void serialised(void)
{
	CUdeviceptr at = memory;
	unsigned turns = 3000;
	CUstream other;
	CUgraphExec x;
	CUgraph g;
	unsigned wanted = 0;

	set_word(0, 0);
	CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CU(cuGraphCreate(&g, 0));
	launch(g, NULL, 0, kernel("spin"), (void *[]){ &at, &turns });
	CU(cuGraphInstantiate(&x, g, 0));
	for (int i = 0; i < 20; i++)
		CU(cuGraphLaunch(x, i % 2 ? stream : other));
	CU(cuCtxSynchronize());
	for (unsigned i = 0; i < 20 * turns; i++)
		wanted = wanted * 1664525u + 1013904223u;
	is(word(0), wanted);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
	CU(cuStreamDestroy(other));
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void less(double *best, double value)
{
	if (value < *best)
		*best = value;
}

/*
 * What a node costs: about what a launch costs on a stream, which takes turns with it. The least of each is compared,
 * and on a busy machine more turns are taken until each has had a quiet one.
 */
static void cost(void)
{
	enum { NODES = 1000, TURNS = 7, MOST_TURNS = 200, DEARER = 3 };
	CUfunction nothing = kernel("nothing");
	CUgraphNode n = NULL, root;
	CUgraph g, wide;
	CUgraphExec x, y;
	double begin, chain = 1e3, broad = 1e3, streamed = 1e3;

	CU(cuGraphCreate(&g, 0));
	CU(cuGraphCreate(&wide, 0));
	CU(cuGraphAddEmptyNode(&root, wide, NULL, 0));
	for (int i = 0; i < NODES; i++) {
		n = launch(g, &n, i ? 1 : 0, nothing, NULL);
		launch(wide, &root, 1, nothing, NULL);
	}
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphInstantiate(&y, wide, 0));
	for (int i = 0; i < TURNS || (i < MOST_TURNS && larger(chain, broad) > DEARER * streamed); i++) {
		begin = seconds();
		run(x);
		less(&chain, seconds() - begin);
		begin = seconds();
		run(y);
		less(&broad, seconds() - begin);
		begin = seconds();
		for (int k = 0; k < NODES; k++)
			cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
		cuStreamSynchronize(stream);
		less(&streamed, seconds() - begin);
	}
	printf("# %d empty kernels: %.2f us each in a chain, %.2f as branches, %.2f on a stream\n", NODES,
	       chain * 1e6 / NODES, broad * 1e6 / NODES, streamed * 1e6 / NODES);
	ok(larger(chain, broad) <= DEARER * streamed);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphExecDestroy(y));
	CU(cuGraphDestroy(g));
	CU(cuGraphDestroy(wide));
}

/* A fault in a branch ends the graph and the context. */
static void fault(void)
{
	CUdeviceptr bad = 64, sum = memory;
	unsigned one = 1;
	CUgraphNode n;
	CUgraphExec x;
	CUevent e;
	CUgraph g;

	CU(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	CU(cuGraphCreate(&g, 0));
	n = launch(g, NULL, 0, kernel("wild"), (void *[]){ &bad });
	n = launch(g, &n, 1, kernel("add"), (void *[]){ &sum, &one });
	CU(cuGraphAddEventRecordNode(&n, g, &n, 1, e));
	CU(cuGraphInstantiate(&x, g, 0));
	CU(cuGraphLaunch(x, stream));
	FAILS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	FAILS(cuGraphLaunch(x, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	CU(cuGraphExecDestroy(x));
	CU(cuGraphDestroy(g));
}

int main(void)
{
	setenv("METE_SOFT_THREADS", "4", 1);
	soft_begin("1", "64M");
	soft_context();
	CU(cuModuleLoadData(&module, graph_ptx));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&memory, 4096));
	branches();
	loop();
	choices();
	changed_while_queued();
	events();
	updates();
	children();
	serialised();
	cost();
	fault();
	return soft_end();
}
