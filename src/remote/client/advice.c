/*
 * advice.c: advice about managed memory, and prefetches. The memory lies on both sides already, and to the driver it is
 * ordinary memory (unified.h): so nothing travels, and what has been said is kept here for the queries.
 */
#include "model/advice.h"

#include "base/numa_node.h"
#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/unified.h"

/* A context is current and sound; *ret: what the program has. */
static CUresult begin(struct advice_places *ret)
{
	CUresult r = context_sound();
	int count = 0;

	if (r == CUDA_SUCCESS)
		r = client_cuDeviceGetCount(&count);
	*ret = (struct advice_places){ (unsigned int)count, numa_node_there };
	return r;
}

/* ---- advice ---- */

CUresult client_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
	struct advice_span whole, part = { devPtr, count };
	struct advice **list;
	struct advice_places there;
	CUresult r = begin(&there);

	if (r == CUDA_SUCCESS)
		r = advice_check(advice, &location, there);
	if (r != CUDA_SUCCESS)
		return r;
	list = unified_advice_enter(part, &whole);
	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	r = advice_give(list, whole, part, advice, &location);
	unified_advice_leave();
	return r;
}

CUresult client_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return client_cuMemAdvise_v2(devPtr, count, advice, advice_place_of(device));
}

/* ---- prefetches ---- */

/* A capture takes none; the worker says how it ends. */
static CUresult stream_check(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct client_call c;
	CUresult r;

	client_call(&c, CUDA_CALL_cuMemPrefetchAsync_v2);
	client_use_stream(&c, stream);
	r = client_end(&c);
	if (r != CUDA_SUCCESS || !captures_any())
		return r;
	r = client_cuStreamIsCapturing(stream, &status);
	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : r;
}

static CUresult prefetch(CUdeviceptr at, size_t bytes, const CUmemLocation *location)
{
	struct advice_span whole, part = { at, bytes };
	struct advice **list = unified_advice_enter(part, &whole);
	CUresult r;

	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	r = advice_prefetched(list, whole, part, location);
	unified_advice_leave();
	return r;
}

CUresult client_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
				      CUstream hStream)
{
	struct advice_places there;
	CUresult r = begin(&there);

	if (r == CUDA_SUCCESS)
		r = stream_check(hStream);
	if (r == CUDA_SUCCESS && flags)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = advice_place_check(&location, there);
	return r == CUDA_SUCCESS ? prefetch(devPtr, count, &location) : r;
}

CUresult client_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return client_cuMemPrefetchAsync_v2(devPtr, count, advice_place_of(dstDevice), 0, hStream);
}

/* All ranges are checked before anything changes. */
static CUresult batch_check(const CUdeviceptr *at, const size_t *bytes, size_t count, unsigned long long flags,
			    CUstream stream, struct advice_places *ret_there)
{
	CUresult r = begin(ret_there);

	if (r == CUDA_SUCCESS)
		r = stream_check(stream);
	if (r == CUDA_SUCCESS && (!at || !bytes || !count || flags))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
		struct advice_span whole;

		if (unified_advice_enter((struct advice_span){ at[i], bytes[i] }, &whole))
			unified_advice_leave();
		else
			r = CUDA_ERROR_INVALID_VALUE;
	}
	return r;
}

CUresult client_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetchLocs,
					size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
					CUstream hStream)
{
	struct advice_places there;
	CUresult r = batch_check(dptrs, sizes, count, flags, hStream, &there);

	if (r == CUDA_SUCCESS)
		r = advice_places_check(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count, there);
	for (size_t i = 0, at = 0; r == CUDA_SUCCESS && i < count; i++) {
		at = advice_place_next(prefetchLocIdxs, numPrefetchLocs, at, i);
		r = prefetch(dptrs[i], sizes[i], &prefetchLocs[at]);
	}
	return r;
}

/* What is discarded may read as anything: as what it was, too. */
CUresult client_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags,
				       CUstream hStream)
{
	struct advice_places there;

	return batch_check(dptrs, sizes, count, flags, hStream, &there);
}

CUresult client_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count,
						  CUmemLocation *prefetchLocs, size_t *prefetchLocIdxs,
						  size_t numPrefetchLocs, unsigned long long flags, CUstream hStream)
{
	return client_cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs,
					      flags, hStream);
}

/* ---- queries ---- */

CUresult client_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
					size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
	struct advice_span whole, part = { devPtr, count };
	struct advice **list;
	struct advice_places there;
	CUresult r = begin(&there);

	if (r != CUDA_SUCCESS)
		return r;
	if (!advice_query_good(data, dataSizes, attributes, numAttributes))
		return CUDA_ERROR_INVALID_VALUE;
	list = unified_advice_enter(part, &whole);
	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	r = advice_query(list, whole, part, there.device_count, data, dataSizes, attributes, numAttributes);
	unified_advice_leave();
	return r;
}

CUresult client_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
				       CUdeviceptr devPtr, size_t count)
{
	return client_cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
