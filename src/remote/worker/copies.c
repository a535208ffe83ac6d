/*
 * copies.c: copies and fills, as copy.h describes them. The client has cut them into boxes that fit; here every address
 * is looked at again, because the driver takes host addresses where it takes device addresses.
 */
#include "remote/copy.h"

#include "remote/worker/memory.h"
#include "remote/worker/payload.h"

#include <errno.h>

/* Bytes from the first to the last of a box in linear memory, and where it begins. False: they do not fit. */
static bool side_span(const struct copy_side *s, const struct copy_request *r, uint64_t *ret_at, uint64_t *ret_bytes)
{
	uint64_t slice, y, z, at, rows, slices;

	if ((r->height > 1 || r->depth > 1) && s->pitch < r->width)
		return false;
	if (__builtin_mul_overflow(s->pitch, s->height, &slice) || __builtin_mul_overflow(s->pitch, s->y, &y) ||
	    __builtin_mul_overflow(slice, s->z, &z) || __builtin_add_overflow(s->at, y, &at) ||
	    __builtin_add_overflow(at, z, &at) || __builtin_add_overflow(at, s->x, &at))
		return false;
	if (__builtin_mul_overflow(s->pitch, r->height - 1, &rows) ||
	    __builtin_mul_overflow(slice, r->depth - 1, &slices) || __builtin_add_overflow(rows, slices, &rows) ||
	    __builtin_add_overflow(rows, r->width, ret_bytes))
		return false;
	*ret_at = at;
	return at + *ret_bytes >= at;
}

/* One side as the driver takes it. `inside`: the bytes of the message, for COPY_INLINE. */
struct placed {
	CUmemorytype type;
	uint64_t at;		/* of the box: x, y and z are in it, but for arrays */
	uint64_t offset, bytes; /* of COPY_ARENA */
	CUarray array;
	size_t pitch, height;
};

static bool place(struct work *work, const struct copy_side *s, const struct copy_request *r, void *inside,
		  struct placed *ret)
{
	bool known;
	void *arena;

	*ret = (struct placed){ .pitch = s->pitch, .height = s->height };
	switch (s->kind) {
	case COPY_ARRAY:
		ret->type = CU_MEMORYTYPE_ARRAY;
		ret->array = worker_find(work, KIND_ARRAY, s->at, &known);
		return ret->array;
	case COPY_DEVICE:
		ret->type = CU_MEMORYTYPE_DEVICE;
		return side_span(s, r, &ret->at, &ret->bytes) && memory_good(work, ret->at, ret->bytes);
	case COPY_ARENA:
		ret->type = CU_MEMORYTYPE_HOST;
		if (!side_span(s, r, &ret->offset, &ret->bytes))
			return false;
		arena = worker_arena(work, ret->offset, ret->bytes);
		ret->at = (uint64_t)(uintptr_t)arena;
		return arena && ret->offset >= 4096;
	case COPY_INLINE:
		ret->type = CU_MEMORYTYPE_HOST;
		ret->at = (uint64_t)(uintptr_t)inside;
		ret->pitch = r->width;
		ret->height = r->height;
		return inside;
	default:
		return false;
	}
}

static bool linear(const struct copy_request *r, const struct placed *p)
{
	return r->height == 1 && r->depth == 1 && p->type != CU_MEMORYTYPE_ARRAY;
}

static CUresult copy_line(const struct cuda_table *d, const struct copy_request *r, const struct placed *from,
			  const struct placed *to, CUstream stream)
{
	void *source = (void *)(uintptr_t)from->at, *target = (void *)(uintptr_t)to->at;

	if (from->type == CU_MEMORYTYPE_DEVICE && to->type == CU_MEMORYTYPE_DEVICE)
		return d->cuMemcpyDtoDAsync_v2(to->at, from->at, r->width, stream);
	if (to->type == CU_MEMORYTYPE_DEVICE)
		return d->cuMemcpyHtoDAsync_v2(to->at, source, r->width, stream);
	if (from->type == CU_MEMORYTYPE_DEVICE)
		return d->cuMemcpyDtoHAsync_v2(target, from->at, r->width, stream);
	return d->cuMemcpyAsync(to->at, from->at, r->width, stream);
}

static CUresult copy_box(const struct cuda_table *d, const struct copy_request *r, const struct placed *from,
			 const struct placed *to, CUstream stream)
{
	bool from_array = from->type == CU_MEMORYTYPE_ARRAY, to_array = to->type == CU_MEMORYTYPE_ARRAY;
	CUDA_MEMCPY3D c = {
		.srcXInBytes = from_array ? r->source.x : 0,
		.srcY = from_array ? r->source.y : 0,
		.srcZ = from_array ? r->source.z : 0,
		.srcLOD = r->source.lod,
		.srcMemoryType = from->type,
		.srcHost = from->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)from->at : NULL,
		.srcDevice = from->type == CU_MEMORYTYPE_DEVICE ? from->at : 0,
		.srcArray = from->array,
		.srcPitch = from->pitch,
		.srcHeight = from->height,
		.dstXInBytes = to_array ? r->target.x : 0,
		.dstY = to_array ? r->target.y : 0,
		.dstZ = to_array ? r->target.z : 0,
		.dstLOD = r->target.lod,
		.dstMemoryType = to->type,
		.dstHost = to->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)to->at : NULL,
		.dstDevice = to->type == CU_MEMORYTYPE_DEVICE ? to->at : 0,
		.dstArray = to->array,
		.dstPitch = to->pitch,
		.dstHeight = to->height,
		.WidthInBytes = r->width,
		.Height = r->height,
		.Depth = r->depth,
	};

	return d->cuMemcpy3DAsync_v2(&c, stream);
}

/* Staged bytes are gone when a graph runs: such a copy cannot become part of one. */
static bool captured(struct work *work, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return work->driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static bool staged(struct work *work, const struct copy_side *s, uint64_t offset)
{
	return s->kind == COPY_INLINE || (s->kind == COPY_ARENA && offset < worker_welcome(work->worker)->heap_offset);
}

static bool side_good(const struct copy_side *s, bool source, const struct copy_request *r)
{
	/* What is given out inside the reply must be there when it is sent. */
	return s->kind <= COPY_INLINE &&
	       (s->kind != COPY_INLINE || source || (r->flags & COPY_DONE && !(r->flags & COPY_PIPED)));
}

/* The device has done it when this returns. */
static CUresult finish(struct work *work, CUstream stream)
{
	worker_yield(work);
	return work->driver->cuStreamSynchronize(stream);
}

static CUresult copy(struct work *work, const struct copy_request *r, void *inside, CUstream stream, struct placed *to)
{
	struct placed from;
	CUresult e;

	if (!place(work, &r->source, r, inside, &from) || !place(work, &r->target, r, inside, to))
		return work->result != CUDA_SUCCESS ? (CUresult)work->result : memory_bad(work);
	if ((staged(work, &r->source, from.offset) || staged(work, &r->target, to->offset)) && captured(work, stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (from.bytes && r->source.kind == COPY_ARENA) {
		e = worker_payload_before(work, stream);
		if (e != CUDA_SUCCESS)
			return e;
	}
	return linear(r, &from) && linear(r, to) ? copy_line(work->driver, r, &from, to, stream)
						 : copy_box(work->driver, r, &from, to, stream);
}

/*
 * Whether the driver may wait for the stream inside the call, as it does for memory that is not pinned, and for host
 * functions that stand in the stream. A small source in one piece is put aside. Where the client's thread does not wait
 * the next request could overtake this one, so the role cannot be given away.
 */
static bool may_wait(struct work *work, const struct copy_request *r)
{
	bool arena = r->source.kind == COPY_ARENA || r->target.kind == COPY_ARENA;

	if (arena && !payload_register(work))
		return work->head.ticket;
	if (!work->head.ticket)
		return false;
	return r->target.kind == COPY_INLINE || (r->source.kind == COPY_INLINE && (r->height > 1 || r->depth > 1));
}

static int copy_handle(struct work *work)
{
	struct copy_request r;
	struct placed to = { 0 };
	void *inside = NULL;
	uint64_t bytes;
	CUstream stream;
	bool known;

	remote_get(&work->in, &r, sizeof(r));
	if (work->in.bad || !r.width || !r.height || !r.depth || __builtin_mul_overflow(r.width, r.height, &bytes) ||
	    __builtin_mul_overflow(bytes, r.depth, &bytes) || !side_good(&r.source, true, &r) ||
	    !side_good(&r.target, false, &r) || (r.source.kind == COPY_INLINE && r.target.kind == COPY_INLINE) ||
	    (r.flags & COPY_DONE && !work->head.ticket) || (r.flags & COPY_RETIRE && !work->payload.serial))
		return -EPROTO;
	if (r.source.kind == COPY_INLINE)
		inside = (void *)(uintptr_t)remote_take(&work->in, bytes);
	if (r.target.kind == COPY_INLINE)
		inside = remote_reserve(&work->out, bytes);
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (work->out.bad)
		return -EMSGSIZE;
	stream = worker_find_stream(work, r.stream, &known);
	if (known && may_wait(work, &r))
		worker_yield(work);
	if (known) {
		work->result = copy(work, &r, inside, stream, &to);
		if (work->result == CUDA_SUCCESS && r.flags & COPY_DONE && !(r.flags & COPY_PIPED))
			work->result = finish(work, stream);
		if (r.flags & COPY_RETIRE)
			worker_retire_after(work, stream, work->payload.serial);
	} else if (r.flags & COPY_RETIRE) {
		worker_notice(work->worker, CALL_NOTICE_RETIRED, &work->payload.serial, sizeof(work->payload.serial));
	}
	if (work->result != CUDA_SUCCESS) {
		work->out.used = 0;
		return 0;
	}
	if (r.target.kind == COPY_ARENA && !(r.flags & COPY_DONE))
		return worker_mirror_after(work, stream, to.offset, to.bytes), 0;
	if (!(r.flags & COPY_DONE))
		return 0;
	if (r.target.kind == COPY_ARENA && !worker_coherent(work->worker))
		worker_payload_reply(work, to.offset, to.bytes);
	if (r.flags & COPY_PIPED)
		work->result = worker_answer_after(work, stream, work->reply_payload.offset, work->reply_payload.bytes);
	return 0;
}

static int fill_handle(struct work *work)
{
	struct fill_request r;
	uint64_t row, bytes;
	CUstream stream;
	bool known;

	remote_get(&work->in, &r, sizeof(r));
	if (work->in.bad || work->in.used != work->in.size || (r.element != 1 && r.element != 2 && r.element != 4) ||
	    !r.width || !r.height)
		return -EPROTO;
	stream = worker_find_stream(work, r.stream, &known);
	if (!known)
		return 0;
	if (__builtin_mul_overflow(r.width, (uint64_t)r.element, &row) || (r.height > 1 && r.pitch < row) ||
	    __builtin_mul_overflow(r.pitch, r.height - 1, &bytes) || __builtin_add_overflow(bytes, row, &bytes) ||
	    !memory_good(work, r.at, bytes)) {
		work->result = memory_bad(work);
		return 0;
	}
	if (r.height > 1 && r.element == 1)
		work->result = work->driver->cuMemsetD2D8Async(r.at, r.pitch, (unsigned char)r.value, r.width, r.height,
							       stream);
	else if (r.height > 1 && r.element == 2)
		work->result = work->driver->cuMemsetD2D16Async(r.at, r.pitch, (unsigned short)r.value, r.width,
								r.height, stream);
	else if (r.height > 1)
		work->result = work->driver->cuMemsetD2D32Async(r.at, r.pitch, r.value, r.width, r.height, stream);
	else if (r.element == 1)
		work->result = work->driver->cuMemsetD8Async(r.at, (unsigned char)r.value, r.width, stream);
	else if (r.element == 2)
		work->result = work->driver->cuMemsetD16Async(r.at, (unsigned short)r.value, r.width, stream);
	else
		work->result = work->driver->cuMemsetD32Async(r.at, r.value, r.width, stream);
	return 0;
}

int worker_other_memory(struct work *work)
{
	switch (work->head.call) {
	case CALL_COPY:
		return copy_handle(work);
	case CALL_FILL:
		return fill_handle(work);
	case CALL_PIN:
		return memory_pin(work);
	case CALL_UNPIN:
		return memory_unpin(work);
	default:
		return -EPROTO;
	}
}
