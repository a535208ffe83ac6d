/*
 * graph_params.c: conditional nodes, and the calls that take one structure for every kind of node. See graph.h.
 *
 * The value of a condition belongs to an instantiated graph; the handle only names it, so copies of a graph keep it.
 */
#include "softdev/graph.h"

#include <stdlib.h>
#include <string.h>

CUresult soft_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *ret, CUgraph h, CUcontext ctx, unsigned initial,
					     unsigned flags)
{
	static _Atomic uint64_t next = 1;
	struct condition *more;
	struct context *c;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (!e)
		e = context_find(ctx, &c);
	if (e)
		return e;
	if (!ret || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	g = graph_outermost(g);
	more = reallocarray(g->condition, g->condition_count + 1, sizeof(*more));
	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	g->condition = more;
	g->condition[g->condition_count++] =
		(struct condition){ next++, initial, flags & CU_GRAPH_COND_ASSIGN_DEFAULT };
	*ret = more[g->condition_count - 1].handle;
	return CUDA_SUCCESS;
}

static bool condition_known(struct graph *g, CUgraphConditionalHandle handle)
{
	g = graph_outermost(g);
	for (uint32_t i = 0; i < g->condition_count; i++)
		if (g->condition[i].handle == handle)
			return true;
	return false;
}

static bool conditional_valid(struct graph *g, const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	if (g->owner && g->owner->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return false;
	if (!condition_known(g, p->handle) || !p->size)
		return false;
	switch (p->type) {
	case CU_GRAPH_COND_TYPE_IF:
		return p->size <= 2;
	case CU_GRAPH_COND_TYPE_WHILE:
		return p->size == 1;
	case CU_GRAPH_COND_TYPE_SWITCH:
		return true;
	default:
		return false;
	}
}

static CUresult add_conditional(struct graph *g, const struct needs *needs, CUDA_CONDITIONAL_NODE_PARAMS *p,
				struct node **ret)
{
	struct context *c;
	struct node *n;
	CUresult e = context_find(p->ctx, &c);

	if (e)
		return e;
	if (!conditional_valid(g, p))
		return CUDA_ERROR_INVALID_VALUE;
	e = node_new(g, CU_GRAPH_NODE_TYPE_CONDITIONAL, needs, &n);
	if (e)
		return e;
	n->work.context = c;
	n->conditional.handle = p->handle;
	n->conditional.type = p->type;
	n->conditional.body = calloc(p->size, sizeof(CUgraph));
	for (; n->conditional.body && n->conditional.count < p->size; n->conditional.count++) {
		struct graph *body = graph_new();

		if (!body)
			break;
		body->owner = n;
		n->conditional.body[n->conditional.count] = (CUgraph)body;
	}
	if (n->conditional.count < p->size) {
		node_remove(n);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->phGraph_out = n->conditional.body;
	*ret = n;
	return CUDA_SUCCESS;
}

/* ---- nodes by one structure for all kinds ---- */

static CUresult add_child(struct graph *g, const struct needs *needs, const CUDA_CHILD_GRAPH_NODE_PARAMS *p,
			  struct node **ret)
{
	struct graph *child;
	CUresult e = graph_find(p->graph, &child);

	if (e)
		return e;
	if ((unsigned)p->ownership > CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	return node_child(g, needs, child, p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, ret);
}

static CUresult add_allocation(CUgraph h, const struct needs *needs, CUgraphNodeParams *p, CUgraphNode *ret)
{
	CUDA_MEM_ALLOC_NODE_PARAMS alloc;
	CUresult e;

	memcpy(&alloc, &p->alloc, sizeof(alloc));
	e = soft_cuGraphAddMemAllocNode(ret, h, needs->node, needs->count, &alloc);
	if (!e)
		p->alloc.dptr = alloc.dptr;
	return e;
}

/* A node of one of the kinds that have nothing to do with their edges, without edges. */
static CUresult add_simple(CUgraph g, CUgraphNodeParams *p, CUgraphNode *ret)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;
	CUDA_BATCH_MEM_OP_NODE_PARAMS values;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &p->kernel, sizeof(kernel));
		return soft_cuGraphAddKernelNode_v2(ret, g, NULL, 0, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return soft_cuGraphAddMemcpyNode(ret, g, NULL, 0, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&fill, &p->memset, sizeof(fill)); /* the newer structure begins with the older one */
		return soft_cuGraphAddMemsetNode(ret, g, NULL, 0, &fill, p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		memcpy(&host, &p->host, sizeof(host));
		return soft_cuGraphAddHostNode(ret, g, NULL, 0, &host);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return soft_cuGraphAddEmptyNode(ret, g, NULL, 0);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return soft_cuGraphAddEventWaitNode(ret, g, NULL, 0, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return soft_cuGraphAddEventRecordNode(ret, g, NULL, 0, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		memcpy(&values, &p->memOp, sizeof(values));
		return soft_cuGraphAddBatchMemOpNode(ret, g, NULL, 0, &values);
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* The edges of a node that has none. */
static CUresult add_edges(struct node *n, const struct needs *needs)
{
	CUresult e;

	for (size_t i = 0; i < needs->count; i++) {
		struct node *from = handle_find(HANDLE_NODE, needs->node[i]);

		if (!from || from->graph != n->graph || from == n)
			return CUDA_ERROR_INVALID_VALUE;
		e = edge_check(from, n, needs->data ? &needs->data[i] : NULL);
		if (e)
			return e;
		if (!node_need(n, from, needs->data ? &needs->data[i] : NULL))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphAddNode_v2(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, const CUgraphEdgeData *data,
				size_t count, CUgraphNodeParams *p)
{
	const struct needs needs = { need, data, count };
	CUgraphNode added = NULL;
	struct node *n = NULL;
	struct graph *g;
	CUresult e = graph_find(h, &g);

	if (e)
		return e;
	if (!ret || !p || (count && !need))
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_GRAPH:
		e = add_child(g, &needs, &p->graph, &n);
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		e = add_conditional(g, &needs, &p->conditional, &n);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		e = add_allocation(h, &needs, p, &added);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		e = node_deallocation(g, &needs, p->free.dptr, &n);
		break;
	default:
		e = add_simple(h, p, &added);
		if (!e && (e = add_edges((struct node *)added, &needs)))
			node_remove((struct node *)added);
		break;
	}
	if (!e)
		*ret = n ? (CUgraphNode)n : added;
	return e;
}

CUresult soft_cuGraphAddNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count, CUgraphNodeParams *p)
{
	return soft_cuGraphAddNode_v2(ret, g, need, NULL, count, p);
}

CUresult soft_cuGraphAddNode_v3(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, const CUgraphEdgeData *data,
				size_t count, CUgraphNodeParams *p)
{
	return soft_cuGraphAddNode_v2(ret, g, need, data, count, p);
}

static CUresult set_child(struct node *n, CUgraph h)
{
	struct graph *child, *copy;
	CUresult e = graph_find(h, &child);

	if (e)
		return e;
	if (graph_outermost(n->graph) == child || graph_contains(child, CU_GRAPH_NODE_TYPE_CONDITIONAL))
		return CUDA_ERROR_INVALID_VALUE;
	e = graph_clone(child, CLONE_PLAIN, &copy);
	if (e)
		return e;
	graph_free(n->child);
	n->child = copy;
	copy->owner = n;
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeSetParams(CUgraphNode h, CUgraphNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;
	CUDA_BATCH_MEM_OP_NODE_PARAMS values;
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!p || p->type != n->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &p->kernel, sizeof(kernel));
		return soft_cuGraphKernelNodeSetParams_v2(h, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return soft_cuGraphMemcpyNodeSetParams(h, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&fill, &p->memset, sizeof(fill));
		return soft_cuGraphMemsetNodeSetParams(h, &fill);
	case CU_GRAPH_NODE_TYPE_HOST:
		memcpy(&host, &p->host, sizeof(host));
		return soft_cuGraphHostNodeSetParams(h, &host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return set_child(n, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return soft_cuGraphEventWaitNodeSetEvent(h, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return soft_cuGraphEventRecordNodeSetEvent(h, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		memcpy(&values, &p->memOp, sizeof(values));
		return soft_cuGraphBatchMemOpNodeSetParams(h, &values);
	default:
		return CUDA_ERROR_NOT_SUPPORTED; /* memory and conditional nodes stay as they were made */
	}
}

CUresult soft_cuGraphNodeSetParams_v2(CUgraphNode h, CUgraphNodeParams *p)
{
	return soft_cuGraphNodeSetParams(h, p);
}

/* A part of the structure by the call that this kind of node has: both structures begin alike. */
#define GET_PART(part, type, call)                                                                                     \
	do {                                                                                                           \
		type own_ = { 0 };                                                                                     \
		CUresult e_ = call(h, &own_);                                                                          \
		memcpy(&(part), &own_, sizeof(own_));                                                                  \
		return e_;                                                                                             \
	} while (0)

static CUresult get_conditional(const struct node *n, CUDA_CONDITIONAL_NODE_PARAMS *ret)
{
	*ret = (CUDA_CONDITIONAL_NODE_PARAMS){ .handle = n->conditional.handle,
					       .type = n->conditional.type,
					       .size = n->conditional.count,
					       .phGraph_out = n->conditional.body,
					       .ctx = (CUcontext)n->work.context };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphNodeGetParams(CUgraphNode h, CUgraphNodeParams *p)
{
	struct node *n;
	CUresult e = node_find(h, &n);

	if (e)
		return e;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memset(p, 0, sizeof(*p));
	p->type = n->type;
	switch (n->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		GET_PART(p->kernel, CUDA_KERNEL_NODE_PARAMS, soft_cuGraphKernelNodeGetParams_v2);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		p->memcpy.copyCtx = (CUcontext)n->work.context;
		return soft_cuGraphMemcpyNodeGetParams(h, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		p->memset.ctx = (CUcontext)n->work.context;
		GET_PART(p->memset, CUDA_MEMSET_NODE_PARAMS, soft_cuGraphMemsetNodeGetParams);
	case CU_GRAPH_NODE_TYPE_HOST:
		GET_PART(p->host, CUDA_HOST_NODE_PARAMS, soft_cuGraphHostNodeGetParams);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return soft_cuGraphChildGraphNodeGetGraph(h, &p->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return soft_cuGraphEventWaitNodeGetEvent(h, &p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return soft_cuGraphEventRecordNodeGetEvent(h, &p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		GET_PART(p->memOp, CUDA_BATCH_MEM_OP_NODE_PARAMS, soft_cuGraphBatchMemOpNodeGetParams);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		GET_PART(p->alloc, CUDA_MEM_ALLOC_NODE_PARAMS, soft_cuGraphMemAllocNodeGetParams);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return soft_cuGraphMemFreeNodeGetParams(h, &p->free.dptr);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return get_conditional(n, &p->conditional);
	default:
		return CUDA_SUCCESS;
	}
}

CUresult soft_cuGraphExecNodeSetParams(CUgraphExec x, CUgraphNode h, CUgraphNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;
	CUDA_BATCH_MEM_OP_NODE_PARAMS values;
	struct exec *exec;
	struct node *n;
	CUresult e = exec_node(x, h, &exec, &n);

	if (e)
		return e;
	if (!p || p->type != n->type)
		return CUDA_ERROR_INVALID_VALUE;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &p->kernel, sizeof(kernel));
		return soft_cuGraphExecKernelNodeSetParams_v2(x, h, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return soft_cuGraphExecMemcpyNodeSetParams(x, h, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&fill, &p->memset, sizeof(fill));
		return soft_cuGraphExecMemsetNodeSetParams(x, h, &fill, p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		memcpy(&host, &p->host, sizeof(host));
		return soft_cuGraphExecHostNodeSetParams(x, h, &host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return soft_cuGraphExecChildGraphNodeSetParams(x, h, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return soft_cuGraphExecEventWaitNodeSetEvent(x, h, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return soft_cuGraphExecEventRecordNodeSetEvent(x, h, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		memcpy(&values, &p->memOp, sizeof(values));
		return soft_cuGraphExecBatchMemOpNodeSetParams(x, h, &values);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}
