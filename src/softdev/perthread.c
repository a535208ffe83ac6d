/*
 * perthread.c: the _ptsz and _ptds variants: the same calls, with the thread's own default stream for the null stream.
 */
#include "softdev/driver.h"

#define PER_THREAD(call)                                                                                               \
	do {                                                                                                           \
		bool before = driver_per_thread;                                                                       \
		CUresult result = (driver_per_thread = true, call);                                                    \
		driver_per_thread = before;                                                                            \
		return result;                                                                                         \
	} while (0)

CUresult soft_cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpy(dst, src, ByteCount));
}

CUresult soft_cuMemcpyPeer_ptds(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
				CUcontext srcContext, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount));
}

CUresult soft_cuMemcpyHtoD_v2_ptds(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount));
}

CUresult soft_cuMemcpyDtoH_v2_ptds(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount));
}

CUresult soft_cuMemcpyDtoD_v2_ptds(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount));
}

CUresult soft_cuMemcpyDtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyDtoA_v2(dstArray, dstOffset, srcDevice, ByteCount));
}

CUresult soft_cuMemcpyAtoD_v2_ptds(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyAtoD_v2(dstDevice, srcArray, srcOffset, ByteCount));
}

CUresult soft_cuMemcpyHtoA_v2_ptds(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyHtoA_v2(dstArray, dstOffset, srcHost, ByteCount));
}

CUresult soft_cuMemcpyAtoH_v2_ptds(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyAtoH_v2(dstHost, srcArray, srcOffset, ByteCount));
}

CUresult soft_cuMemcpyAtoA_v2_ptds(CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
				   size_t ByteCount)
{
	PER_THREAD(soft_cuMemcpyAtoA_v2(dstArray, dstOffset, srcArray, srcOffset, ByteCount));
}

CUresult soft_cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
	PER_THREAD(soft_cuMemcpy2D_v2(pCopy));
}

CUresult soft_cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *pCopy)
{
	PER_THREAD(soft_cuMemcpy2DUnaligned_v2(pCopy));
}

CUresult soft_cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *pCopy)
{
	PER_THREAD(soft_cuMemcpy3D_v2(pCopy));
}

CUresult soft_cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *pCopy)
{
	PER_THREAD(soft_cuMemcpy3DPeer(pCopy));
}

CUresult soft_cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyAsync(dst, src, ByteCount, hStream));
}

CUresult soft_cuMemcpyPeerAsync_ptsz(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
				     CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream));
}

CUresult soft_cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream));
}

CUresult soft_cuMemcpyDtoHAsync_v2_ptsz(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream));
}

CUresult soft_cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
					CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream));
}

CUresult soft_cuMemcpyHtoAAsync_v2_ptsz(CUarray dstArray, size_t dstOffset, const void *srcHost, size_t ByteCount,
					CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyHtoAAsync_v2(dstArray, dstOffset, srcHost, ByteCount, hStream));
}

CUresult soft_cuMemcpyAtoHAsync_v2_ptsz(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
					CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyAtoHAsync_v2(dstHost, srcArray, srcOffset, ByteCount, hStream));
}

CUresult soft_cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpy2DAsync_v2(pCopy, hStream));
}

CUresult soft_cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpy3DAsync_v2(pCopy, hStream));
}

CUresult soft_cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpy3DPeerAsync(pCopy, hStream));
}

CUresult soft_cuMemsetD8_v2_ptds(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	PER_THREAD(soft_cuMemsetD8_v2(dstDevice, uc, N));
}

CUresult soft_cuMemsetD16_v2_ptds(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	PER_THREAD(soft_cuMemsetD16_v2(dstDevice, us, N));
}

CUresult soft_cuMemsetD32_v2_ptds(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	PER_THREAD(soft_cuMemsetD32_v2(dstDevice, ui, N));
}

CUresult soft_cuMemsetD2D8_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
				   size_t Height)
{
	PER_THREAD(soft_cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height));
}

CUresult soft_cuMemsetD2D16_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
				    size_t Height)
{
	PER_THREAD(soft_cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height));
}

CUresult soft_cuMemsetD2D32_v2_ptds(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
				    size_t Height)
{
	PER_THREAD(soft_cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height));
}

CUresult soft_cuMemsetD8Async_ptsz(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD8Async(dstDevice, uc, N, hStream));
}

CUresult soft_cuMemsetD16Async_ptsz(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD16Async(dstDevice, us, N, hStream));
}

CUresult soft_cuMemsetD32Async_ptsz(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD32Async(dstDevice, ui, N, hStream));
}

CUresult soft_cuMemsetD2D8Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
				     size_t Height, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream));
}

CUresult soft_cuMemsetD2D16Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
				      size_t Height, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream));
}

CUresult soft_cuMemsetD2D32Async_ptsz(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
				      size_t Height, CUstream hStream)
{
	PER_THREAD(soft_cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream));
}

CUresult soft_cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	PER_THREAD(soft_cuMemFreeAsync(dptr, hStream));
}

CUresult soft_cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	PER_THREAD(soft_cuMemAllocAsync(dptr, bytesize, hStream));
}

CUresult soft_cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	PER_THREAD(soft_cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream));
}

CUresult soft_cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
					 CUstream hStream)
{
	PER_THREAD(soft_cuMemPrefetchAsync_v2(devPtr, count, location, flags, hStream));
}

CUresult soft_cuStreamGetPriority_ptsz(CUstream hStream, int *priority)
{
	PER_THREAD(soft_cuStreamGetPriority(hStream, priority));
}

CUresult soft_cuStreamGetDevice_ptsz(CUstream hStream, CUdevice *device)
{
	PER_THREAD(soft_cuStreamGetDevice(hStream, device));
}

CUresult soft_cuStreamGetFlags_ptsz(CUstream hStream, unsigned int *flags)
{
	PER_THREAD(soft_cuStreamGetFlags(hStream, flags));
}

CUresult soft_cuStreamGetId_ptsz(CUstream hStream, unsigned long long *streamId)
{
	PER_THREAD(soft_cuStreamGetId(hStream, streamId));
}

CUresult soft_cuStreamGetCtx_ptsz(CUstream hStream, CUcontext *pctx)
{
	PER_THREAD(soft_cuStreamGetCtx(hStream, pctx));
}

CUresult soft_cuStreamGetCtx_v2_ptsz(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	PER_THREAD(soft_cuStreamGetCtx_v2(hStream, pCtx, pGreenCtx));
}

CUresult soft_cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	PER_THREAD(soft_cuStreamWaitEvent(hStream, hEvent, Flags));
}

CUresult soft_cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
	PER_THREAD(soft_cuStreamAddCallback(hStream, callback, userData, flags));
}

CUresult soft_cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
	PER_THREAD(soft_cuStreamBeginCapture_v2(hStream, mode));
}

CUresult soft_cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					       const CUgraphEdgeData *dependencyData, size_t numDependencies,
					       CUstreamCaptureMode mode)
{
	PER_THREAD(
		soft_cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData, numDependencies, mode));
}

CUresult soft_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
	PER_THREAD(soft_cuStreamEndCapture(hStream, phGraph));
}

CUresult soft_cuStreamIsCapturing_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	PER_THREAD(soft_cuStreamIsCapturing(hStream, captureStatus));
}

CUresult soft_cuStreamGetCaptureInfo_v3_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					     cuuint64_t *id_out, CUgraph *graph_out,
					     const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out,
					     size_t *numDependencies_out)
{
	PER_THREAD(soft_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
						  edgeData_out, numDependencies_out));
}

CUresult soft_cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream hStream, CUgraphNode *dependencies,
							const CUgraphEdgeData *dependencyData, size_t numDependencies,
							unsigned int flags)
{
	PER_THREAD(soft_cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, dependencyData, numDependencies,
							     flags));
}

CUresult soft_cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
	PER_THREAD(soft_cuStreamAttachMemAsync(hStream, dptr, length, flags));
}

CUresult soft_cuStreamQuery_ptsz(CUstream hStream)
{
	PER_THREAD(soft_cuStreamQuery(hStream));
}

CUresult soft_cuStreamSynchronize_ptsz(CUstream hStream)
{
	PER_THREAD(soft_cuStreamSynchronize(hStream));
}

CUresult soft_cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src)
{
	PER_THREAD(soft_cuStreamCopyAttributes(dst, src));
}

CUresult soft_cuStreamGetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value_out)
{
	PER_THREAD(soft_cuStreamGetAttribute(hStream, attr, value_out));
}

CUresult soft_cuStreamSetAttribute_ptsz(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
	PER_THREAD(soft_cuStreamSetAttribute(hStream, attr, value));
}

CUresult soft_cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
	PER_THREAD(soft_cuEventRecord(hEvent, hStream));
}

CUresult soft_cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	PER_THREAD(soft_cuEventRecordWithFlags(hEvent, hStream, flags));
}

CUresult soft_cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWaitValue32_v2(stream, addr, value, flags));
}

CUresult soft_cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWaitValue64_v2(stream, addr, value, flags));
}

CUresult soft_cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWriteValue32_v2(stream, addr, value, flags));
}

CUresult soft_cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWriteValue64_v2(stream, addr, value, flags));
}

CUresult soft_cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
					 unsigned int flags)
{
	PER_THREAD(soft_cuStreamBatchMemOp_v2(stream, count, paramArray, flags));
}

CUresult soft_cuLaunchKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
				  unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
				  unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	PER_THREAD(soft_cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
				       hStream, kernelParams, extra));
}

CUresult soft_cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	PER_THREAD(soft_cuLaunchKernelEx(config, f, kernelParams, extra));
}

CUresult soft_cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
					     unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
					     unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
					     void **kernelParams)
{
	PER_THREAD(soft_cuLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ,
						  sharedMemBytes, hStream, kernelParams));
}

CUresult soft_cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
	PER_THREAD(soft_cuLaunchHostFunc(hStream, fn, userData));
}

CUresult soft_cuGraphInstantiateWithParams_ptsz(CUgraphExec *phGraphExec, CUgraph hGraph,
						CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	PER_THREAD(soft_cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams));
}

CUresult soft_cuGraphUpload_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	PER_THREAD(soft_cuGraphUpload(hGraphExec, hStream));
}

CUresult soft_cuGraphLaunch_ptsz(CUgraphExec hGraphExec, CUstream hStream)
{
	PER_THREAD(soft_cuGraphLaunch(hGraphExec, hStream));
}

CUresult soft_cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWriteValue32(stream, addr, value, flags));
}

CUresult soft_cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWaitValue32(stream, addr, value, flags));
}

CUresult soft_cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWriteValue64(stream, addr, value, flags));
}

CUresult soft_cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	PER_THREAD(soft_cuStreamWaitValue64(stream, addr, value, flags));
}

CUresult soft_cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
				      unsigned int flags)
{
	PER_THREAD(soft_cuStreamBatchMemOp(stream, count, paramArray, flags));
}

CUresult soft_cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	PER_THREAD(soft_cuMemPrefetchAsync(devPtr, count, dstDevice, hStream));
}

CUresult soft_cuStreamBeginCapture_ptsz(CUstream hStream)
{
	PER_THREAD(soft_cuStreamBeginCapture(hStream));
}

CUresult soft_cuStreamGetCaptureInfo_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					  cuuint64_t *id_out)
{
	PER_THREAD(soft_cuStreamGetCaptureInfo(hStream, captureStatus_out, id_out));
}

CUresult soft_cuStreamGetCaptureInfo_v2_ptsz(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					     cuuint64_t *id_out, CUgraph *graph_out,
					     const CUgraphNode **dependencies_out, size_t *numDependencies_out)
{
	PER_THREAD(soft_cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
						  numDependencies_out));
}

CUresult soft_cuStreamUpdateCaptureDependencies_ptsz(CUstream hStream, CUgraphNode *dependencies,
						     size_t numDependencies, unsigned int flags)
{
	PER_THREAD(soft_cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags));
}

CUresult soft_cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				      CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs, size_t *failIdx,
				      CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream));
}

CUresult soft_cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
					 CUmemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
					 CUstream hStream)
{
	PER_THREAD(soft_cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream));
}

CUresult soft_cuMemcpy3DBatchAsync_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx,
					unsigned long long flags, CUstream hStream)
{
	PER_THREAD(soft_cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, hStream));
}

CUresult soft_cuMemcpy3DBatchAsync_v2_ptsz(size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags,
					   CUstream hStream)
{
	PER_THREAD(soft_cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream));
}

CUresult soft_cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
					   size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
					   CUstream hStream)
{
	PER_THREAD(soft_cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
						flags, hStream));
}

CUresult soft_cuMemDiscardBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags,
					  CUstream hStream)
{
	PER_THREAD(soft_cuMemDiscardBatchAsync(dptrs, sizes, count, flags, hStream));
}

CUresult soft_cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						     CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						     size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	PER_THREAD(soft_cuMemDiscardAndPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
							  numPrefetchLocs, flags, hStream));
}
