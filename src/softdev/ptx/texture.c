/*
 * texture.c: the texture instructions: tex, tld4, txq, istypep. Lane by lane; what a texel is and how it is found is in
 * sample.c. Built once: there is nothing here that wider vectors would make faster.
 */
#include "softdev/ptx/sample.h"

#include "softdev/ptx/lane.h"

const struct ptx_texture *texture_get(struct warp *w, const struct op *o, uint32_t lane, uint64_t handle,
				      enum ptx_texture_use use)
{
	const struct ptx_textures *find = &w->block->launch->textures;
	struct texture_slot *slot = w->block->texture;
	const struct ptx_texture *t;

	for (uint32_t i = 0; i < TEXTURE_SLOTS; i++)
		if (slot[i].texture && slot[i].handle == handle && slot[i].use == use)
			return slot[i].texture;
	t = find->find ? find->find(find->ctx, handle, use) : NULL;
	if (!t) {
		warp_fault(w, PTX_FAULT_HANDLE, o, lane, handle);
		return NULL;
	}
	slot += w->block->texture_next++ % TEXTURE_SLOTS;
	*slot = (struct texture_slot){ handle, t, use };
	return t;
}

/* ---- tex ---- */

/* A value of each lane. */
static inline uint32_t argument(const struct warp *w, const struct texture_use *u, uint32_t arg, uint32_t lane)
{
	return ((const uint32_t *)at(w, u->call.arg[arg].loc))[lane];
}

static inline void read_place(const struct warp *w, const struct texture_use *u, uint32_t lane, struct sample_at *ret)
{
	uint32_t arg = u->at_coordinate;

	ret->integer = u->integer;
	ret->layer = u->layered ? argument(w, u, arg++, lane) : 0;
	for (uint32_t k = 0; k < 3; k++) {
		const uint32_t v = k < u->coordinates ? argument(w, u, arg + k, lane) : 0;

		ret->x[k] = f32_of(v);
		ret->i[k] = (int32_t)v;
		ret->offset[k] = k < u->offsets ? (int32_t)argument(w, u, u->at_offset + k, lane) : 0;
	}
}

static float read_lod(const struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
		      const struct ptx_sampler *s, const struct sample_at *place, uint32_t lane)
{
	float d[2][3] = { { 0 } };

	if (u->lod == LOD_LEVEL && u->integer)
		return (float)(int32_t)argument(w, u, u->at_lod, lane);
	if (u->lod == LOD_LEVEL)
		return f32_of(argument(w, u, u->at_lod, lane)) + t->bias;
	for (uint32_t k = 0; k < 2u * u->coordinates; k++)
		d[k / u->coordinates][k % u->coordinates] = f32_of(argument(w, u, u->at_lod + k, lane));
	return sample_gradient(t, s, place, d[0], d[1]) + t->bias;
}

static void write_texel(struct warp *w, const struct texture_use *u, uint32_t lane, const uint32_t texel[4])
{
	const struct call_value *d = u->call.result;

	if (u->half == 1) {
		for (uint32_t k = 0; k < 2; k++)
			((uint32_t *)at(w, d[k].loc))[lane] =
				half_of(f32_of(texel[2 * k])) | (uint32_t)half_of(f32_of(texel[2 * k + 1])) << 16;
	} else {
		for (uint32_t k = 0; k < 4; k++)
			((uint32_t *)at(w, d[k].loc))[lane] = u->half ? half_of(f32_of(texel[k])) : texel[k];
	}
	if (u->resident)
		((uint32_t *)at(w, d[u->call.result_count - 1].loc))[lane] = ~0u;
}

/* A face has no neighbours by address, and its places are from 0 to 1 whatever the sampler says. */
static struct ptx_sampler face_sampler(const struct ptx_sampler *s)
{
	return (struct ptx_sampler){ { PTX_ADDRESS_CLAMP, PTX_ADDRESS_CLAMP, PTX_ADDRESS_CLAMP }, s->linear, true };
}

static inline void fetch_lane(struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
			      const struct ptx_sampler *s, uint32_t lane)
{
	struct ptx_sampler face;
	struct sample_at place;
	uint32_t texel[4];
	float lod = 0;

	read_place(w, u, lane, &place);
	if (u->lod > LOD_BASE)
		lod = read_lod(w, u, t, s, &place, lane);
	if (u->geometry >= GEO_CUBE) {
		sample_cube(t, &place);
		face = face_sampler(s);
		s = &face;
	}
	if (t->levels > 1)
		sample_lod(t, s, lod, &place, texel);
	else
		sample_level(t, s, 0, &place, texel);
	write_texel(w, u, lane, texel);
}

/* Calls `each` for every active lane with what its handles mean. False: a fault. */
typedef void lane_fn(struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
		     const struct ptx_sampler *s, uint32_t lane);

static inline __attribute__((always_inline)) void each_lane(struct warp *w, const struct op *o, lane_fn *each)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const uint64_t *handle = at(w, u->call.arg[0].loc);
	const uint64_t *sampler = u->sampler ? at(w, u->call.arg[1].loc) : NULL;
	const struct ptx_texture *t = NULL, *st = NULL;
	uint64_t last = 0, last_sampler = 0;

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		if (!t || handle[i] != last) {
			last = handle[i];
			t = texture_get(w, o, i, last, PTX_USE_TEXTURE);
			if (!t)
				return;
		}
		if (sampler && (!st || sampler[i] != last_sampler)) {
			last_sampler = sampler[i];
			st = texture_get(w, o, i, last_sampler, PTX_USE_SAMPLER);
			if (!st)
				return;
		}
		each(w, u, t, st ? &st->sampler : &t->sampler, i);
	}
}

/* The commonest fetches, with nothing left to ask at each lane: one level, no offset, 32-bit results. */
static inline void fetch_lane_simple(struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
				     const struct ptx_sampler *s, uint32_t lane)
{
	struct sample_at place = { .integer = u->integer };
	const struct call_value *arg = u->call.arg + u->at_coordinate, *d = u->call.result;
	uint32_t texel[4];

	for (uint32_t k = 0; k < u->coordinates; k++) {
		const uint32_t v = ((const uint32_t *)at(w, arg[k].loc))[lane];

		place.x[k] = f32_of(v);
		place.i[k] = (int32_t)v;
	}
	sample_level(t, s, 0, &place, texel);
	for (uint32_t k = 0; k < 4; k++)
		((uint32_t *)at(w, d[k].loc))[lane] = texel[k];
}

static void fetch_either(struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
			 const struct ptx_sampler *s, uint32_t lane)
{
	if (t->levels == 1)
		fetch_lane_simple(w, u, t, s, lane);
	else
		fetch_lane(w, u, t, s, lane);
}

void texture_fetch(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;

	if (u->lod <= LOD_BASE && u->geometry <= GEO_3D && !u->offsets && !u->half && !u->resident)
		each_lane(w, o, fetch_either);
	else
		each_lane(w, o, fetch_lane);
}

/* ---- tld4 ---- */

static void gather_lane(struct warp *w, const struct texture_use *u, const struct ptx_texture *t,
			const struct ptx_sampler *s, uint32_t lane)
{
	struct ptx_sampler face;
	struct sample_at place;
	uint32_t texel[4];

	read_place(w, u, lane, &place);
	if (u->geometry >= GEO_CUBE) {
		sample_cube(t, &place);
		face = face_sampler(s);
		s = &face;
	}
	sample_gather(t, s, &place, u->component, texel);
	write_texel(w, u, lane, texel);
}

void texture_gather(struct warp *w, const struct op *o)
{
	each_lane(w, o, gather_lane);
}

/* ---- queries ---- */

static uint32_t texture_answer(const struct ptx_texture *t, uint8_t query, uint32_t level)
{
	const struct ptx_texture_level none = { 0 }, *l = level < t->levels ? &t->level[level] : &none;

	switch ((enum texture_query)query) {
	case QUERY_WIDTH:
		return l->width;
	case QUERY_HEIGHT:
		return t->dimensions > 1 ? l->height : 0;
	case QUERY_DEPTH:
		return t->dimensions > 2 ? l->depth : 0;
	case QUERY_DATA_TYPE:
		return t->data_type;
	case QUERY_ORDER:
		return t->order;
	case QUERY_NORMALIZED:
		return t->sampler.normalized;
	case QUERY_ARRAY_SIZE:
		return t->cube ? t->layers / 6 : t->layers;
	case QUERY_LEVELS:
		return t->levels;
	case QUERY_SAMPLES:
		return 1;
	case QUERY_UNNORMALIZED:
		return !t->sampler.normalized;
	case QUERY_FILTER:
		return t->sampler.linear;
	case QUERY_ADDRESS_0:
	case QUERY_ADDRESS_1:
	case QUERY_ADDRESS_2:
		return t->sampler.address[query - QUERY_ADDRESS_0];
	case QUERY_MEMORY_LAYOUT:
		return t->kind == PTX_TEXTURE_LINEAR;
	}
	return 0;
}

static const struct ptx_texture *texture_any(struct warp *w, const struct op *o, uint32_t lane, uint64_t handle)
{
	const struct ptx_textures *find = &w->block->launch->textures;

	if (find->find && !find->find(find->ctx, handle, PTX_USE_TEXTURE) &&
	    find->find(find->ctx, handle, PTX_USE_SAMPLER))
		return texture_get(w, o, lane, handle, PTX_USE_SAMPLER);
	return texture_get(w, o, lane, handle, PTX_USE_TEXTURE);
}

void texture_query(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const uint64_t *handle = at(w, u->call.arg[0].loc);
	uint32_t *d = at(w, u->call.result[0].loc);

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const struct ptx_texture *t =
			u->query >= QUERY_UNNORMALIZED && !u->border
				? texture_any(w, o, i, handle[i])
				: texture_get(w, o, i, handle[i], u->border ? PTX_USE_SURFACE : PTX_USE_TEXTURE);

		if (!t)
			return;
		d[i] = texture_answer(t, u->query, u->call.arg_count > 1 ? argument(w, u, 1, i) : 0);
	}
}

/* istypep.texref p, a: asks without a fault. */
void texture_is(struct warp *w, const struct op *o)
{
	const struct texture_use *u = (const struct texture_use *)o->call;
	const struct ptx_textures *find = &w->block->launch->textures;
	const uint64_t *handle = at(w, u->call.arg[0].loc);
	uint32_t *d = at(w, u->call.result[0].loc);

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		d[i] = P(find->find && find->find(find->ctx, handle[i], (enum ptx_texture_use)u->query));
	}
}
