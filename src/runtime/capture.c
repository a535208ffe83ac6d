/* capture.c: from the work of streams to graphs. */
#include "runtime/rt.h"

_Static_assert(sizeof(enum cudaStreamCaptureStatus) == sizeof(CUstreamCaptureStatus), "states of capture");

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return RT_CALL(cuStreamBeginCapture_v2, stream, (CUstreamCaptureMode)mode);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RT_CALL(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
	return RT_CALL(cuStreamEndCapture, stream, pGraph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	return RT_CALL(cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)pCaptureStatus);
}

/* What the driver tells of a capture; the calls of the versions show more or less of it. */
struct info {
	enum cudaStreamCaptureStatus *status;
	unsigned long long *id;
	cudaGraph_t *graph;
	const cudaGraphNode_t **dependencies;
	const CUgraphEdgeData **edges; /* NULL: the form without them, which refuses what it could not show */
	size_t *count;
};

static cudaError_t info_get(cudaStream_t stream, struct info i)
{
	CUstreamCaptureStatus status = 0;
	cuuint64_t id = 0;
	cudaError_t e = i.status ? rt_ready() : cudaErrorInvalidValue;

	if (!e && i.edges)
		e = rt_error(rt_driver.cuStreamGetCaptureInfo_v3(stream, &status, &id, i.graph, i.dependencies, i.edges,
								 i.count));
	else if (!e)
		e = rt_error(
			rt_driver.cuStreamGetCaptureInfo_v2(stream, &status, &id, i.graph, i.dependencies, i.count));
	if (e)
		return rt_done(e);
	*i.status = (enum cudaStreamCaptureStatus)status;
	if (i.id && status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
		*i.id = id;
	return rt_done(cudaSuccess);
}

#if CUDART_MAJOR < 13
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus,
				     unsigned long long *pId)
{
	return info_get(stream, (struct info){ .status = pCaptureStatus, .id = pId });
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
					unsigned long long *id_out, cudaGraph_t *graph_out,
					const cudaGraphNode_t **dependencies_out, size_t *numDependencies_out)
{
	return info_get(stream, (struct info){ captureStatus_out, id_out, graph_out, dependencies_out, NULL,
					       numDependencies_out });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						size_t numDependencies, unsigned int flags)
{
	return RT_CALL(cuStreamUpdateCaptureDependencies, stream, dependencies, numDependencies, flags);
}
#endif

#if CUDART_MAJOR >= 12
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *dependencyData, size_t numDependencies,
					  enum cudaStreamCaptureMode mode)
{
	return RT_CALL(cuStreamBeginCaptureToGraph, stream, graph, dependencies,
		       (const CUgraphEdgeData *)dependencyData, numDependencies, (CUstreamCaptureMode)mode);
}

/* With the kinds of edges: the names without a number since 13. */
#if CUDART_MAJOR == 12
#define NAME_INFO cudaStreamGetCaptureInfo_v3
#define NAME_UPDATE cudaStreamUpdateCaptureDependencies_v2
#else
#define NAME_INFO cudaStreamGetCaptureInfo
#define NAME_UPDATE cudaStreamUpdateCaptureDependencies
#endif

cudaError_t NAME_INFO(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out, unsigned long long *id_out,
		      cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out,
		      const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	return info_get(stream, (struct info){ captureStatus_out, id_out, graph_out, dependencies_out,
					       (const CUgraphEdgeData **)edgeData_out, numDependencies_out });
}

cudaError_t NAME_UPDATE(cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *dependencyData,
			size_t numDependencies, unsigned int flags)
{
	return RT_CALL(cuStreamUpdateCaptureDependencies_v2, stream, dependencies,
		       (const CUgraphEdgeData *)dependencyData, numDependencies, flags);
}
#endif
