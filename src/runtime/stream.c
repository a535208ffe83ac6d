/* stream.c: streams are the driver's own, also the two named ones, so that both APIs may share them. */
#include "runtime/rt.h"

#include <stdlib.h>

_Static_assert((int)cudaStreamNonBlocking == (int)CU_STREAM_NON_BLOCKING, "flags of streams");

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	return cudaStreamCreateWithFlags(pStream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	return RT_CALL(cuStreamCreate, pStream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	return RT_CALL(cuStreamCreateWithPriority, pStream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	/* The default streams are nobody's to destroy. */
	if (!stream || stream == (cudaStream_t)CU_STREAM_LEGACY || stream == (cudaStream_t)CU_STREAM_PER_THREAD)
		return rt_done(cudaErrorInvalidResourceHandle);
	return RT_CALL(cuStreamDestroy_v2, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return RT_CALL(cuStreamSynchronize, stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return RT_CALL(cuStreamQuery, stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return RT_CALL(cuStreamWaitEvent, stream, event, flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
	return RT_CALL(cuStreamGetPriority, hStream, priority);
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
	return RT_CALL(cuStreamGetFlags, hStream, flags);
}

#if CUDART_MAJOR >= 12
cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
	return RT_CALL(cuStreamGetId, hStream, streamId);
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	return RT_CALL(cuStreamGetDevice, hStream, device);
}
#endif

struct callback {
	cudaStreamCallback_t function;
	void *user;
};

static void call_back(CUstream stream, CUresult status, void *data)
{
	struct callback c = *(struct callback *)data;

	free(data);
	c.function(stream, rt_error(status), c.user);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
				  unsigned int flags)
{
	struct callback *c = callback && !flags ? malloc(sizeof(*c)) : NULL;
	cudaError_t e;

	if (!c)
		return rt_done(callback && !flags ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
	*c = (struct callback){ callback, userData };
	e = RT_TRY(cuStreamAddCallback, stream, call_back, c, 0);
	if (e)
		free(c);
	return rt_done(e);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
	return RT_CALL(cuStreamAttachMemAsync, stream, (CUdeviceptr)(uintptr_t)devPtr, length, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	return RT_CALL(cuCtxGetStreamPriorityRange, leastPriority, greatestPriority);
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
	cudaError_t e = rt_ready();

	return rt_done(e ? e : rt_error(rt_driver.cuCtxResetPersistingL2Cache()));
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
	return RT_CALL(cuStreamCopyAttributes, dst, src);
}

/* Attributes have the same numbers and layout in both APIs. */
cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
				   cudaLaunchAttributeValue *value_out)
{
	return RT_CALL(cuStreamGetAttribute, hStream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value_out);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
				   const cudaLaunchAttributeValue *value)
{
	return RT_CALL(cuStreamSetAttribute, hStream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)value);
}
