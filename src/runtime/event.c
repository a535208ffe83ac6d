/* event.c: events are the driver's own. */
#include "runtime/rt.h"

_Static_assert((int)cudaEventBlockingSync == (int)CU_EVENT_BLOCKING_SYNC &&
		       (int)cudaEventDisableTiming == (int)CU_EVENT_DISABLE_TIMING &&
		       (int)cudaEventInterprocess == (int)CU_EVENT_INTERPROCESS,
	       "flags of events");

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return RT_CALL(cuEventCreate, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return RT_CALL(cuEventDestroy_v2, event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return RT_CALL(cuEventRecord, event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return RT_CALL(cuEventRecordWithFlags, event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return RT_CALL(cuEventQuery, event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return RT_CALL(cuEventSynchronize, event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return RT_CALL(cuEventElapsedTime, ms, start, end);
}

#if CUDART_MAJOR == 12
cudaError_t cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return RT_CALL(cuEventElapsedTime_v2, ms, start, end);
}
#endif
