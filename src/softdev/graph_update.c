/*
 * graph_update.c: changes of instantiated graphs, for the launches to come. See graph.h.
 *
 * A whole graph takes the place of the one that was instantiated when it has the same shape. Nodes are paired from the
 * exit nodes, in the order of their making, back along their dependencies, in the order of those. What a node may not
 * change: the context of its kernel and whether it is cooperative, the kind and device of memory that it copies or
 * fills, the size of an allocation, a condition's kind.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- what may change ---- */

/* The device that memory is on; NULL: the host's. */
static const struct device *memory_device(const void *address)
{
	const struct range *r;
	const struct device *d;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked((uintptr_t)address);
	d = r && r->kind != RANGE_HOST && r->kind != RANGE_REGISTERED ? r->device : NULL;
	pthread_mutex_unlock(&memory_mutex);
	return d;
}

static bool copy_is_line(const struct work_copy *c)
{
	return c->height <= 1 && c->depth <= 1;
}

static CUgraphExecUpdateResult kernel_check(const struct node *old, const struct node *new, bool priorities)
{
	if (old->work.context != new->work.context)
		return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
	if (old->work.kernel.cooperative != new->work.kernel.cooperative)
		return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
	if (priorities && kernel_priority(old) != kernel_priority(new))
		return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static bool copy_same_memory(const struct work_copy *a, const struct work_copy *b)
{
	return memory_device(a->source) == memory_device(b->source) &&
	       memory_device(a->target) == memory_device(b->target);
}

static bool fill_same_box(const struct work_fill *a, const struct work_fill *b)
{
	return a->width == b->width && a->height == b->height && a->element == b->element && a->pitch == b->pitch;
}

static bool fill_fits(const struct work_fill *a, const struct work_fill *b)
{
	return memory_device(a->target) == memory_device(b->target) &&
	       ((a->height <= 1 && b->height <= 1) || fill_same_box(a, b));
}

static CUgraphExecUpdateResult node_check(const struct node *old, const struct node *new, bool priorities)
{
	bool good = true;

	if (old->type != new->type)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	switch (old->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return kernel_check(old, new, priorities);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		good = copy_same_memory(&old->work.copy, &new->work.copy);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		good = fill_fits(&old->work.fill, &new->work.fill);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		good = old->alloc.memory->device == new->alloc.memory->device &&
		       old->alloc.params.bytesize == new->alloc.params.bytesize;
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		good = old->conditional.type == new->conditional.type &&
		       old->conditional.count == new->conditional.count;
		break;
	default:
		break;
	}
	return good ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

/* ---- one node ---- */

/* Takes what `like` owns of work. */
static CUresult node_become(struct plan *p, struct node *n, struct node *like)
{
	struct task *t = task_new(like), *old;

	if (!t)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (n->type == CU_GRAPH_NODE_TYPE_KERNEL && !like->attributes)
		t->priority = kernel_priority(n);
	old = p->at[n->step].task;
	p->at[n->step].task = t;
	task_unref(old);
	work_deinit(&n->work);
	n->work = like->work;
	like->work = (struct work){ .kind = WORK_EMPTY };
	if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		n->copy = like->copy;
	else if (n->type == CU_GRAPH_NODE_TYPE_MEMSET)
		n->fill = like->fill;
	return CUDA_SUCCESS;
}

/* As documented, single nodes are changed within one dimension only. */
static bool is_line(const struct node *n)
{
	if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		return copy_is_line(&n->work.copy);
	return n->type != CU_GRAPH_NODE_TYPE_MEMSET || n->work.fill.height <= 1;
}

CUresult exec_node_set(CUgraphExec h, CUgraphNode node, struct node *like)
{
	struct plan *p;
	struct exec *x;
	struct node *n;
	CUresult e = exec_node(h, node, &x, &n);

	if (!e && (n->type != like->type || !is_line(n) || !is_line(like) || node_check(n, like, false)))
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e) {
		pthread_mutex_lock(&graph_launch_mutex);
		p = exec_plan_locked(x);
		e = p ? node_become(p, n, like) : CUDA_ERROR_OUT_OF_MEMORY;
		pthread_mutex_unlock(&graph_launch_mutex);
	}
	work_deinit(&like->work);
	return e;
}

static CUresult enabled_find(CUgraphExec h, CUgraphNode node, struct exec **ret_exec, struct node **ret)
{
	CUresult e = exec_node(h, node, ret_exec, ret);

	if (e)
		return e;
	switch ((*ret)->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuGraphNodeSetEnabled(CUgraphExec h, CUgraphNode node, unsigned enabled)
{
	struct plan *p;
	struct exec *x;
	struct node *n;
	CUresult e = enabled_find(h, node, &x, &n);

	if (e)
		return e;
	pthread_mutex_lock(&graph_launch_mutex);
	p = exec_plan_locked(x);
	if (p)
		p->at[n->step].enabled = enabled != 0;
	else
		e = CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_unlock(&graph_launch_mutex);
	return e;
}

CUresult soft_cuGraphNodeGetEnabled(CUgraphExec h, CUgraphNode node, unsigned *ret)
{
	struct exec *x;
	struct node *n;
	CUresult e = enabled_find(h, node, &x, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_launch_mutex);
	*ret = x->plan->at[n->step].enabled;
	pthread_mutex_unlock(&graph_launch_mutex);
	return CUDA_SUCCESS;
}

/* ---- pairing ---- */

struct pairing {
	const struct exec *exec;
	CUgraphExecUpdateResultInfo *info;
	bool paired; /* every node has its partner in copied_to, both ways */
};

static bool fail(struct pairing *p, CUgraphExecUpdateResult result, struct node *n, struct node *from)
{
	p->info->result = result;
	p->info->errorNode = (CUgraphNode)n;
	p->info->errorFromNode = (CUgraphNode)from;
	return false;
}

static bool pair_graphs(struct pairing *p, struct graph *old, struct graph *new);

static bool pair_inside(struct pairing *p, struct node *old, struct node *new)
{
	if (old->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return pair_graphs(p, old->child, new->child);
	for (uint32_t i = 0; old->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < old->conditional.count; i++)
		if (!pair_graphs(p, (struct graph *)old->conditional.body[i], (struct graph *)new->conditional.body[i]))
			return false;
	return true;
}

/* Two nodes that must be partners; `from`: with an edge to this node of the new graph, or NULL. */
static bool pair_nodes(struct pairing *p, struct node *old, struct node *new, struct node *to)
{
	CUgraphExecUpdateResult result;

	if (old->copied_to || new->copied_to) {
		if (old->copied_to == new)
			return true;
		return fail(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, to ? to : new, to ? new : NULL);
	}
	result = node_check(old, new, p->exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
	if (result)
		return fail(p, result, new, NULL);
	if (old->need_count != new->need_count)
		return fail(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, NULL);
	old->copied_to = new;
	new->copied_to = old;
	return pair_inside(p, old, new);
}

/* The dependencies of all that is paired, until nothing new comes. */
static bool pair_needs(struct pairing *p, struct node **stack, size_t depth)
{
	while (depth) {
		struct node *old = stack[--depth], *new = old->copied_to;

		for (size_t i = 0; i < old->need_count; i++) {
			struct node *from = old->need[i].from;
			bool fresh = !from->copied_to;

			if (memcmp(&old->need[i].data, &new->need[i].data, sizeof(old->need[i].data)))
				return fail(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, new, new->need[i].from);
			if (!pair_nodes(p, from, new->need[i].from, new))
				return false;
			if (fresh)
				stack[depth++] = from;
		}
	}
	return true;
}

/* Marks the nodes that somebody depends on. */
static void mark_inner(struct graph *g)
{
	for (struct node *n = g->first; n; n = n->next) {
		n->mark = 0;
		n->copied_to = NULL;
	}
	for (struct node *n = g->first; n; n = n->next)
		for (size_t i = 0; i < n->need_count; i++)
			n->need[i].from->mark = 1;
}

static struct node *next_exit(struct node *n)
{
	while (n && n->mark)
		n = n->next;
	return n;
}

static bool pair_graphs(struct pairing *p, struct graph *old, struct graph *new)
{
	struct node **stack, *a, *b;
	size_t depth = 0;
	bool good = true;

	if (old->count != new->count)
		return fail(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
	mark_inner(old);
	mark_inner(new);
	stack = malloc((old->count + 1) * sizeof(*stack));
	if (!stack)
		return fail(p, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
	a = next_exit(old->first);
	b = next_exit(new->first);
	for (; good && a && b; a = next_exit(a->next), b = next_exit(b->next)) {
		good = pair_nodes(p, a, b, NULL);
		stack[depth++] = a;
	}
	if (good && (a || b))
		good = fail(p, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
	if (good)
		good = pair_needs(p, stack, depth);
	free(stack);
	return good;
}

/* ---- the new graph takes the place of the old one ---- */

static void memory_become(struct node *old, const struct node *new)
{
	struct graph_memory *before = old->alloc.memory;

	if (before == new->alloc.memory)
		return;
	old->alloc.memory = graph_memory_ref(new->alloc.memory);
	old->alloc.params.dptr = new->alloc.params.dptr;
	graph_memory_unref(before);
}

static CUresult graph_become(struct plan *p, struct graph *g);

static CUresult become_inside(struct plan *p, struct node *old, const struct node *new)
{
	CUresult e = CUDA_SUCCESS;

	switch (old->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return graph_become(p, old->child);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		for (uint32_t i = 0; !e && i < old->conditional.count; i++)
			e = graph_become(p, (struct graph *)old->conditional.body[i]);
		return e;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		memory_become(old, new);
		return CUDA_SUCCESS;
	default:
		return CUDA_SUCCESS;
	}
}

/* Each node of the mirror's graph becomes its partner. */
static CUresult graph_become(struct plan *p, struct graph *g)
{
	for (struct node *n = g->first; n; n = n->next) {
		struct node like = { .type = n->type };
		const struct node *new = n->copied_to;
		CUresult e = CUDA_ERROR_OUT_OF_MEMORY;

		if (n->type == CU_GRAPH_NODE_TYPE_MEMCPY)
			like.copy = new->copy;
		else if (n->type == CU_GRAPH_NODE_TYPE_MEMSET)
			like.fill = new->fill;
		like.attributes = new->attributes;
		if (work_clone(&new->work, &like.work))
			e = node_become(p, n, &like);
		work_deinit(&like.work);
		if (!e)
			e = become_inside(p, n, new);
		if (e)
			return e;
	}
	return CUDA_SUCCESS;
}

/* Conditions are named by their handles, which kernels have as a parameter: the new graph's take their place. */
static void conditions_become(struct plan *p, struct graph *old, const struct graph *top)
{
	for (struct node *n = old->first; n; n = n->next) {
		if (n->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
			continue;
		for (uint32_t i = 0; i < p->condition_count; i++)
			if (p->condition[i].handle == n->conditional.handle)
				for (uint32_t k = 0; k < top->condition_count; k++)
					if (top->condition[k].handle == n->copied_to->conditional.handle)
						p->condition[i] = top->condition[k];
		for (uint32_t i = 0; i < n->conditional.count; i++)
			conditions_become(p, (struct graph *)n->conditional.body[i], top);
		n->conditional.handle = n->copied_to->conditional.handle;
	}
}

/* As documented, copies of what the new graph refers to take the place of what the old one referred to. */
static CUresult objects_become(struct exec *x, struct graph *old, const struct graph *new)
{
	struct object_use *objects = NULL;
	CUresult e = object_use_copy(new->objects, &objects);

	if (e) {
		object_use_free(objects);
		return e;
	}
	object_use_append(&x->displaced, old->objects);
	old->objects = objects;
	for (struct node *n = old->first; n && !e; n = n->next) {
		if (n->type == CU_GRAPH_NODE_TYPE_GRAPH)
			e = objects_become(x, n->child, n->copied_to->child);
		for (uint32_t i = 0; n->type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < n->conditional.count && !e; i++)
			e = objects_become(x, (struct graph *)n->conditional.body[i],
					   (const struct graph *)n->copied_to->conditional.body[i]);
	}
	return e;
}

static CUresult become(struct exec *x, struct graph *old, struct graph *new)
{
	struct plan *p;
	CUresult e = CUDA_ERROR_OUT_OF_MEMORY;

	pthread_mutex_lock(&graph_launch_mutex);
	p = exec_plan_locked(x);
	if (p) {
		conditions_become(p, old, graph_outermost(new));
		e = graph_become(p, old);
	}
	if (!e)
		e = plan_memory(p, x);
	if (!e)
		e = objects_become(x, old, new);
	pthread_mutex_unlock(&graph_launch_mutex);
	exec_settle(x, 1);
	return e;
}

/* ---- calls ---- */

CUresult soft_cuGraphExecUpdate_v2(CUgraphExec h, CUgraph graph, CUgraphExecUpdateResultInfo *ret)
{
	struct pairing p = { .info = ret };
	struct graph *g;
	struct exec *x;
	CUresult e = exec_find(h, &x);

	if (!e)
		e = graph_find(graph, &g);
	if (e)
		return e;
	if (!ret || g->capturing)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	p.exec = x;
	if (pair_graphs(&p, x->mirror, g)) {
		e = become(x, x->mirror, g);
		if (!e)
			return CUDA_SUCCESS;
		ret->result = CU_GRAPH_EXEC_UPDATE_ERROR;
	}
	return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult soft_cuGraphExecUpdate(CUgraphExec h, CUgraph graph, CUgraphNode *ret_node, CUgraphExecUpdateResult *ret)
{
	CUgraphExecUpdateResultInfo info = { 0 };
	CUresult e = soft_cuGraphExecUpdate_v2(h, graph, &info);

	if (e && e != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
		return e;
	if (ret_node)
		*ret_node = info.errorNode;
	if (ret)
		*ret = info.result;
	return e;
}

CUresult soft_cuGraphExecChildGraphNodeSetParams(CUgraphExec h, CUgraphNode node, CUgraph child)
{
	CUgraphExecUpdateResultInfo info;
	struct pairing p = { .info = &info };
	struct graph *g;
	struct exec *x;
	struct node *n;
	CUresult e = exec_node(h, node, &x, &n);

	if (!e)
		e = graph_find(child, &g);
	if (e)
		return e;
	p.exec = x;
	if (n->type != CU_GRAPH_NODE_TYPE_GRAPH || !pair_graphs(&p, n->child, g))
		return CUDA_ERROR_INVALID_VALUE;
	return become(x, n->child, g);
}
