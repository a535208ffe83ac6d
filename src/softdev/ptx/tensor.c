/*
 * tensor.c: copies of a box of an array between global and shared memory through a tensor map, and changes of a map.
 *
 * The box lies in shared memory with the first dimension innermost and without gaps. With a swizzle the pieces of 16
 * bytes of each 128 are exchanged by bits 7 and up of their address. What lies outside the array reads as zero or not
 * a number and is not written; it counts as copied. An im2col takes pixels one after another, through width, height,
 * depth and images, and comes back to the lower corner behind the upper one. Source: the PTX manual, "Tensors" and
 * "cp.async.bulk.tensor".
 */
#include "softdev/ptx/tensor.h"

#include "softdev/ptx/fp.h"
#include "softdev/ptx/once.h"
#include "softdev/ptx/reach.h"

#define PIECE_BYTES 16u
/* The manual asks for 64; where a map is a parameter of a kernel, the host memory has what malloc gives. */
#define MAP_ALIGN 16u

static const struct {
	u8 bytes, type; /* enum type */
} types[TENSOR_TYPES] = {
	[TENSOR_u8] = { 1, TY_u8 },	   [TENSOR_u16] = { 2, TY_u16 },   [TENSOR_u32] = { 4, TY_u32 },
	[TENSOR_s32] = { 4, TY_s32 },	   [TENSOR_u64] = { 8, TY_u64 },   [TENSOR_s64] = { 8, TY_s64 },
	[TENSOR_f16] = { 2, TY_f16 },	   [TENSOR_f32] = { 4, TY_f32 },   [TENSOR_f32_ftz] = { 4, TY_f32 },
	[TENSOR_f64] = { 8, TY_f64 },	   [TENSOR_bf16] = { 2, TY_bf16 }, [TENSOR_tf32] = { 4, TY_f32 },
	[TENSOR_tf32_ftz] = { 4, TY_f32 },
};

/* One copy of a lane: the map and what follows from it. */
struct copy {
	struct warp *w;
	const struct op *o;
	const struct tensor_use *use;
	struct tensor_map map;
	u32 lane, size; /* of an element, bytes */
	u32 count[TENSOR_RANK_MAX];
	s64 first[TENSOR_RANK_MAX];
	s64 offset[TENSOR_RANK_MAX];
	u32 line_bytes, bytes;
	u32 swizzle; /* bits */
	u64 fill;
};

static u32 step_of(const struct tensor_map *m, u32 i)
{
	return m->step[i] ? m->step[i] : 1;
}

static u64 outside(const struct tensor_map *m)
{
	switch (m->fill ? (enum tensor_type)m->type : TENSOR_u8) {
	case TENSOR_f16:
		return 0x7fff;
	case TENSOR_bf16:
		return 0x7fff;
	case TENSOR_f64:
		return 0x7fffffffffffffff;
	case TENSOR_f32:
	case TENSOR_f32_ftz:
	case TENSOR_tf32:
	case TENSOR_tf32_ftz:
		return 0x7fffffff;
	default:
		return 0;
	}
}

static s64 coordinate(const struct copy *c, u32 i)
{
	return ((const s32 *)at(c->w, c->o->list->loc[i]))[c->lane];
}

/* How many elements there are in each dimension, and where they begin. */
static void copy_measure(struct copy *c)
{
	const struct tensor_map *m = &c->map;

	for (u32 i = 0; i < TENSOR_RANK_MAX; i++) {
		c->count[i] = i < c->use->rank ? (m->box[i] + step_of(m, i) - 1) / step_of(m, i) : 1;
		c->first[i] = i < c->use->rank || c->use->mode == TENSOR_FOUR ? coordinate(c, i) : 0;
	}
	if (c->use->mode == TENSOR_IM2COL) {
		for (u32 i = 2; i < TENSOR_RANK_MAX; i++)
			c->count[i] = 1;
		c->count[0] = m->box[0];
		c->count[1] = m->box[1];
		for (u32 i = 0; i < c->use->offsets; i++)
			c->offset[i + 1] = coordinate(c, c->use->rank + i) & 0xffff;
	}
	if (c->use->mode == TENSOR_FOUR)
		c->count[1] = TENSOR_ROWS;
	c->line_bytes = c->size * c->count[0];
	c->bytes = c->line_bytes;
	for (u32 i = 1; i < TENSOR_RANK_MAX; i++) {
		const u64 bytes = (u64)c->bytes * c->count[i];

		c->bytes = bytes > SHARED_BYTES_MAX ? SHARED_BYTES_MAX + 1 : (u32)bytes;
	}
}

/* False: the launch has got a fault. */
static bool copy_begin(struct copy *c, struct warp *w, const struct op *o, u32 lane)
{
	const u64 place = lane_value(w, o->a, lane, false);
	const u8 *map = reach_bytes(w, o, lane, place, false, sizeof(c->map), MAP_ALIGN, false);

	if (!map)
		return false;
	*c = (struct copy){ .w = w, .o = o, .use = o->list->what, .lane = lane };
	memcpy(&c->map, map, sizeof(c->map));
	if (c->map.rank_less + 1u != c->use->rank || c->map.type >= TENSOR_TYPES || c->map.interleave ||
	    c->map.swizzle > 3 || c->map.im2col != (c->use->mode == TENSOR_IM2COL) ||
	    (c->use->mode == TENSOR_FOUR && c->map.box[1] != 1)) {
		warp_fault(w, PTX_FAULT_ILLEGAL_INSTRUCTION, o, lane, place);
		return false;
	}
	c->size = types[c->map.type].bytes;
	c->swizzle = c->map.swizzle;
	c->fill = outside(&c->map);
	copy_measure(c);
	if (c->line_bytes % PIECE_BYTES || !c->bytes || c->bytes > SHARED_BYTES_MAX) {
		warp_fault(w, PTX_FAULT_ILLEGAL_INSTRUCTION, o, lane, place);
		return false;
	}
	return true;
}

static s64 dim_of(const struct tensor_map *m, u32 i)
{
	return m->dim[i] ? (s64)m->dim[i] : (s64)1 << 32;
}

static bool inside(const struct tensor_map *m, u32 i, s64 x)
{
	return x >= 0 && x < dim_of(m, i);
}

/* Where byte `offset` of the box lies; the bits of the address that count are those in its block's shared memory. */
static u8 *box_byte(const struct copy *c, u8 *box, u32 offset)
{
	const uintptr_t at = (uintptr_t)box + offset;

	return (u8 *)(at ^ ((at >> 7 & ((1u << c->swizzle) - 1)) << 4));
}

/* Between `n` elements of the box from `offset` on and global memory. False: a fault. */
static bool move(const struct copy *c, u8 *box, u32 offset, u64 address, u32 n)
{
	const u32 bytes = n * c->size;
	u8 *global = reach_bytes(c->w, c->o, c->lane, address, false, bytes, c->size, c->use->way != TENSOR_LOAD);

	for (u32 done = 0, now; global && done < bytes; done += now) {
		u8 *here = box_byte(c, box, offset + done);

		now = PIECE_BYTES - (offset + done) % PIECE_BYTES;
		now = now < bytes - done ? now : bytes - done;
		if (c->use->way == TENSOR_LOAD)
			memcpy(here, global + done, now);
		else if (c->use->way == TENSOR_STORE)
			memcpy(global + done, here, now);
		else
			async_reduce(global + done, here, now, c->use->reduce, (enum type)types[c->map.type].type);
	}
	return global;
}

static void put_fill(const struct copy *c, u8 *box, u32 offset, u32 n)
{
	for (u32 i = 0; i < n && c->use->way == TENSOR_LOAD; i++)
		memcpy(box_byte(c, box, offset + i * c->size), &c->fill, c->size);
}

/* One line of the box, whose elements 0 to count - 1 begin at `address` with coordinate first[0]. */
static bool move_line(const struct copy *c, u8 *box, u32 offset, u64 address)
{
	const u32 step = step_of(&c->map, 0);
	u32 begin = 0, end = c->count[0];

	if (step != 1) {
		for (u32 i = 0; i < c->count[0]; i++) {
			const s64 x = c->first[0] + (s64)i * step;

			if (!inside(&c->map, 0, x))
				put_fill(c, box, offset + i * c->size, 1);
			else if (!move(c, box, offset + i * c->size, address + (u64)x * c->size, 1))
				return false;
		}
		return true;
	}
	while (begin < end && !inside(&c->map, 0, c->first[0] + begin))
		begin++;
	while (end > begin && !inside(&c->map, 0, c->first[0] + end - 1))
		end--;
	put_fill(c, box, offset, begin);
	put_fill(c, box, offset + end * c->size, c->count[0] - end);
	return begin == end ||
	       move(c, box, offset + begin * c->size, address + (u64)(c->first[0] + begin) * c->size, end - begin);
}

/* A line of the box whose coordinates in dimension 1 and on are x[1] and on. */
static bool move_line_at(const struct copy *c, u8 *box, u32 line, const s64 *x)
{
	u64 address = c->map.address;
	bool in = true;

	for (u32 i = 1; i < c->use->rank; i++) {
		in = in && inside(&c->map, i, x[i]);
		address += (u64)x[i] * c->map.stride[i - 1];
	}
	if (in)
		return move_line(c, box, line * c->line_bytes, address);
	put_fill(c, box, line * c->line_bytes, c->count[0]);
	return true;
}

/* To the next pixel: through the space between the corners, and then to the next image. */
static void next_pixel(const struct copy *c, s64 *pixel)
{
	const u32 images = c->use->rank - 1u;

	for (u32 i = 1; i < images; i++) {
		pixel[i] += step_of(&c->map, i);
		if (pixel[i] < dim_of(&c->map, i) + c->map.upper[i - 1])
			return;
		pixel[i] = c->map.lower[i - 1];
	}
	pixel[images]++;
}

static bool move_pixels(const struct copy *c, u8 *box)
{
	s64 pixel[TENSOR_RANK_MAX], x[TENSOR_RANK_MAX];

	memcpy(pixel, c->first, sizeof(pixel));
	for (u32 line = 0; line < c->count[1]; line++) {
		for (u32 i = 1; i < c->use->rank; i++)
			x[i] = pixel[i] + c->offset[i];
		if (!move_line_at(c, box, line, x))
			return false;
		next_pixel(c, pixel);
	}
	return true;
}

static bool move_box(const struct copy *c, u8 *box)
{
	const u32 lines = c->bytes / c->line_bytes;

	if (c->use->mode == TENSOR_IM2COL)
		return move_pixels(c, box);

	for (u32 line = 0; line < lines; line++) {
		s64 x[TENSOR_RANK_MAX];
		u32 rest = line;

		for (u32 i = 1; i < c->use->rank; i++) {
			x[i] = c->first[i] + (s64)(rest % c->count[i]) * step_of(&c->map, i);
			rest /= c->count[i];
		}
		if (c->use->mode == TENSOR_FOUR)
			x[1] = c->first[1 + line];
		if (!move_line_at(c, box, line, x))
			return false;
	}
	return true;
}

/* The box at `shared`, and the barrier that it completes bytes of, or 0. */
static bool copy_piece(const struct copy *c, u64 shared, u64 barrier)
{
	u8 *box = reach_bytes(c->w, c->o, c->lane, shared, false, c->bytes, c->swizzle ? 128 : PIECE_BYTES,
			      c->use->way == TENSOR_LOAD);

	if (!box || !move_box(c, box))
		return false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !barrier || async_complete(c->w, c->o, c->lane, barrier, c->bytes);
}

/* [a] map, [b] box in shared memory, [c] barrier or none, e: blocks of the cluster that get a copy each, or none. */
void tensor_copy(struct warp *w, const struct op *o)
{
	const struct cluster *cluster = w->block->cluster;
	const uintptr_t own = (uintptr_t)w->block->shared;

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		const u64 shared = lane_value(w, o->b, i, false);
		const u64 barrier = o->c == LOC_NONE ? 0 : lane_value(w, o->c, i, false);
		struct copy c;
		u32 blocks;

		if (!copy_begin(&c, w, o, i))
			return;
		if (o->e == LOC_NONE) {
			if (!copy_piece(&c, shared, barrier))
				return;
			continue;
		}
		blocks = ((const u32 *)at(w, o->e))[i] & ((1u << cluster->count) - 1);
		for (; blocks; blocks &= blocks - 1) {
			const u64 there = (uintptr_t)cluster->block[__builtin_ctz(blocks)]->shared;

			if (!copy_piece(&c, there + (shared - own), there + (barrier - own)))
				return;
		}
	}
}

static void replace(struct tensor_map *m, enum tensor_field field, u32 i, u64 v)
{
	switch (field) {
	case TENSOR_FIELD_address:
		m->address = v;
		break;
	case TENSOR_FIELD_rank:
		m->rank_less = (u8)v;
		break;
	case TENSOR_FIELD_box:
		m->box[i] = (u16)v;
		break;
	case TENSOR_FIELD_dim:
		m->dim[i] = (u32)v;
		break;
	case TENSOR_FIELD_stride:
		m->stride[i] = v;
		break;
	case TENSOR_FIELD_step:
		m->step[i] = (u8)v;
		break;
	case TENSOR_FIELD_type:
		m->type = (u8)v;
		break;
	case TENSOR_FIELD_interleave:
		m->interleave = (u8)v;
		break;
	case TENSOR_FIELD_swizzle:
		m->swizzle = (u8)v;
		break;
	case TENSOR_FIELD_fill:
		m->fill = (u8)v;
		break;
	default:
		m->atomicity = (u8)v;
	}
}

/* [a] map, b value, which has 8 bytes for addresses and strides; imm: the field, and 16 times which dimension. */
void tensor_replace(struct warp *w, const struct op *o)
{
	const enum tensor_field field = (enum tensor_field)(o->imm & 15);
	const bool wide = field == TENSOR_FIELD_address || field == TENSOR_FIELD_stride;

	for (u32 left = w->mask; left; left &= left - 1) {
		const u32 i = (u32)__builtin_ctz(left);
		u8 *map = reach_bytes(w, o, i, lane_value(w, o->a, i, false), false, sizeof(struct tensor_map),
				      MAP_ALIGN, true);
		struct tensor_map m;

		if (!map)
			return;
		memcpy(&m, map, sizeof(m));
		replace(&m, field, (u32)(o->imm >> 4), lane_value(w, o->b, i, !wide));
		memcpy(map, &m, sizeof(m));
	}
}
