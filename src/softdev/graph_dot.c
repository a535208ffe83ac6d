/*
 * graph_dot.c: a graph as a file for Graphviz. See graph.h.
 *
 * One box per node with its kind, one arrow per edge; child graphs and bodies of conditional nodes follow as clusters
 * with an arrow to them. The flags decide what else the boxes say.
 */
#include "softdev/graph.h"

#include "softdev/module.h"

#include <stdio.h>

struct dot {
	FILE *file;
	unsigned flags;
};

static const char *const type_name[] = {
	[CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
	[CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
	[CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
	[CU_GRAPH_NODE_TYPE_HOST] = "HOST",
	[CU_GRAPH_NODE_TYPE_GRAPH] = "CHILD GRAPH",
	[CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
	[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT WAIT",
	[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT RECORD",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "SEMAPHORE SIGNAL",
	[CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "SEMAPHORE WAIT",
	[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM ALLOC",
	[CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM FREE",
	[CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH MEM OP",
	[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
};

static bool wants(const struct dot *d, unsigned flag)
{
	return d->flags & (flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
}

/* The name of a kernel, when its module is still there. */
static const char *kernel_name(const struct work_kernel *k)
{
	bool gone = !k->function->head.live || k->function->head.generation != k->function_generation;

	return gone ? "(unloaded)" : k->function->kernel->name;
}

static void kernel_print(const struct dot *d, const struct node *n)
{
	const struct work_kernel *k = &n->work.kernel;

	fprintf(d->file, "\\n%s", kernel_name(k));
	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
		fprintf(d->file, "\\ngrid (%u, %u, %u) block (%u, %u, %u)\\nshared memory %u", k->grid[0], k->grid[1],
			k->grid[2], k->block[0], k->block[1], k->block[2], k->shared_bytes);
	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES))
		fprintf(d->file, "\\ncooperative %d priority %d", k->cooperative, kernel_priority(n));
}

static void params_print(const struct dot *d, const struct node *n)
{
	const struct work *w = &n->work;

	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_print(d, n);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS))
			fprintf(d->file, "\\nfrom %p to %p\\n%zu x %zu x %zu bytes", (const void *)w->copy.source,
				(void *)w->copy.target, w->copy.width, w->copy.height, w->copy.depth);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS))
			fprintf(d->file, "\\nat %p value %u\\n%zu x %zu elements of %u bytes", (void *)w->fill.target,
				w->fill.value, w->fill.width, w->fill.height, w->fill.element);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
			fprintf(d->file, "\\nfunction %p data %p", (void *)(uintptr_t)w->host.f, w->host.data);
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS))
			fprintf(d->file, "\\nevent %p", (void *)w->record.event);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS))
			fprintf(d->file, "\\naddress 0x%llx\\n%zu bytes on device %d",
				(unsigned long long)n->alloc.params.dptr, n->alloc.params.bytesize,
				n->alloc.params.poolProps.location.id);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
			fprintf(d->file, "\\naddress 0x%llx", (unsigned long long)n->alloc.memory->range->begin);
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS))
			fprintf(d->file, "\\n%u operations", w->values.count);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS))
			fprintf(d->file, "\\n%s handle %llu",
				n->conditional.type == CU_GRAPH_COND_TYPE_IF	  ? "if"
				: n->conditional.type == CU_GRAPH_COND_TYPE_WHILE ? "while"
										  : "switch",
				(unsigned long long)n->conditional.handle);
		break;
	default:
		break;
	}
}

static void graph_print(const struct dot *d, const struct graph *g);

/* A graph within a node, as a cluster that the node points to. */
static void inner_print(const struct dot *d, const struct graph *inner, const struct node *n)
{
	const uint32_t own = inner->id;

	fprintf(d->file, "subgraph cluster_%u {\nlabel=\"graph_%u\";\n", own, own);
	fprintf(d->file, "\"graph_%u_begin\" [shape=point];\n", own);
	graph_print(d, inner);
	fprintf(d->file, "}\n\"graph_%u_node_%u\" -> \"graph_%u_begin\" [style=dashed];\n", n->graph->id, n->serial,
		own);
}

static void node_print(const struct dot *d, const struct node *n)
{
	fprintf(d->file, "\"graph_%u_node_%u\" [shape=\"%s\" label=\"%u %s", n->graph->id, n->serial,
		n->type == CU_GRAPH_NODE_TYPE_KERNEL ? "octagon" : "rectangle", n->serial, type_name[n->type]);
	params_print(d, n);
	if (wants(d, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
		fprintf(d->file, "\\nnode %p", (const void *)n);
	fprintf(d->file, "\"];\n");
}

static void graph_print(const struct dot *d, const struct graph *g)
{
	for (const struct node *n = g->first; n; n = n->next)
		node_print(d, n);
	for (const struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++)
			fprintf(d->file, "\"graph_%u_node_%u\" -> \"graph_%u_node_%u\"%s;\n", g->id,
				n->need[i].from->serial, g->id, n->serial,
				n->need[i].data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
					? " [label=\"programmatic\"]"
					: "");
	for (const struct node *n = g->first; n; n = n->next) {
		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
			inner_print(d, n->child, n);
		for (uint32_t i = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->conditional.count; i++)
			inner_print(d, (const struct graph *)n->conditional.body[i], n);
	}
}

CUresult soft_cuGraphDebugDotPrint(CUgraph h, const char *path, unsigned flags)
{
	struct dot d = { .flags = flags };
	struct graph *g;
	bool good;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	d.file = fopen(path, "we");
	if (!d.file)
		return CUDA_ERROR_OPERATING_SYSTEM;
	fprintf(d.file, "digraph dot {\nsubgraph cluster_%u {\nlabel=\"graph_%u\";\n", g->id, g->id);
	graph_print(&d, g);
	fprintf(d.file, "}\n}\n");
	good = !ferror(d.file);
	return fclose(d.file) || !good ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
