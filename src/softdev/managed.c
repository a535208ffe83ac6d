/* managed.c: see managed.h. Advice, prefetches, and the queries of both. */
#include "softdev/managed.h"

#include "base/numa_node.h"
#include "softdev/context.h"
#include "softdev/graph.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

bool range_managed(const struct range *r)
{
	return r->kind == RANGE_MANAGED || (r->kind == RANGE_VARIABLE && r->flags) ||
	       (r->kind == RANGE_POOL && r->pool && r->pool->managed);
}

static CUresult managed_locked(CUdeviceptr address, size_t bytes, struct range **ret)
{
	if (!bytes || !range_covers_locked(address, bytes, ret) || !range_managed(*ret))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- places ---- */

static struct advice_places there(void)
{
	return (struct advice_places){ driver.device_count, numa_node_there };
}

static struct advice_span whole(const struct range *r)
{
	return (struct advice_span){ r->begin, r->bytes };
}

/* ---- advice ---- */

CUresult soft_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (!e)
		e = advice_check(advice, &location, there());
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = managed_locked(address, bytes, &r);
	if (!e)
		e = advice_give(&r->advice, whole(r), (struct advice_span){ address, bytes }, advice, &location);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return soft_cuMemAdvise_v2(address, bytes, advice, advice_place_of(device));
}

/* ---- prefetches ---- */

static CUresult prefetch_locked(CUdeviceptr address, size_t bytes, const CUmemLocation *l)
{
	struct range *r;
	CUresult e = managed_locked(address, bytes, &r);

	return e ? e : advice_prefetched(&r->advice, whole(r), (struct advice_span){ address, bytes }, l);
}

static CUresult stream_for_prefetch(CUstream h)
{
	struct stream *s;
	CUresult e = stream_find(h, &s);

	return e ? e : capture_of(s) ? capture_forbidden(s) : CUDA_SUCCESS;
}

CUresult soft_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned flags,
				    CUstream stream)
{
	CUresult e = stream_for_prefetch(stream);

	if (!e && flags)
		e = CUDA_ERROR_INVALID_VALUE;
	if (!e)
		e = advice_place_check(&location, there());
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = prefetch_locked(address, bytes, &location);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	return soft_cuMemPrefetchAsync_v2(address, bytes, advice_place_of(device), 0, stream);
}

/* All ranges are checked before anything changes. */
static CUresult ranges_check_locked(const CUdeviceptr *address, const size_t *bytes, size_t count)
{
	struct range *r;
	CUresult e = CUDA_SUCCESS;

	for (size_t i = 0; i < count && !e; i++)
		e = managed_locked(address[i], bytes[i], &r);
	return e;
}

static CUresult batch_check(const CUdeviceptr *address, const size_t *bytes, size_t count, unsigned long long flags,
			    CUstream stream)
{
	CUresult e = stream_for_prefetch(stream);

	if (e)
		return e;
	return address && bytes && count && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult soft_cuMemPrefetchBatchAsync(CUdeviceptr *address, size_t *bytes, size_t count, CUmemLocation *place,
				      size_t *from, size_t places, unsigned long long flags, CUstream stream)
{
	CUresult e = batch_check(address, bytes, count, flags, stream);

	if (!e)
		e = advice_places_check(place, from, places, count, there());
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = ranges_check_locked(address, bytes, count);
	for (size_t i = 0, at = 0; i < count && !e; i++) {
		at = advice_place_next(from, places, at, i);
		e = prefetch_locked(address[i], bytes[i], &place[at]);
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/* What is discarded may read as anything: as what it was, too. */
CUresult soft_cuMemDiscardBatchAsync(CUdeviceptr *address, size_t *bytes, size_t count, unsigned long long flags,
				     CUstream stream)
{
	CUresult e = batch_check(address, bytes, count, flags, stream);

	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = ranges_check_locked(address, bytes, count);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *address, size_t *bytes, size_t count, CUmemLocation *place,
						size_t *from, size_t places, unsigned long long flags, CUstream stream)
{
	return soft_cuMemPrefetchBatchAsync(address, bytes, count, place, from, places, flags, stream);
}

/* ---- attachment ---- */

CUresult soft_cuStreamAttachMemAsync(CUstream h, CUdeviceptr address, size_t bytes, unsigned flags)
{
	struct stream *s;
	struct range *r;
	CUresult e = stream_find(h, &s);

	if (e)
		return e;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_MEM_ATTACH_SINGLE && s->legacy)
		return CUDA_ERROR_INVALID_VALUE; /* it stands for all streams */
	if (capture_of(s))
		return capture_forbidden(s);
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (!r || r->released || !range_managed(r) || r->begin != address || (bytes && r->bytes != bytes))
		e = CUDA_ERROR_INVALID_VALUE;
	else if (r->kind == RANGE_MANAGED)
		r->flags = flags;
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/* ---- queries ---- */

CUresult soft_cuMemRangeGetAttributes(void **data, size_t *data_bytes, CUmem_range_attribute *attribute, size_t count,
				      CUdeviceptr address, size_t bytes)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!advice_query_good(data, data_bytes, attribute, count))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	e = managed_locked(address, bytes, &r);
	if (!e)
		e = advice_query(&r->advice, whole(r), (struct advice_span){ address, bytes }, driver.device_count,
				 data, data_bytes, attribute, count);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemRangeGetAttribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
				     CUdeviceptr address, size_t bytes)
{
	return soft_cuMemRangeGetAttributes(&data, &data_bytes, &attribute, 1, address, bytes);
}
