/* Graphs: nodes of each kind made by hand, captured streams, instances that are changed, conditional nodes. */
#include "program.h"

#include <stdatomic.h>
#include <string.h>

enum { N = 64 };

static unsigned *p, host[N];

static unsigned first(void)
{
	CALL(cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost));
	return host[0];
}

static struct cudaKernelNodeParams kernel_params(unsigned *n, unsigned *x, void **args)
{
	args[0] = &p;
	args[1] = n;
	args[2] = x;
	return (struct cudaKernelNodeParams){
		.func = &add, .gridDim = { 1, 1, 1 }, .blockDim = { N, 1, 1 }, .kernelParams = args
	};
}

static cudaGraphExec_t instance_of(cudaGraph_t graph)
{
	cudaGraphExec_t exec = NULL;

	CALL(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void run(cudaGraphExec_t exec, cudaStream_t stream)
{
	CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
}

static void called(void *data)
{
	atomic_fetch_add((atomic_int *)data, 1); /* of a user object on another thread, which nothing waits for */
}

static void test_by_hand(cudaStream_t stream)
{
	unsigned n = N, x = 3, word = 40, got = 0, y = 10;
	int calls = 0;
	void *args[3], *args2[3];
	struct cudaKernelNodeParams k = kernel_params(&n, &x, args), seen, k2 = kernel_params(&n, &y, args2);
	struct cudaMemsetParams fill = { .dst = p, .value = 7, .elementSize = 4, .width = N, .height = 1 };
	struct cudaHostNodeParams function = { called, &calls };
	struct cudaMemcpy3DParms copy;
	enum cudaGraphNodeType type;
	cudaGraph_t graph, clone;
	cudaGraphNode_t set, kernel, back, call, to_symbol, from_symbol, found;
	cudaGraphExec_t exec;
	size_t nodes = 0;

	CALL(cudaGraphCreate(&graph, 0));
	CALL(cudaGraphAddMemsetNode(&set, graph, NULL, 0, &fill));
	CALL(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &k));
	CALL(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, host, p, sizeof(host), cudaMemcpyDeviceToHost));
	CALL(cudaGraphAddHostNode(&call, graph, &back, 1, &function));
	CALL(cudaGraphAddMemcpyNodeToSymbol(&to_symbol, graph, &call, 1, &counter, &word, 4, 0,
					    cudaMemcpyHostToDevice));
	CALL(cudaGraphAddMemcpyNodeFromSymbol(&from_symbol, graph, &to_symbol, 1, &got, &counter, 4, 0,
					      cudaMemcpyDeviceToHost));
	CALL(cudaGraphGetNodes(graph, NULL, &nodes));
	is(nodes, 6);
	CALL(cudaGraphNodeGetType(back, &type));
	is(type, cudaGraphNodeTypeMemcpy);
	CALL(cudaGraphKernelNodeGetParams(kernel, &seen));
	ok(seen.func == (void *)&add && seen.blockDim.x == N && seen.gridDim.x == 1);
	CALL(cudaGraphMemcpyNodeGetParams(back, &copy));
	ok(copy.dstPtr.ptr == host && copy.srcPtr.ptr == p && copy.extent.width == sizeof(host));
	is(copy.kind, cudaMemcpyDeviceToHost);

	exec = instance_of(graph);
	run(exec, stream);
	is(host[N - 1], 10);
	is(calls, 1);
	is(got, 40);
	CALL(cudaGraphExecKernelNodeSetParams(exec, kernel, &k2));
	fill.value = 1;
	CALL(cudaGraphExecMemsetNodeSetParams(exec, set, &fill));
	run(exec, stream);
	is(host[0], 11);
	is(calls, 2);

	CALL(cudaGraphClone(&clone, graph));
	CALL(cudaGraphNodeFindInClone(&found, kernel, clone));
	CALL(cudaGraphKernelNodeSetParams(found, &k2));
#if CUDART_VERSION >= 12000
	cudaGraphExecUpdateResultInfo info;
	CALL(cudaGraphExecUpdate(exec, clone, &info));
	is(info.result, cudaGraphExecUpdateSuccess);
#else
	enum cudaGraphExecUpdateResult result;
	CALL(cudaGraphExecUpdate(exec, clone, NULL, &result));
	is(result, cudaGraphExecUpdateSuccess);
#endif
	run(exec, stream);
	is(host[0], 17);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(clone));
	CALL(cudaGraphDestroy(graph));
}

static void test_capture(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;
	cudaStream_t side;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	size_t roots = 0, nodes = 0;
	unsigned *q;

	CALL(cudaStreamCreate(&side));
	CALL(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CALL(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CALL(cudaMemset(p, 0, sizeof(host)));
	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CALL(cudaStreamIsCapturing(stream, &status));
	is(status, cudaStreamCaptureStatusActive);
	CALL(launch_add(p, N, 1, stream));
	CALL(cudaEventRecord(fork, stream));
	CALL(cudaStreamWaitEvent(side, fork, 0));
	CALL(launch_add(p, N / 2, 10, side));
	CALL(cudaMallocAsync((void **)&q, sizeof(host), stream));
	CALL(cudaMemsetAsync(q, 0, sizeof(host), stream));
	CALL(launch_add(q, N, 5, stream));
	CALL(cudaEventRecord(join, side));
	CALL(cudaStreamWaitEvent(stream, join, 0));
	CALL(cudaMemcpyAsync(p + N / 2, q, sizeof(host) / 2, cudaMemcpyDeviceToDevice, stream));
	CALL(cudaFreeAsync(q, stream));
	FAILS(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	FAILS(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	cudaGetLastError();

	CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CALL(launch_add(p, N, 1, stream));
	CALL(cudaEventRecord(fork, stream));
	CALL(cudaStreamWaitEvent(side, fork, 0));
	CALL(launch_add(p, N / 2, 10, side));
	CALL(cudaEventRecord(join, side));
	CALL(cudaStreamWaitEvent(stream, join, 0));
	CALL(cudaStreamEndCapture(stream, &graph));
	CALL(cudaGraphGetRootNodes(graph, NULL, &roots));
	CALL(cudaGraphGetNodes(graph, NULL, &nodes));
	is(roots, 1);
	is(nodes, 2);
	is(first(), 0); /* nothing has run yet */
	exec = instance_of(graph);
	run(exec, stream);
	run(exec, stream);
	is(first(), 22);
	is(host[N - 1], 2);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));
	CALL(cudaEventDestroy(fork));
	CALL(cudaEventDestroy(join));
	CALL(cudaStreamDestroy(side));
}

static void test_user_object(void)
{
	cudaUserObject_t object;
	cudaGraph_t graph;
	atomic_int calls = 0;

	CALL(cudaGraphCreate(&graph, 0));
	CALL(cudaUserObjectCreate(&object, &calls, called, 1, cudaUserObjectNoDestructorSync));
	CALL(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
	is(calls, 0);
	CALL(cudaGraphDestroy(graph));
	for (int i = 0; i < 2000 && !calls; i++)
		usleep(1000);
	is(calls, 1);
}

#if CUDART_VERSION >= 13000
#define ADD_NODE(ret, graph, params) cudaGraphAddNode(ret, graph, NULL, NULL, 0, params)
#elif CUDART_VERSION >= 12000
#define ADD_NODE(ret, graph, params) cudaGraphAddNode(ret, graph, NULL, 0, params)
#endif

static void test_conditional(cudaStream_t stream)
{
#if CUDART_VERSION >= 12000
	unsigned n = N, x = 100;
	void *args[3];
	struct cudaKernelNodeParams k = kernel_params(&n, &x, args);
	struct cudaGraphNodeParams params = { .type = cudaGraphNodeTypeConditional };
	cudaGraphConditionalHandle handle;
	cudaGraph_t graph;
	cudaGraphNode_t node, inner;
	cudaGraphExec_t exec;

	CALL(cudaMemset(p, 0, sizeof(host)));
	CALL(cudaGraphCreate(&graph, 0));
	CALL(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeIf;
	params.conditional.size = 1;
	CALL(ADD_NODE(&node, graph, &params));
	CALL(cudaGraphAddKernelNode(&inner, params.conditional.phGraph_out[0], NULL, 0, &k));
	exec = instance_of(graph);
	run(exec, stream);
	is(first(), 100);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(graph));
#endif
}

int main(void)
{
	cudaStream_t stream;

	program_begin("1");
	CALL(cudaMalloc((void **)&p, sizeof(host)));
	CALL(cudaStreamCreate(&stream));
	test_by_hand(stream);
	test_capture(stream);
	test_user_object();
	test_conditional(stream);
	CALL(cudaStreamDestroy(stream));
	CALL(cudaFree(p));
	return program_end();
}
