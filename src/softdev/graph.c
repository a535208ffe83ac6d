/*
 * graph.c: see graph.h. Graphs, nodes, edges. As with the vendor, a graph is not to be changed from two threads at
 * once.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

CUresult graph_find(CUgraph h, struct graph **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_GRAPH, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult node_find(CUgraphNode h, struct node **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_NODE, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

struct graph *graph_new(void)
{
	return handle_new(HANDLE_GRAPH);
}

void node_free(struct node *n)
{
	work_deinit(&n->work);
	if (n->type == CU_GRAPH_NODE_TYPE_GRAPH && n->child)
		graph_free(n->child);
	if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		graph_memory_unref(n->alloc.memory);
	free(n->need);
	free(n->param);
	n->head.generation++;
	handle_free(n);
}

void graph_free(struct graph *g)
{
	while (g->first) {
		struct node *n = g->first;

		g->first = n->next;
		node_free(n);
	}
	handle_free(g);
}

bool node_need(struct node *n, struct node *on)
{
	struct node **more;

	for (size_t i = 0; i < n->need_count; i++)
		if (n->need[i] == on)
			return true;
	more = reallocarray(n->need, n->need_count + 1, sizeof(*more));
	if (!more)
		return false;
	n->need = more;
	n->need[n->need_count++] = on;
	return true;
}

CUresult node_new(struct graph *g, CUgraphNodeType type, struct node *const *need, size_t count, struct node **ret)
{
	struct node *n;

	if (count && !need)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (handle_find(HANDLE_NODE, need[i]) != need[i] || need[i]->graph != g)
			return CUDA_ERROR_INVALID_VALUE;
	n = handle_new(HANDLE_NODE);
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->graph = g;
	n->type = type;
	for (size_t i = 0; i < count; i++)
		if (!node_need(n, need[i])) {
			node_free(n);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	if (g->last)
		g->last->next = n;
	else
		g->first = n;
	g->last = n;
	g->count++;
	*ret = n;
	return CUDA_SUCCESS;
}

CUgraphNodeType work_node_type(const struct work *w)
{
	switch (w->kind) {
	case WORK_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case WORK_FILL:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case WORK_KERNEL:
		return CU_GRAPH_NODE_TYPE_KERNEL;
	case WORK_HOST:
		return CU_GRAPH_NODE_TYPE_HOST;
	case WORK_RECORD:
		return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	case WORK_WAIT:
		return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
	case WORK_VALUES:
		return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	default:
		return CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

/* ---- copies ---- */

static bool clone_node(const struct node *from, struct node *to)
{
	to->copy = from->copy;
	switch (from->type) {
	case CU_GRAPH_NODE_TYPE_MEMSET:
		to->fill = from->fill;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		to->child = NULL;
		if (graph_clone(from->child, &to->child))
			return false;
		to->child->owner = to;
		break;
	default:
		break;
	}
	return work_clone(&from->work, &to->work);
}

static CUresult clone_nodes(const struct graph *g, struct graph *to)
{
	for (struct node *n = g->first; n; n = n->next) {
		CUresult e = node_new(to, n->type, NULL, 0, &n->copied_to);

		if (e)
			return e;
		if (!clone_node(n, n->copied_to))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++)
			if (!node_need(n->copied_to, n->need[i]->copied_to))
				return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *g, struct graph **ret)
{
	struct graph *to;
	CUresult e;

	for (struct node *n = g->first; n; n = n->next)
		if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return CUDA_ERROR_NOT_SUPPORTED; /* as documented: memory nodes cannot be cloned */
	to = graph_new();
	if (!to)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = clone_nodes(g, to);
	if (e)
		graph_free(to);
	else
		*ret = to;
	return e;
}

/* ---- calls on graphs ---- */

CUresult soft_cuGraphCreate(CUgraph *ret, unsigned flags)
{
	CUresult e = driver_ready();
	struct graph *g;

	if (e)
		return e;
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	g = graph_new();
	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = (CUgraph)g;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphDestroy(CUgraph h)
{
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (g->owner || g->capturing || !handle_retire(g))
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(g);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphClone(CUgraph *ret, CUgraph h)
{
	struct graph *g, *copy;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	e = graph_clone(g, &copy);
	if (!e)
		*ret = (CUgraph)copy;
	return e;
}

/* The node at the same place in the clone's list: clones are made in the order of the original. */
CUresult soft_cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode original, CUgraph clone)
{
	struct node *n, *o, *m;
	struct graph *g;
	CUresult e = node_find(original, &n);

	if (!e)
		e = graph_find(clone, &g);
	if (e)
		return e;
	if (!ret || g->count != n->graph->count)
		return CUDA_ERROR_INVALID_VALUE;
	for (o = n->graph->first, m = g->first; o && m && o != n; o = o->next)
		m = m->next;
	if (!m || m->type != n->type)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUgraphNode)m;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphDestroyNode(CUgraphNode h)
{
	struct node *n, *previous = NULL;
	struct graph *g;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (n->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_NOT_SUPPORTED;
	g = n->graph;
	for (struct node *m = g->first; m; m = m->next) {
		if (m->next == n)
			previous = m;
		for (size_t i = 0; i < m->need_count; i++)
			if (m->need[i] == n)
				m->need[i--] = m->need[--m->need_count];
	}
	if (previous)
		previous->next = n->next;
	else
		g->first = n->next;
	if (g->last == n)
		g->last = previous;
	g->count--;
	node_free(n);
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetType(CUgraphNode h, CUgraphNodeType *ret)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->type;
	return CUDA_SUCCESS;
}

/* A list for the program: with room for `room` entries, or only counted. */
struct list {
	CUgraphNode *to;
	size_t room, count;
};

static void list_add(struct list *l, struct node *n)
{
	if (l->to && l->count < l->room)
		l->to[l->count] = (CUgraphNode)n;
	l->count++;
}

static CUresult list_end(const struct list *l, size_t *ret)
{
	for (size_t i = l->count; l->to && i < l->room; i++)
		l->to[i] = NULL;
	*ret = l->to && l->room < l->count ? l->room : l->count;
	return CUDA_SUCCESS;
}

static CUresult graph_list(CUgraph h, CUgraphNode *to, size_t *count, bool roots)
{
	struct list l = { to, 0, 0 };
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (struct node *n = g->first; n; n = n->next)
		if (!roots || !n->need_count)
			list_add(&l, n);
	return list_end(&l, count);
}

CUresult soft_cuGraphGetNodes(CUgraph h, CUgraphNode *to, size_t *count)
{
	return graph_list(h, to, count, false);
}

CUresult soft_cuGraphGetRootNodes(CUgraph h, CUgraphNode *to, size_t *count)
{
	return graph_list(h, to, count, true);
}

/* ---- edges; all are of the ordinary kind ---- */

static bool edges_plain(const CUgraphEdgeData *data, size_t count)
{
	for (size_t i = 0; data && i < count; i++)
		if (data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT || data[i].from_port || data[i].to_port)
			return false;
	return true;
}

CUresult soft_cuGraphGetEdges_v2(CUgraph h, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list a = { from, 0, 0 }, b = { to, 0, 0 };
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!count || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = b.room = *count;
	for (struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++) {
			list_add(&a, n->need[i]);
			list_add(&b, n);
		}
	if (data)
		memset(data, 0, (a.count < a.room ? a.count : a.room) * sizeof(*data));
	list_end(&a, count);
	return list_end(&b, count);
}

CUresult soft_cuGraphGetEdges(CUgraph h, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphGetEdges_v2(h, from, to, NULL, count);
}

CUresult soft_cuGraphNodeGetDependencies_v2(CUgraphNode h, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list l = { to, 0, 0 };
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (size_t i = 0; i < n->need_count; i++)
		list_add(&l, n->need[i]);
	if (data)
		memset(data, 0, (l.count < l.room ? l.count : l.room) * sizeof(*data));
	return list_end(&l, count);
}

CUresult soft_cuGraphNodeGetDependencies(CUgraphNode h, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphNodeGetDependencies_v2(h, to, NULL, count);
}

static bool node_needs(const struct node *n, const struct node *on)
{
	for (size_t i = 0; i < n->need_count; i++)
		if (n->need[i] == on)
			return true;
	return false;
}

CUresult soft_cuGraphNodeGetDependentNodes_v2(CUgraphNode h, CUgraphNode *to, CUgraphEdgeData *data, size_t *count)
{
	struct list l = { to, 0, 0 };
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	l.room = *count;
	for (struct node *m = n->graph->first; m; m = m->next)
		if (node_needs(m, n))
			list_add(&l, m);
	if (data)
		memset(data, 0, (l.count < l.room ? l.count : l.room) * sizeof(*data));
	return list_end(&l, count);
}

CUresult soft_cuGraphNodeGetDependentNodes(CUgraphNode h, CUgraphNode *to, size_t *count)
{
	return soft_cuGraphNodeGetDependentNodes_v2(h, to, NULL, count);
}

/* Both nodes of each pair, checked. */
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
	if (!edges_plain(data, count))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (size_t i = 0; i < count; i++)
		if ((e = pair_find(g, from[i], to[i], &a, &b)) || node_needs(b, a))
			return e ? e : CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!node_need((struct node *)to[i], (struct node *)from[i]))
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
	struct node *a, *b;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (count && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if ((e = pair_find(g, from[i], to[i], &a, &b)) || !node_needs(b, a))
			return e ? e : CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		b = (struct node *)to[i];
		for (size_t j = 0; j < b->need_count; j++)
			if (b->need[j] == (struct node *)from[i])
				b->need[j--] = b->need[--b->need_count];
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphRemoveDependencies(CUgraph h, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	return soft_cuGraphRemoveDependencies_v2(h, from, to, NULL, count);
}
