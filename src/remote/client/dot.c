/*
 * dot.c: a graph as a file for Graphviz. The worker has no files, and the path is one of this machine's: what is to be
 * told of the graph is asked of the worker, and the file is written here.
 *
 * One box per node with its kind, one arrow per edge; child graphs follow as clusters with an arrow to them. The flags
 * decide what else the boxes say. Bodies of conditional nodes are left away: they cannot be asked for.
 */
#include "remote/client/call.h"

#include "cuda_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define GRAPHS_DEEP 64u

struct dot {
	FILE *file;
	unsigned int flags, next_graph, deep;
};

struct nodes {
	CUgraphNode *node;
	size_t count;
};

static const char *type_name(CUgraphNodeType type)
{
	switch ((int)type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return "KERNEL";
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return "MEMCPY";
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return "MEMSET";
	case CU_GRAPH_NODE_TYPE_HOST:
		return "HOST";
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return "CHILD GRAPH";
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return "EMPTY";
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return "EVENT WAIT";
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return "EVENT RECORD";
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return "MEM ALLOC";
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return "MEM FREE";
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return "BATCH MEM OP";
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return "CONDITIONAL";
	default:
		return "NODE";
	}
}

static bool wants(const struct dot *d, unsigned int flag)
{
	return d->flags & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
}

static void print_kernel(const struct dot *d, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p = { 0 };
	const char *name;

	if (client_cuGraphKernelNodeGetParams_v2(node, &p) != CUDA_SUCCESS)
		return;
	if (p.func && client_cuFuncGetName(&name, p.func) == CUDA_SUCCESS)
		fprintf(d->file, "\\n%s", name);
	else if (p.kern && client_cuKernelGetName(&name, p.kern) == CUDA_SUCCESS)
		fprintf(d->file, "\\n%s", name);
	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
		fprintf(d->file, "\\ngrid (%u, %u, %u) block (%u, %u, %u)\\nshared memory %u", p.gridDimX, p.gridDimY,
			p.gridDimZ, p.blockDimX, p.blockDimY, p.blockDimZ, p.sharedMemBytes);
}

static void print_copy(const struct dot *d, CUgraphNode node)
{
	CUDA_MEMCPY3D p;

	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS) &&
	    client_cuGraphMemcpyNodeGetParams(node, &p) == CUDA_SUCCESS)
		fprintf(d->file, "\\n%zu x %zu x %zu bytes", p.WidthInBytes, p.Height, p.Depth);
}

static void print_fill(const struct dot *d, CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p;

	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS) &&
	    client_cuGraphMemsetNodeGetParams(node, &p) == CUDA_SUCCESS)
		fprintf(d->file, "\\nat 0x%llx value %u\\n%zu x %zu elements of %u bytes", (unsigned long long)p.dst,
			p.value, p.width, p.height, p.elementSize);
}

static void print_memory(const struct dot *d, CUgraphNode node, CUgraphNodeType type)
{
	CUDA_MEM_ALLOC_NODE_PARAMS p;
	CUdeviceptr at;

	if (type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS) &&
	    client_cuGraphMemAllocNodeGetParams(node, &p) == CUDA_SUCCESS)
		fprintf(d->file, "\\naddress 0x%llx\\n%zu bytes", (unsigned long long)p.dptr, p.bytesize);
	if (type == CU_GRAPH_NODE_TYPE_MEM_FREE && wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS) &&
	    client_cuGraphMemFreeNodeGetParams(node, &at) == CUDA_SUCCESS)
		fprintf(d->file, "\\naddress 0x%llx", (unsigned long long)at);
}

static void print_params(const struct dot *d, CUgraphNode node, CUgraphNodeType type)
{
	if (type == CU_GRAPH_NODE_TYPE_KERNEL)
		print_kernel(d, node);
	else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
		print_copy(d, node);
	else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
		print_fill(d, node);
	else
		print_memory(d, node, type);
	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
		fprintf(d->file, "\\nnode %p", (void *)node);
}

static size_t number_of(const struct nodes *nodes, CUgraphNode node)
{
	size_t i = 0;

	while (i < nodes->count && nodes->node[i] != node)
		i++;
	return i;
}

static CUresult print_edges(const struct dot *d, CUgraph graph, const struct nodes *nodes, unsigned int number)
{
	CUgraphNode *from = NULL, *to = NULL;
	size_t count = 0;
	CUresult r = client_cuGraphGetEdges(graph, NULL, NULL, &count);

	if (r != CUDA_SUCCESS || !count)
		return r;
	from = calloc(count, sizeof(*from));
	to = calloc(count, sizeof(*to));
	r = from && to ? client_cuGraphGetEdges(graph, from, to, &count) : CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
		fprintf(d->file, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\";\n", number,
			number_of(nodes, from[i]), number, number_of(nodes, to[i]));
	free(from);
	free(to);
	return r;
}

static CUresult print_graph(struct dot *d, CUgraph graph, unsigned int number);

/* A graph within a node, as a cluster that the node points to. */
static CUresult print_child(struct dot *d, CUgraphNode node, size_t i, unsigned int number)
{
	unsigned int own = d->next_graph++;
	CUgraph child;
	CUresult r = client_cuGraphChildGraphNodeGetGraph(node, &child);

	if (r != CUDA_SUCCESS || d->deep == GRAPHS_DEEP)
		return r;
	fprintf(d->file, "subgraph cluster_%u {\nlabel=\"graph_%u\";\n\"graph_%u_begin\" [shape=point];\n", own, own,
		own);
	d->deep++;
	r = print_graph(d, child, own);
	d->deep--;
	fprintf(d->file, "}\n\"graph_%u_node_%zu\" -> \"graph_%u_begin\" [style=dashed];\n", number, i, own);
	return r;
}

static CUresult print_node(struct dot *d, CUgraphNode node, size_t i, unsigned int number)
{
	CUgraphNodeType type;
	CUresult r = client_cuGraphNodeGetType(node, &type);

	if (r != CUDA_SUCCESS)
		return r;
	fprintf(d->file, "\"graph_%u_node_%zu\" [shape=\"%s\" label=\"%zu %s", number, i,
		type == CU_GRAPH_NODE_TYPE_KERNEL ? "octagon" : "rectangle", i, type_name(type));
	print_params(d, node, type);
	fprintf(d->file, "\"];\n");
	return type == CU_GRAPH_NODE_TYPE_GRAPH ? print_child(d, node, i, number) : CUDA_SUCCESS;
}

static CUresult print_graph(struct dot *d, CUgraph graph, unsigned int number)
{
	struct nodes nodes = { .node = NULL };
	CUresult r = client_cuGraphGetNodes(graph, NULL, &nodes.count);

	if (r != CUDA_SUCCESS || !nodes.count)
		return r;
	nodes.node = calloc(nodes.count, sizeof(*nodes.node));
	r = nodes.node ? client_cuGraphGetNodes(graph, nodes.node, &nodes.count) : CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; r == CUDA_SUCCESS && i < nodes.count; i++)
		r = print_node(d, nodes.node[i], i, number);
	if (r == CUDA_SUCCESS)
		r = print_edges(d, graph, &nodes, number);
	free(nodes.node);
	return r;
}

CUresult client_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	struct dot d = { .flags = flags, .next_graph = 1 };
	size_t count;
	CUresult r = client_cuGraphGetNodes(hGraph, NULL, &count); /* before a file is made */
	int before = errno;

	if (r != CUDA_SUCCESS)
		return r;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	d.file = fopen(path, "we");
	if (!d.file) {
		errno = before;
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	fprintf(d.file, "digraph dot {\nsubgraph cluster_0 {\nlabel=\"graph_0\";\n");
	r = print_graph(&d, hGraph, 0);
	fprintf(d.file, "}\n}\n");
	if ((ferror(d.file) | fclose(d.file)) && r == CUDA_SUCCESS)
		r = CUDA_ERROR_OPERATING_SYSTEM;
	errno = before;
	return r;
}
