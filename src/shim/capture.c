/* capture.c: see capture.h. */
#include "shim/capture.h"
#include "cuda_shim.h"
#include "shim/face.h"
#include "shim/launches.h"

_Atomic uint32_t capture_count;

/* Before a stream begins to be captured: from now on launches look, and what is unmarked is marked. */
static void begins(void)
{
	atomic_fetch_add(&capture_count, 1);
	launches_mark_all();
}

static CUresult began(CUresult r)
{
	if (r != CUDA_SUCCESS)
		atomic_fetch_sub(&capture_count, 1);
	return r;
}

CUresult shim_cuStreamBeginCapture(CUstream hStream)
{
	begins();
	return began(shim_real.cuStreamBeginCapture(hStream));
}

CUresult shim_cuStreamBeginCapture_ptsz(CUstream hStream)
{
	begins();
	return began(shim_real.cuStreamBeginCapture_ptsz(hStream));
}

CUresult shim_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	begins();
	return began(shim_real.cuStreamBeginCapture_v2(hStream, mode));
}

CUresult shim_cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	begins();
	return began(shim_real.cuStreamBeginCapture_v2_ptsz(hStream, mode));
}

CUresult shim_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData, size_t numDependencies,
					  CUstreamCaptureMode mode)
{
	begins();
	return began(shim_real.cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData,
							   numDependencies, mode));
}

CUresult shim_cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					       const CUgraphEdgeData *dependencyData, size_t numDependencies,
					       CUstreamCaptureMode mode)
{
	begins();
	return began(shim_real.cuStreamBeginCaptureToGraph_ptsz(hStream, hGraph, dependencies, dependencyData,
								numDependencies, mode));
}

/* A capture that was invalidated ends with an error, but it ends. */
static void ended(bool was)
{
	uint32_t n = atomic_load(&capture_count);

	while (was && n && !atomic_compare_exchange_weak(&capture_count, &n, n - 1))
		;
	if (was && n == 1)
		launches_mark_all();
}

CUresult shim_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	bool was = capture_going() && face->captured(hStream, false);
	CUresult r = shim_real.cuStreamEndCapture(hStream, phGraph);

	ended(was && !face->captured(hStream, false));
	return r;
}

CUresult shim_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	bool was = capture_going() && face->captured(hStream, true);
	CUresult r = shim_real.cuStreamEndCapture_ptsz(hStream, phGraph);

	ended(was && !face->captured(hStream, true));
	return r;
}

void capture_reset(void)
{
	atomic_store(&capture_count, 0);
}
