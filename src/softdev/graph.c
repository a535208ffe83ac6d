/*
 * graph.c: see graph.h. Graphs and nodes. As with the vendor, a graph is not to be changed from two threads at once.
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

CUresult node_of(CUgraphNode h, CUgraphNodeType type, struct node **ret)
{
	CUresult e = node_find(h, ret);

	return e ? e : (*ret)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

uint32_t graph_id(void)
{
	static atomic_uint last;

	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

struct graph *graph_new(void)
{
	struct graph *g = handle_new(HANDLE_GRAPH);

	if (g)
		g->id = graph_id();
	return g;
}

static void node_deinit_kind(struct node *n)
{
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		if (n->child)
			graph_free(n->child);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		graph_memory_unref(n->alloc.memory);
		free(n->alloc.access);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		for (uint32_t i = 0; i < n->conditional.count && n->conditional.body; i++)
			if (n->conditional.body[i])
				graph_free((struct graph *)n->conditional.body[i]);
		free(n->conditional.body);
		break;
	default:
		break;
	}
}

void node_free(struct node *n)
{
	work_deinit(&n->work);
	node_deinit_kind(n);
	free(n->need);
	free(n->param);
	free(n->attributes);
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
	free(g->condition);
	object_use_free(g->objects);
	g->head.generation++;
	handle_free(g);
}

static CUresult needs_check(const struct graph *g, const struct node *n, const struct needs *needs)
{
	if (needs->count && !needs->node)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < needs->count; i++) {
		const struct node *from = handle_find(HANDLE_NODE, needs->node[i]);
		CUresult e;

		if (!from || from->graph != g)
			return CUDA_ERROR_INVALID_VALUE;
		e = edge_check(from, n, needs->data ? &needs->data[i] : NULL);
		if (e)
			return e;
	}
	return CUDA_SUCCESS;
}

CUresult node_new(struct graph *g, CUgraphNodeType type, const struct needs *needs, struct node **ret)
{
	struct node *n = handle_new(HANDLE_NODE);
	CUresult e;

	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->graph = g;
	n->type = type;
	e = needs ? needs_check(g, n, needs) : CUDA_SUCCESS;
	for (size_t i = 0; !e && needs && i < needs->count; i++)
		if (!node_need(n, (struct node *)needs->node[i], needs->data ? &needs->data[i] : NULL))
			e = CUDA_ERROR_OUT_OF_MEMORY;
	if (e) {
		node_free(n);
		return e;
	}
	n->serial = g->next_serial++;
	if (g->last)
		g->last->next = n;
	else
		g->first = n;
	g->last = n;
	g->count++;
	*ret = n;
	return CUDA_SUCCESS;
}

static CUgraphNodeType work_node_type(const struct work *w)
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

static bool is_device(uint64_t address)
{
	const struct range *r;
	bool device;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	device = r && r->kind != RANGE_HOST && r->kind != RANGE_REGISTERED;
	pthread_mutex_unlock(&memory_mutex);
	return device;
}

static void describe_copy(const struct work_copy *c, CUDA_MEMCPY3D *ret)
{
	const uint64_t from = (uintptr_t)c->source, to = (uintptr_t)c->target;

	*ret = (CUDA_MEMCPY3D){ .WidthInBytes = c->width, .Height = c->height, .Depth = c->depth };
	ret->srcMemoryType = is_device(from) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	ret->dstMemoryType = is_device(to) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
	if (ret->srcMemoryType == CU_MEMORYTYPE_DEVICE)
		ret->srcDevice = from;
	else
		ret->srcHost = c->source;
	if (ret->dstMemoryType == CU_MEMORYTYPE_DEVICE)
		ret->dstDevice = to;
	else
		ret->dstHost = c->target;
	ret->srcPitch = c->source_pitch;
	ret->dstPitch = c->target_pitch;
	ret->srcHeight = c->source_pitch ? c->source_slice / c->source_pitch : c->height;
	ret->dstHeight = c->target_pitch ? c->target_slice / c->target_pitch : c->height;
}

void node_describe(struct node *n)
{
	const struct work_fill *f = &n->work.fill;

	if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		describe_copy(&n->work.copy, &n->copy);
	else if (n->type == CU_GRAPH_NODE_TYPE_MEMSET)
		n->fill = (CUDA_MEMSET_NODE_PARAMS){
			(uintptr_t)f->target, f->pitch, f->value, f->element, f->width, f->height
		};
}

CUresult node_work(struct graph *g, const struct needs *needs, struct work *w, struct node **ret)
{
	CUresult e = node_new(g, work_node_type(w), needs, ret);

	if (e) {
		work_deinit(w);
		return e;
	}
	(*ret)->work = *w;
	node_describe(*ret);
	return CUDA_SUCCESS;
}

struct graph *graph_outermost(struct graph *g)
{
	while (g->owner)
		g = g->owner->graph;
	return g;
}

bool graph_contains(const struct graph *g, CUgraphNodeType type)
{
	for (const struct node *n = g->first; n; n = n->next) {
		if (n->type == type || (n->type == CU_GRAPH_NODE_TYPE_GRAPH && graph_contains(n->child, type)))
			return true;
		for (uint32_t i = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->conditional.count; i++)
			if (graph_contains((struct graph *)n->conditional.body[i], type))
				return true;
	}
	return false;
}

static bool graph_has_memory(const struct graph *g)
{
	return graph_contains(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC) || graph_contains(g, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

/* ---- copies ---- */

static CUresult clone_child(const struct graph *from, enum clone_kind kind, struct node *owner, struct graph **ret)
{
	CUresult e = graph_clone(from, kind, ret);

	if (!e)
		(*ret)->owner = owner;
	return e;
}

static CUresult clone_conditional(const struct node *from, enum clone_kind kind, struct node *to)
{
	uint32_t count = from->conditional.count;
	CUresult e = CUDA_SUCCESS;

	to->conditional = from->conditional;
	to->conditional.body = calloc(count, sizeof(CUgraph));
	if (!to->conditional.body)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; !e && i < count; i++)
		e = clone_child((struct graph *)from->conditional.body[i], kind, to,
				(struct graph **)&to->conditional.body[i]);
	return e;
}

static CUresult clone_access(const struct node *from, struct node *to)
{
	size_t count = from->alloc.params.accessDescCount;

	to->alloc = from->alloc;
	graph_memory_ref(to->alloc.memory);
	if (!from->alloc.access)
		return CUDA_SUCCESS;
	to->alloc.access = malloc(count * sizeof(*to->alloc.access));
	if (!to->alloc.access)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(to->alloc.access, from->alloc.access, count * sizeof(*to->alloc.access));
	to->alloc.params.accessDescs = to->alloc.access;
	return CUDA_SUCCESS;
}

static CUresult clone_node(const struct node *from, enum clone_kind kind, struct node *to)
{
	CUresult e = CUDA_SUCCESS;

	to->origin = (struct node *)from;
	to->origin_generation = from->head.generation;
	switch (from->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		to->copy = from->copy;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		to->fill = from->fill;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		e = clone_child(from->child, kind, to, &to->child);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		e = clone_conditional(from, kind, to);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		e = clone_access(from, to);
		break;
	default:
		break;
	}
	if (e)
		return e;
	if (from->attributes) {
		to->attributes = malloc(sizeof(*to->attributes));
		if (!to->attributes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		*to->attributes = *from->attributes;
	}
	return work_clone(&from->work, &to->work) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult clone_nodes(const struct graph *g, enum clone_kind kind, struct graph *to)
{
	for (struct node *n = g->first; n; n = n->next) {
		CUresult e = node_new(to, n->type, NULL, &n->copied_to);

		if (!e)
			e = clone_node(n, kind, n->copied_to);
		if (e)
			return e;
	}
	for (struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++)
			if (!node_need(n->copied_to, n->need[i].from->copied_to, &n->need[i].data))
				return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

static CUresult clone_conditions(const struct graph *g, struct graph *to)
{
	if (!g->condition_count)
		return CUDA_SUCCESS;
	to->condition = malloc(g->condition_count * sizeof(*to->condition));
	if (!to->condition)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(to->condition, g->condition, g->condition_count * sizeof(*to->condition));
	to->condition_count = g->condition_count;
	return CUDA_SUCCESS;
}

CUresult graph_clone(const struct graph *g, enum clone_kind kind, struct graph **ret)
{
	struct graph *to;
	CUresult e;

	if (kind == CLONE_PLAIN && graph_has_memory(g))
		return CUDA_ERROR_NOT_SUPPORTED; /* as documented: memory nodes cannot be cloned */
	to = graph_new();
	if (!to)
		return CUDA_ERROR_OUT_OF_MEMORY;
	to->has_memory = g->has_memory;
	e = clone_nodes(g, kind, to);
	if (!e)
		e = clone_conditions(g, to);
	if (!e)
		e = object_use_copy(g->objects, &to->objects);
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
	e = graph_clone(g, CLONE_PLAIN, &copy);
	if (!e)
		*ret = (CUgraph)copy;
	return e;
}

CUresult soft_cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode original, CUgraph clone)
{
	struct graph *g;
	struct node *n;
	CUresult e = node_find(original, &n);

	if (!e)
		e = graph_find(clone, &g);
	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct node *m = g->first; m; m = m->next)
		if (m->origin == n && m->origin_generation == n->head.generation) {
			*ret = (CUgraphNode)m;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

void node_remove(struct node *n)
{
	struct graph *g = n->graph;
	struct node **at = &g->first, *previous = NULL;

	for (; *at != n; at = &(*at)->next)
		previous = *at;
	*at = n->next;
	if (g->last == n)
		g->last = previous;
	g->count--;
	node_free(n);
}

CUresult soft_cuGraphDestroyNode(CUgraphNode h)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (n->graph->has_memory)
		return CUDA_ERROR_NOT_SUPPORTED; /* as documented: such a graph only grows */
	for (struct node *m = n->graph->first; m; m = m->next)
		for (size_t i = 0; i < m->need_count; i++)
			if (m->need[i].from == n)
				memmove(&m->need[i], &m->need[i + 1], (--m->need_count - i) * sizeof(m->need[0]));
	node_remove(n);
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
