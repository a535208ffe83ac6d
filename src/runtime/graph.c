/*
 * graph.c: graphs as wholes: their edges, instances, launches, the objects that they keep alive. Nodes are in
 * graph_node.c. Handles are the driver's own.
 */
#include "runtime/rt.h"

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	return RT_CALL(cuGraphCreate, pGraph, flags);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return RT_CALL(cuGraphDestroy, graph);
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	return RT_CALL(cuGraphClone, pGraphClone, originalGraph);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	return RT_CALL(cuGraphDebugDotPrint, graph, path, flags);
}

/* ---- nodes and edges ---- */

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode, cudaGraph_t clonedGraph)
{
	return RT_CALL(cuGraphNodeFindInClone, pNode, originalNode, clonedGraph);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	CUgraphNodeType type = 0;
	cudaError_t e = pType ? RT_TRY(cuGraphNodeGetType, node, &type) : cudaErrorInvalidValue;

	if (!e)
		*pType = (enum cudaGraphNodeType)type;
	return rt_done(e);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	return RT_CALL(cuGraphGetNodes, graph, nodes, numNodes);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes, size_t *pNumRootNodes)
{
	return RT_CALL(cuGraphGetRootNodes, graph, pRootNodes, pNumRootNodes);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return RT_CALL(cuGraphDestroyNode, node);
}

#if CUDART_MAJOR < 13
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *numEdges)
{
	return RT_CALL(cuGraphGetEdges, graph, from, to, numEdges);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies, size_t *pNumDependencies)
{
	return RT_CALL(cuGraphNodeGetDependencies, node, pDependencies, pNumDependencies);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
					   size_t *pNumDependentNodes)
{
	return RT_CALL(cuGraphNodeGetDependentNodes, node, pDependentNodes, pNumDependentNodes);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
				     size_t numDependencies)
{
	return RT_CALL(cuGraphAddDependencies, graph, from, to, numDependencies);
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					size_t numDependencies)
{
	return RT_CALL(cuGraphRemoveDependencies, graph, from, to, numDependencies);
}
#endif

#if CUDART_MAJOR >= 12
/* With the kinds of edges: a second version in 12, the only one since 13. */
#if CUDART_MAJOR == 12
#define WITH_EDGES(name) name##_v2
#else
#define WITH_EDGES(name) name
#endif

cudaError_t WITH_EDGES(cudaGraphGetEdges)(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
					  cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	return RT_CALL(cuGraphGetEdges_v2, graph, from, to, (CUgraphEdgeData *)edgeData, numEdges);
}

cudaError_t WITH_EDGES(cudaGraphNodeGetDependencies)(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
						     cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	return RT_CALL(cuGraphNodeGetDependencies_v2, node, pDependencies, (CUgraphEdgeData *)edgeData,
		       pNumDependencies);
}

cudaError_t WITH_EDGES(cudaGraphNodeGetDependentNodes)(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
						       cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
	return RT_CALL(cuGraphNodeGetDependentNodes_v2, node, pDependentNodes, (CUgraphEdgeData *)edgeData,
		       pNumDependentNodes);
}

cudaError_t WITH_EDGES(cudaGraphAddDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
						 const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
						 size_t numDependencies)
{
	return RT_CALL(cuGraphAddDependencies_v2, graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies);
}

cudaError_t WITH_EDGES(cudaGraphRemoveDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
						    const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
						    size_t numDependencies)
{
	return RT_CALL(cuGraphRemoveDependencies_v2, graph, from, to, (const CUgraphEdgeData *)edgeData,
		       numDependencies);
}
#endif

/* ---- instances ---- */

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
	return RT_CALL(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
}

#if CUDART_MAJOR == 11
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, cudaGraphNode_t *pErrorNode,
				 char *pLogBuffer, size_t bufferSize)
{
	return RT_CALL(cuGraphInstantiate_v2, pGraphExec, graph, pErrorNode, pLogBuffer, bufferSize);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphNode_t *hErrorNode_out,
				enum cudaGraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
	CUgraphNode node = NULL;
	cudaError_t e = RT_TRY(cuGraphExecUpdate, hGraphExec, hGraph, &node, &result);

	if (hErrorNode_out)
		*hErrorNode_out = node;
	if (updateResult_out)
		*updateResult_out = (enum cudaGraphExecUpdateResult)result;
	return rt_done(e);
}
#else
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) &&
		       sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
	       "instances are described alike");

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
	return RT_CALL(cuGraphInstantiateWithFlags, pGraphExec, graph, flags);
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					   cudaGraphInstantiateParams *instantiateParams)
{
	cudaError_t e = rt_ready();

	return rt_done(e ? e
			 : rt_error(RT_TWIN(cuGraphInstantiateWithParams, ptsz)(
				   pGraphExec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams)));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				cudaGraphExecUpdateResultInfo *resultInfo)
{
	return RT_CALL(cuGraphExecUpdate_v2, hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
	cuuint64_t f = 0;
	cudaError_t e = flags ? RT_TRY(cuGraphExecGetFlags, graphExec, &f) : cudaErrorInvalidValue;

	if (!e)
		*flags = f;
	return rt_done(e);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *pHandle_out, cudaGraph_t graph,
					     unsigned int defaultLaunchValue, unsigned int flags)
{
	CUgraphConditionalHandle handle = 0;
	CUcontext context = NULL;
	cudaError_t e = pHandle_out ? rt_ready() : cudaErrorInvalidValue;

	if (!e)
		e = rt_error(rt_driver.cuCtxGetCurrent(&context));
	if (!e)
		e = rt_error(
			rt_driver.cuGraphConditionalHandleCreate(&handle, graph, context, defaultLaunchValue, flags));
	if (!e)
		*pHandle_out = handle;
	return rt_done(e);
}
#endif

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return RT_CALL(cuGraphUpload, graphExec, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	return RT_CALL(cuGraphLaunch, graphExec, stream);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	return RT_CALL(cuGraphExecDestroy, graphExec);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled)
{
	return RT_CALL(cuGraphNodeSetEnabled, hGraphExec, hNode, isEnabled);
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int *isEnabled)
{
	return RT_CALL(cuGraphNodeGetEnabled, hGraphExec, hNode, isEnabled);
}

/* ---- memory of graphs ---- */

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e : rt_error(rt_driver.cuDeviceGraphMemTrim(device)));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value)));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	cudaError_t e = rt_device_good(device);

	return rt_done(e ? e
			 : rt_error(rt_driver.cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value)));
}

/* ---- objects that graphs keep alive ---- */

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				 unsigned int initialRefcount, unsigned int flags)
{
	return RT_CALL(cuUserObjectCreate, object_out, ptr, destroy, initialRefcount, flags);
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	return RT_CALL(cuUserObjectRetain, object, count);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	return RT_CALL(cuUserObjectRelease, object, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
				      unsigned int flags)
{
	return RT_CALL(cuGraphRetainUserObject, graph, object, count, flags);
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
	return RT_CALL(cuGraphReleaseUserObject, graph, object, count);
}
