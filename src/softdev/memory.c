/* memory.c: see memory.h. Plain, pitched and managed memory; what is free; address ranges. */
#include "softdev/memory.h"

#include "softdev/arena.h"
#include "softdev/check.h"
#include "softdev/context.h"
#include "softdev/graph.h"
#include "softdev/grave.h"
#include "softdev/managed.h"
#include "softdev/mempool.h"
#include "softdev/ptx/ptx.h"
#include "softdev/share.h"
#include "softdev/stream.h"

#include <stdlib.h>

#define PITCH_ALIGN 512u
#define GAP_SMALL_BELOW 3584u /* with a gap it is still a small request to the arena */
#define GAP_SMALL 512u
#define GAP_LARGE (64u << 10)

pthread_mutex_t memory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct extent *others; /* ranges outside the arenas */
static _Atomic uint64_t next_id;

/* ---- ranges ---- */

static void range_link_locked(struct range *r)
{
	if (!r->context)
		return;
	r->next = r->context->ranges;
	if (r->next)
		r->next->previous = r;
	r->context->ranges = r;
}

static void range_unlink_locked(struct range *r)
{
	if (!r->context)
		return;
	if (r->previous)
		r->previous->next = r->next;
	else
		r->context->ranges = r->next;
	if (r->next)
		r->next->previous = r->previous;
}

/* While accesses are checked, a gap lies behind each range. It takes addresses and no memory. */
static uint64_t range_place_locked(struct arena *a, uint64_t bytes, struct range *r)
{
	const uint64_t gap = bytes < GAP_SMALL_BELOW ? GAP_SMALL : GAP_LARGE;
	uint64_t address = 0;

	if (check_exact() && bytes < UINT64_MAX - gap) {
		address = arena_alloc(a, bytes + gap, r);
		if (!address && grave_empty_locked())
			address = arena_alloc(a, bytes + gap, r);
	}
	return address ? address : arena_alloc(a, bytes, r);
}

/*
 * Whole before it is in the context's list: from then on a reset may free it, or a program that frees what a reset has
 * freed already. So who wants its address alone takes *ret_begin and does not look at the range.
 */
static CUresult range_make(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes, uint64_t units,
			   unsigned int flags, struct range **ret, uint64_t *ret_begin)
{
	struct range *r = calloc(1, sizeof(*r));
	uint64_t begin;

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*r = (struct range){
		.kind = kind, .bytes = bytes, .units = units, .flags = flags, .device = d, .context = c, .id = ++next_id
	};
	pthread_mutex_lock(&memory_mutex);
	begin = r->begin = range_place_locked(d->arena, bytes, r);
	if (begin)
		range_link_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	if (!begin) {
		free(r);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = r;
	*ret_begin = begin;
	return CUDA_SUCCESS;
}

CUresult range_new_uncharged(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes,
			     struct range **ret)
{
	uint64_t begin;

	return range_make(d, c, kind, bytes, 0, 0, ret, &begin);
}

static CUresult range_charged(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes,
			      unsigned int flags, struct range **ret, uint64_t *ret_begin)
{
	uint64_t units = bytes / SEGMENT_UNIT_BYTES + !!(bytes % SEGMENT_UNIT_BYTES);
	CUresult e;

	if (segment_charge(&driver.place, d->index, units))
		return CUDA_ERROR_OUT_OF_MEMORY;
	e = range_make(d, c, kind, bytes, units, flags, ret, ret_begin);
	if (e)
		segment_refund(&driver.place, d->index, units);
	return e;
}

CUresult range_new(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes, struct range **ret)
{
	uint64_t begin;

	return range_charged(d, c, kind, bytes, 0, ret, &begin);
}

void range_free(struct range *r)
{
	struct device *d;
	uint64_t units;
	bool shared;

	if (!r)
		return;
	d = r->device;
	units = r->units;
	pthread_mutex_lock(&memory_mutex);
	range_unlink_locked(r);
	if (r->object)
		share_withdraw_locked(r);
	shared = r->object;
	advice_free(r->advice);
	if (check_exact()) {
		grave_bury_locked(r);
	} else {
		arena_free(d->arena, r->begin);
		free(r);
	}
	pthread_mutex_unlock(&memory_mutex);
	if (shared)
		segment_reap(&driver.place); /* the charge goes when no importer has it any more */
	else if (units)
		segment_refund(&driver.place, d->index, units);
}

void range_discard(struct range *r)
{
	pthread_mutex_lock(&memory_mutex);
	arena_clear(r->device->arena, r->begin);
	pthread_mutex_unlock(&memory_mutex);
}

bool range_add_locked(struct range *r)
{
	r->id = ++next_id;
	if (!extent_add(&others, r->begin, r->bytes, r))
		return false;
	range_link_locked(r);
	return true;
}

void range_remove_locked(struct range *r)
{
	range_unlink_locked(r);
	extent_remove(&others, r->begin);
}

struct range *range_find_locked(uint64_t address)
{
	struct extent *e;

	for (uint32_t i = 0; i < driver.device_count; i++)
		if (arena_covers(driver.device[i].arena, address)) {
			struct range *r = arena_find(driver.device[i].arena, address);

			return r && !r->freed && address - r->begin < (r->bytes ? r->bytes : 1) ? r : NULL;
		}
	e = extent_find(others, address);
	return e ? e->owner : NULL;
}

bool range_overlaps_locked(uint64_t address, uint64_t bytes)
{
	struct extent *e;

	for (uint32_t i = 0; i < driver.device_count; i++)
		if (arena_covers(driver.device[i].arena, address) ||
		    arena_covers(driver.device[i].arena, address + bytes - 1))
			return true;
	e = extent_previous(others, address + bytes);
	return e && e->begin + e->bytes > address;
}

bool range_covers_locked(uint64_t address, uint64_t bytes, struct range **ret)
{
	struct range *r = range_find_locked(address);

	if (!r || r->released || r->kind == RANGE_ARRAY || bytes > r->bytes - (address - r->begin))
		return false;
	*ret = r;
	return true;
}

void range_free_all(struct context *c)
{
	for (;;) {
		struct range *r;
		bool host, imported;

		pthread_mutex_lock(&memory_mutex);
		r = c->ranges;
		if (r && (r->kind == RANGE_DEVICE || r->kind == RANGE_MANAGED)) {
			const bool taken = r->released || r->taken;

			r->released = true;
			range_unlink_locked(r);
			r->context = NULL;
			pthread_mutex_unlock(&memory_mutex);
			if (!taken) /* else another thread is about to free it */
				range_free(r);
			continue;
		}
		host = r && (r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED);
		imported = r && r->kind == RANGE_IMPORTED;
		if (host || imported)
			range_remove_locked(r);
		pthread_mutex_unlock(&memory_mutex);
		if (!r)
			return;
		if (host)
			host_release(r);
		else if (imported)
			share_close(r);
		else
			range_free(r);
	}
}

void range_neighbours_locked(uint64_t address, struct range **ret_before, struct range **ret_behind)
{
	struct extent *e;

	for (uint32_t i = 0; i < driver.device_count; i++)
		if (arena_covers(driver.device[i].arena, address)) {
			arena_neighbours(driver.device[i].arena, address, (void **)ret_before, (void **)ret_behind);
			return;
		}
	e = extent_previous(others, address + 1);
	*ret_before = e ? e->owner : NULL;
	e = extent_next(others, address + 1);
	*ret_behind = e ? e->owner : NULL;
}

bool range_reachable(const struct range *r, const struct context *c)
{
	const struct device *d = r->device;

	switch (r->kind) {
	case RANGE_HOST:
	case RANGE_REGISTERED:
	case RANGE_MAPPED:
	case RANGE_MANAGED:
	case RANGE_IMPORTED:
		return true;
	case RANGE_VARIABLE:
		return d == c->device || r->flags; /* managed */
	case RANGE_POOL:
		return d == c->device || r->pool->managed || c->peers & 1u << d->ordinal ||
		       mempool_reachable(r->pool, c->device);
	default:
		return d == c->device || c->peers & 1u << d->ordinal;
	}
}

static bool range_usable(const struct range *r, const struct context *c)
{
	if (r->kind == RANGE_MAPPED && r->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
		return false;
	return !r->idle && range_reachable(r, c);
}

/* As on hardware: memory is accessible in whole granules in which something is allocated. */
static bool granule_accessible_locked(const struct device *d, uint64_t address, bool found, struct ptx_range *ret)
{
	const uint64_t granule = UINT64_C(2) << 20;
	uint64_t begin = address / granule * granule, end = begin + granule;

	arena_bounds(d->arena, &begin, &end);
	if (!found && !arena_used(d->arena, begin, end) && !arena_is_front(d->arena, address))
		return false;
	if (!found || begin < ret->begin)
		ret->begin = begin;
	if (!found || end > ret->end)
		ret->end = end;
	ret->read_only = false;
	return true;
}

/* Mappings that lie side by side are one memory for a kernel, as the reservation is for the program. */
static struct range *mapped_beside_locked(uint64_t address, const struct ptx_range *have, const struct context *c)
{
	struct range *r = range_find_locked(address);

	return r && r->kind == RANGE_MAPPED && range_usable(r, c) && (r->flags == 1) == have->read_only ? r : NULL;
}

static void mapped_extend_locked(const struct context *c, struct ptx_range *have)
{
	struct range *r;

	while ((r = mapped_beside_locked(have->begin - 1, have, c)))
		have->begin = r->begin;
	while ((r = mapped_beside_locked(have->end, have, c)))
		have->end = r->begin + r->bytes;
}

bool range_accessible(void *context, uint64_t address, struct ptx_range *ret)
{
	const struct context *c = context;
	bool found = false;
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && range_usable(r, c)) {
		*ret = (struct ptx_range){ r->begin, r->begin + r->bytes, r->kind == RANGE_MAPPED && r->flags == 1 };
		if (r->kind == RANGE_MAPPED)
			mapped_extend_locked(c, ret);
		ret->read_only |= check_exact() && r->read_only;
		found = true;
	}
	for (uint32_t i = 0; i < driver.device_count && !check_exact() && (found || !r); i++)
		if (arena_covers(driver.device[i].arena, address)) {
			const struct device *d = &driver.device[i];

			if (found || d == c->device || c->peers & 1u << d->ordinal)
				found = granule_accessible_locked(d, address, found, ret);
			break;
		}
	pthread_mutex_unlock(&memory_mutex);
	return found;
}

/* ---- calls ---- */

CUresult soft_cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
	struct context *c;
	CUresult e = context_current(&c);

	if (e)
		return e;
	if (!ret_free && !ret_total)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret_free)
		*ret_free = segment_free_units(&driver.place, c->device->index) * SEGMENT_UNIT_BYTES;
	if (ret_total)
		*ret_total = c->device->config->total_bytes;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemAlloc_v2(CUdeviceptr *ret, size_t bytes)
{
	struct context *c;
	struct range *r;
	uint64_t begin;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	if (!ret || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	e = range_charged(c->device, c, RANGE_DEVICE, bytes, 0, &r, &begin);
	if (!e)
		*ret = begin;
	return e;
}

CUresult soft_cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height, unsigned element)
{
	size_t pitch, bytes;
	struct context *c;
	struct range *r;
	uint64_t begin;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	if (!ret || !ret_pitch || !width || !height || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_add_overflow(width, (size_t)PITCH_ALIGN - 1, &pitch))
		return CUDA_ERROR_INVALID_VALUE;
	pitch -= pitch % PITCH_ALIGN;
	if (__builtin_mul_overflow(pitch, height, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	e = range_charged(c->device, c, RANGE_DEVICE, bytes, 0, &r, &begin);
	if (e)
		return e;
	*ret = begin;
	*ret_pitch = pitch;
	return CUDA_SUCCESS;
}

CUresult soft_cuMemAllocManaged(CUdeviceptr *ret, size_t bytes, unsigned flags)
{
	struct context *c;
	struct range *r;
	uint64_t begin;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	if (!ret || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	e = range_charged(c->device, c, RANGE_MANAGED, bytes, flags, &r, &begin);
	if (e)
		return e;
	*ret = begin;
	return CUDA_SUCCESS;
}

/* The allocation that begins exactly here, to be freed; the second of two threads finds nothing. */
static CUresult range_take(CUdeviceptr address, struct range **ret)
{
	CUresult e = CUDA_ERROR_INVALID_VALUE;
	struct range *r;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (r && r->begin == address && !r->released && !r->taken &&
	    (r->kind == RANGE_DEVICE || r->kind == RANGE_MANAGED || r->kind == RANGE_POOL ||
	     ((r->kind == RANGE_IMPORTED || r->kind == RANGE_HOST) && r->pool))) {
		r->taken = true;
		*ret = r;
		e = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}

/*
 * Takes the allocation out of the program's hands once nothing uses it. Until work in flight has ended, other threads
 * may copy from it: a library's, on whose word a stream waits. What they began before the end is waited for as well.
 */
static void range_release(struct range *r)
{
	stream_wait_device(r->device);
	pthread_mutex_lock(&memory_mutex);
	r->released = true;
	r->taken = false;
	pthread_mutex_unlock(&memory_mutex);
	stream_wait_device(r->device);
}

CUresult soft_cuMemFree_v2(CUdeviceptr address)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (!e)
		e = capture_unsafe();
	if (e)
		return e;
	if (!address)
		return CUDA_SUCCESS;
	e = range_take(address, &r);
	if (e && graph_memory_find(address))
		return graph_memory_free(address, c->legacy);
	if (e) {
		report_call("cuMemFree: invalid free", address, 0);
		return e;
	}
	range_release(r);
	if (r->kind == RANGE_POOL || r->kind == RANGE_HOST)
		mempool_keep(r, NULL);
	else if (r->kind == RANGE_IMPORTED)
		mempool_imported_end(r, NULL);
	else
		range_free(r);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_bytes, CUdeviceptr address)
{
	struct context *c;
	struct range *r;
	CUresult e = context_current(&c);

	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	r = mempool_range_locked(address);
	if (!r || r->kind == RANGE_ARRAY || r->kind == RANGE_REGISTERED) {
		e = CUDA_ERROR_NOT_FOUND;
	} else {
		if (ret_base)
			*ret_base = r->begin;
		if (ret_bytes)
			*ret_bytes = r->bytes;
	}
	pthread_mutex_unlock(&memory_mutex);
	return e;
}
