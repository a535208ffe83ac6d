/*
 * mempool.c: see mempool.h. Stream-ordered allocation, pools and their attributes.
 *
 * Order: mempool_mutex, then memory_mutex or the segment's lock. Reuse takes a kept piece of exactly the rounded size
 * or up to an eighth more; what a pool keeps is charged, used or not.
 */
#include "softdev/mempool.h"

#include "softdev/check.h"
#include "softdev/context.h"
#include "softdev/graph.h"
#include "softdev/share.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE UINT64_C(4096)
#define POOL_OBJECT_BYTES PAGE

pthread_mutex_t mempool_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct mempool *dying_pools; /* mempool_mutex guards it; no handle leads to these any more */

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + SEGMENT_UNIT_BYTES - 1) / SEGMENT_UNIT_BYTES * SEGMENT_UNIT_BYTES;
}

static uint64_t pages(uint64_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static uint64_t range_bytes(const struct range *r)
{
	return r->units * SEGMENT_UNIT_BYTES;
}

struct mempool *mempool_new(struct device *d)
{
	struct mempool *p = handle_new(HANDLE_MEMPOOL);

	if (!p)
		return NULL;
	p->device = d;
	p->standard = true;
	p->props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	p->props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p->props.location.id = d->ordinal;
	p->peers = 1u << d->ordinal;
	for (int i = 0; i < 3; i++)
		p->reuse[i] = 1;
	return p;
}

CUresult mempool_find(CUmemoryPool h, struct mempool **ret)
{
	CUresult e = driver_ready();

	if (e)
		return e;
	*ret = handle_find(HANDLE_MEMPOOL, h);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Nobody can name it any more and it has nothing. */
static void mempool_free(struct mempool *p)
{
	if (p->home) {
		munmap(p->home, POOL_OBJECT_BYTES);
		segment_reap(&driver.place);
	}
	handle_free(p);
}

/* Nobody may use a pool's memory any more. */
static void piece_free(struct range *r)
{
	if (r->kind != RANGE_HOST) {
		range_free(r);
		return;
	}
	pthread_mutex_lock(&memory_mutex);
	range_remove_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	host_release(r);
}

/* ---- what a pool keeps ---- */

/* May the stream have this piece? Its own frees at once, the others' when they have happened. */
static bool kept_for(const struct kept *k, const struct stream *s)
{
	return !k->point.stream || (s && k->point.stream == s && k->point.generation == s->head.generation) ||
	       point_reached(&k->point);
}

static struct range *kept_take_locked(struct mempool *p, uint64_t bytes, const struct stream *s)
{
	struct kept **best = NULL, *k;
	struct range *r;

	for (struct kept **at = &p->kept; *at; at = &(*at)->next) {
		uint64_t has = range_bytes((*at)->range);

		if (has < bytes || has - bytes > bytes / 8 || !kept_for(*at, s))
			continue;
		if (!best || has < range_bytes((*best)->range))
			best = at;
	}
	if (!best)
		return NULL;
	k = *best;
	*best = k->next;
	r = k->range;
	free(k);
	return r;
}

/* Gives back kept pieces that are free for all until no more than `keep` bytes are reserved. */
static void kept_release_locked(struct mempool *p, uint64_t keep)
{
	struct kept **at = &p->kept;

	while (*at && p->reserved > keep) {
		struct kept *k = *at;

		if (!kept_for(k, NULL)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		p->reserved -= range_bytes(k->range);
		piece_free(k->range);
		free(k);
	}
}

/* A destroyed pool gives back what it can, and goes with its last piece. */
static void mempool_end_locked(struct mempool *p)
{
	struct mempool **at = &dying_pools;

	if (!p->dying)
		return;
	kept_release_locked(p, 0);
	if (p->used || p->kept)
		return;
	while (*at != p)
		at = &(*at)->next_dying;
	*at = p->next_dying;
	mempool_free(p);
}

/* The device's destroyed pools get another chance to end: what was freed in stream order may be free by now. */
static void dying_end_locked(const struct device *d)
{
	struct mempool *next;

	for (struct mempool *p = dying_pools; p; p = next) {
		next = p->next_dying;
		if (p->device == d)
			mempool_end_locked(p);
	}
}

void mempool_keep(struct range *r, struct stream *s)
{
	struct mempool *p = r->pool;
	struct kept *k = calloc(1, sizeof(*k));

	pthread_mutex_lock(&mempool_mutex);
	p->used -= range_bytes(r);
	if (k) {
		k->range = r;
		if (s)
			k->point = stream_point(s);
		k->next = p->kept;
		p->kept = k;
	} else {
		/* Without memory for the note the piece goes back at once; whatever still uses it must end first. */
		p->reserved -= range_bytes(r);
		stream_wait_device(p->device);
		piece_free(r);
	}
	mempool_end_locked(p);
	pthread_mutex_unlock(&mempool_mutex);
}

static void release_above_threshold(void *object, void *device)
{
	struct mempool *p = object;

	if (p->device == device && p->kept)
		kept_release_locked(p, p->threshold);
}

bool mempool_reachable(const struct mempool *p, const struct device *d)
{
	return p->peers & 1u << d->ordinal;
}

static void mark_idle_in(void *object, void *unused)
{
	struct mempool *p = object;

	for (struct kept *k = p->kept; k; k = k->next) {
		if (k->range->idle || !kept_for(k, NULL))
			continue;
		pthread_mutex_lock(&memory_mutex);
		k->range->idle = true;
		pthread_mutex_unlock(&memory_mutex);
	}
}

void mempool_mark_idle(void)
{
	pthread_mutex_lock(&mempool_mutex);
	handle_each(HANDLE_MEMPOOL, mark_idle_in, NULL);
	pthread_mutex_unlock(&mempool_mutex);
}

struct range *mempool_range_locked(uint64_t address)
{
	struct range *r = range_find_locked(address);

	if (r && range_still_there(r)) {
		pthread_mutex_unlock(&memory_mutex);
		mempool_mark_idle();
		pthread_mutex_lock(&memory_mutex);
		r = range_find_locked(address);
	}
	return r && (!r->released || range_still_there(r)) ? r : NULL;
}

void mempool_synchronised(struct device *d)
{
	pthread_mutex_lock(&mempool_mutex);
	handle_each(HANDLE_MEMPOOL, release_above_threshold, d);
	dying_end_locked(d);
	pthread_mutex_unlock(&mempool_mutex);
}

static void kept_forget(struct mempool *p)
{
	while (p->kept) {
		struct kept *k = p->kept;

		p->kept = k->next;
		free(k);
	}
}

static void forget(void *object, void *device)
{
	struct mempool *p = object;

	if (p->device != device || p->on_host || p->unplaced)
		return;
	kept_forget(p);
	p->reserved = p->used = p->reserved_high = p->used_high = 0;
	p->threshold = 0;
	if (!p->standard)
		mempool_free(p);
}

void mempool_forget(struct device *d)
{
	pthread_mutex_lock(&mempool_mutex);
	d->pool = d->default_pool;
	handle_each(HANDLE_MEMPOOL, forget, d);
	for (struct mempool **at = &dying_pools; *at;) {
		struct mempool *p = *at;

		if (p->device != d || p->on_host || p->unplaced) {
			at = &p->next_dying;
			continue;
		}
		*at = p->next_dying;
		kept_forget(p);
		mempool_free(p);
	}
	pthread_mutex_unlock(&mempool_mutex);
}

/* ---- allocation ---- */

/* Memory of an exportable pool is shared from the beginning: moving it later would stop the program's kernels. */
static CUresult pool_share(struct range *r)
{
	struct share_place place;
	CUresult e = share_export_locked(r, &place);

	if (e)
		range_free(r);
	return e ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult piece_new(struct mempool *p, uint64_t whole, struct range **ret)
{
	CUresult e;

	if (p->on_host) {
		*ret = host_new(p->device, p, whole);
		return *ret ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	e = range_new(p->device, p->device->primary, RANGE_POOL, whole, ret);
	if (!e && p->managed)
		(*ret)->flags = CU_MEM_ATTACH_GLOBAL;
	return e;
}

static CUresult take_locked(struct mempool *p, uint64_t bytes, struct stream *s, struct range **ret)
{
	uint64_t whole = p->object || p->on_host ? pages(bytes) : rounded(bytes);
	struct range *r = kept_take_locked(p, whole, s);
	CUresult e;

	if (!r) {
		uint64_t most = p->max_bytes;

		if (most && (whole > most || p->reserved > most - whole)) {
			kept_release_locked(p, most > whole ? most - whole : 0);
			if (whole > most || p->reserved > most - whole)
				return CUDA_ERROR_OUT_OF_MEMORY;
		}
		e = piece_new(p, whole, &r);
		if (e && (p->kept || dying_pools)) {
			kept_release_locked(p, 0);
			dying_end_locked(p->device);
			e = piece_new(p, whole, &r);
		}
		if (!e && p->object)
			e = pool_share(r);
		if (e)
			return e;
		p->reserved += whole;
		r->pool = p;
	}
	if (p->reserved > p->reserved_high)
		p->reserved_high = p->reserved;
	p->used += range_bytes(r);
	if (p->used > p->used_high)
		p->used_high = p->used;
	pthread_mutex_lock(&memory_mutex);
	r->bytes = bytes;
	r->released = false;
	r->idle = false;
	pthread_mutex_unlock(&memory_mutex);
	*ret = r;
	return CUDA_SUCCESS;
}

static CUresult mempool_alloc(struct mempool *p, CUdeviceptr *ret, size_t bytes, struct stream *s)
{
	struct range *r;
	CUresult e;

	if (!ret || !bytes || bytes > UINT64_MAX - PAGE || p->imported)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s))
		return p->on_host || p->managed ? CUDA_ERROR_NOT_SUPPORTED : capture_alloc(s, p, bytes, ret);
	e = capture_clash(s, false);
	if (e)
		return e;
	pthread_mutex_lock(&mempool_mutex);
	if (p->unplaced) {
		p->device = s->context->device;
		p->unplaced = false;
	}
	e = take_locked(p, bytes, s, &r);
	if (!e)
		*ret = r->begin;
	pthread_mutex_unlock(&mempool_mutex);
	return e;
}

CUresult soft_cuMemAllocAsync(CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	struct stream *s;
	CUresult e = stream_find(stream, &s);

	return e ? e : mempool_alloc(s->context->device->pool, ret, bytes, s);
}

CUresult soft_cuMemAllocFromPoolAsync(CUdeviceptr *ret, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	struct stream *s;
	struct mempool *p;
	CUresult e = stream_find(stream, &s);

	if (!e)
		e = mempool_find(pool, &p);
	return e ? e : mempool_alloc(p, ret, bytes, s);
}

CUresult soft_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
	struct range *r;
	struct stream *s;
	CUresult e = stream_find(stream, &s);

	if (e)
		return e;
	if (!address)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_of(s))
		return capture_free(s, address);
	e = capture_clash(s, false);
	if (e)
		return e;
	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(address);
	if (!r || r->begin != address || r->released || r->taken ||
	    (r->kind != RANGE_POOL && r->kind != RANGE_DEVICE &&
	     !((r->kind == RANGE_IMPORTED || r->kind == RANGE_HOST) && r->pool)))
		e = CUDA_ERROR_INVALID_VALUE;
	else if (r->kind == RANGE_DEVICE)
		r->taken = true;
	else
		r->released = true;
	pthread_mutex_unlock(&memory_mutex);
	if (e && graph_memory_find(address))
		return graph_memory_free(address, s);
	if (e) {
		report_call("cuMemFreeAsync: invalid free", address, 0);
		return e;
	}
	if (r->kind == RANGE_POOL || r->kind == RANGE_HOST) {
		mempool_keep(r, s);
	} else if (r->kind == RANGE_IMPORTED) {
		mempool_imported_end(r, s);
	} else {
		struct point p = stream_point(s);

		point_wait(&p); /* plain memory freed in stream order */
		range_free(r);
	}
	return CUDA_SUCCESS;
}

/* ---- pools ---- */

/* Maps the object, which then lasts as long as this process has the pool. */
static CUresult mempool_hold(struct mempool *p, int fd)
{
	void *m;

	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m = mmap(NULL, POOL_OBJECT_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (m == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	madvise(m, POOL_OBJECT_BYTES, MADV_DONTFORK);
	p->home = m;
	return CUDA_SUCCESS;
}

/* Gives it an object, which is what other processes know it by. */
static CUresult mempool_name(struct mempool *p)
{
	struct segment_wish wish = { .kind = SEGMENT_POOL, .device = p->device->index, .bytes = POOL_OBJECT_BYTES };

	return mempool_hold(p, segment_object_new(&driver.place, &wish, &p->object));
}

CUresult mempool_import(struct device *d, uint64_t object, struct mempool **ret)
{
	struct mempool *p = mempool_new(d);
	CUresult e;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->standard = false;
	p->imported = true;
	p->object = object;
	p->props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	e = mempool_hold(p, segment_object_open(&driver.place, object));
	if (e)
		handle_free(p);
	else
		*ret = p;
	return e;
}

void mempool_imported_add(struct range *r, struct mempool *p)
{
	pthread_mutex_lock(&mempool_mutex);
	p->used += r->bytes;
	if (p->used > p->used_high)
		p->used_high = p->used;
	r->pool = p;
	pthread_mutex_unlock(&mempool_mutex);
}

void mempool_imported_end(struct range *r, struct stream *s)
{
	struct mempool *p = r->pool;

	if (s) {
		struct point point = stream_point(s);

		point_wait(&point);
	}
	pthread_mutex_lock(&memory_mutex);
	range_remove_locked(r);
	pthread_mutex_unlock(&memory_mutex);
	pthread_mutex_lock(&mempool_mutex);
	p->used -= r->bytes;
	share_close(r);
	mempool_end_locked(p);
	pthread_mutex_unlock(&mempool_mutex);
}

CUresult soft_cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *props)
{
	struct mempool *p;
	struct device *d;
	bool on_host;
	CUresult e = driver_ready();

	if (e)
		return e;
	if (!ret || !props)
		return CUDA_ERROR_INVALID_VALUE;
	e = mempool_kind(&props->location, props->allocType, &d, &on_host);
	if (e)
		return e;
	if (props->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED
		    ? props->handleTypes || props->maxSize
		    : props->location.type == CU_MEM_LOCATION_TYPE_HOST && props->handleTypes)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->usage || (props->handleTypes && (props->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
						    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)))
		return CUDA_ERROR_NOT_SUPPORTED;
	p = mempool_of_kind(d, props, on_host);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->standard = false;
	p->max_bytes = props->maxSize;
	if (props->handleTypes)
		e = mempool_name(p);
	if (e)
		handle_free(p);
	else
		*ret = (CUmemoryPool)p;
	return e;
}

CUresult soft_cuMemPoolDestroy(CUmemoryPool h)
{
	struct mempool *p;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (p->standard || !handle_retire(p))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mempool_mutex);
	if (p->device->pool == p)
		p->device->pool = p->device->default_pool;
	mempool_replace_locked(p);
	p->dying = true;
	p->next_dying = dying_pools;
	dying_pools = p;
	mempool_end_locked(p);
	pthread_mutex_unlock(&mempool_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolTrimTo(CUmemoryPool h, size_t keep)
{
	struct mempool *p;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	pthread_mutex_lock(&mempool_mutex);
	kept_release_locked(p, keep);
	pthread_mutex_unlock(&mempool_mutex);
	return CUDA_SUCCESS;
}

static CUresult attribute_get_locked(struct mempool *p, CUmemPool_attribute attribute, void *value)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = p->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = p->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*(cuuint64_t *)value = p->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*(cuuint64_t *)value = p->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = p->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = p->used_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_ALLOCATION_TYPE:
		*(CUmemAllocationType *)value = p->props.allocType;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_EXPORT_HANDLE_TYPES:
		*(CUmemAllocationHandleType *)value = p->props.handleTypes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_ID:
		*(int *)value = p->props.location.id;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_LOCATION_TYPE:
		*(CUmemLocationType *)value = p->props.location.type;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_MAX_POOL_SIZE:
		*(cuuint64_t *)value = p->max_bytes;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_HW_DECOMPRESS_ENABLED:
		*(int *)value = 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult attribute_set_locked(struct mempool *p, CUmemPool_attribute attribute, const void *value)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		p->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = !!*(const int *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		p->threshold = *(const cuuint64_t *)value;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		if (*(const cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		p->reserved_high = p->reserved;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		if (*(const cuuint64_t *)value)
			return CUDA_ERROR_INVALID_VALUE;
		p->used_high = p->used;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult soft_cuMemPoolGetAttribute(CUmemoryPool h, CUmemPool_attribute attribute, void *value)
{
	struct mempool *p;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mempool_mutex);
	e = attribute_get_locked(p, attribute, value);
	pthread_mutex_unlock(&mempool_mutex);
	return e;
}

CUresult soft_cuMemPoolSetAttribute(CUmemoryPool h, CUmemPool_attribute attribute, void *value)
{
	struct mempool *p;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&mempool_mutex);
	e = attribute_set_locked(p, attribute, value);
	pthread_mutex_unlock(&mempool_mutex);
	return e;
}

CUresult soft_cuMemPoolSetAccess(CUmemoryPool h, const CUmemAccessDesc *map, size_t count)
{
	struct mempool *p;
	struct device *d;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (!map || !count)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if ((p->on_host || p->managed) && mempool_location_host(&map[i].location)) {
			if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
				return CUDA_ERROR_INVALID_VALUE; /* the host always has access */
			continue;
		}
		e = mempool_location_device(&map[i].location, &d);
		if (e)
			return e;
		if (map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
		if (d == p->device && !p->on_host && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_INVALID_VALUE; /* its own device always has access */
	}
	pthread_mutex_lock(&mempool_mutex);
	for (size_t i = 0; i < count; i++) {
		uint32_t bit = mempool_location_host(&map[i].location) ? 0 : 1u << map[i].location.id;

		p->peers = map[i].flags ? p->peers | bit : p->peers & ~bit;
	}
	pthread_mutex_unlock(&mempool_mutex);
	return CUDA_SUCCESS;
}

CUresult soft_cuMemPoolGetAccess(CUmemAccess_flags *ret, CUmemoryPool h, CUmemLocation *location)
{
	struct mempool *p;
	struct device *d;
	CUresult e = mempool_find(h, &p);

	if (e)
		return e;
	if (!ret || !location)
		return CUDA_ERROR_INVALID_VALUE;
	if ((p->on_host || p->managed) && mempool_location_host(location)) {
		*ret = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
		return CUDA_SUCCESS;
	}
	e = mempool_location_device(location, &d);
	if (!e)
		*ret = p->peers & 1u << d->ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return e;
}
