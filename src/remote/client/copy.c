/*
 * copy.c: see copy.h.
 *
 * Nobody is waited for where the vendor documents that the call does not wait: between places on devices; from memory
 * of the program, once its bytes are in the staging (or in the message); from and to pinned memory in a stream. A copy
 * from pageable memory at once (not in a stream) waits for its end only while there are streams that do not wait for
 * the legacy stream: all other work comes behind it anyway.
 */
#include "remote/client/copy.h"

#include "cuda_remote.h"
#include "remote/client/array_shape.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/hosts.h"
#include "remote/client/parked.h"
#include "remote/client/ranges.h"
#include "remote/client/thread.h"
#include "remote/client/unified.h"
#include "remote/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COPY_HOST 100u /* memory of the program that is not pinned: never sent as such */
#define FLIGHT 16u     /* pieces on their way back */

/* One side, found out. */
struct found {
	struct copy_side side;	 /* kind COPY_HOST: `at` is an address here */
	struct session *session; /* NULL: this process */
	uint64_t context;	 /* handle that it belongs to, or 0 */
	uint64_t span_at, bytes; /* of linear memory: where the box begins, and up to its last byte */
	bool doubtful;		 /* not known here: the worker judges, and is waited for */
};

/* A copy within one session. */
struct plan {
	struct found from, to;
	uint64_t width, height, depth;
	struct session *session;
	uint64_t context, stream;
	bool async;
};

/* ---- finding out ---- */

/* Where the box begins and ends in linear memory. False: it does not fit, or its rows overlap. */
static bool span(struct found *f, const struct copy_end *e, uint64_t width, uint64_t height, uint64_t depth)
{
	uint64_t rows, slices, slice, at;
	struct copy_side *s = &f->side;

	s->pitch = e->pitch ? e->pitch : e->x + width;
	s->height = e->height ? e->height : e->y + height;
	if ((height > 1 || depth > 1) && (e->x > s->pitch || width > s->pitch - e->x))
		return false;
	if (depth > 1 && e->height && e->height < e->y + height)
		return false;
	if (__builtin_mul_overflow(s->pitch, s->height, &slice) || __builtin_mul_overflow(s->pitch, e->y, &rows) ||
	    __builtin_mul_overflow(slice, e->z, &slices) || __builtin_add_overflow(e->address, rows, &at) ||
	    __builtin_add_overflow(at, slices, &at) || __builtin_add_overflow(at, e->x, &at))
		return false;
	f->span_at = at;
	if (__builtin_mul_overflow(s->pitch, height - 1, &rows) || __builtin_mul_overflow(slice, depth - 1, &slices) ||
	    __builtin_add_overflow(rows, slices, &rows) || __builtin_add_overflow(rows, width, &f->bytes))
		return false;
	/* From here on the box begins at `at`. */
	s->at = at;
	s->x = s->y = s->z = 0;
	return at + f->bytes >= at;
}

/* Memory of a device, or what a device may use as such. */
static CUresult find_host(struct found *f);

static CUresult find_device(struct found *f)
{
	struct range r;

	f->side.kind = COPY_DEVICE;
	if (!f->side.at)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ranges_find(f->span_at, &r)) {
		f->doubtful = true;
		parked_doubt(f->span_at);
		return CUDA_SUCCESS;
	}
	/* What the driver would reach there is copied as what it is. */
	if (r.kind == RANGE_REGISTERED || (r.kind == RANGE_HOST && !r.session->coherent))
		return ranges_cover(f->span_at, f->bytes, &r) ? find_host(f) : CUDA_ERROR_INVALID_VALUE;
	f->session = r.session;
	f->context = r.context;
	if (!ranges_cover(f->span_at, f->bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	f->doubtful = range_closed(&r);
	if (r.kind == RANGE_HOST) /* its address at the worker */
		f->side.at = r.other + (f->span_at - r.begin);
	return CUDA_SUCCESS;
}

/* Memory of the program: pinned or not. With unified addresses it may be a device's after all. */
static CUresult find_host(struct found *f)
{
	struct range r;

	f->side.kind = COPY_HOST;
	if (!f->side.at)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ranges_find(f->span_at, &r)) /* memory of a device that has been freed is none of the program's */
		return ranges_kept(f->span_at) ? find_device(f) : CUDA_SUCCESS;
	if (r.kind == RANGE_REGISTERED)
		return CUDA_SUCCESS;
	if (r.kind != RANGE_HOST)
		return find_device(f);
	if (!ranges_cover(f->span_at, f->bytes, &r))
		return CUDA_ERROR_INVALID_VALUE;
	f->side.kind = COPY_ARENA;
	f->side.at -= (uint64_t)(uintptr_t)r.session->link.wall.arena;
	f->session = r.session;
	f->context = r.context;
	return CUDA_SUCCESS;
}

/*
 * Memory of the program of which the device has a copy: work before this one in the stream may write it, and work
 * behind it may read it. In the stream's order both happen at the worker alone.
 */
static void find_shared(struct found *f)
{
	struct unified_place p;

	if ((f->side.kind != COPY_HOST && f->side.kind != COPY_ARENA) || !unified_find(f->span_at, f->bytes, &p))
		return;
	f->side.kind = COPY_DEVICE;
	f->side.at = p.device + (f->span_at - p.host);
	f->session = p.session;
	f->context = p.context;
}

/* The box within the array, as far as its shape is known. */
static CUresult inside(const struct copy_end *e, const struct copy *k)
{
	struct array_shape s;

	if (array_shape(e->array, &s) != CUDA_SUCCESS)
		return CUDA_SUCCESS; /* the worker judges */
	if (e->x % s.element_bytes || k->width % s.element_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return e->x <= s.row_bytes && k->width <= s.row_bytes - e->x && e->y <= s.height &&
			       k->height <= s.height - e->y && e->z <= s.depth && k->depth <= s.depth - e->z
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find(const struct copy_end *e, const struct copy *k, struct client_call *c, struct found *ret)
{
	struct session *before = c->session;
	CUresult r;

	*ret = (struct found){ .side = { .lod = (uint32_t)e->lod, .x = e->x, .y = e->y, .z = e->z } };
	if (e->lod)
		return CUDA_ERROR_INVALID_VALUE;
	if (e->type == CU_MEMORYTYPE_ARRAY) {
		c->session = NULL;
		ret->side.kind = COPY_ARRAY;
		ret->side.at = e->array ? client_use(c, KIND_ARRAY, e->array) : 0;
		ret->session = c->session;
		ret->context = c->context;
		c->session = before;
		if (c->result != CUDA_SUCCESS)
			return c->result;
		return e->array ? inside(e, k) : CUDA_ERROR_INVALID_HANDLE;
	}
	if (e->type != CU_MEMORYTYPE_HOST && e->type != CU_MEMORYTYPE_DEVICE && e->type != CU_MEMORYTYPE_UNIFIED)
		return CUDA_ERROR_INVALID_VALUE;
	ret->side.at = e->address;
	if (!e->address || !span(ret, e, k->width, k->height, k->depth))
		return CUDA_ERROR_INVALID_VALUE;
	if (k->at && e->type == CU_MEMORYTYPE_DEVICE) {
		ret->side.kind = COPY_DEVICE;
		ret->session = k->at;
		return CUDA_SUCCESS;
	}
	r = e->type == CU_MEMORYTYPE_DEVICE ? find_device(ret) : find_host(ret);
	if (r == CUDA_SUCCESS && k->async && !k->read_now && !k->at)
		find_shared(ret);
	return r;
}

/* ---- rows ---- */

/* A part of the box: rows [y, y + rows) of slice z, bytes [x, x + width) of each. */
struct part {
	uint64_t x, y, z, width, rows;
};

static uint8_t *row_at(const struct copy_side *s, const struct part *p, uint64_t row)
{
	return (uint8_t *)(uintptr_t)s->at + (p->z * s->height + p->y + row) * s->pitch + p->x;
}

/* Rows of the program's memory, to or from bytes without gaps. */
static void rows_move(const struct copy_side *s, const struct part *p, uint8_t *packed, bool in)
{
	if (p->width == s->pitch) {
		if (in)
			memcpy(packed, row_at(s, p, 0), p->width * p->rows);
		else
			memcpy(row_at(s, p, 0), packed, p->width * p->rows);
		return;
	}
	for (uint64_t row = 0; row < p->rows; row++, packed += p->width) {
		if (in)
			memcpy(packed, row_at(s, p, row), p->width);
		else
			memcpy(row_at(s, p, row), packed, p->width);
	}
}

/* The first part of at most `most` bytes. */
static void part_first(const struct plan *p, uint64_t most, struct part *ret)
{
	*ret = (struct part){ .width = p->width < most ? p->width : most, .rows = 1 };
	if (ret->width == p->width) {
		ret->rows = most / p->width;
		if (ret->rows > p->height)
			ret->rows = p->height;
	}
}

/* The one behind it. False: that was the last. */
static bool part_next(const struct plan *p, uint64_t most, struct part *part)
{
	struct part size;

	part_first(p, most, &size);
	part->x += part->width;
	if (part->x >= p->width) {
		part->x = 0;
		part->y += part->rows;
	}
	if (part->y >= p->height) {
		part->y = 0;
		part->z++;
	}
	part->width = p->width - part->x < size.width ? p->width - part->x : size.width;
	part->rows = p->height - part->y < size.rows ? p->height - part->y : size.rows;
	return part->z < p->depth;
}

/* ---- requests ---- */

/* The device's side of a part. */
static struct copy_side side_of(const struct copy_side *whole, const struct part *part)
{
	struct copy_side s = *whole;

	s.x += part->x;
	s.y += part->y;
	s.z += part->z;
	return s;
}

static struct copy_side packed_side(uint32_t kind, uint64_t offset, const struct part *part)
{
	return (struct copy_side){ .kind = kind, .at = offset, .pitch = part->width, .height = part->rows };
}

static struct copy_request request_of(const struct plan *p, const struct part *part)
{
	return (struct copy_request){ .stream = p->stream,
				      .width = part->width,
				      .height = part->rows,
				      .depth = 1,
				      .source = p->from.side,
				      .target = p->to.side };
}

static void call_begin(struct client_call *c, const struct plan *p)
{
	client_request(c, CALL_COPY);
	c->session = p->session;
	c->stream = p->stream;
	c->context = p->context;
}

static void request_put(struct client_call *c, const struct copy_request *r)
{
	remote_put(&c->out, r, sizeof *r);
}

/*
 * Whether what is queued may write the pinned memory that this copy reads: a copy on its way back, or a function of the
 * program. Then its bytes travel when the stream has come there; else now.
 */
static bool changes_before(const struct plan *p)
{
	return p->async && (atomic_load_explicit(&p->session->functions, memory_order_relaxed) > 0 ||
			    mirrors_overlap(&p->session->mirrors, p->from.side.at, p->from.bytes));
}

/* No memory of the program but pinned memory: the whole box in one request. */
static CUresult run_whole(const struct plan *p)
{
	bool pinned_from = p->from.side.kind == COPY_ARENA, pinned_to = p->to.side.kind == COPY_ARENA;
	bool done = !p->async && (pinned_from || pinned_to);
	struct copy_request r = { .stream = p->stream,
				  .flags = done ? COPY_DONE : 0,
				  .width = p->width,
				  .height = p->height,
				  .depth = p->depth,
				  .source = p->from.side,
				  .target = p->to.side };
	bool mirrored = pinned_to && !done && !p->session->coherent, now = pinned_from && !p->session->coherent;
	struct client_call c;
	CUresult e;

	if (now && changes_before(p)) {
		if (!hosts_send_in_order(p->session, p->context, p->stream, p->from.side.at, p->from.bytes, &e))
			return e;
		now = false;
	}
	if (mirrored)
		mirrors_ask(&p->session->mirrors, p->to.side.at, p->to.bytes);
	call_begin(&c, p);
	if (now) {
		c.payload_offset = p->from.side.at;
		c.payload_bytes = p->from.bytes;
	}
	if (client_begin(&c, done || p->from.doubtful || p->to.doubtful)) {
		request_put(&c, &r);
		client_send(&c);
	}
	e = client_end(&c);
	if (mirrored && e != CUDA_SUCCESS)
		mirrors_come(&p->session->mirrors, p->to.side.at, p->to.bytes);
	return e;
}

/*
 * The driver may wait for the stream with several rows of memory that is not pinned, and a function of the program may
 * stand in it: then the worker has to take other requests meanwhile, which it does while this thread waits.
 */
static bool rows_behind_function(const struct plan *p)
{
	return (p->height > 1 || p->depth > 1) && link_expects_host(&p->session->link);
}

static CUresult send_inline(const struct plan *p, bool done)
{
	struct part all = { .width = p->width, .rows = p->height };
	struct copy_request r = request_of(p, &all);
	struct client_call c;
	uint8_t *to;

	r.depth = p->depth;
	r.flags = done ? COPY_DONE : 0;
	r.source = (struct copy_side){ .kind = COPY_INLINE };
	call_begin(&c, p);
	if (client_begin(&c, done || p->to.doubtful || rows_behind_function(p))) {
		request_put(&c, &r);
		to = remote_reserve(&c.out, p->width * p->height * p->depth);
		for (; to && all.z < p->depth; all.z++, to += p->width * p->height)
			rows_move(&p->from.side, &all, to, true);
		client_send(&c);
	}
	return client_end(&c);
}

static CUresult send_part(const struct plan *p, const struct part *part, bool done)
{
	struct arena *arena = &p->session->arena;
	struct copy_request r = request_of(p, part);
	struct arena_piece piece;
	struct client_call c;
	bool sent;

	if (arena_take(arena, ARENA_IN, part->width * part->rows, &piece) < 0)
		return CLIENT_LOST;
	rows_move(&p->from.side, part, piece.at, true);
	r.flags = COPY_RETIRE | (done ? COPY_DONE : 0);
	r.source = packed_side(COPY_ARENA, piece.offset, part);
	r.target = side_of(&p->to.side, part);
	call_begin(&c, p);
	c.payload_offset = piece.offset;
	c.payload_bytes = part->width * part->rows;
	sent = client_begin(&c, done || p->to.doubtful);
	if (sent) {
		request_put(&c, &r);
		arena_sent(arena, &piece, c.payload_serial);
		client_send(&c);
	} else {
		arena_give(arena, &piece);
	}
	return client_end(&c);
}

static CUresult run_in(const struct plan *p)
{
	bool done = !p->async && atomic_load_explicit(&p->session->apart, memory_order_relaxed) > 0;
	CUresult r = CUDA_SUCCESS;
	struct part part, next;
	uint64_t bytes;
	bool more = true;

	if (!__builtin_mul_overflow(p->width, p->height, &bytes) && !__builtin_mul_overflow(bytes, p->depth, &bytes) &&
	    bytes <= COPY_INLINE_BYTES)
		return send_inline(p, done);
	for (part_first(p, ARENA_PIECE, &part); more && r == CUDA_SUCCESS; part = next) {
		next = part;
		more = part_next(p, ARENA_PIECE, &next);
		r = send_part(p, &part, done && !more);
	}
	return r;
}

static CUresult fetch_inline(const struct plan *p)
{
	struct part all = { .width = p->width, .rows = p->height };
	struct copy_request r = request_of(p, &all);
	const uint8_t *from = NULL;
	struct client_call c;

	r.depth = p->depth;
	r.flags = COPY_DONE;
	r.target = (struct copy_side){ .kind = COPY_INLINE };
	call_begin(&c, p);
	if (client_begin(&c, true)) {
		request_put(&c, &r);
		client_send(&c);
		if (c.result == CUDA_SUCCESS)
			from = remote_take(&c.in, p->width * p->height * p->depth);
	}
	for (; from && all.z < p->depth; all.z++, from += p->width * p->height)
		rows_move(&p->to.side, &all, (uint8_t *)(uintptr_t)from, false);
	waited_note(&c, p->stream);
	return client_end(&c);
}

/* A piece that has been asked for. */
struct flight {
	const struct plan *plan;
	struct client_call c;
	struct part part;
	struct arena_piece piece;
};

static CUresult fetch_begin(struct flight *f, bool more)
{
	struct copy_request r = request_of(f->plan, &f->part);

	r.flags = COPY_DONE | (more ? COPY_PIPED : 0);
	r.source = side_of(&f->plan->from.side, &f->part);
	r.target = packed_side(COPY_ARENA, f->piece.offset, &f->part);
	call_begin(&f->c, f->plan);
	if (client_begin(&f->c, true)) {
		request_put(&f->c, &r);
		client_post(&f->c);
	}
	return f->c.result;
}

static CUresult fetch_end(struct flight *f)
{
	CUresult r;

	client_wait(&f->c);
	if (f->c.result == CUDA_SUCCESS)
		rows_move(&f->plan->to.side, &f->part, f->piece.at, false);
	r = client_end(&f->c);
	arena_give(&f->plan->session->arena, &f->piece);
	return r;
}

/* Room for one more piece; whoever holds some does not wait for others that do. */
static int fetch_room(struct flight *f, bool holds)
{
	struct arena *arena = &f->plan->session->arena;
	size_t bytes = f->part.width * f->part.rows;

	return holds ? arena_try(arena, ARENA_OUT, bytes, &f->piece) : arena_take(arena, ARENA_OUT, bytes, &f->piece);
}

/* The part behind this one, of this plan or the next. False: that was the last. */
static bool fetch_next(struct flight *at, const struct plan *end)
{
	if (part_next(at->plan, ARENA_PIECE, &at->part))
		return true;
	if (++at->plan == end)
		return false;
	part_first(at->plan, ARENA_PIECE, &at->part);
	return true;
}

/* All of one session. */
static CUresult run_flights(const struct plan *plans, size_t count)
{
	struct flight flight[FLIGHT], at = { .plan = plans };
	unsigned int first = 0, flying = 0;
	CUresult r = CUDA_SUCCESS, e;
	bool more = true;

	part_first(plans, ARENA_PIECE, &at.part);
	while (flying || (more && r == CUDA_SUCCESS)) {
		struct flight *f = &flight[(first + flying) % FLIGHT];
		int room = -EAGAIN;

		/* With all in flight `f` is the oldest of them. */
		if (more && r == CUDA_SUCCESS && flying < FLIGHT) {
			f->plan = at.plan;
			f->part = at.part;
			room = fetch_room(f, flying);
		}
		if (!room) {
			more = fetch_next(&at, plans + count);
			e = fetch_begin(f, more || flying);
			flying++;
		} else if (room != -EAGAIN) {
			e = CLIENT_LOST;
			more = false;
		} else {
			e = fetch_end(&flight[first]);
			first = (first + 1) % FLIGHT;
			flying--;
		}
		if (r == CUDA_SUCCESS)
			r = e;
	}
	return r;
}

static CUresult run_out(const struct plan *p)
{
	uint64_t bytes;

	if (!__builtin_mul_overflow(p->width, p->height, &bytes) && !__builtin_mul_overflow(bytes, p->depth, &bytes) &&
	    bytes <= COPY_INLINE_BYTES)
		return fetch_inline(p);
	return run_flights(p, 1);
}

/* ---- within this process, and between two sessions ---- */

static CUresult stream_wait(const struct plan *p)
{
	struct client_call c;

	client_call(&c, CUDA_CALL_cuStreamSynchronize);
	c.session = p->session;
	c.context = p->context;
	if (client_begin(&c, true)) {
		remote_put(&c.out, &p->stream, sizeof p->stream);
		client_send(&c);
	}
	return client_end(&c);
}

static CUresult run_host(const struct plan *p)
{
	struct part part = { .width = p->width, .rows = 1 };
	CUresult r = stream_wait(p);

	if (r != CUDA_SUCCESS)
		return r;
	for (part.z = 0; part.z < p->depth; part.z++)
		for (part.y = 0; part.y < p->height; part.y++)
			memmove(row_at(&p->to.side, &part, 0), row_at(&p->from.side, &part, 0), p->width);
	return CUDA_SUCCESS;
}

/* A pinned side becomes an address of this process again. */
static void as_host(struct found *f)
{
	if (f->side.kind == COPY_ARENA) {
		f->side.kind = COPY_HOST;
		f->side.at += (uint64_t)(uintptr_t)f->session->link.wall.arena;
	}
}

static CUresult run_one(const struct plan *p)
{
	if (p->from.side.kind == COPY_HOST)
		return run_in(p);
	return p->to.side.kind == COPY_HOST ? run_out(p) : run_whole(p);
}

/* Through this process, piece by piece; the stream is that of one of the two, the other side's legacy stream waits. */
static CUresult run_between(struct plan *p, struct session *stream_session)
{
	_Alignas(8) uint8_t room[16384];
	struct plan out = *p, in = *p;
	struct part part;
	CUresult r;
	bool more = true;

	out.session = p->from.session;
	out.context = p->from.context;
	out.stream = out.session == stream_session ? p->stream : ID_STREAM_LEGACY;
	in.session = p->to.session;
	in.context = p->to.context;
	in.stream = in.session == stream_session ? p->stream : ID_STREAM_LEGACY;
	out.async = in.async = false;
	r = stream_wait(&in);
	for (part_first(p, sizeof room, &part); more && r == CUDA_SUCCESS; more = part_next(p, sizeof room, &part)) {
		struct copy_side here = {
			.kind = COPY_HOST, .at = (uint64_t)(uintptr_t)room, .pitch = part.width, .height = part.rows
		};

		out.width = in.width = part.width;
		out.height = in.height = part.rows;
		out.depth = in.depth = 1;
		out.from.side = side_of(&p->from.side, &part);
		out.to = in.from = (struct found){ .side = here };
		in.to.side = side_of(&p->to.side, &part);
		r = run_out(&out);
		if (r == CUDA_SUCCESS)
			r = run_in(&in);
	}
	return r;
}

static CUresult run_found(struct plan *p, struct session *stream_session)
{
	struct found *from = &p->from, *to = &p->to;
	bool from_here = from->side.kind == COPY_HOST || from->side.kind == COPY_ARENA;
	bool to_here = to->side.kind == COPY_HOST || to->side.kind == COPY_ARENA;
	struct session *device = !from_here ? from->session : !to_here ? to->session : NULL;

	if (from_here && to_here) {
		as_host(from);
		as_host(to);
		return run_host(p);
	}
	/* Pinned in another session than the device's is as good as not pinned. */
	if (from->side.kind == COPY_ARENA && device && from->session != device)
		as_host(from);
	if (to->side.kind == COPY_ARENA && device && to->session != device)
		as_host(to);
	if (!from_here && !to_here && from->session && to->session && from->session != to->session)
		return run_between(p, stream_session);
	if (!device)
		device = from->session ? from->session : to->session;
	if (device && device != p->session) {
		if (p->stream != ID_STREAM_LEGACY && p->stream != ID_STREAM_PER_THREAD)
			return CUDA_ERROR_INVALID_HANDLE;
		p->session = device;
		p->context = !from_here ? from->context : to->context;
	}
	return run_one(p);
}

/* Finds out what lies where. *ret_empty: there is nothing to copy. */
static CUresult plan_make(const struct copy *k, struct plan *p, bool *ret_empty)
{
	struct context *context = NULL;
	struct client_call c;

	*p = (struct plan){ .width = k->width, .height = k->height, .depth = k->depth, .async = k->async };
	client_request(&c, CALL_COPY);
	if (c.result == CUDA_SUCCESS)
		c.result = context_current(c.thread, &context);
	p->stream = client_use_stream(&c, k->stream);
	*ret_empty = !k->width || !k->height || !k->depth;
	if (c.result != CUDA_SUCCESS || *ret_empty)
		return client_end(&c);
	p->session = c.session ? c.session : context->session;
	p->context = c.session ? c.context : context->handle;
	c.result = find(&k->from, k, &c, &p->from);
	if (c.result == CUDA_SUCCESS)
		c.result = find(&k->to, k, &c, &p->to);
	if (k->read_now)
		as_host(&p->from);
	return client_end(&c);
}

CUresult copy_check(const struct copy *k)
{
	struct plan p;
	bool empty;

	return plan_make(k, &p, &empty);
}

/* Whether the device's driver could not reach it when a graph runs. */
static bool only_here(const struct found *f)
{
	return f->side.kind == COPY_HOST || (f->side.kind == COPY_ARENA && !f->session->coherent);
}

CUresult copy_plain(const struct copy *k)
{
	struct plan p;
	bool empty;
	CUresult r = plan_make(k, &p, &empty);

	if (r != CUDA_SUCCESS || empty)
		return r;
	if (captures_any() && (only_here(&p.from) || only_here(&p.to)) && captures_copy(k, &r))
		return r;
	return run_found(&p, p.session);
}

CUresult copy_out_all(const struct copy *copies, size_t count)
{
	struct plan *plans = calloc(count, sizeof *plans);
	CUresult r = plans ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	bool empty;

	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++) {
		r = plan_make(&copies[i], &plans[i], &empty);
		if (r == CUDA_SUCCESS && (empty || plans[i].to.side.kind != COPY_HOST || captures_any()))
			r = CUDA_ERROR_NOT_SUPPORTED;
	}
	if (r == CUDA_SUCCESS)
		r = run_flights(plans, count);
	free(plans);
	return r;
}

/* One side of a copy, roughly: it may be said to reach further than it does. */
static bool touches(const struct copy_end *e, const struct copy *k)
{
	uint64_t pitch = e->pitch ? e->pitch : e->x + k->width, height = e->height ? e->height : e->y + k->height;
	uint64_t bytes;

	if (e->type == CU_MEMORYTYPE_ARRAY)
		return false;
	if (__builtin_mul_overflow(pitch, height, &bytes) || __builtin_mul_overflow(bytes, e->z + k->depth, &bytes))
		return true;
	return unified_touches(e->address, bytes);
}

/*
 * Memory that both sides reach is read and written here as the device's, and the program may look at once at what a
 * copy has written; after a copy that waits for the work before it, also at what that has written.
 */
CUresult copy_run(const struct copy *k)
{
	struct context *context = NULL;
	struct thread *t = thread_get();
	CUresult r;
	bool mine;

	if (!t || context_current(t, &context) != CUDA_SUCCESS || !unified_any(context->session))
		return copy_plain(k);
	mine = touches(&k->from, k) || touches(&k->to, k);
	if (mine)
		unified_begin(context->session, k->stream);
	r = copy_plain(k);
	if (r != CUDA_SUCCESS || k->async || !(mine || unified_pending(context->session)))
		return r;
	return client_cuStreamSynchronize(k->stream);
}
