/*
 * surface.c: the surface instructions: suld, sust, sured. suq is a query like txq and is in texture.c.
 *
 * An element is found by a byte offset in its row (.b) or by its number (.p). Outside, .trap ends the launch, .clamp
 * takes the nearest place and .zero reads zeroes and drops stores. A layer outside counts as outside too.
 */
#include "softdev/ptx/sample.h"

#include "softdev/ptx/lane.h"

enum found { FOUND, DROPPED, FAULT };

struct surface_row {
	const uint64_t *handle;
	const uint32_t *layer, *x, *y, *z;
};

static struct surface_row operands(const struct warp *w, const struct texture_use *u)
{
	const struct call_value *arg = u->call.arg;
	uint32_t k = u->at_coordinate;
	struct surface_row r = { .handle = at(w, arg[0].loc) };

	r.layer = u->layered ? at(w, arg[k++].loc) : NULL;
	r.x = at(w, arg[k].loc);
	r.y = u->coordinates > 1 ? at(w, arg[k + 1].loc) : NULL;
	r.z = u->coordinates > 2 ? at(w, arg[k + 2].loc) : NULL;
	return r;
}

/* A coordinate; true: it was outside. */
static inline bool limit(int64_t *v, int64_t end)
{
	if (*v >= 0 && *v < end)
		return false;
	*v = *v < 0 ? 0 : end - 1;
	return true;
}

/* The memory of `bytes` bytes that a lane means. */
static enum found locate(struct warp *w, const struct op *o, const struct surface_row *r, const struct ptx_texture *t,
			 uint32_t lane, uint32_t bytes, uint8_t **ret)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const struct ptx_texture_level *l = &t->level[0];
	const int64_t row = (int64_t)l->width * t->element_bytes;
	int64_t x = (int32_t)r->x[lane], y = r->y ? (int32_t)r->y[lane] : 0, z = r->z ? (int32_t)r->z[lane] : 0;
	bool outside = false;

	if (r->layer) {
		z = r->layer[lane];
		outside |= limit(&z, t->layers ? t->layers : 1);
	} else {
		outside |= limit(&z, t->layers ? t->layers : l->depth);
	}
	outside |= limit(&y, l->height);
	if (u->formatted)
		x *= t->element_bytes;
	if (bytes > row) {
		x = 0;
		outside = true;
	} else if (x < 0 || x > row - bytes) {
		x = x < 0 ? 0 : row - bytes;
		outside = true;
	}
	if (outside && (u->border == BORDER_TRAP || bytes > row)) {
		if (u->border == BORDER_TRAP)
			warp_fault(w, PTX_FAULT_SURFACE, o, lane, (uint64_t)(int64_t)(int32_t)r->x[lane]);
		return u->border == BORDER_TRAP ? FAULT : DROPPED;
	}
	if (outside && u->border == BORDER_ZERO)
		return DROPPED;
	if (!u->formatted && x % u->bytes) {
		if (!outside) {
			warp_fault(w, PTX_FAULT_MISALIGNED, o, lane, (uint64_t)x);
			return FAULT;
		}
		x -= x % u->bytes;
	}
	*ret = (uint8_t *)(uintptr_t)l->data + (uint64_t)z * l->slice + (uint64_t)y * l->pitch + (uint64_t)x;
	return FOUND;
}

static void put(struct warp *w, const struct call_value *v, uint32_t lane, uint32_t bytes, const uint8_t *from)
{
	uint64_t value = 0;

	memcpy(&value, from, bytes);
	if (bytes == 8)
		((uint64_t *)at(w, v->loc))[lane] = value;
	else
		((uint32_t *)at(w, v->loc))[lane] = (uint32_t)value;
}

static uint64_t get(const struct warp *w, const struct call_value *v, uint32_t lane, uint32_t bytes)
{
	return bytes == 8 ? ((const uint64_t *)at(w, v->loc))[lane] : ((const uint32_t *)at(w, v->loc))[lane];
}

void surface_load(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const struct surface_row r = operands(w, u);
	const uint32_t bytes = (uint32_t)u->bytes * u->vector;

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct ptx_texture *t = texture_get(w, o, i, r.handle[i], PTX_USE_SURFACE);
		uint8_t data[32] = { 0 }, *p;
		enum found f = t ? locate(w, o, &r, t, i, bytes, &p) : FAULT;

		if (f == FAULT)
			return;
		if (f == FOUND)
			memcpy(data, p, bytes);
		for (uint32_t k = 0; k < u->vector; k++)
			put(w, &u->call.result[k], i, u->bytes, data + k * u->bytes);
	}
}

static uint32_t clamped(float x, float low, float high, float scale)
{
	x = x > low ? x : low; /* not a number becomes the lowest */
	x = x < high ? x : high;
	return (uint32_t)(int32_t)rintf(x * scale);
}

static uint32_t limited(uint32_t v, uint32_t bytes, bool is_signed)
{
	const uint32_t most = bytes == 1 ? 0xff : 0xffff;
	const int32_t least = -(int32_t)(most / 2) - 1;

	if (bytes == 4)
		return v;
	if (!is_signed)
		return v > most ? most : v;
	return (uint32_t)((int32_t)v < least		     ? least
			  : (int32_t)v > (int32_t)(most / 2) ? (int32_t)(most / 2)
							     : (int32_t)v);
}

/* A 32-bit value as a channel of the surface's format; value: its bits. */
static uint32_t channel_of(const struct ptx_texture *t, uint32_t v)
{
	switch ((enum ptx_texel)t->texel) {
	case PTX_TEXEL_F16:
		return half_of(f32_of(v));
	case PTX_TEXEL_UNORM8:
		return clamped(f32_of(v), 0, 1, 255);
	case PTX_TEXEL_UNORM16:
		return clamped(f32_of(v), 0, 1, 65535);
	case PTX_TEXEL_SNORM8:
		return clamped(f32_of(v), -1, 1, 127);
	case PTX_TEXEL_SNORM16:
		return clamped(f32_of(v), -1, 1, 32767);
	default:
		return limited(v, t->element_bytes / t->channels, t->is_signed);
	}
}

static void store_formatted(const struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
			    uint32_t lane, uint8_t *p)
{
	const uint32_t bytes = t->element_bytes / t->channels;

	for (uint32_t k = 0; k < u->vector && k < t->channels; k++) {
		const uint32_t v = channel_of(t, (uint32_t)get(w, &u->call.arg[u->at_value + k], lane, 4));

		memcpy(p + k * bytes, &v, bytes);
	}
}

void surface_store(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const struct surface_row r = operands(w, u);

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct ptx_texture *t = texture_get(w, o, i, r.handle[i], PTX_USE_SURFACE);
		const uint32_t bytes = !t ? 0 : u->formatted ? t->element_bytes : (uint32_t)u->bytes * u->vector;
		uint8_t *p;
		enum found f = t ? locate(w, o, &r, t, i, bytes, &p) : FAULT;

		if (f == FAULT)
			return;
		if (f == DROPPED)
			continue;
		if (u->formatted) {
			store_formatted(w, u, t, i, p);
			continue;
		}
		for (uint32_t k = 0; k < u->vector; k++) {
			const uint64_t v = get(w, &u->call.arg[u->at_value + k], i, u->bytes);

			memcpy(p + k * u->bytes, &v, u->bytes);
		}
	}
}

/* ---- reductions ---- */

static uint64_t reduced(enum surface_reduction kind, bool is_signed, uint64_t old, uint64_t v, uint32_t bytes)
{
	const uint32_t shift = 64 - bytes * 8;
	const int64_t a = (int64_t)(old << shift) >> shift, b = (int64_t)(v << shift) >> shift;

	switch (kind) {
	case REDUCE_MIN:
		return is_signed ? (a < b ? old : v) : old < v ? old : v;
	case REDUCE_MAX:
		return is_signed ? (a > b ? old : v) : old > v ? old : v;
	case REDUCE_AND:
		return old & v;
	case REDUCE_OR:
		return old | v;
	default:
		return old + v;
	}
}

#define REDUCE(name, T)                                                                                                \
	static void name(T *p, T v, enum surface_reduction kind, bool is_signed)                                       \
	{                                                                                                              \
		T old = __atomic_load_n(p, __ATOMIC_RELAXED), next;                                                    \
		do                                                                                                     \
			next = (T)reduced(kind, is_signed, old, v, sizeof(T));                                         \
		while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));         \
	}
REDUCE(reduce_32, uint32_t)
REDUCE(reduce_64, uint64_t)

void surface_reduce(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const enum surface_reduction kind = (enum surface_reduction)u->reduction;
	const struct surface_row r = operands(w, u);

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct ptx_texture *t = texture_get(w, o, i, r.handle[i], PTX_USE_SURFACE);
		uint8_t *p;
		enum found f = t ? locate(w, o, &r, t, i, u->bytes, &p) : FAULT;
		const uint64_t v = get(w, &u->call.arg[u->at_value], i, u->bytes);
		const bool is_signed = u->formatted ? t && t->is_signed : type_is_signed((enum type)u->type);

		if (f == FAULT)
			return;
		if (f == DROPPED)
			continue;
		if ((uintptr_t)p % u->bytes) { /* the rows of a format that is not of whole words */
			warp_fault(w, PTX_FAULT_MISALIGNED, o, i, (uintptr_t)p);
			return;
		}
		if (u->bytes == 8)
			reduce_64((uint64_t *)(void *)p, v, kind, is_signed);
		else
			reduce_32((uint32_t *)(void *)p, (uint32_t)v, kind, is_signed);
	}
}
