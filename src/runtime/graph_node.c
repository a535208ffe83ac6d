/*
 * graph_node.c: the nodes of graphs.
 *
 * Each kind has up to four calls: add, read, change, change in an instance. What they describe is translated in one
 * place per kind: kernels from stubs to kernels, copies from texels to bytes, variables to addresses.
 */
#include "runtime/rt.h"

#include <string.h>

/* Where a node is added. */
struct where {
	cudaGraphNode_t *ret;
	cudaGraph_t graph;
	const cudaGraphNode_t *dependencies;
	size_t count;
};

#define WHERE ((struct where){ pGraphNode, graph, pDependencies, numDependencies })
#define W(w) (w).ret, (w).graph, (w).dependencies, (w).count

static cudaError_t context_now(CUcontext *ret)
{
	cudaError_t e = rt_ready();

	return e ? e : rt_error(rt_driver.cuCtxGetCurrent(ret));
}

/* ---- kernels ---- */

static cudaError_t kernel_make(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret)
{
	if (!p)
		return cudaErrorInvalidValue;
	*ret = (CUDA_KERNEL_NODE_PARAMS){
		.gridDimX = p->gridDim.x,
		.gridDimY = p->gridDim.y,
		.gridDimZ = p->gridDim.z,
		.blockDimX = p->blockDim.x,
		.blockDimY = p->blockDim.y,
		.blockDimZ = p->blockDim.z,
		.sharedMemBytes = p->sharedMemBytes,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};
	return rt_kernel(p->func, &ret->kern);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				   size_t numDependencies, const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_make(pNodeParams, &p);

	return rt_done(e ? e : rt_error(rt_driver.cuGraphAddKernelNode_v2(W(WHERE), &p)));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p = { 0 };
	cudaError_t e = pNodeParams ? RT_TRY(cuGraphKernelNodeGetParams_v2, node, &p) : cudaErrorInvalidValue;

	if (e)
		return rt_done(e);
	*pNodeParams = (struct cudaKernelNodeParams){
		.func = (void *)(uintptr_t)rt_kernel_entry(p.kern, p.func),
		.gridDim = { p.gridDimX, p.gridDimY, p.gridDimZ },
		.blockDim = { p.blockDimX, p.blockDimY, p.blockDimZ },
		.sharedMemBytes = p.sharedMemBytes,
		.kernelParams = p.kernelParams,
		.extra = p.extra,
	};
	return rt_done(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_make(pNodeParams, &p);

	return rt_done(e ? e : rt_error(rt_driver.cuGraphKernelNodeSetParams_v2(node, &p)));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p;
	cudaError_t e = kernel_make(pNodeParams, &p);

	return rt_done(e ? e : rt_error(rt_driver.cuGraphExecKernelNodeSetParams_v2(hGraphExec, node, &p)));
}

#if CUDART_MAJOR < 13
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hSrc, cudaGraphNode_t hDst)
#else
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
#endif
{
	return RT_CALL(cuGraphKernelNodeCopyAttributes, hDst, hSrc);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
					    cudaLaunchAttributeValue *value_out)
{
	return RT_CALL(cuGraphKernelNodeGetAttribute, hNode, (CUkernelNodeAttrID)attr,
		       (CUkernelNodeAttrValue *)value_out);
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
					    const cudaLaunchAttributeValue *value)
{
	return RT_CALL(cuGraphKernelNodeSetAttribute, hNode, (CUkernelNodeAttrID)attr,
		       (const CUkernelNodeAttrValue *)value);
}

/* ---- copies ---- */

static cudaError_t copy_add(struct where w, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	CUcontext context;
	cudaError_t e = context_now(&context);

	if (!e)
		e = rt_copy3d(p, &c);
	return rt_done(e ? e : rt_error(rt_driver.cuGraphAddMemcpyNode(W(w), &c, context)));
}

static cudaError_t copy_set(cudaGraphNode_t node, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = rt_ready();

	if (!e)
		e = rt_copy3d(p, &c);
	return rt_done(e ? e : rt_error(rt_driver.cuGraphMemcpyNodeSetParams(node, &c)));
}

static cudaError_t copy_set_in(cudaGraphExec_t exec, cudaGraphNode_t node, const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	CUcontext context;
	cudaError_t e = context_now(&context);

	if (!e)
		e = rt_copy3d(p, &c);
	return rt_done(e ? e : rt_error(rt_driver.cuGraphExecMemcpyNodeSetParams(exec, node, &c, context)));
}

static struct cudaMemcpy3DParms linear(void *to, const void *from, size_t count, enum cudaMemcpyKind kind)
{
	return (struct cudaMemcpy3DParms){ .dstPtr = { to, count, count, 1 },
					   .srcPtr = { (void *)(uintptr_t)from, count, count, 1 },
					   .extent = { count, 1, 1 },
					   .kind = kind };
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				   size_t numDependencies, const struct cudaMemcpy3DParms *pCopyParams)
{
	return copy_add(WHERE, pCopyParams);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D c;
	cudaError_t e = pNodeParams ? RT_TRY(cuGraphMemcpyNodeGetParams, node, &c) : cudaErrorInvalidValue;

	if (!e)
		rt_copy3d_tell(&c, pNodeParams);
	return rt_done(e);
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams)
{
	return copy_set(node, pNodeParams);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *pNodeParams)
{
	return copy_set_in(hGraphExec, node, pNodeParams);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				     const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
				     const void *src, size_t count, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = linear(dst, src, count, kind);

	return copy_add(WHERE, &p);
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count,
					   enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = linear(dst, src, count, kind);

	return copy_set(node, &p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
					       const void *src, size_t count, enum cudaMemcpyKind kind)
{
	struct cudaMemcpy3DParms p = linear(dst, src, count, kind);

	return copy_set_in(hGraphExec, node, &p);
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					   const cudaGraphNode_t *pDependencies, size_t numDependencies,
					   const void *symbol, const void *src, size_t count, size_t offset,
					   enum cudaMemcpyKind kind)
{
	void *to = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &to);
	struct cudaMemcpy3DParms p = linear(to, src, count, kind);

	return e ? rt_done(e) : copy_add(WHERE, &p);
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					     const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dst,
					     const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *from = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &from);
	struct cudaMemcpy3DParms p = linear(dst, from, count, kind);

	return e ? rt_done(e) : copy_add(WHERE, &p);
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *src,
						 size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *to = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &to);
	struct cudaMemcpy3DParms p = linear(to, src, count, kind);

	return e ? rt_done(e) : copy_set(node, &p);
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol, size_t count,
						   size_t offset, enum cudaMemcpyKind kind)
{
	void *from = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &from);
	struct cudaMemcpy3DParms p = linear(dst, from, count, kind);

	return e ? rt_done(e) : copy_set(node, &p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						     const void *symbol, const void *src, size_t count, size_t offset,
						     enum cudaMemcpyKind kind)
{
	void *to = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &to);
	struct cudaMemcpy3DParms p = linear(to, src, count, kind);

	return e ? rt_done(e) : copy_set_in(hGraphExec, node, &p);
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void *dst,
						       const void *symbol, size_t count, size_t offset,
						       enum cudaMemcpyKind kind)
{
	void *from = NULL;
	cudaError_t e = rt_symbol_place(symbol, offset, count, &from);
	struct cudaMemcpy3DParms p = linear(dst, from, count, kind);

	return e ? rt_done(e) : copy_set_in(hGraphExec, node, &p);
}

/* ---- fills ---- */

_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "fills are described alike");

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				   size_t numDependencies, const struct cudaMemsetParams *pMemsetParams)
{
	CUcontext context;
	cudaError_t e = context_now(&context);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuGraphAddMemsetNode(
				   W(WHERE), (const CUDA_MEMSET_NODE_PARAMS *)pMemsetParams, context)));
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
	return RT_CALL(cuGraphMemsetNodeGetParams, node, (CUDA_MEMSET_NODE_PARAMS *)pNodeParams);
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams)
{
	return RT_CALL(cuGraphMemsetNodeSetParams, node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams);
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *pNodeParams)
{
	CUcontext context;
	cudaError_t e = context_now(&context);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuGraphExecMemsetNodeSetParams(
				   hGraphExec, node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams, context)));
}

/* ---- functions of the host ---- */

_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "functions are described alike");

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				 size_t numDependencies, const struct cudaHostNodeParams *pNodeParams)
{
	return RT_CALL(cuGraphAddHostNode, W(WHERE), (const CUDA_HOST_NODE_PARAMS *)pNodeParams);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
	return RT_CALL(cuGraphHostNodeGetParams, node, (CUDA_HOST_NODE_PARAMS *)pNodeParams);
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams)
{
	return RT_CALL(cuGraphHostNodeSetParams, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams);
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *pNodeParams)
{
	return RT_CALL(cuGraphExecHostNodeSetParams, hGraphExec, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams);
}

/* ---- graphs within graphs, nothing, events ---- */

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				       const cudaGraphNode_t *pDependencies, size_t numDependencies,
				       cudaGraph_t childGraph)
{
	return RT_CALL(cuGraphAddChildGraphNode, W(WHERE), childGraph);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
	return RT_CALL(cuGraphChildGraphNodeGetGraph, node, pGraph);
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						 cudaGraph_t childGraph)
{
	return RT_CALL(cuGraphExecChildGraphNodeSetParams, hGraphExec, node, childGraph);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				  size_t numDependencies)
{
	return RT_CALL(cuGraphAddEmptyNode, W(WHERE));
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
	return RT_CALL(cuGraphAddEventRecordNode, W(WHERE), event);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	return RT_CALL(cuGraphEventRecordNodeGetEvent, node, event_out);
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RT_CALL(cuGraphEventRecordNodeSetEvent, node, event);
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
	return RT_CALL(cuGraphExecEventRecordNodeSetEvent, hGraphExec, hNode, event);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				      const cudaGraphNode_t *pDependencies, size_t numDependencies, cudaEvent_t event)
{
	return RT_CALL(cuGraphAddEventWaitNode, W(WHERE), event);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	return RT_CALL(cuGraphEventWaitNodeGetEvent, node, event_out);
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	return RT_CALL(cuGraphEventWaitNodeSetEvent, node, event);
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, cudaEvent_t event)
{
	return RT_CALL(cuGraphExecEventWaitNodeSetEvent, hGraphExec, hNode, event);
}

/* ---- memory ---- */

_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS),
	       "allocations are described alike");

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				     const cudaGraphNode_t *pDependencies, size_t numDependencies,
				     struct cudaMemAllocNodeParams *nodeParams)
{
	return RT_CALL(cuGraphAddMemAllocNode, W(WHERE), (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams);
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
	return RT_CALL(cuGraphMemAllocNodeGetParams, node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out);
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				    const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
	return RT_CALL(cuGraphAddMemFreeNode, W(WHERE), (CUdeviceptr)(uintptr_t)dptr);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	return RT_CALL(cuGraphMemFreeNodeGetParams, node, (CUdeviceptr *)dptr_out);
}

/* ---- of any kind ---- */

#if CUDART_MAJOR >= 12
static cudaError_t params_make(const struct cudaGraphNodeParams *p, CUgraphNodeParams *ret)
{
	struct cudaKernelNodeParams kernel;
	CUDA_KERNEL_NODE_PARAMS k;
	CUcontext context;
	cudaError_t e = p ? context_now(&context) : cudaErrorInvalidValue;

	if (e)
		return e;
	memset(ret, 0, sizeof(*ret));
	ret->type = (CUgraphNodeType)p->type;
	switch (p->type) {
	case cudaGraphNodeTypeKernel:
		kernel = (struct cudaKernelNodeParams){ p->kernel.func,		p->kernel.gridDim,
							p->kernel.blockDim,	p->kernel.sharedMemBytes,
							p->kernel.kernelParams, p->kernel.extra };
		e = kernel_make(&kernel, &k);
		ret->kernel = (CUDA_KERNEL_NODE_PARAMS_v3){ k.func,	    k.gridDimX,	 k.gridDimY,  k.gridDimZ,
							    k.blockDimX,    k.blockDimY, k.blockDimZ, k.sharedMemBytes,
							    k.kernelParams, k.extra,	 k.kern,      NULL };
		return e;
	case cudaGraphNodeTypeMemcpy:
		ret->memcpy.flags = p->memcpy.flags;
		ret->memcpy.copyCtx = context;
		return rt_copy3d(&p->memcpy.copyParams, &ret->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		ret->memset.dst = (CUdeviceptr)(uintptr_t)p->memset.dst;
		ret->memset.pitch = p->memset.pitch;
		ret->memset.value = p->memset.value;
		ret->memset.elementSize = p->memset.elementSize;
		ret->memset.width = p->memset.width;
		ret->memset.height = p->memset.height;
		ret->memset.ctx = context;
		return cudaSuccess;
	case cudaGraphNodeTypeConditional:
		ret->conditional.handle = p->conditional.handle;
		ret->conditional.type = (CUgraphConditionalNodeType)p->conditional.type;
		ret->conditional.size = p->conditional.size;
		ret->conditional.phGraph_out = (CUgraph *)p->conditional.phGraph_out;
		ret->conditional.ctx = context;
		return cudaSuccess;
	default: /* the rest is described alike, word for word */
		memcpy(&ret->reserved1, &p->reserved1, sizeof(ret->reserved1));
		return cudaSuccess;
	}
}

/* What adding a node tells. */
static void params_tell(const CUgraphNodeParams *p, struct cudaGraphNodeParams *ret)
{
	if (p->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		ret->alloc.dptr = (void *)(uintptr_t)p->alloc.dptr;
	if (p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		ret->conditional.phGraph_out = (cudaGraph_t *)p->conditional.phGraph_out;
}

static cudaError_t node_add(struct where w, const cudaGraphEdgeData *edges, struct cudaGraphNodeParams *params)
{
	CUgraphNodeParams p;
	cudaError_t e = params_make(params, &p);

	if (!e)
		e = rt_error(rt_driver.cuGraphAddNode_v2(w.ret, w.graph, w.dependencies, (const CUgraphEdgeData *)edges,
							 w.count, &p));
	if (!e)
		params_tell(&p, params);
	return rt_done(e);
}

#if CUDART_MAJOR == 12
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
			     size_t numDependencies, struct cudaGraphNodeParams *nodeParams)
{
	return node_add(WHERE, NULL, nodeParams);
}

cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				const cudaGraphEdgeData *dependencyData, size_t numDependencies,
				struct cudaGraphNodeParams *nodeParams)
{
	return node_add(WHERE, dependencyData, nodeParams);
}
#else
cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
			     const cudaGraphEdgeData *dependencyData, size_t numDependencies,
			     struct cudaGraphNodeParams *nodeParams)
{
	return node_add(WHERE, dependencyData, nodeParams);
}
#endif

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t e = params_make(nodeParams, &p);

	return rt_done(e ? e : rt_error(rt_driver.cuGraphNodeSetParams(node, &p)));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
				       struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams p;
	cudaError_t e = params_make(nodeParams, &p);

	return rt_done(e ? e : rt_error(rt_driver.cuGraphExecNodeSetParams(graphExec, node, &p)));
}
#endif
