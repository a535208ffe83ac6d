/* captures.c: the calls that begin and end the capture of a stream (capture.h). */
#include "core/capture.h"
#include "cuda_shim.h"
#include "core/face.h"

static CUresult began(CUresult r)
{
	if (r != CUDA_SUCCESS)
		capture_failed();
	return r;
}

CUresult shim_cuStreamBeginCapture(CUstream hStream)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCapture(hStream));
}

CUresult shim_cuStreamBeginCapture_ptsz(CUstream hStream)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCapture_ptsz(hStream));
}

CUresult shim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCapture_v2(hStream, mode));
}

CUresult shim_cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCapture_v2_ptsz(hStream, mode));
}

CUresult shim_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData, size_t numDependencies,
					  CUstreamCaptureMode mode)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
							   numDependencies, mode));
}

CUresult shim_cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					       const CUgraphEdgeData *dependencyData, size_t numDependencies,
					       CUstreamCaptureMode mode)
{
	capture_begins();
	return began(shim_real.cuStreamBeginCaptureToGraph_ptsz(hStream, hGraph, dependencies, dependencyData,
								numDependencies, mode));
}

/* The function is called with the driver's nodes; capturing it is no work. */
CUresult shim_cuStreamBeginRecaptureToGraph(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
					    CUgraphRecaptureCallback callbackFunc, void *userData)
{
	capture_begins();
	return began(shim_real.cuStreamBeginRecaptureToGraph(hStream, mode, hGraph, callbackFunc, userData));
}

CUresult shim_cuStreamBeginRecaptureToGraph_ptsz(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
						 CUgraphRecaptureCallback callbackFunc, void *userData)
{
	capture_begins();
	return began(shim_real.cuStreamBeginRecaptureToGraph_ptsz(hStream, mode, hGraph, callbackFunc, userData));
}

CUresult shim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	bool was = capture_going() && face->captured(hStream, false);
	CUresult r;

	capture_hold();
	r = shim_real.cuStreamEndCapture(hStream, phGraph);
	capture_release();

	if (was && !face->captured(hStream, false))
		capture_ended();
	return r;
}

CUresult shim_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	bool was = capture_going() && face->captured(hStream, true);
	CUresult r;

	capture_hold();
	r = shim_real.cuStreamEndCapture_ptsz(hStream, phGraph);
	capture_release();

	if (was && !face->captured(hStream, true))
		capture_ended();
	return r;
}
