/* managed.c: see managed.h. Advice, prefetches, and the queries of both. */
#include "softdev/managed.h"

#include "softdev/context.h"
#include "softdev/graph.h"
#include "softdev/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)

/* Of the pages [begin, end). A range's list covers it without gaps, in order. */
struct advice {
	struct advice *next;
	uint64_t begin, end;
	bool read_mostly;
	CUmemLocation preferred, prefetched; /* type CU_MEM_LOCATION_TYPE_INVALID: none */
	uint32_t accessed_by;		     /* bit per device ordinal */
	bool accessed_by_host;
};

bool range_managed(const struct range *r)
{
	return r->kind == RANGE_MANAGED || (r->kind == RANGE_VARIABLE && r->flags);
}

void advice_free(struct range *r)
{
	while (r->advice) {
		struct advice *a = r->advice;

		r->advice = a->next;
		free(a);
	}
}

/* ---- pieces ---- */

/* The piece that contains `at` begins or ends there. Value: false without memory. */
static bool advice_cut(struct range *r, uint64_t at)
{
	for (struct advice *a = r->advice; a; a = a->next) {
		struct advice *rest;

		if (at <= a->begin || at >= a->end)
			continue;
		rest = malloc(sizeof(*rest));
		if (!rest)
			return false;
		*rest = *a;
		rest->begin = a->end = at;
		a->next = rest;
		return true;
	}
	return true;
}

/* The pieces that make up [begin, end), rounded outwards to pages. NULL: no memory. */
static struct advice *advice_pieces_locked(struct range *r, uint64_t *begin, uint64_t *end)
{
	struct advice *a;

	*begin = *begin / PAGE * PAGE;
	*end = (*end + PAGE - 1) / PAGE * PAGE;
	if (!r->advice) {
		r->advice = calloc(1, sizeof(*r->advice));
		if (!r->advice)
			return NULL;
		r->advice->begin = r->begin / PAGE * PAGE;
		r->advice->end = (r->begin + r->bytes + PAGE - 1) / PAGE * PAGE;
	}
	if (!advice_cut(r, *begin) || !advice_cut(r, *end))
		return NULL;
	for (a = r->advice; a && a->begin < *begin; a = a->next)
		;
	return a;
}

static CUresult managed_locked(CUdeviceptr address, size_t bytes, struct range **ret)
{
	if (!bytes || !range_covers_locked(address, bytes, ret) || !range_managed(*ret))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* ---- places ---- */

static bool numa_node_there(int node)
{
	char path[64];

	if (node < 0)
		return false;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
	return !node || !access(path, F_OK);
}

static CUresult location_check(const CUmemLocation *l)
{
	struct device *d;

	switch ((int)l->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_find(l->id, &d);
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return numa_node_there(l->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* How the older calls name a place: an ordinal, or CU_DEVICE_CPU. */
static CUmemLocation location_of(CUdevice ordinal)
{
	CUmemLocation l = { .type = CU_MEM_LOCATION_TYPE_DEVICE };

	if (ordinal == CU_DEVICE_CPU)
		l.type = CU_MEM_LOCATION_TYPE_HOST;
	else
		l.id = ordinal;
	return l;
}

/* ---- advice ---- */

static void advice_set(struct advice *a, CUmem_advise advice, const CUmemLocation *l)
{
	bool device = l->type == CU_MEM_LOCATION_TYPE_DEVICE;

	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		a->read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		a->preferred = *l;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		a->preferred = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_INVALID };
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
		a->accessed_by |= device ? 1u << l->id : 0;
		a->accessed_by_host |= !device;
		break;
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		a->accessed_by &= device ? ~(1u << l->id) : ~0u;
		a->accessed_by_host &= device;
		break;
	}
}

static CUresult advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, const CUmemLocation *l)
{
	uint64_t begin = address, end = address + bytes;
	struct advice *a = NULL;
	struct range *r;
	CUresult e;

	pthread_mutex_lock(&memory_mutex);
	e = managed_locked(address, bytes, &r);
	if (!e) {
		a = advice_pieces_locked(r, &begin, &end);
		if (!a)
			e = CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (; a && a->begin < end; a = a->next)
		advice_set(a, advice, l);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
	bool by = advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	/* The other two forget a place or never had one: theirs is ignored. */
	if (by || advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION)
		e = location_check(&location);
	if (!e && by && location.type != CU_MEM_LOCATION_TYPE_DEVICE && location.type != CU_MEM_LOCATION_TYPE_HOST)
		e = CUDA_ERROR_INVALID_VALUE; /* of hosts, only the whole one */
	return e ? e : advise(address, bytes, advice, &location);
}

CUresult soft_cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return soft_cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

/* ---- prefetches ---- */

static CUresult prefetch_locked(CUdeviceptr address, size_t bytes, const CUmemLocation *l)
{
	uint64_t begin = address, end = address + bytes;
	struct advice *a;
	struct range *r;
	CUresult e = managed_locked(address, bytes, &r);

	if (e)
		return e;
	a = advice_pieces_locked(r, &begin, &end);
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; a && a->begin < end; a = a->next)
		a->prefetched = *l;
	return CUDA_SUCCESS;
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
		e = location_check(&location);
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = prefetch_locked(address, bytes, &location);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
	return soft_cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

/* Which entry of a list of places is meant for range i: each holds from its own index to the next one's. */
static CUresult places_check(const CUmemLocation *place, const size_t *from, size_t count, size_t ranges)
{
	if (!place || !from || !count || count > ranges || from[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult e = location_check(&place[i]);

		if (e)
			return e;
		if (i && (from[i] <= from[i - 1] || from[i] >= ranges))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
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
		e = places_check(place, from, places, count);
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	e = ranges_check_locked(address, bytes, count);
	for (size_t i = 0, at = 0; i < count && !e; i++) {
		if (at + 1 < places && from[at + 1] == i)
			at++;
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

/* What all pages of the pieces agree on; a place of type INVALID where they do not. */
static CUmemLocation agreed(const struct advice *a, uint64_t end, bool prefetched)
{
	CUmemLocation first = prefetched ? a->prefetched : a->preferred;

	for (; a && a->begin < end; a = a->next) {
		CUmemLocation l = prefetched ? a->prefetched : a->preferred;

		if (l.type != first.type || l.id != first.id)
			return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_INVALID };
	}
	return first;
}

/* As the older attributes put it. */
static int place_number(CUmemLocation l)
{
	switch ((int)l.type) {
	case CU_MEM_LOCATION_TYPE_INVALID:
		return CU_DEVICE_INVALID;
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return l.id;
	default:
		return CU_DEVICE_CPU;
	}
}

static int place_id(CUmemLocation l)
{
	return l.type == CU_MEM_LOCATION_TYPE_DEVICE || l.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? l.id
												: CU_DEVICE_INVALID;
}

/* The devices that access all pages, the host as CU_DEVICE_CPU; the rest of the array says CU_DEVICE_INVALID. */
static void accessors(const struct advice *a, uint64_t end, int *ret, size_t room)
{
	uint32_t devices = ~0u;
	bool host = true;
	size_t n = 0;

	for (; a && a->begin < end; a = a->next) {
		devices &= a->accessed_by;
		host &= a->accessed_by_host;
	}
	if (host && n < room)
		ret[n++] = CU_DEVICE_CPU;
	for (int d = 0; d < (int)driver.device_count; d++)
		if (devices & 1u << d && n < room)
			ret[n++] = d;
	while (n < room)
		ret[n++] = CU_DEVICE_INVALID;
}

static bool attribute_size_good(CUmem_range_attribute attribute, size_t bytes)
{
	if (attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
	    attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
		return false;
	return attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? bytes && bytes % 4 == 0 : bytes == 4;
}

static void attribute_get(const struct advice *a, uint64_t end, CUmem_range_attribute attribute, int *ret, size_t bytes)
{
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		*ret = 1;
		for (; a && a->begin < end; a = a->next)
			*ret &= a->read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		*ret = place_number(agreed(a, end, false));
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		accessors(a, end, ret, bytes / 4);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		*ret = place_number(agreed(a, end, true));
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		*ret = (int)agreed(a, end, false).type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		*ret = place_id(agreed(a, end, false));
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		*ret = (int)agreed(a, end, true).type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		*ret = place_id(agreed(a, end, true));
		break;
	}
}

CUresult soft_cuMemRangeGetAttributes(void **data, size_t *data_bytes, CUmem_range_attribute *attribute, size_t count,
				      CUdeviceptr address, size_t bytes)
{
	uint64_t begin = address, end = address + bytes;
	struct advice *a = NULL;
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!data || !data_bytes || !attribute || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!data[i] || !attribute_size_good(attribute[i], data_bytes[i]))
			return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&memory_mutex);
	e = managed_locked(address, bytes, &r);
	if (!e) {
		a = advice_pieces_locked(r, &begin, &end);
		if (!a)
			e = CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < count && !e; i++)
		attribute_get(a, end, attribute[i], data[i], data_bytes[i]);
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

CUresult soft_cuMemRangeGetAttribute(void *data, size_t data_bytes, CUmem_range_attribute attribute,
				     CUdeviceptr address, size_t bytes)
{
	return soft_cuMemRangeGetAttributes(&data, &data_bytes, &attribute, 1, address, bytes);
}
