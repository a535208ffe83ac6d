/*
 * graph_edges.c: edges of graphs, and the calls that list nodes and edges. See graph.h.
 *
 * There is at most one edge between two nodes. An edge may carry data: a programmatic one, from a kernel to a kernel,
 * lets the second begin before the first has ended; here it waits for the end, which is always correct.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

static const CUgraphEdgeData plain;

static bool edge_plain(const CUgraphEdgeData *d)
{
	return !memcmp(d, &plain, sizeof(plain));
}

CUresult edge_check(const struct node *from, const struct node *to, const CUgraphEdgeData *d)
{
	if (!d || edge_plain(d))
		return CUDA_SUCCESS;
	for (size_t i = 0; i < sizeof(d->reserved); i++)
		if (d->reserved[i])
			return CUDA_ERROR_INVALID_VALUE;
	if (d->to_port || d->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
	    d->from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER || from->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return CUDA_ERROR_INVALID_VALUE;
	/* a programmatic edge is between kernels, and begins at a port of its own */
	if (d->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
	    (to->type != CU_GRAPH_NODE_TYPE_KERNEL || d->from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

const struct edge *node_edge(const struct node *n, const struct node *from)
{
	for (size_t i = 0; i < n->need_count; i++)
		if (n->need[i].from == from)
			return &n->need[i];
	return NULL;
}

bool node_need(struct node *n, struct node *on, const CUgraphEdgeData *data)
{
	struct edge *more;

	if (node_edge(n, on))
		return true;
	more = reallocarray(n->need, n->need_count + 1, sizeof(*more));
	if (!more)
		return false;
	n->need = more;
	n->need[n->need_count++] = (struct edge){ on, data ? *data : plain };
	return true;
}

/* A list for the program: with room for `room` entries, or only counted. */
struct list {
	CUgraphNode *to;
	CUgraphEdgeData *data;
	size_t room, count;
	bool lossy; /* an edge with data, and nowhere to put it */
};

static void list_add(struct list *l, struct node *n, const CUgraphEdgeData *data)
{
	if (l->to && l->count < l->room) {
		l->to[l->count] = (CUgraphNode)n;
		if (l->data)
			l->data[l->count] = *data;
		else
			l->lossy |= !edge_plain(data);
	}
	l->count++;
}

static CUresult list_end(const struct list *l, size_t *ret)
{
	for (size_t i = l->count; l->to && i < l->room; i++)
		l->to[i] = NULL;
	for (size_t i = l->count; l->to && l->data && i < l->room; i++)
		l->data[i] = plain;
	*ret = l->to && l->room < l->count ? l->room : l->count;
	return l->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult graph_list(CUgraph h, CUgraphNode *to, size_t *count, bool roots)
{
	struct list l = { .to = to };
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (struct node *n = g->first; n; n = n->next)
		if (!roots || !n->need_count)
			list_add(&l, n, &plain);
	return list_end(&l, count);
}

CUresult soft_cuGraphGetNodes(CUgraph h, CUgraphNode *to, size_t *count)
{
	return graph_list(h, to, count, false);
}

/* ---- numbers, as cuGraphDebugDotPrint writes them ---- */

CUresult soft_cuGraphGetId(CUgraph h, unsigned *ret)
{
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = g->id;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetContainingGraph(CUgraphNode h, CUgraph *ret)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUgraph)n->graph;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetLocalId(CUgraphNode h, unsigned *ret)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->serial;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetToolsId(CUgraphNode h, unsigned long long *ret)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (unsigned long long)n->graph->id << 32 | n->serial;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphGetRootNodes(CUgraph h, CUgraphNode *to, size_t *count)
{
	return graph_list(h, to, count, true);
}

CUresult soft_cuGraphGetEdges_v2(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list a = { .to = from, .data = data }, b = { .to = to, .data = data };
	struct graph *g;
	size_t listed;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!count || !from != !to || (!from && data))
		return CUDA_ERROR_INVALID_VALUE;
	a.room = b.room = *count;
	for (struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++) {
			list_add(&a, n->need[i].from, &n->need[i].data);
			list_add(&b, n, &n->need[i].data);
		}
	list_end(&a, &listed);
	return list_end(&b, count);
}

CUresult soft_cuGraphGetEdges(CUgraph h, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphGetEdges_v2(h, from, to, NULL, count);
}

CUresult soft_cuGraphNodeGetDependencies_v2(CUgraphNode h, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list l = { .to = to, .data = data };
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!count || (!to && data))
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (size_t i = 0; i < n->need_count; i++)
		list_add(&l, n->need[i].from, &n->need[i].data);
	return list_end(&l, count);
}

CUresult soft_cuGraphNodeGetDependencies(CUgraphNode h, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphNodeGetDependencies_v2(h, to, NULL, count);
}

CUresult soft_cuGraphNodeGetDependentNodes_v2(CUgraphNode h, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list l = { .to = to, .data = data };
	const struct edge *edge;
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!count || (!to && data))
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (struct node *m = n->graph->first; m; m = m->next)
		if ((edge = node_edge(m, n)))
			list_add(&l, m, &edge->data);
	return list_end(&l, count);
}

CUresult soft_cuGraphNodeGetDependentNodes(CUgraphNode h, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphNodeGetDependentNodes_v2(h, to, NULL, count);
}

/* Both nodes of a pair, checked. */
static CUresult pair_find(struct graph *g, CUgraphNode from, CUgraphNode to, struct node **ret_from,
			  struct node **ret_to)
{
	CUresult e = node_find(from, ret_from);

	if (!e)
		e = node_find(to, ret_to);
	if (!e && ((*ret_from)->graph != g || (*ret_to)->graph != g || *ret_from == *ret_to))
		e = CUDA_ERROR_INVALID_VALUE;
	return e;
}

CUresult soft_cuGraphAddDependencies_v2(CUgraph h, const CUgraphNode *from, const CUgraphNode *to,
					const CUgraphEdgeData *data, size_t count)
{
	struct node *a, *b;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		e = pair_find(g, from[i], to[i], &a, &b);
		if (!e && node_edge(b, a))
			e = CUDA_ERROR_INVALID_VALUE;
		if (!e)
			e = edge_check(a, b, data ? &data[i] : NULL);
		if (e)
			return e;
	}
	for (size_t i = 0; i < count; i++)
		if (!node_need((struct node *)to[i], (struct node *)from[i], data ? &data[i] : NULL))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return soft_cuGraphAddDependencies_v2(h, from, to, NULL, count);
}

CUresult soft_cuGraphRemoveDependencies_v2(CUgraph h, const CUgraphNode *from, const CUgraphNode *to,
					   const CUgraphEdgeData *data, size_t count)
{
	const struct edge *edge;
	struct node *a, *b;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	if (count && g->has_memory)
		return CUDA_ERROR_NOT_SUPPORTED; /* as documented: such a graph only grows */
	for (size_t i = 0; i < count; i++) {
		e = pair_find(g, from[i], to[i], &a, &b);
		if (e)
			return e;
		edge = node_edge(b, a);
		if (!edge || memcmp(&edge->data, data ? &data[i] : &plain, sizeof(plain)))
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < count; i++) {
		b = (struct node *)to[i];
		for (size_t j = 0; j < b->need_count; j++)
			if (b->need[j].from == (struct node *)from[i])
				memmove(&b->need[j], &b->need[j + 1], (--b->need_count - j) * sizeof(b->need[0]));
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphRemoveDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return soft_cuGraphRemoveDependencies_v2(h, from, to, NULL, count);
}
