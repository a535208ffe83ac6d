/* compute_90: graphs that decide while they run: a loop whose end a kernel decides, and a branch. */
#include "program.h"

#ifdef __CUDACC__

KERNEL count(unsigned *n, cudaGraphConditionalHandle loop, unsigned limit)
{
	cudaGraphSetConditional(loop, ++*n < limit);
}

KERNEL decide(unsigned *n, cudaGraphConditionalHandle branch)
{
	cudaGraphSetConditional(branch, *n % 2);
}

KERNEL mark(unsigned *n)
{
	*n += 1000;
}

#else
#include PROGRAM_STUBS
#endif

static cudaGraphNode_t kernel_node(cudaGraph_t graph, cudaGraphNode_t *after, const void *kernel, void **args)
{
	struct cudaKernelNodeParams p;
	cudaGraphNode_t node;

	memset(&p, 0, sizeof(p));
	p.func = (void *)kernel;
	p.gridDim = p.blockDim = dim(1, 1, 1);
	p.kernelParams = args;
	CALL(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &p));
	return node;
}

static cudaGraph_t conditional(cudaGraph_t graph, cudaGraphNode_t *after, cudaGraphConditionalHandle handle,
			       enum cudaGraphConditionalNodeType type, cudaGraphNode_t *node)
{
	struct cudaGraphNodeParams p = { cudaGraphNodeTypeConditional };

	p.conditional.handle = handle;
	p.conditional.type = type;
	p.conditional.size = 1;
	CALL(cudaGraphAddNode(node, graph, after, NULL, after ? 1 : 0, &p));
	return p.conditional.phGraph_out[0];
}

int main(void)
{
	unsigned *n = DEVICE_ALLOC(unsigned, 1), limit, z[1];
	cudaGraphConditionalHandle loop, branch;
	cudaGraph_t graph, body;
	cudaGraphExec_t exec;
	cudaGraphNode_t node, next;
	void *count_args[3], *decide_args[2], *mark_args[1];
	int version = 0;

	CALL(cudaDriverGetVersion(&version));
	if (capability() < 90 || version < 12040)
		SKIP("needs compute capability 9.0 and a driver of CUDA 12.4");
	for (limit = 10; limit < 12; limit++) {
		CALL(cudaMemset(n, 0, sizeof(*n)));
		CALL(cudaGraphCreate(&graph, 0));
		CALL(cudaGraphConditionalHandleCreate(&loop, graph, 1, cudaGraphCondAssignDefault));
		CALL(cudaGraphConditionalHandleCreate(&branch, graph, 0, cudaGraphCondAssignDefault));
		count_args[0] = decide_args[0] = mark_args[0] = &n;
		count_args[1] = &loop;
		count_args[2] = &limit;
		decide_args[1] = &branch;
		body = conditional(graph, NULL, loop, cudaGraphCondTypeWhile, &node);
		kernel_node(body, NULL, (const void *)count, count_args);
		next = kernel_node(graph, &node, (const void *)decide, decide_args);
		body = conditional(graph, &next, branch, cudaGraphCondTypeIf, &node);
		kernel_node(body, NULL, (const void *)mark, mark_args);
		CALL(cudaGraphInstantiate(&exec, graph, 0));
		CALL(cudaGraphLaunch(exec, 0));
		BRING(z, n);
		CHECK(z[0] == (limit % 2 ? limit + 1000 : limit));
		CALL(cudaGraphExecDestroy(exec));
		CALL(cudaGraphDestroy(graph));
	}
	return program_end();
}
