/*
 * grapher.c: a program whose graphs allocate in places that are hard to see: grapher WAY BYTES
 *
 *   devices   a small node on each device of the program but the last one
 *   nested    a node in a child graph, 40 children deep
 *   deep      the same, 1000 children deep
 *   body      a node in the body of a conditional node
 *   again     a node that comes with an update of the executable graph
 *
 * Says the first result that is not CUDA_SUCCESS, or that of the launch, and holds what it has until its input ends.
 */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL 4096

static CUresult add_allocation(CUgraph g, int device, size_t bytes)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
							.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
								      .id = device } },
					 .bytesize = bytes };
	CUgraphNode node;

	return cuGraphAddMemAllocNode(&node, g, NULL, 0, &p);
}

static CUresult on_all_devices(CUgraph g, size_t bytes)
{
	CUresult r;
	int count;

	r = cuDeviceGetCount(&count);
	for (int i = 0; !r && i < count; i++)
		r = add_allocation(g, i, i + 1 < count ? SMALL : bytes);
	return r;
}

/* The inner graph becomes the outer one's. */
static CUresult in_children(CUgraph g, size_t bytes, int deep)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_GRAPH,
				.graph = { .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE } };
	CUgraphNode node;
	CUgraph inner, outer;
	CUresult r = cuGraphCreate(&inner, 0);

	if (!r)
		r = add_allocation(inner, 0, bytes);
	for (int i = 0; !r && i < deep; i++) {
		outer = g;
		if (i + 1 < deep)
			r = cuGraphCreate(&outer, 0);
		p.graph.graph = inner;
		if (!r)
			r = cuGraphAddNode_v2(&node, outer, NULL, NULL, 0, &p);
		inner = outer;
	}
	return r;
}

static CUresult in_body(CUgraph g, size_t bytes)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
				.conditional = { .type = CU_GRAPH_COND_TYPE_IF, .size = 1 } };
	CUgraphNode node;
	CUresult r = cuCtxGetCurrent(&p.conditional.ctx);

	if (!r)
		r = cuGraphConditionalHandleCreate(&p.conditional.handle, g, p.conditional.ctx, 1,
						   CU_GRAPH_COND_ASSIGN_DEFAULT);
	if (!r)
		r = cuGraphAddNode_v2(&node, g, NULL, NULL, 0, &p);
	return r ? r : add_allocation(p.conditional.phGraph_out[0], 0, bytes);
}

static CUresult start(const char *way, size_t bytes)
{
	CUgraphExecUpdateResultInfo info;
	CUgraphExec exec;
	CUgraph g, other;
	CUresult r = cuGraphCreate(&g, 0);

	if (!r && !strcmp(way, "devices"))
		r = on_all_devices(g, bytes);
	else if (!r && !strcmp(way, "nested"))
		r = in_children(g, bytes, 40);
	else if (!r && !strcmp(way, "deep"))
		r = in_children(g, bytes, 1000);
	else if (!r && !strcmp(way, "body"))
		r = in_body(g, bytes);
	else if (!r)
		r = add_allocation(g, 0, SMALL);
	if (!r)
		r = cuGraphInstantiateWithFlags(&exec, g, 0);
	if (!r && !strcmp(way, "again")) {
		r = cuGraphCreate(&other, 0);
		if (!r)
			r = add_allocation(other, 0, bytes);
		if (!r)
			r = cuGraphExecUpdate(exec, other, &info);
	}
	if (!r)
		r = cuGraphLaunch(exec, NULL);
	return r ? r : cuStreamSynchronize(NULL);
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUresult r = argc == 3 ? cuInit(0) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		r = cuDevicePrimaryCtxRetain(&context, 0);
	if (!r)
		r = cuCtxSetCurrent(context);
	if (r)
		return 1;
	printf("%d\n", start(argv[1], strtoull(argv[2], NULL, 10)));
	fflush(stdout);
	getchar();
	return 0;
}
