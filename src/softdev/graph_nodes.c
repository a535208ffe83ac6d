/* graph_nodes.c: the calls on copies, fills, host functions, events, values, child graphs. See graph.h. */
#include "softdev/graph.h"

#include "softdev/copy.h"

#include <stdlib.h>
#include <string.h>

static CUresult add_work(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count, struct work *w,
			 struct node **ret_node)
{
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (!e && !ret)
		e = CUDA_ERROR_INVALID_VALUE;
	if (e) {
		work_deinit(w);
		return e;
	}
	e = node_work(g, &(struct needs){ need, NULL, count }, w, ret_node);
	if (!e)
		*ret = (CUgraphNode)*ret_node;
	return e;
}

/* The node's work becomes another. Takes what it owns. */
static CUresult set_work(CUgraphNode h, CUgraphNodeType type, struct work *w, struct node **ret)
{
	CUresult e = node_of(h, type, ret);

	if (e) {
		work_deinit(w);
		return e;
	}
	work_deinit(&(*ret)->work);
	(*ret)->work = *w;
	return CUDA_SUCCESS;
}

/* ---- copies ---- */

static CUresult copy_work(const CUDA_MEMCPY3D *p, CUcontext h, struct work *ret)
{
	struct context *c;
	CUresult e = context_find(h, &c);

	if (e)
		return e;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	e = copy_describe(p, true, ret);
	ret->context = c;
	return e ? e : ret->kind == WORK_COPY ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGraphAddMemcpyNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				   const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct node *n;
	struct work w;
	CUresult e = copy_work(p, context, &w);

	if (!e)
		e = add_work(ret, g, need, count, &w, &n);
	if (!e)
		n->copy = *p;
	return e;
}

CUresult soft_cuGraphMemcpyNodeGetParams(CUgraphNode h, CUDA_MEMCPY3D *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEMCPY, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->copy;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphMemcpyNodeSetParams(CUgraphNode h, const CUDA_MEMCPY3D *p)
{
	struct node *n;
	struct work w;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEMCPY, &n);

	if (!e)
		e = copy_work(p, (CUcontext)n->work.context, &w);
	if (!e)
		e = set_work(h, CU_GRAPH_NODE_TYPE_MEMCPY, &w, &n);
	if (!e)
		n->copy = *p;
	return e;
}

CUresult soft_cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct node like = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	CUresult e = copy_work(p, context, &like.work);

	if (e)
		return e;
	like.copy = *p;
	return exec_node_set(x, h, &like);
}

/* ---- fills ---- */

static CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h, struct work *ret)
{
	struct context *c;
	CUresult e = context_find(h, &c);

	if (e)
		return e;
	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
		return CUDA_ERROR_INVALID_VALUE;
	e = fill_describe(p->dst, p->pitch, p->value, p->elementSize, p->width, p->height, true, ret);
	ret->context = c;
	return e ? e : ret->kind == WORK_FILL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuGraphAddMemsetNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				   const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
	struct node *n;
	struct work w;
	CUresult e = fill_work(p, context, &w);

	if (!e)
		e = add_work(ret, g, need, count, &w, &n);
	if (!e)
		n->fill = *p;
	return e;
}

CUresult soft_cuGraphMemsetNodeGetParams(CUgraphNode h, CUDA_MEMSET_NODE_PARAMS *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEMSET, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = n->fill;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphMemsetNodeSetParams(CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_MEMSET, &n);

	if (!e)
		e = fill_work(p, (CUcontext)n->work.context, &w);
	if (!e)
		e = set_work(h, CU_GRAPH_NODE_TYPE_MEMSET, &w, &n);
	if (!e)
		n->fill = *p;
	return e;
}

CUresult soft_cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS *p,
					     CUcontext context)
{
	struct node like = { .type = CU_GRAPH_NODE_TYPE_MEMSET };
	CUresult e = fill_work(p, context, &like.work);

	if (e)
		return e;
	like.fill = *p;
	return exec_node_set(x, h, &like);
}

/* ---- host functions ---- */

static CUresult host_work(const CUDA_HOST_NODE_PARAMS *p, struct work *ret)
{
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct work){ .kind = WORK_HOST, .host = { p->fn, p->userData } };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddHostNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				 const CUDA_HOST_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = host_work(p, &w);

	return e ? e : add_work(ret, g, need, count, &w, &n);
}

CUresult soft_cuGraphHostNodeGetParams(CUgraphNode h, CUDA_HOST_NODE_PARAMS *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_HOST, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_HOST_NODE_PARAMS){ n->work.host.f, n->work.host.data };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphHostNodeSetParams(CUgraphNode h, const CUDA_HOST_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = host_work(p, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_HOST, &w, &n);
}

CUresult soft_cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_HOST_NODE_PARAMS *p)
{
	struct node like = { .type = CU_GRAPH_NODE_TYPE_HOST };
	CUresult e = host_work(p, &like.work);

	return e ? e : exec_node_set(x, h, &like);
}

/* ---- batches of values in memory ---- */

static CUresult values_work(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct work *ret)
{
	struct context *c;
	CUresult e;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	e = context_find(p->ctx, &c);
	if (!e)
		e = stream_values_describe(p->count, p->paramArray, p->flags, ret);
	if (!e)
		ret->context = c;
	return e;
}

CUresult soft_cuGraphAddBatchMemOpNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				       const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = values_work(p, &w);

	return e ? e : add_work(ret, g, need, count, &w, &n);
}

CUresult soft_cuGraphBatchMemOpNodeGetParams(CUgraphNode h, CUDA_BATCH_MEM_OP_NODE_PARAMS *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = (CUcontext)n->work.context,
						.count = n->work.values.count,
						.paramArray = n->work.values.op };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphBatchMemOpNodeSetParams(CUgraphNode h, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node *n;
	struct work w;
	CUresult e = values_work(p, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &w, &n);
}

CUresult soft_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
	struct node like = { .type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP };
	CUresult e = values_work(p, &like.work);

	return e ? e : exec_node_set(x, h, &like);
}

/* ---- empty nodes and child graphs ---- */

CUresult soft_cuGraphAddEmptyNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count)
{
	struct work w = { .kind = WORK_EMPTY };
	struct node *n;

	return add_work(ret, g, need, count, &w, &n);
}

/* What a child graph may be: no conditional nodes, and memory nodes only where it is moved. */
static CUresult child_check(struct graph *g, const struct graph *child, bool move)
{
	if (graph_outermost(g) == child || graph_contains(child, CU_GRAPH_NODE_TYPE_CONDITIONAL) ||
	    (move && (child->owner || child->exec)))
		return CUDA_ERROR_INVALID_VALUE;
	return child->capturing ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS;
}

CUresult node_child(struct graph *g, const struct needs *needs, struct graph *child, bool move, struct node **ret)
{
	struct graph *use = child;
	CUresult e = child_check(g, child, move);

	if (!e && !move)
		e = graph_clone(child, CLONE_PLAIN, &use);
	if (e)
		return e;
	e = node_new(g, CU_GRAPH_NODE_TYPE_GRAPH, needs, ret);
	if (e) {
		if (!move)
			graph_free(use);
		return e;
	}
	(*ret)->child = use;
	use->owner = *ret;
	for (; use->has_memory && g; g = g->owner ? g->owner->graph : NULL)
		g->has_memory = true;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddChildGraphNode(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count,
				       CUgraph child)
{
	struct graph *g, *from;
	struct node *n;
	CUresult e = graph_find(h, &g);

	if (!e)
		e = graph_find(child, &from);
	if (!e && !ret)
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = node_child(g, &(struct needs){ need, NULL, count }, from, false, &n);
	if (!e)
		*ret = (CUgraphNode)n;
	return e;
}

CUresult soft_cuGraphChildGraphNodeGetGraph(CUgraphNode h, CUgraph *ret)
{
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_GRAPH, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUgraph)n->child;
	return CUDA_SUCCESS;
}

/* ---- events ---- */

static CUresult event_work(CUevent h, enum work_kind kind, struct work *ret)
{
	struct event *ev;
	CUresult e = event_find(h, &ev);

	if (e)
		return e;
	*ret = (struct work){ .kind = kind, .context = ev->context };
	ret->record.event = ev;
	ret->record.event_generation = ev->head.generation;
	return CUDA_SUCCESS;
}

static CUresult event_add(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count, CUevent event,
			  enum work_kind kind)
{
	struct node *n;
	struct work w;
	CUresult e = event_work(event, kind, &w);

	return e ? e : add_work(ret, g, need, count, &w, &n);
}

CUresult soft_cuGraphAddEventRecordNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
					CUevent event)
{
	return event_add(ret, g, need, count, event, WORK_RECORD);
}

CUresult soft_cuGraphAddEventWaitNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count, CUevent event)
{
	return event_add(ret, g, need, count, event, WORK_WAIT);
}

static CUresult event_get(CUgraphNode h, CUgraphNodeType type, CUevent *ret)
{
	struct node *n;
	CUresult e = node_of(h, type, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUevent)n->work.record.event;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphEventRecordNodeGetEvent(CUgraphNode h, CUevent *ret)
{
	return event_get(h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, ret);
}

CUresult soft_cuGraphEventWaitNodeGetEvent(CUgraphNode h, CUevent *ret)
{
	return event_get(h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, ret);
}

static CUresult event_set(CUgraphNode h, CUgraphNodeType type, CUevent event, enum work_kind kind)
{
	struct node *n;
	struct work w;
	CUresult e = event_work(event, kind, &w);

	return e ? e : set_work(h, type, &w, &n);
}

CUresult soft_cuGraphEventRecordNodeSetEvent(CUgraphNode h, CUevent event)
{
	return event_set(h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, WORK_RECORD);
}

CUresult soft_cuGraphEventWaitNodeSetEvent(CUgraphNode h, CUevent event)
{
	return event_set(h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, WORK_WAIT);
}

static CUresult event_exec_set(CUgraphExec x, CUgraphNode h, CUgraphNodeType type, CUevent event, enum work_kind kind)
{
	struct node like = { .type = type };
	CUresult e = event_work(event, kind, &like.work);

	return e ? e : exec_node_set(x, h, &like);
}

CUresult soft_cuGraphExecEventRecordNodeSetEvent(CUgraphExec x, CUgraphNode h, CUevent event)
{
	return event_exec_set(x, h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, WORK_RECORD);
}

CUresult soft_cuGraphExecEventWaitNodeSetEvent(CUgraphExec x, CUgraphNode h, CUevent event)
{
	return event_exec_set(x, h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, WORK_WAIT);
}
