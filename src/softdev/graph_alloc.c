/*
 * graph_alloc.c: nodes that allocate and free memory. See graph.h.
 *
 * An allocation that comes after a free in every order takes the freed memory's place when it fits: the same address,
 * nothing more to reserve.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

/* How often the graph's own nodes of this type name the memory. */
static uint32_t times(const struct graph *g, CUgraphNodeType type, const struct graph_memory *m)
{
	uint32_t n = 0;

	for (const struct node *k = g->first; k; k = k->next)
		n += k->type == type && k->alloc.memory == m;
	return n;
}

/* Marks the node and all that comes before it; nobody else is marked. */
static bool mark_before(struct graph *g, const struct needs *needs)
{
	struct node **stack = malloc((g->count + 1) * sizeof(*stack));
	size_t depth = 0;

	if (!stack)
		return false;
	for (struct node *n = g->first; n; n = n->next)
		n->mark = 0;
	for (size_t i = 0; i < needs->count; i++) {
		struct node *n = (struct node *)needs->node[i];

		if (!n->mark)
			stack[depth++] = n;
		n->mark = 1;
	}
	while (depth) {
		struct node *n = stack[--depth];

		for (size_t i = 0; i < n->need_count; i++) {
			if (!n->need[i].from->mark)
				stack[depth++] = n->need[i].from;
			n->need[i].from->mark = 1;
		}
	}
	free(stack);
	return true;
}

/* Memory that has been freed before, by all who had it. A reference, or NULL. */
static struct graph_memory *reuse_find(struct graph *g, const struct needs *needs, const struct device *d, size_t bytes)
{
	struct graph_memory *best = NULL;

	if (!needs->count || !graph_contains(g, CU_GRAPH_NODE_TYPE_MEM_FREE) || !mark_before(g, needs))
		return NULL;
	for (struct node *n = g->first; n; n = n->next) {
		struct graph_memory *m = n->type == CU_GRAPH_NODE_TYPE_MEM_FREE ? n->alloc.memory : NULL;
		uint32_t frees;
		bool all = true;

		if (!m || !n->mark || m->device != d || m->bytes < bytes || (best && best->bytes <= m->bytes))
			continue;
		frees = times(g, CU_GRAPH_NODE_TYPE_MEM_FREE, m);
		if (frees != times(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, m))
			continue;
		for (struct node *k = g->first; k; k = k->next)
			all &= k->type != CU_GRAPH_NODE_TYPE_MEM_FREE || k->alloc.memory != m || k->mark;
		if (all)
			best = m;
	}
	return graph_memory_ref(best);
}

CUresult node_allocation(struct graph *g, const struct needs *needs, struct device *d, size_t bytes, struct node **ret)
{
	struct graph_memory *m;
	struct node *n;
	CUresult e = node_new(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, needs, &n);

	if (e)
		return e;
	m = reuse_find(g, needs, d, bytes);
	if (!m)
		e = graph_memory_new(d, bytes, &m);
	if (e) {
		node_remove(n);
		return e;
	}
	n->alloc.memory = m;
	n->alloc.params.bytesize = bytes;
	n->alloc.params.dptr = m->range->begin;
	n->alloc.params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	n->alloc.params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	n->alloc.params.poolProps.location.id = d->ordinal;
	g->has_memory = true;
	*ret = n;
	return CUDA_SUCCESS;
}

CUresult node_deallocation(struct graph *g, const struct needs *needs, CUdeviceptr address, struct node **ret)
{
	struct graph_memory *m = graph_memory_find(address);
	uint32_t allocations;
	CUresult e;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	allocations = times(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, m);
	if (times(g, CU_GRAPH_NODE_TYPE_MEM_FREE, m) >= (allocations ? allocations : 1))
		return CUDA_ERROR_INVALID_VALUE; /* freed twice in one graph */
	e = node_new(g, CU_GRAPH_NODE_TYPE_MEM_FREE, needs, ret);
	if (e)
		return e;
	(*ret)->alloc.memory = graph_memory_ref(m);
	g->has_memory = true;
	return CUDA_SUCCESS;
}

static CUresult access_keep(struct node *n, const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	if (!p->accessDescCount)
		return CUDA_SUCCESS;
	n->alloc.access = calloc(p->accessDescCount, sizeof(*n->alloc.access));
	if (!n->alloc.access)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(n->alloc.access, p->accessDescs, p->accessDescCount * sizeof(*n->alloc.access));
	n->alloc.params.accessDescs = n->alloc.access;
	n->alloc.params.accessDescCount = p->accessDescCount;
	return CUDA_SUCCESS;
}

static CUresult access_check(const CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct device *d;

	if (p->accessDescCount && !p->accessDescs)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < p->accessDescCount; i++)
		if (p->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    device_find(p->accessDescs[i].location.id, &d))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddMemAllocNode(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count,
				     CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
	struct device *d;
	struct graph *g;
	struct node *n;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!ret || !p || !p->bytesize || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->poolProps.handleTypes || g->owner)
		return CUDA_ERROR_INVALID_VALUE;
	if (device_find(p->poolProps.location.id, &d) || access_check(p))
		return CUDA_ERROR_INVALID_VALUE;
	e = node_allocation(g, &(struct needs){ need, NULL, count }, d, p->bytesize, &n);
	if (e)
		return e;
	e = access_keep(n, p);
	if (e) {
		node_remove(n);
		return e;
	}
	p->dptr = n->alloc.params.dptr;
	*ret = (CUgraphNode)n;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphMemAllocNodeGetParams(CUgraphNode h, CUDA_MEM_ALLOC_NODE_PARAMS *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->alloc.params;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddMemFreeNode(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count,
				    CUdeviceptr address)
{
	struct graph *g;
	struct node *n;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = node_deallocation(g, &(struct needs){ need, NULL, count }, address, &n);
	if (!e)
		*ret = (CUgraphNode)n;
	return e;
}

CUresult soft_cuGraphMemFreeNodeGetParams(CUgraphNode h, CUdeviceptr *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEM_FREE, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->alloc.memory->range->begin;
	return CUDA_SUCCESS;
}
