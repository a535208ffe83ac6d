/* graph_nodes.c: the calls that add nodes to graphs, ask for their parameters and change them. See graph.h. */
#include "softdev/graph.h"

#include "softdev/copy.h"
#include "softdev/launch.h"

#include <stdlib.h>
#include <string.h>

CUresult node_work(struct graph *g, CUgraphNode const *need, size_t count, struct work *w, struct node **ret)
{
	CUresult e = node_new(g, work_node_type(w), (struct node *const *)need, count, ret);

	if (e)
		work_deinit(w);
	else
		(*ret)->work = *w;
	return e;
}

/* The context that work of a node belongs to: the one given, or the current one. */
static CUresult node_context(CUcontext h, struct context **ret)
{
	return context_find(h, ret);
}

static CUresult add_work(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count, struct work *w,
			 struct node **ret_node)
{
	struct graph *g;
	struct node *n;
	CUresult e = graph_find(h, &g);

	if (!e && !ret)
		e = CUDA_ERROR_INVALID_VALUE;
	if (e) {
		work_deinit(w);
		return e;
	}
	e = node_work(g, need, count, w, &n);
	if (e)
		return e;
	*ret = (CUgraphNode)n;
	if (ret_node)
		*ret_node = n;
	return CUDA_SUCCESS;
}

static CUresult node_of(CUgraphNode h, CUgraphNodeType type, struct node **ret)
{
	CUresult e = node_find(h, ret);

	return e ? e : (*ret)->type == type ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The node's work becomes another. Takes what it owns. */
static CUresult set_work(CUgraphNode h, CUgraphNodeType type, struct work *w, struct node **ret)
{
	struct node *n;
	CUresult e = node_of(h, type, &n);

	if (e) {
		work_deinit(w);
		return e;
	}
	work_deinit(&n->work);
	n->work = *w;
	free(n->param);
	n->param = NULL;
	if (ret)
		*ret = n;
	return CUDA_SUCCESS;
}

/* ---- kernels ---- */

static CUresult kernel_work(const CUDA_KERNEL_NODE_PARAMS *p, struct work *ret)
{
	struct launch l;
	struct context *c;
	CUresult e;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	e = node_context(p->ctx, &c);
	if (e)
		return e;
	l = (struct launch){ p->func ? p->func : (CUfunction)p->kern,
			     { p->gridDimX, p->gridDimY, p->gridDimZ },
			     { p->blockDimX, p->blockDimY, p->blockDimZ },
			     p->sharedMemBytes,
			     false,
			     p->kernelParams,
			     p->extra };
	return launch_describe(&l, c, ret);
}

static CUDA_KERNEL_NODE_PARAMS kernel_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	return (CUDA_KERNEL_NODE_PARAMS){ .func = p->func,
					  .gridDimX = p->gridDimX,
					  .gridDimY = p->gridDimY,
					  .gridDimZ = p->gridDimZ,
					  .blockDimX = p->blockDimX,
					  .blockDimY = p->blockDimY,
					  .blockDimZ = p->blockDimZ,
					  .sharedMemBytes = p->sharedMemBytes,
					  .kernelParams = p->kernelParams,
					  .extra = p->extra };
}

CUresult soft_cuGraphAddKernelNode_v2(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				      const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work w;
	CUresult e = kernel_work(p, &w);

	return e ? e : add_work(ret, g, need, count, &w, NULL);
}

CUresult soft_cuGraphAddKernelNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
				   const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphAddKernelNode_v2(ret, g, need, count, &wide);
}

CUresult soft_cuGraphKernelNodeGetParams_v2(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS *ret)
{
	const struct work_kernel *k;
	struct node *n;
	CUresult e = node_of(h, CU_GRAPH_NODE_TYPE_KERNEL, &n);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	k = &n->work.kernel;
	if (!n->param) {
		const struct ptx_kernel *p = k->function->kernel;

		n->param = calloc(p->param_count + 1, sizeof(*n->param));
		if (!n->param)
			return CUDA_ERROR_OUT_OF_MEMORY;
		for (uint32_t i = 0; i < p->param_count; i++)
			n->param[i] = (char *)k->params + p->param[i].offset;
	}
	*ret = (CUDA_KERNEL_NODE_PARAMS){ .func = (CUfunction)k->function,
					  .gridDimX = k->grid[0],
					  .gridDimY = k->grid[1],
					  .gridDimZ = k->grid[2],
					  .blockDimX = k->block[0],
					  .blockDimY = k->block[1],
					  .blockDimZ = k->block[2],
					  .sharedMemBytes = k->shared_bytes,
					  .kernelParams = n->param,
					  .ctx = (CUcontext)n->work.context };
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeGetParams(CUgraphNode h, CUDA_KERNEL_NODE_PARAMS_v1 *ret)
{
	CUDA_KERNEL_NODE_PARAMS wide;
	CUresult e = soft_cuGraphKernelNodeGetParams_v2(h, &wide);

	if (e)
		return e;
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ret, &wide, sizeof(*ret)); /* the newer structure begins with the older one */
	return CUDA_SUCCESS;
}

CUresult soft_cuGraphKernelNodeSetParams_v2(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work w;
	CUresult e = kernel_work(p, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_KERNEL, &w, NULL);
}

CUresult soft_cuGraphKernelNodeSetParams(CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphKernelNodeSetParams_v2(h, &wide);
}

CUresult soft_cuGraphExecKernelNodeSetParams_v2(CUgraphExec x, CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work w;
	CUresult e = kernel_work(p, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_KERNEL, &w);
}

CUresult soft_cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	wide = kernel_widen(p);
	return soft_cuGraphExecKernelNodeSetParams_v2(x, h, &wide);
}

/* ---- copies ---- */

static CUresult copy_work(const CUDA_MEMCPY3D *p, CUcontext h, struct work *ret)
{
	struct context *c;
	CUresult e = node_context(h, &c);

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
	CUresult e = copy_work(p, NULL, &w);

	if (!e)
		e = set_work(h, CU_GRAPH_NODE_TYPE_MEMCPY, &w, &n);
	if (!e)
		n->copy = *p;
	return e;
}

CUresult soft_cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_MEMCPY3D *p, CUcontext context)
{
	struct work w;
	CUresult e = copy_work(p, context, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_MEMCPY, &w);
}

/* ---- fills ---- */

static CUresult fill_work(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext h, struct work *ret)
{
	struct context *c;
	CUresult e = node_context(h, &c);

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
	CUresult e = fill_work(p, NULL, &w);

	if (!e)
		e = set_work(h, CU_GRAPH_NODE_TYPE_MEMSET, &w, &n);
	if (!e)
		n->fill = *p;
	return e;
}

CUresult soft_cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS *p,
					     CUcontext context)
{
	struct work w;
	CUresult e = fill_work(p, context, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_MEMSET, &w);
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
	struct work w;
	CUresult e = host_work(p, &w);

	return e ? e : add_work(ret, g, need, count, &w, NULL);
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
	struct work w;
	CUresult e = host_work(p, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_HOST, &w, NULL);
}

CUresult soft_cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode h, const CUDA_HOST_NODE_PARAMS *p)
{
	struct work w;
	CUresult e = host_work(p, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_HOST, &w);
}

/* ---- empty nodes and child graphs ---- */

CUresult soft_cuGraphAddEmptyNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count)
{
	struct work w = { .kind = WORK_EMPTY };

	return add_work(ret, g, need, count, &w, NULL);
}

CUresult soft_cuGraphAddChildGraphNode(CUgraphNode *ret, CUgraph h, const CUgraphNode *need, size_t count,
				       CUgraph child)
{
	struct graph *g, *from, *copy;
	struct node *n;
	CUresult e = graph_find(h, &g);

	if (!e)
		e = graph_find(child, &from);
	if (e)
		return e;
	if (!ret || g == from)
		return CUDA_ERROR_INVALID_VALUE;
	e = graph_clone(from, &copy);
	if (e)
		return e;
	e = node_new(g, CU_GRAPH_NODE_TYPE_GRAPH, (struct node *const *)need, count, &n);
	if (e) {
		graph_free(copy);
		return e;
	}
	n->child = copy;
	copy->owner = n;
	*ret = (CUgraphNode)n;
	return CUDA_SUCCESS;
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

CUresult soft_cuGraphAddEventRecordNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count,
					CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_RECORD, &w);

	return e ? e : add_work(ret, g, need, count, &w, NULL);
}

CUresult soft_cuGraphAddEventWaitNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count, CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_WAIT, &w);

	return e ? e : add_work(ret, g, need, count, &w, NULL);
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

CUresult soft_cuGraphEventRecordNodeSetEvent(CUgraphNode h, CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_RECORD, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &w, NULL);
}

CUresult soft_cuGraphEventWaitNodeSetEvent(CUgraphNode h, CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_WAIT, &w);

	return e ? e : set_work(h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &w, NULL);
}

CUresult soft_cuGraphExecEventRecordNodeSetEvent(CUgraphExec x, CUgraphNode h, CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_RECORD, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &w);
}

CUresult soft_cuGraphExecEventWaitNodeSetEvent(CUgraphExec x, CUgraphNode h, CUevent event)
{
	struct work w;
	CUresult e = event_work(event, WORK_WAIT, &w);

	return e ? e : exec_step_set(x, h, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &w);
}

/* ---- memory ---- */

CUresult node_allocation(struct graph *g, CUgraphNode const *need, size_t count, struct device *d, size_t bytes,
			 struct node **ret)
{
	struct graph_memory *m;
	CUresult e = graph_memory_new(d, bytes, &m);

	if (e)
		return e;
	e = node_new(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, (struct node *const *)need, count, ret);
	if (e) {
		graph_memory_unref(m);
		return e;
	}
	(*ret)->alloc.memory = m;
	(*ret)->alloc.params.bytesize = bytes;
	(*ret)->alloc.params.dptr = m->range->begin;
	(*ret)->alloc.params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	(*ret)->alloc.params.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	(*ret)->alloc.params.poolProps.location.id = d->ordinal;
	return CUDA_SUCCESS;
}

CUresult node_deallocation(struct graph *g, CUgraphNode const *need, size_t count, CUdeviceptr address,
			   struct node **ret)
{
	struct graph_memory *m = graph_memory_find(address);
	CUresult e;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct node *n = g->first; n; n = n->next)
		if (n->type == CU_GRAPH_NODE_TYPE_MEM_FREE && n->alloc.memory == m)
			return CUDA_ERROR_INVALID_VALUE; /* freed twice in one graph */
	e = node_new(g, CU_GRAPH_NODE_TYPE_MEM_FREE, (struct node *const *)need, count, ret);
	if (!e)
		(*ret)->alloc.memory = graph_memory_ref(m);
	return e;
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
	if (device_find(p->poolProps.location.id, &d))
		return CUDA_ERROR_INVALID_VALUE;
	e = node_allocation(g, need, count, d, p->bytesize, &n);
	if (e)
		return e;
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
	e = node_deallocation(g, need, count, address, &n);
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

/* ---- nodes by one structure for all kinds ---- */

CUresult soft_cuGraphAddNode_v2(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, const CUgraphEdgeData *data,
				size_t count, CUgraphNodeParams *p)
{
	CUDA_KERNEL_NODE_PARAMS kernel;
	CUDA_MEMSET_NODE_PARAMS fill;
	CUDA_HOST_NODE_PARAMS host;
	CUDA_MEM_ALLOC_NODE_PARAMS alloc;
	CUresult e;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; data && i < count; i++)
		if (data[i].type != CU_GRAPH_DEPENDENCY_TYPE_DEFAULT || data[i].from_port || data[i].to_port)
			return CUDA_ERROR_NOT_SUPPORTED;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		memcpy(&kernel, &p->kernel, sizeof(kernel));
		return soft_cuGraphAddKernelNode_v2(ret, g, need, count, &kernel);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return soft_cuGraphAddMemcpyNode(ret, g, need, count, &p->memcpy.copyParams, p->memcpy.copyCtx);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		memcpy(&fill, &p->memset, sizeof(fill)); /* the newer structure begins with the older one */
		return soft_cuGraphAddMemsetNode(ret, g, need, count, &fill, p->memset.ctx);
	case CU_GRAPH_NODE_TYPE_HOST:
		memcpy(&host, &p->host, sizeof(host));
		return soft_cuGraphAddHostNode(ret, g, need, count, &host);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return soft_cuGraphAddChildGraphNode(ret, g, need, count, p->graph.graph);
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return soft_cuGraphAddEmptyNode(ret, g, need, count);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return soft_cuGraphAddEventWaitNode(ret, g, need, count, p->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return soft_cuGraphAddEventRecordNode(ret, g, need, count, p->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		memcpy(&alloc, &p->alloc, sizeof(alloc));
		e = soft_cuGraphAddMemAllocNode(ret, g, need, count, &alloc);
		if (!e)
			p->alloc.dptr = alloc.dptr;
		return e;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return soft_cuGraphAddMemFreeNode(ret, g, need, count, p->free.dptr);
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult soft_cuGraphAddNode(CUgraphNode *ret, CUgraph g, const CUgraphNode *need, size_t count, CUgraphNodeParams *p)
{
	return soft_cuGraphAddNode_v2(ret, g, need, NULL, count, p);
}
