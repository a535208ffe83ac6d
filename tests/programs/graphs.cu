/* Graphs made by hand: kernels, copies, fills, host functions, children; parameters changed in place; clones. */
#include "program.h"

enum { N = 512 };

#ifdef __CUDACC__

KERNEL scale(unsigned *p, unsigned factor, unsigned add)
{
	p[THREAD] = p[THREAD] * factor + add;
}

#else
#include PROGRAM_STUBS
#endif

static unsigned host_calls;

static void count(void *argument)
{
	host_calls += *(unsigned *)argument;
}

int main(void)
{
	static unsigned x[N], z[N], one = 1;
	unsigned *d = DEVICE_ALLOC(unsigned, N), factor = 3, add = 5, i;
	void *args[3];
	cudaGraph_t graph, clone;
	cudaGraphExec_t exec;
	cudaGraphNode_t in, first, second, host, out, nodes[8], fill, found;
	struct cudaKernelNodeParams kernel;
	struct cudaHostNodeParams call;
	struct cudaMemsetParams set;
	enum cudaGraphNodeType type;
	cudaStream_t stream;
	size_t n = 8;

	for (i = 0; i < N; i++)
		x[i] = random32();
	args[0] = &d;
	args[1] = &factor;
	args[2] = &add;
	memset(&kernel, 0, sizeof(kernel));
	kernel.func = (void *)scale;
	kernel.gridDim = dim(N / 128, 1, 1);
	kernel.blockDim = dim(128, 1, 1);
	kernel.kernelParams = args;
	call.fn = count;
	call.userData = &one;
	CALL(cudaStreamCreate(&stream));
	CALL(cudaGraphCreate(&graph, 0));
	CALL(cudaGraphAddMemcpyNode1D(&in, graph, NULL, 0, d, x, sizeof(x), cudaMemcpyHostToDevice));
	CALL(cudaGraphAddKernelNode(&first, graph, &in, 1, &kernel));
	factor = 7;
	add = 1;
	CALL(cudaGraphAddKernelNode(&second, graph, &first, 1, &kernel));
	CALL(cudaGraphAddHostNode(&host, graph, &second, 1, &call));
	CALL(cudaGraphAddMemcpyNode1D(&out, graph, &host, 1, z, d, sizeof(z), cudaMemcpyDeviceToHost));
	CALL(cudaGraphGetNodes(graph, nodes, &n));
	CHECK(n == 5);
	CALL(cudaGraphNodeGetType(host, &type));
	CHECK(type == cudaGraphNodeTypeHost);
	CALL(cudaGraphInstantiate(&exec, graph, 0));
	for (i = 0; i < 3; i++)
		CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	CHECK(host_calls == 3);
	for (i = 0; i < N; i++)
		CHECK(z[i] == (x[i] * 3 + 5) * 7 + 1);

	factor = 11;
	CALL(cudaGraphExecKernelNodeSetParams(exec, first, &kernel));
	CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	for (i = 0; i < N; i++)
		CHECK(z[i] == (x[i] * 11 + 1) * 7 + 1);
	CALL(cudaGraphExecDestroy(exec));

	/* A clone with the graph itself as a child behind a fill. */
	CALL(cudaGraphClone(&clone, graph));
	CALL(cudaGraphNodeFindInClone(&found, second, clone));
	CALL(cudaGraphKernelNodeSetParams(found, &kernel));
	memset(&set, 0, sizeof(set));
	set.dst = d;
	set.value = 9;
	set.elementSize = 4;
	set.width = N / 2;
	set.height = 1;
	CALL(cudaGraphAddMemsetNode(&fill, clone, NULL, 0, &set));
	CALL(cudaGraphNodeFindInClone(&found, first, clone));
	CALL(cudaGraphAddDependencies(clone, &fill, &found, NULL, 1));

	CALL(cudaGraphNodeFindInClone(&in, in, clone));
	CALL(cudaGraphAddDependencies(clone, &in, &fill, NULL, 1));
	CALL(cudaGraphInstantiate(&exec, clone, 0));
	CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	for (i = 0; i < N; i++)
		CHECK(z[i] == ((i < N / 2 ? 9 : x[i]) * 3 + 5) * 11 + 1);
	CALL(cudaGraphExecDestroy(exec));
	CALL(cudaGraphDestroy(clone));
	CALL(cudaGraphCreate(&clone, 0));
	CALL(cudaGraphAddChildGraphNode(&first, clone, NULL, 0, graph));
	CALL(cudaGraphAddKernelNode(&second, clone, &first, 1, &kernel));
	CALL(cudaGraphInstantiate(&exec, clone, 0));
	CALL(cudaGraphLaunch(exec, stream));
	CALL(cudaStreamSynchronize(stream));
	BRING(z, d);
	for (i = 0; i < N; i++)
		CHECK(z[i] == ((x[i] * 3 + 5) * 7 + 1) * 11 + 1);
	/* a cycle is refused */
	GIVES(cudaGraphAddDependencies(clone, &second, &first, NULL, 1) == cudaSuccess ? cudaGraphInstantiate(&exec, clone, 0) : cudaErrorInvalidValue,
	      cudaErrorInvalidValue);
	CALL(cudaGraphDestroy(clone));
	CALL(cudaGraphDestroy(graph));
	CALL(cudaStreamDestroy(stream));
	return program_end();
}
