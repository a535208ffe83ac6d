/* advice.c: see advice.h. */
#include "model/advice.h"

#include <stdlib.h>

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

void advice_free(struct advice *list)
{
	while (list) {
		struct advice *a = list;

		list = a->next;
		free(a);
	}
}

/* ---- pieces ---- */

/* The piece that contains `at` begins or ends there. Value: false without memory. */
static bool cut_at(struct advice *list, uint64_t at)
{
	for (struct advice *a = list; a; a = a->next) {
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

/* The pieces that make up the part, rounded outwards to pages; *end: behind the last one. NULL: no memory. */
static struct advice *pieces(struct advice **list, struct advice_span whole, struct advice_span part, uint64_t *end)
{
	uint64_t begin = part.begin / PAGE * PAGE;
	struct advice *a;

	*end = (part.begin + part.bytes + PAGE - 1) / PAGE * PAGE;
	if (!*list) {
		*list = calloc(1, sizeof(**list));
		if (!*list)
			return NULL;
		(*list)->begin = whole.begin / PAGE * PAGE;
		(*list)->end = (whole.begin + whole.bytes + PAGE - 1) / PAGE * PAGE;
	}
	if (!cut_at(*list, begin) || !cut_at(*list, *end))
		return NULL;
	for (a = *list; a && a->begin < begin; a = a->next)
		;
	return a;
}

/* ---- places ---- */

CUresult advice_place_check(const CUmemLocation *place, struct advice_places there)
{
	switch ((int)place->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return place->id >= 0 && (unsigned int)place->id < there.device_count ? CUDA_SUCCESS
										      : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
		return there.node_there(place->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult advice_places_check(const CUmemLocation *place, const size_t *from, size_t count, size_t ranges,
			     struct advice_places there)
{
	if (!place || !from || !count || count > ranges || from[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		CUresult r = advice_place_check(&place[i], there);

		if (r != CUDA_SUCCESS)
			return r;
		if (i && (from[i] <= from[i - 1] || from[i] >= ranges))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

size_t advice_place_next(const size_t *from, size_t count, size_t at, size_t range)
{
	return at + 1 < count && from[at + 1] == range ? at + 1 : at;
}

CUmemLocation advice_place_of(CUdevice ordinal)
{
	CUmemLocation l = { .type = CU_MEM_LOCATION_TYPE_DEVICE };

	if (ordinal == CU_DEVICE_CPU)
		l.type = CU_MEM_LOCATION_TYPE_HOST;
	else
		l.id = ordinal;
	return l;
}

CUresult advice_check(CUmem_advise what, const CUmemLocation *place, struct advice_places there)
{
	bool by = what == CU_MEM_ADVISE_SET_ACCESSED_BY || what == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
	CUresult r = CUDA_SUCCESS;

	if (what < CU_MEM_ADVISE_SET_READ_MOSTLY || what > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
		return CUDA_ERROR_INVALID_VALUE;
	/* The other two forget a place or never had one: theirs is ignored. */
	if (by || what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION)
		r = advice_place_check(place, there);
	if (!r && by && place->type != CU_MEM_LOCATION_TYPE_DEVICE && place->type != CU_MEM_LOCATION_TYPE_HOST)
		r = CUDA_ERROR_INVALID_VALUE; /* of hosts, only the whole one */
	return r;
}

/* ---- what is said ---- */

static void set(struct advice *a, CUmem_advise advice, const CUmemLocation *l)
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

static void set_prefetched(struct advice *a, CUmem_advise unused, const CUmemLocation *l)
{
	(void)unused;
	a->prefetched = *l;
}

/* Of all pieces of the part, which are cut where it begins and ends. */
static CUresult change(struct advice **list, struct advice_span whole, struct advice_span part,
		       void (*one)(struct advice *, CUmem_advise, const CUmemLocation *), CUmem_advise what,
		       const CUmemLocation *place)
{
	uint64_t end;
	struct advice *a = pieces(list, whole, part, &end);

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; a && a->begin < end; a = a->next)
		one(a, what, place);
	return CUDA_SUCCESS;
}

CUresult advice_give(struct advice **list, struct advice_span whole, struct advice_span part, CUmem_advise what,
		     const CUmemLocation *place)
{
	return change(list, whole, part, set, what, place);
}

CUresult advice_prefetched(struct advice **list, struct advice_span whole, struct advice_span part,
			   const CUmemLocation *place)
{
	return change(list, whole, part, set_prefetched, 0, place);
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
static void accessors(const struct advice *a, uint64_t end, unsigned int device_count, int *ret, size_t room)
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
	for (int d = 0; d < (int)device_count; d++)
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

static void attribute_get(const struct advice *a, uint64_t end, unsigned int device_count,
			  CUmem_range_attribute attribute, int *ret, size_t bytes)
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
		accessors(a, end, device_count, ret, bytes / 4);
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

bool advice_query_good(void *const *data, const size_t *data_bytes, const CUmem_range_attribute *attribute,
		       size_t count)
{
	if (!data || !data_bytes || !attribute || !count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!data[i] || !attribute_size_good(attribute[i], data_bytes[i]))
			return false;
	return true;
}

CUresult advice_query(struct advice **list, struct advice_span whole, struct advice_span part,
		      unsigned int device_count, void *const *data, const size_t *data_bytes,
		      const CUmem_range_attribute *attribute, size_t count)
{
	uint64_t end;
	struct advice *a = pieces(list, whole, part, &end);

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++)
		attribute_get(a, end, device_count, attribute[i], data[i], data_bytes[i]);
	return CUDA_SUCCESS;
}
