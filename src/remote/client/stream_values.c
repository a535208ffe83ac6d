/*
 * stream_values.c: values that streams write and await. They are work in memory that both sides may reach: what the
 * program has written there goes along, and what the device writes comes back when it has been waited for.
 */
#include "cuda_remote.h"
#include "remote/client/call.h"
#include "remote/client/unified.h"

static void values_begin(CUstream stream)
{
	struct client_call c;

	client_call_stream(&c, CUDA_CALL_cuStreamBatchMemOp_v2, stream);
	if (client_end(&c) == CUDA_SUCCESS && unified_any(c.session))
		unified_begin(c.session, stream);
}

CUresult client_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWriteValue32(stream, addr, value, flags);
}

CUresult client_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWriteValue32_v2(stream, addr, value, flags);
}

CUresult client_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWriteValue64(stream, addr, value, flags);
}

CUresult client_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWriteValue64_v2(stream, addr, value, flags);
}

CUresult client_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWaitValue32(stream, addr, value, flags);
}

CUresult client_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWaitValue32_v2(stream, addr, value, flags);
}

CUresult client_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWaitValue64(stream, addr, value, flags);
}

CUresult client_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamWaitValue64_v2(stream, addr, value, flags);
}

CUresult client_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
				   unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamBatchMemOp(stream, count, paramArray, flags);
}

CUresult client_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray,
				      unsigned int flags)
{
	values_begin(stream);
	return client_plain_cuStreamBatchMemOp_v2(stream, count, paramArray, flags);
}
