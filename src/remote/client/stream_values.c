/*
 * stream_values.c: values that streams write and await. They are work in memory that both sides may reach: what the
 * program has written there goes along, and what the device writes comes back when it has been waited for.
 */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/unified.h"

/* Value: whether the stream is one. */
static CUresult values_begin(CUstream stream)
{
	struct client_call c;
	CUresult r;

	client_call_stream(&c, CUDA_CALL_cuStreamBatchMemOp_v2, stream);
	r = client_end(&c);
	if (r == CUDA_SUCCESS && unified_any(c.session))
		unified_begin(c.session, stream);
	return r;
}

#define VALUE_CALL(name, word)                                                                                         \
	CUresult client_##name(CUstream stream, CUdeviceptr addr, word value, unsigned int flags)                      \
	{                                                                                                              \
		values_begin(stream);                                                                                  \
		return client_plain_##name(stream, addr, value, flags);                                                \
	}

VALUE_CALL(cuStreamWriteValue32, cuuint32_t)
VALUE_CALL(cuStreamWriteValue32_v2, cuuint32_t)
VALUE_CALL(cuStreamWriteValue64, cuuint64_t)
VALUE_CALL(cuStreamWriteValue64_v2, cuuint64_t)
VALUE_CALL(cuStreamWaitValue32, cuuint32_t)
VALUE_CALL(cuStreamWaitValue32_v2, cuuint32_t)
VALUE_CALL(cuStreamWaitValue64, cuuint64_t)
VALUE_CALL(cuStreamWaitValue64_v2, cuuint64_t)

CUresult client_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
				   unsigned int flags)
{
	CUresult r = values_begin(stream);

	/* Nothing to do is no fault: NVIDIA's driver 580. */
	return !count && !flags ? r : client_plain_cuStreamBatchMemOp(stream, count, paramArray, flags);
}

CUresult client_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
				      unsigned int flags)
{
	CUresult r = values_begin(stream);

	/* Nothing to do is no fault: NVIDIA's driver 580. */
	return !count && !flags ? r : client_plain_cuStreamBatchMemOp_v2(stream, count, paramArray, flags);
}
