/*
 * copies.c: copies and fills, as copy.h describes them. The client has cut them into boxes that fit; here every address
 * is looked at again, because the driver takes host addresses where it takes device addresses.
 */
#include "cuda_remote.h"
#include "remote/copy.h"

#include "remote/worker/box.h"
#include "remote/worker/memory.h"
#include "remote/worker/moved.h"
#include "remote/worker/payload.h"

#include <errno.h>
#include <string.h>

/* One side as the driver takes it. */
struct placed {
	CUmemorytype type;
	uint64_t at;		/* where the box begins: x, y and z are in it, but for arrays */
	uint64_t offset, bytes; /* of COPY_ARENA */
	CUarray array;
	struct box_place place; /* as the driver is told it */
};

static struct box box_of(const struct copy_request *r)
{
	return (struct box){ r->width, r->height, r->depth };
}

static struct box_place place_of(const struct copy_side *s)
{
	return (struct box_place){ s->x, s->y, s->z, s->pitch, s->height };
}

/* Linear memory: the first byte, and how many there are to the last. What the driver is told begins there. */
static bool place_linear(const struct copy_side *s, const struct copy_request *r, struct placed *ret,
			 uint64_t *ret_first)
{
	struct box_place place = place_of(s);
	struct box box = box_of(r);
	struct box_span span;

	if (!box_span(&box, &place, &span) || __builtin_add_overflow(s->at, span.first, ret_first))
		return false;
	ret->bytes = span.bytes;
	place.x = place.y = place.z = 0;
	ret->place = box_plain(&box, &place);
	return true;
}

static bool place_array(struct work *work, const struct copy_side *s, const struct copy_request *r, struct placed *ret)
{
	struct box box = box_of(r);
	bool known;

	ret->type = CU_MEMORYTYPE_ARRAY;
	ret->place = (struct box_place){ .x = s->x, .y = s->y, .z = s->z };
	ret->array = worker_find(work, KIND_ARRAY, s->at, &known);
	return ret->array && box_sums(&box, &ret->place);
}

static bool place_arena(struct work *work, const struct copy_side *s, const struct copy_request *r, struct placed *ret)
{
	void *arena;

	ret->type = CU_MEMORYTYPE_HOST;
	if (!place_linear(s, r, ret, &ret->offset) || ret->offset < 4096)
		return false;
	arena = worker_arena(work, ret->offset, ret->bytes);
	ret->at = (uint64_t)(uintptr_t)arena;
	return arena;
}

static bool place(struct work *work, const struct copy_side *s, const struct copy_request *r, struct placed *ret)
{
	*ret = (struct placed){ 0 };
	if (s->lod) /* there are no levels in what is copied */
		return false;
	switch (s->kind) {
	case COPY_ARRAY:
		return place_array(work, s, r, ret);
	case COPY_DEVICE:
		ret->type = CU_MEMORYTYPE_DEVICE;
		if (!place_linear(s, r, ret, &ret->at))
			return false;
		ret->at = worker_at(ret->at);
		return memory_good(work, ret->at, ret->bytes);
	case COPY_ARENA:
		return place_arena(work, s, r, ret);
	case COPY_INLINE:
		ret->type = CU_MEMORYTYPE_HOST;
		ret->at = (uint64_t)(uintptr_t)work->inside;
		ret->place = (struct box_place){ .pitch = r->width, .height = r->height };
		return true;
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
	CUDA_MEMCPY3D c = {
		.srcXInBytes = from->place.x,
		.srcY = from->place.y,
		.srcZ = from->place.z,
		.srcMemoryType = from->type,
		.srcHost = from->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)from->at : NULL,
		.srcDevice = from->type == CU_MEMORYTYPE_DEVICE ? from->at : 0,
		.srcArray = from->array,
		.srcPitch = from->place.pitch,
		.srcHeight = from->place.height,
		.dstXInBytes = to->place.x,
		.dstY = to->place.y,
		.dstZ = to->place.z,
		.dstMemoryType = to->type,
		.dstHost = to->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)to->at : NULL,
		.dstDevice = to->type == CU_MEMORYTYPE_DEVICE ? to->at : 0,
		.dstArray = to->array,
		.dstPitch = to->place.pitch,
		.dstHeight = to->place.height,
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

/*
 * Addresses of variables that have moved, in what goes to the device: they become the new ones where the bytes are a
 * copy. False: they are the program's own, which nobody may change.
 */
static bool addresses_renew(struct work *work, const struct copy_request *r, const struct placed *from)
{
	const bool change = staged(work, &r->source, from->offset);
	uint64_t found = 0;

	if (r->source.kind == COPY_ARENA && from->bytes && !payload_wait_here(work))
		return false;
	for (uint64_t z = 0; z < r->depth; z++)
		for (uint64_t y = 0; y < r->height; y++)
			found += moved_words((uint8_t *)(uintptr_t)from->at +
						     (z * from->place.height + y) * from->place.pitch,
					     r->width, change);
	if (found && !change)
		worker_log("a copy from pinned memory holds the address of a variable that lies elsewhere since the "
			   "program has moved");
	return !found || change;
}

static CUresult copy(struct work *work, const struct copy_request *r, CUstream stream, struct placed *to)
{
	struct placed from;
	CUresult e;

	if (!place(work, &r->source, r, &from) || !place(work, &r->target, r, to))
		return work->result != CUDA_SUCCESS ? (CUresult)work->result : memory_bad(work);
	if ((staged(work, &r->source, from.offset) || staged(work, &r->target, to->offset)) && captured(work, stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (from.bytes && r->source.kind == COPY_ARENA) {
		e = worker_payload_before(work, stream);
		if (e != CUDA_SUCCESS)
			return e;
	}
	if (moved_any() && to->type == CU_MEMORYTYPE_DEVICE && from.type == CU_MEMORYTYPE_HOST &&
	    !addresses_renew(work, r, &from))
		return CUDA_ERROR_NOT_SUPPORTED;
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

/* The bytes of the message, where the driver may read them. */
static bool take_inside(struct work *work, uint64_t bytes)
{
	const void *from = bytes <= COPY_INLINE_BYTES ? remote_take(&work->in, bytes) : NULL;

	if (from)
		memcpy(work->inside, from, bytes);
	return from;
}

/* Where in the reply they go when they are there. */
static void *reserve_inside(struct work *work, uint64_t bytes)
{
	if (bytes > COPY_INLINE_BYTES)
		work->out.bad = true;
	return remote_reserve(&work->out, bytes);
}

static int copy_handle(struct work *work)
{
	struct copy_request r;
	struct placed to = { 0 };
	void *given = NULL;
	struct box box;
	uint64_t bytes;
	CUstream stream;
	bool known;

	remote_get(&work->in, &r, sizeof(r));
	box = box_of(&r);
	if (work->in.bad || !box_good(&box) || !side_good(&r.source, true, &r) || !side_good(&r.target, false, &r) ||
	    (r.source.kind == COPY_INLINE && r.target.kind == COPY_INLINE) ||
	    (r.flags & COPY_DONE && !work->head.ticket) || (r.flags & COPY_RETIRE && !work->payload.serial))
		return -EPROTO;
	bytes = r.width * r.height * r.depth;
	if (r.source.kind == COPY_INLINE && !take_inside(work, bytes))
		return -EPROTO;
	if (r.target.kind == COPY_INLINE)
		given = reserve_inside(work, bytes);
	if (work->in.bad || work->in.used != work->in.size)
		return -EPROTO;
	if (work->out.bad)
		return -EMSGSIZE;
	stream = worker_find_stream(work, r.stream, &known);
	if (known && may_wait(work, &r))
		worker_yield(work);
	if (known) {
		work->result = copy(work, &r, stream, &to);
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
	if (given)
		memcpy(given, work->inside, bytes);
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
	r.at = worker_at(r.at);
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

/*
 * Copies from and to host memory that are calls of the API, with their bytes in the message: no client sends them, they
 * all come as CALL_COPY. A stream that is captured would remember where the message lay.
 */
#define NOT_SO(call)                                                                                                   \
	int worker_##call(struct work *work)                                                                           \
	{                                                                                                              \
		work->result = CUDA_ERROR_NOT_SUPPORTED;                                                               \
		return 0;                                                                                              \
	}
NOT_SO(cuMemcpyHtoD)
NOT_SO(cuMemcpyHtoD_v2)
NOT_SO(cuMemcpyHtoDAsync)
NOT_SO(cuMemcpyHtoDAsync_v2)
NOT_SO(cuMemcpyDtoH)
NOT_SO(cuMemcpyDtoH_v2)
NOT_SO(cuMemcpyDtoHAsync)
NOT_SO(cuMemcpyDtoHAsync_v2)
NOT_SO(cuMemcpyHtoA)
NOT_SO(cuMemcpyHtoA_v2)
NOT_SO(cuMemcpyHtoAAsync)
NOT_SO(cuMemcpyHtoAAsync_v2)
NOT_SO(cuMemcpyAtoH)
NOT_SO(cuMemcpyAtoH_v2)
NOT_SO(cuMemcpyAtoHAsync)
NOT_SO(cuMemcpyAtoHAsync_v2)

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
	case CALL_MERGE:
		return memory_merge(work);
	default:
		return -EPROTO;
	}
}
