/*
 * copy.c: see copy.h. All calls that copy or fill memory.
 *
 * All memory has host addresses, so a copy is rows from one address to another; what differs are the checks. A device
 * side must lie inside one live allocation, array or mapping; a host side is the program's own word, unless it lies
 * where the driver's memory is, in which case it is checked too.
 */
#include "softdev/copy.h"

#include "softdev/arena.h"
#include "softdev/array.h"
#include "softdev/check.h"
#include "softdev/fence.h"
#include "softdev/graph.h"
#include "softdev/managed.h"
#include "softdev/memory.h"
#include "softdev/mempool.h"
#include "softdev/stream.h"

#include <stdlib.h>
#include <string.h>

#define STAGE_MOST (64u << 10) /* bytes of pageable memory that are put aside rather than waited for */

/* ---- checks ---- */

/* Bytes from the first to the last of a box. False: they do not fit a size_t. */
static bool box_bytes(size_t width, size_t height, size_t depth, size_t pitch, size_t slice, size_t *ret)
{
	size_t rows, slices;

	return !__builtin_mul_overflow(pitch, height - 1, &rows) &&
	       !__builtin_mul_overflow(slice, depth - 1, &slices) && !__builtin_add_overflow(rows, slices, &rows) &&
	       !__builtin_add_overflow(rows, width, ret);
}

static bool mapped_for(const struct range *r, bool write)
{
	if (r->kind != RANGE_MAPPED)
		return true;
	return write ? r->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE : r->flags & CU_MEM_ACCESS_FLAGS_PROT_READ;
}

/* Of memory that was freed: a graph's is there again when the graph runs, a pool's until the stream reaches the free.
 */
static bool there_again(const struct range *r, bool later, bool in_order)
{
	return r->kind == RANGE_GRAPH ? later : in_order && range_still_there(r);
}

/* Several mappings side by side are one memory to the program. */
static bool address_good_locked(uint64_t address, size_t bytes, bool write, bool later, bool in_order)
{
	while (bytes) {
		struct range *r = range_find_locked(address);
		uint64_t there;

		if (!r || (r->released && !there_again(r, later, in_order)) || r->kind == RANGE_ARRAY ||
		    !mapped_for(r, write))
			return false;
		there = r->bytes - (address - r->begin);
		if (there >= bytes)
			return true;
		if (r->kind != RANGE_MAPPED)
			return false;
		address += there;
		bytes -= there;
	}
	return true;
}

/* The program's own memory: only what the driver knows can be judged, and what stands behind a fence. */
static bool program_good_locked(uint64_t address, size_t bytes, const struct range *known, bool write)
{
	if (!address || address + bytes < address)
		return false;
	if (known && known->kind != RANGE_REGISTERED && address_good_locked(address, bytes, write, false, false))
		return true;
	return fence_allows(address, bytes);
}

/* What a side of a copy must be able to do. */
struct reach {
	uint64_t address;
	size_t bytes;
	bool write, later; /* later: see copy_describe() */
	bool in_order;	   /* memory counts that a stream is still to free */
};

/* A device address, or (`host`) one that may be the program's own memory. */
static bool reach_good(const struct reach *w, bool host, bool *ret_pageable)
{
	const struct range *known;
	bool good, ours = !host;

	pthread_mutex_lock(&memory_mutex);
	for (uint32_t i = 0; i < driver.device_count; i++)
		ours |= arena_covers(driver.device[i].arena, w->address);
	known = range_find_locked(w->address);
	*ret_pageable = !ours && !known;
	good = ours ? address_good_locked(w->address, w->bytes, w->write, w->later, w->in_order)
		    : program_good_locked(w->address, w->bytes, known, w->write);
	pthread_mutex_unlock(&memory_mutex);
	return good;
}

/* A library copies by a stream of its own what a stream of the program is about to free: seldom, so it is tried again.
 */
static bool side_good(struct reach *w, bool host, bool *ret_pageable)
{
	if (reach_good(w, host, ret_pageable))
		return true;
	mempool_mark_idle();
	w->in_order = true;
	return reach_good(w, host, ret_pageable);
}

static bool device_good(uint64_t address, size_t bytes, bool write, bool later)
{
	struct reach w = { .address = address, .bytes = bytes, .write = write, .later = later };
	bool unused;

	return side_good(&w, false, &unused);
}

static bool host_good(uint64_t address, size_t bytes, bool write, bool later, bool *ret_pageable)
{
	struct reach w = { .address = address, .bytes = bytes, .write = write, .later = later };

	return side_good(&w, true, ret_pageable);
}

/* One side of a copy. */
struct side {
	CUmemorytype type;
	uint64_t address;
	CUarray array;
	size_t x, y, z, lod;
	size_t pitch, height;
	bool later; /* see copy_describe() */
};

struct placed {
	uint64_t address;
	size_t pitch, slice;
	bool pageable;
};

static CUresult side_place_array(const struct side *s, size_t width, size_t height, size_t depth, struct placed *ret)
{
	struct array *a;
	CUresult e = array_find(s->array, &a);

	if (e)
		return e;
	if (s->x > a->row_bytes || width > a->row_bytes - s->x || s->y > a->height || height > a->height - s->y ||
	    s->z > a->depth || depth > a->depth - s->z || s->x % a->element_bytes || width % a->element_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	ret->pitch = a->row_bytes;
	ret->slice = a->row_bytes * a->height;
	ret->address = a->data + s->z * ret->slice + s->y * ret->pitch + s->x;
	return CUDA_SUCCESS;
}

static CUresult side_place_linear(const struct side *s, size_t width, size_t height, size_t depth, bool write,
				  struct placed *ret)
{
	size_t y_offset, z_offset, bytes;
	bool good;

	ret->pitch = s->pitch ? s->pitch : s->x + width;
	if ((height > 1 || depth > 1) && (s->x > ret->pitch || width > ret->pitch - s->x))
		return CUDA_ERROR_INVALID_VALUE;
	if (depth > 1 && s->height && s->height < s->y + height)
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(ret->pitch, s->height ? s->height : s->y + height, &ret->slice) ||
	    __builtin_mul_overflow(ret->pitch, s->y, &y_offset) ||
	    __builtin_mul_overflow(ret->slice, s->z, &z_offset) ||
	    __builtin_add_overflow(s->address, y_offset, &ret->address) ||
	    __builtin_add_overflow(ret->address, z_offset, &ret->address) ||
	    __builtin_add_overflow(ret->address, s->x, &ret->address) ||
	    !box_bytes(width, height, depth, ret->pitch, ret->slice, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	good = s->type == CU_MEMORYTYPE_DEVICE ? device_good(ret->address, bytes, write, s->later)
					       : host_good(ret->address, bytes, write, s->later, &ret->pageable);
	if (!good)
		report_call(write ? "invalid copy: what is written lies outside memory that a copy may write"
				  : "invalid copy: what is read lies outside memory that a copy may read",
			    ret->address, bytes);
	return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult side_place(const struct side *s, size_t width, size_t height, size_t depth, bool write,
			   struct placed *ret)
{
	if (s->lod)
		return CUDA_ERROR_INVALID_VALUE;
	switch (s->type) {
	case CU_MEMORYTYPE_ARRAY:
		return side_place_array(s, width, height, depth, ret);
	case CU_MEMORYTYPE_HOST:
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		return side_place_linear(s, width, height, depth, write, ret);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult copy_make(const struct side *from, const struct side *to, size_t width, size_t height, size_t depth,
			  struct work *ret)
{
	struct placed source = { 0 }, target = { 0 };
	CUresult e;

	*ret = (struct work){ .kind = WORK_EMPTY };
	if (!width || !height || !depth)
		return CUDA_SUCCESS;
	e = side_place(from, width, height, depth, false, &source);
	if (!e)
		e = side_place(to, width, height, depth, true, &target);
	if (e)
		return e;
	ret->kind = WORK_COPY;
	ret->copy = (struct work_copy){
		.source = (const char *)(uintptr_t)source.address,
		.target = (char *)(uintptr_t)target.address,
		.width = width,
		.height = height,
		.depth = depth,
		.source_pitch = source.pitch,
		.source_slice = source.slice,
		.target_pitch = target.pitch,
		.target_slice = target.slice,
		.pageable_source = source.pageable,
		.pageable_target = target.pageable,
	};
	return CUDA_SUCCESS;
}

CUresult copy_describe(const CUDA_MEMCPY3D *d, bool later, struct work *ret)
{
	struct side from = { d->srcMemoryType, 0,	  d->srcArray, d->srcXInBytes, d->srcY,
			     d->srcZ,	       d->srcLOD, d->srcPitch, d->srcHeight,   later };
	struct side to = { d->dstMemoryType, 0,		d->dstArray, d->dstXInBytes, d->dstY,
			   d->dstZ,	     d->dstLOD, d->dstPitch, d->dstHeight,   later };

	from.address = from.type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)d->srcHost : d->srcDevice;
	to.address = to.type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)d->dstHost : d->dstDevice;
	return copy_make(&from, &to, d->WidthInBytes, d->Height, d->Depth, ret);
}

CUresult fill_describe(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height,
		       bool later, struct work *ret)
{
	size_t row, bytes;

	*ret = (struct work){ .kind = WORK_EMPTY };
	if (__builtin_mul_overflow(width, (size_t)element, &row))
		return CUDA_ERROR_INVALID_VALUE;
	if (target % element)
		return CUDA_ERROR_INVALID_VALUE;
	if (!width || !height)
		return CUDA_SUCCESS;
	if (height > 1 && (pitch < row || pitch % element))
		return CUDA_ERROR_INVALID_VALUE;
	if (!box_bytes(row, height, 1, pitch, 0, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_good(target, bytes, true, later)) {
		report_call("invalid fill: it goes beyond memory that it may write", target, bytes);
		return CUDA_ERROR_INVALID_VALUE;
	}
	ret->kind = WORK_FILL;
	ret->fill = (struct work_fill){ (char *)(uintptr_t)target, value, element, width, height, pitch };
	return CUDA_SUCCESS;
}

/* ---- submission ---- */

/* A small source is put aside. Value: false when it is large, a box, or there is no memory. */
static bool copy_stage(struct work_copy *c)
{
	if (c->width > STAGE_MOST || c->height > 1 || c->depth > 1)
		return false;
	c->staged = malloc(c->width);
	if (!c->staged)
		return false;
	memcpy(c->staged, c->source, c->width);
	c->source = c->staged;
	c->pageable_source = false;
	return true;
}

/*
 * Asynchronous copies of pageable memory are what the vendor documents: the call returns when the source has been read,
 * or the target written. In a capture the addresses are kept.
 */
CUresult copy_submit(struct work *w, CUstream stream, bool wait)
{
	struct stream *s;
	CUresult e = stream_find(stream, &s);

	if (e)
		return e;
	if (!wait && w->kind == WORK_COPY && !capture_of(s))
		wait = w->copy.pageable_target || (w->copy.pageable_source && !copy_stage(&w->copy));
	return stream_submit(s, w, wait);
}

/* Whether what is submitted to the stream becomes part of a graph. */
static bool captures(CUstream stream)
{
	struct stream *s;

	return !stream_find(stream, &s) && capture_of(s);
}

static CUresult usable(void)
{
	struct context *c;

	return context_current(&c);
}

static CUresult copy_linear(CUmemorytype to_type, uint64_t to, CUmemorytype from_type, uint64_t from, size_t bytes,
			    CUstream stream, bool wait)
{
	bool later = captures(stream);
	struct side source = { .type = from_type, .address = from, .later = later };
	struct side target = { .type = to_type, .address = to, .later = later };
	struct work w;
	CUresult e = usable();

	if (!e)
		e = copy_make(&source, &target, bytes, 1, 1, &w);
	return e ? e : copy_submit(&w, stream, wait);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED
#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))

CUresult soft_cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(UNIFIED, to, UNIFIED, from, bytes, NULL, true);
}

CUresult soft_cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	return copy_linear(UNIFIED, to, UNIFIED, from, bytes, s, false);
}

CUresult soft_cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	return copy_linear(DEVICE, to, HOST, ADDRESS(from), bytes, NULL, true);
}

CUresult soft_cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
	return copy_linear(DEVICE, to, HOST, ADDRESS(from), bytes, s, false);
}

CUresult soft_cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(HOST, ADDRESS(to), DEVICE, from, bytes, NULL, true);
}

CUresult soft_cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
	return copy_linear(HOST, ADDRESS(to), DEVICE, from, bytes, s, false);
}

CUresult soft_cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return copy_linear(DEVICE, to, DEVICE, from, bytes, NULL, true);
}

CUresult soft_cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	return copy_linear(DEVICE, to, DEVICE, from, bytes, s, false);
}

static CUresult peers_check(CUcontext a, CUcontext b)
{
	struct context *c;
	CUresult e = context_find(a, &c);

	return e ? e : context_find(b, &c);
}

/* The synchronous calls come after all that was queued in either context, and in the current one. */
static CUresult peers_settle(CUcontext a, CUcontext b)
{
	CUcontext both[] = { a, b, NULL };
	struct context *c;
	CUresult e = capture_unsafe() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;

	for (int i = 0; i < 3 && !e; i++) {
		e = context_find(both[i], &c);
		if (!e)
			e = stream_wait_context(c);
	}
	return e;
}

CUresult soft_cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
	CUresult e = peers_settle(to_context, from_context);

	return e ? e : copy_linear(DEVICE, to, DEVICE, from, bytes, NULL, true);
}

CUresult soft_cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
				size_t bytes, CUstream s)
{
	CUresult e = peers_check(to_context, from_context);

	return e ? e : copy_linear(DEVICE, to, DEVICE, from, bytes, s, false);
}

/* ---- boxes ---- */

static CUresult copy_box(const CUDA_MEMCPY3D *d, CUstream stream, bool wait)
{
	struct work w;
	CUresult e = usable();

	if (e)
		return e;
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	e = copy_describe(d, captures(stream), &w);
	return e ? e : copy_submit(&w, stream, wait);
}

static CUresult copy_plane(const CUDA_MEMCPY2D *d, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D box = { 0 };

	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	box.srcXInBytes = d->srcXInBytes;
	box.srcY = d->srcY;
	box.srcMemoryType = d->srcMemoryType;
	box.srcHost = d->srcHost;
	box.srcDevice = d->srcDevice;
	box.srcArray = d->srcArray;
	box.srcPitch = d->srcPitch;
	box.dstXInBytes = d->dstXInBytes;
	box.dstY = d->dstY;
	box.dstMemoryType = d->dstMemoryType;
	box.dstHost = d->dstHost;
	box.dstDevice = d->dstDevice;
	box.dstArray = d->dstArray;
	box.dstPitch = d->dstPitch;
	box.WidthInBytes = d->WidthInBytes;
	box.Height = d->Height;
	box.Depth = 1;
	return copy_box(&box, stream, wait);
}

CUresult soft_cuMemcpy2D_v2(const CUDA_MEMCPY2D *d)
{
	return copy_plane(d, NULL, true);
}

CUresult soft_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *d)
{
	return copy_plane(d, NULL, true);
}

CUresult soft_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *d, CUstream s)
{
	return copy_plane(d, s, false);
}

CUresult soft_cuMemcpy3D_v2(const CUDA_MEMCPY3D *d)
{
	return copy_box(d, NULL, true);
}

CUresult soft_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *d, CUstream s)
{
	return copy_box(d, s, false);
}

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *d, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D box;
	CUresult e = usable();

	if (e)
		return e;
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	e = wait ? peers_settle(d->srcContext, d->dstContext) : peers_check(d->srcContext, d->dstContext);
	if (e)
		return e;
	box = (CUDA_MEMCPY3D){
		.srcXInBytes = d->srcXInBytes,
		.srcY = d->srcY,
		.srcZ = d->srcZ,
		.srcLOD = d->srcLOD,
		.srcMemoryType = d->srcMemoryType,
		.srcHost = d->srcHost,
		.srcDevice = d->srcDevice,
		.srcArray = d->srcArray,
		.srcPitch = d->srcPitch,
		.srcHeight = d->srcHeight,
		.dstXInBytes = d->dstXInBytes,
		.dstY = d->dstY,
		.dstZ = d->dstZ,
		.dstLOD = d->dstLOD,
		.dstMemoryType = d->dstMemoryType,
		.dstHost = d->dstHost,
		.dstDevice = d->dstDevice,
		.dstArray = d->dstArray,
		.dstPitch = d->dstPitch,
		.dstHeight = d->dstHeight,
		.WidthInBytes = d->WidthInBytes,
		.Height = d->Height,
		.Depth = d->Depth,
	};
	return copy_box(&box, stream, wait);
}

CUresult soft_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *d)
{
	return copy_peer(d, NULL, true);
}

CUresult soft_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *d, CUstream s)
{
	return copy_peer(d, s, false);
}

/* ---- arrays ---- */

/* `offset` counts bytes from the array's beginning, row after row; the bytes must lie in one row or be whole rows. */
static CUresult array_linear(CUarray array, size_t offset, size_t bytes, uint64_t *ret)
{
	struct array *a;
	CUresult e = array_find(array, &a);
	size_t all;

	if (e)
		return e;
	all = a->row_bytes * a->height * a->depth;
	if (offset > all || bytes > all - offset)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = a->data + offset;
	return CUDA_SUCCESS;
}

static CUresult copy_array(uint64_t to, uint64_t from, size_t bytes, CUstream stream, bool wait)
{
	struct work w = { .kind = bytes ? WORK_COPY : WORK_EMPTY };

	w.copy = (struct work_copy){
		(const char *)(uintptr_t)from, (char *)(uintptr_t)to, bytes, 1, 1, bytes, 0, bytes, 0
	};
	return copy_submit(&w, stream, wait);
}

static CUresult copy_to_array(CUarray to, size_t offset, uint64_t from, bool device, size_t bytes, CUstream s,
			      bool wait)
{
	bool pageable = false;
	uint64_t target;
	CUresult e = usable();

	if (!e)
		e = array_linear(to, offset, bytes, &target);
	if (!e && bytes &&
	    !(device ? device_good(from, bytes, false, captures(s))
		     : host_good(from, bytes, false, captures(s), &pageable)))
		e = CUDA_ERROR_INVALID_VALUE;
	return e ? e : copy_array(target, from, bytes, s, wait || pageable);
}

static CUresult copy_from_array(uint64_t to, bool device, CUarray from, size_t offset, size_t bytes, CUstream s,
				bool wait)
{
	bool pageable = false;
	uint64_t source;
	CUresult e = usable();

	if (!e)
		e = array_linear(from, offset, bytes, &source);
	if (!e && bytes &&
	    !(device ? device_good(to, bytes, true, captures(s)) : host_good(to, bytes, true, captures(s), &pageable)))
		e = CUDA_ERROR_INVALID_VALUE;
	return e ? e : copy_array(to, source, bytes, s, wait || pageable);
}

CUresult soft_cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes)
{
	return copy_to_array(to, offset, from, true, bytes, NULL, true);
}

CUresult soft_cuMemcpyHtoA_v2(CUarray to, size_t offset, const void *from, size_t bytes)
{
	return copy_to_array(to, offset, ADDRESS(from), false, bytes, NULL, true);
}

CUresult soft_cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void *from, size_t bytes, CUstream s)
{
	return copy_to_array(to, offset, ADDRESS(from), false, bytes, s, false);
}

CUresult soft_cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes)
{
	return copy_from_array(to, true, from, offset, bytes, NULL, true);
}

CUresult soft_cuMemcpyAtoH_v2(void *to, CUarray from, size_t offset, size_t bytes)
{
	return copy_from_array(ADDRESS(to), false, from, offset, bytes, NULL, true);
}

CUresult soft_cuMemcpyAtoHAsync_v2(void *to, CUarray from, size_t offset, size_t bytes, CUstream s)
{
	return copy_from_array(ADDRESS(to), false, from, offset, bytes, s, false);
}

CUresult soft_cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes)
{
	uint64_t source, target;
	CUresult e = usable();

	if (!e)
		e = array_linear(from, from_offset, bytes, &source);
	if (!e)
		e = array_linear(to, to_offset, bytes, &target);
	return e ? e : copy_array(target, source, bytes, NULL, true);
}

/*
 * ---- fills ----
 * A fill of device memory does not wait for its end, as documented; one of memory that the program reads itself does,
 * unless its call takes a stream.
 */

static CUresult fill_async(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element, size_t width,
			   size_t height, CUstream stream)
{
	struct work w;
	CUresult e = usable();

	if (!e)
		e = fill_describe(target, pitch, value, element, width, height, captures(stream), &w);
	return e ? e : copy_submit(&w, stream, false);
}

static bool host_reads(CUdeviceptr target)
{
	const struct range *r;
	bool reads;

	pthread_mutex_lock(&memory_mutex);
	r = range_find_locked(target);
	reads = r && (range_on_host(r) || range_managed(r) || r->sync_memops);
	pthread_mutex_unlock(&memory_mutex);
	return reads;
}

static CUresult fill(CUdeviceptr target, size_t pitch, uint32_t value, uint32_t element, size_t width, size_t height)
{
	struct work w;
	CUresult e = usable();

	if (!e)
		e = fill_describe(target, pitch, value, element, width, height, captures(NULL), &w);
	return e ? e : copy_submit(&w, NULL, !captures(NULL) && host_reads(target));
}

CUresult soft_cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
	return fill(to, 0, value, 1, count, 1);
}

CUresult soft_cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
	return fill(to, 0, value, 2, count, 1);
}

CUresult soft_cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
	return fill(to, 0, value, 4, count, 1);
}

CUresult soft_cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return fill(to, pitch, value, 1, width, height);
}

CUresult soft_cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return fill(to, pitch, value, 2, width, height);
}

CUresult soft_cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
	return fill(to, pitch, value, 4, width, height);
}

CUresult soft_cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream s)
{
	return fill_async(to, 0, value, 1, count, 1, s);
}

CUresult soft_cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream s)
{
	return fill_async(to, 0, value, 2, count, 1, s);
}

CUresult soft_cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream s)
{
	return fill_async(to, 0, value, 4, count, 1, s);
}

CUresult soft_cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
				CUstream s)
{
	return fill_async(to, pitch, value, 1, width, height, s);
}

CUresult soft_cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
				 CUstream s)
{
	return fill_async(to, pitch, value, 2, width, height, s);
}

CUresult soft_cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream s)
{
	return fill_async(to, pitch, value, 4, width, height, s);
}
