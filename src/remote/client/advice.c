/*
 * advice.c: advice about managed memory, and prefetches. The memory lies on both sides already, and to the driver it is
 * ordinary memory (unified.h): so nothing travels, and what has been said is kept here for the queries.
 */
#include "model/advice.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/unified.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static bool node_there(const CUmemLocation *l)
{
	int saved = errno;
	char path[64];
	bool there;

	if (l->type != CU_MEM_LOCATION_TYPE_HOST_NUMA || l->id < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", l->id);
	there = !l->id || !access(path, F_OK);
	errno = saved;
	return there;
}

/* A context is current and sound; *ret: how many devices the program has. */
static CUresult begin(unsigned int *ret)
{
	CUresult r = context_sound();
	int count = 0;

	if (r == CUDA_SUCCESS)
		r = client_cuDeviceGetCount(&count);
	*ret = (unsigned int)count;
	return r;
}

/* ---- advice ---- */

CUresult client_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
	struct advice_span whole, part = { devPtr, count };
	struct advice **list;
	unsigned int devices;
	CUresult r = begin(&devices);

	if (r == CUDA_SUCCESS)
		r = advice_check(advice, &location, devices, node_there(&location));
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
	unsigned int devices;
	CUresult r = begin(&devices);

	if (r == CUDA_SUCCESS)
		r = stream_check(hStream);
	if (r == CUDA_SUCCESS && flags)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = advice_place_check(&location, devices, node_there(&location));
	return r == CUDA_SUCCESS ? prefetch(devPtr, count, &location) : r;
}

CUresult client_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return client_cuMemPrefetchAsync_v2(devPtr, count, advice_place_of(dstDevice), 0, hStream);
}

/* Which place is meant for each range: each holds from its own index to the next one's. */
static CUresult places_check(const CUmemLocation *place, const size_t *from, size_t count, size_t ranges,
			     unsigned int devices)
{
	if (!place || !from || !count || count > ranges || from[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult r = advice_place_check(&place[i], devices, node_there(&place[i]));

		if (r != CUDA_SUCCESS)
			return r;
		if (i && (from[i] <= from[i - 1] || from[i] >= ranges))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* All ranges are checked before anything changes. */
static CUresult batch_check(const CUdeviceptr *at, const size_t *bytes, size_t count, unsigned long long flags,
			    CUstream stream, unsigned int *ret_devices)
{
	CUresult r = begin(ret_devices);

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
	unsigned int devices;
	CUresult r = batch_check(dptrs, sizes, count, flags, hStream, &devices);

	if (r == CUDA_SUCCESS)
		r = places_check(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count, devices);
	for (size_t i = 0, at = 0; r == CUDA_SUCCESS && i < count; i++) {
		if (at + 1 < numPrefetchLocs && prefetchLocIdxs[at + 1] == i)
			at++;
		r = prefetch(dptrs[i], sizes[i], &prefetchLocs[at]);
	}
	return r;
}

/* What is discarded may read as anything: as what it was, too. */
CUresult client_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags,
				       CUstream hStream)
{
	unsigned int devices;

	return batch_check(dptrs, sizes, count, flags, hStream, &devices);
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
	unsigned int devices;
	CUresult r = begin(&devices);

	if (r != CUDA_SUCCESS)
		return r;
	if (!advice_query_good(data, dataSizes, attributes, numAttributes))
		return CUDA_ERROR_INVALID_VALUE;
	list = unified_advice_enter(part, &whole);
	if (!list)
		return CUDA_ERROR_INVALID_VALUE;
	r = advice_query(list, whole, part, devices, data, dataSizes, attributes, numAttributes);
	unified_advice_leave();
	return r;
}

CUresult client_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute,
				       CUdeviceptr devPtr, size_t count)
{
	return client_cuMemRangeGetAttributes(&data, &dataSize, &attribute, 1, devPtr, count);
}
