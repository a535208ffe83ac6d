/*
 * sample.c: see sample.h.
 *
 * Filtering is as the CUDA programming guide describes it: a linear filter takes the texels around x - 0.5 with weights
 * of 8 bits of fraction, rounded to nearest; a texel whose weight is 0 is not looked at. Sums are computed as float.
 * Anisotropy is not modelled: a gradient chooses its level by the longer of its two sides.
 */
#include "softdev/ptx/sample.h"

#include "softdev/ptx/lane.h"

#include "softdev/ptx/fp.h"

#include <pthread.h>
#include <stdlib.h>

#define POINT_BOUND 1073741824.0f /* keeps coordinates inside an int; no texture is that wide */
#define LINEAR_BOUND 4194304.0f	  /* the same with 8 bits of fraction */
#define WEIGHT_ONE 256

static float srgb_table[256], unorm_table[256];

static void tables_fill(void)
{
	for (int i = 0; i < 256; i++) {
		const double c = i / 255.0;

		unorm_table[i] = (float)i / 255.0f;
		srgb_table[i] = (float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
	}
}

void ptx_texture_tables(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, tables_fill);
}

uint16_t half_of(float x)
{
	return (uint16_t)f2h(x);
}

/* ---- texels ---- */

static inline uint16_t load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline float snorm(int v, int most)
{
	return v < -most ? -1.0f : (float)v / (float)most;
}

/* Channel c as a float. */
static inline __attribute__((always_inline)) float channel_float(enum ptx_texel kind, const uint8_t *p, uint32_t c)
{
	switch (kind) {
	case PTX_TEXEL_F16:
		return h2f(load16(p + 2 * c));
	case PTX_TEXEL_UNORM8:
		return unorm_table[p[c]];
	case PTX_TEXEL_SNORM8:
		return snorm((int8_t)p[c], 127);
	case PTX_TEXEL_UNORM16:
		return (float)load16(p + 2 * c) / 65535.0f;
	case PTX_TEXEL_SNORM16:
		return snorm((int16_t)load16(p + 2 * c), 32767);
	case PTX_TEXEL_SRGB8:
		return c == 3 ? unorm_table[p[c]] : srgb_table[p[c]];
	case PTX_TEXEL_1010102:
		return c == 3 ? (float)(load32(p) >> 30) / 3.0f : (float)(load32(p) >> 10 * c & 1023) / 1023.0f;
	default:
		return f32_of(load32(p + 4 * c));
	}
}

static inline __attribute__((always_inline)) void texel_read_as(enum ptx_texel kind, uint32_t channels,
								const uint8_t *p, uint32_t ret[4])
{
	ret[1] = ret[2] = 0;
	ret[3] = kind >= PTX_TEXEL_F32 ? bits32(1.0f) : 1;
	for (uint32_t c = 0; c < channels; c++)
		switch (kind) {
		case PTX_TEXEL_U8:
			ret[c] = p[c];
			break;
		case PTX_TEXEL_S8:
			ret[c] = (uint32_t)(int8_t)p[c];
			break;
		case PTX_TEXEL_U16:
			ret[c] = load16(p + 2 * c);
			break;
		case PTX_TEXEL_S16:
			ret[c] = (uint32_t)(int16_t)load16(p + 2 * c);
			break;
		case PTX_TEXEL_32:
		case PTX_TEXEL_F32:
			ret[c] = load32(p + 4 * c);
			break;
		default:
			ret[c] = bits32(channel_float(kind, p, c));
		}
}

void texel_read(const struct ptx_texture *t, const uint8_t *p, uint32_t ret[4])
{
	/* the commonest with constants, so that the compiler leaves only the loads */
	if (t->texel == PTX_TEXEL_F32 && t->channels == 1)
		texel_read_as(PTX_TEXEL_F32, 1, p, ret);
	else if (t->texel == PTX_TEXEL_F32)
		texel_read_as(PTX_TEXEL_F32, t->channels, p, ret);
	else
		texel_read_as((enum ptx_texel)t->texel, t->channels, p, ret);
}

static void texel_border(const struct ptx_texture *t, uint32_t ret[4])
{
	ret[1] = ret[2] = 0;
	ret[3] = t->texel >= PTX_TEXEL_F32 ? bits32(1.0f) : 1;
	for (uint32_t c = 0; c < t->channels; c++)
		ret[c] = t->texel >= PTX_TEXEL_F32 ? bits32(t->border[c]) : t->border_bits[c];
}

/* ---- addresses ---- */

static inline float bound(float x, float most)
{
	x = x < -most ? -most : x;
	return x > most ? most : x;
}

static inline int32_t floor_int(float x)
{
	const int32_t i = (int32_t)x;

	return i - ((float)i > x);
}

/* x without its whole part, and whether that was odd. Floats from 2^23 on are whole, from 2^24 on even. */
static inline float fraction(float x, bool *odd)
{
	int32_t i;

	*odd = false;
	if (!(x > -16777216.0f && x < 16777216.0f))
		return 0;
	i = floor_int(x);
	*odd = i & 1;
	return x - (float)i;
}

/* A coordinate in texels. */
static inline float axis_texels(const struct ptx_sampler *s, uint32_t axis, float x, uint32_t n)
{
	bool odd;

	x = x == x ? x : 0;
	if (!s->normalized)
		return x;
	if (s->address[axis] == PTX_ADDRESS_WRAP) {
		x = fraction(x, &odd);
	} else if (s->address[axis] == PTX_ADDRESS_MIRROR) {
		x = fraction(x, &odd);
		x = odd ? 1.0f - x : x;
	}
	return x * (float)n;
}

/* The texel that an index outside means; -1: the border. */
static inline int32_t axis_fold(uint8_t address, int32_t i, uint32_t n)
{
	if ((uint32_t)i < n)
		return i;
	switch (address) {
	case PTX_ADDRESS_WRAP:
		i %= (int32_t)n;
		return i < 0 ? i + (int32_t)n : i;
	case PTX_ADDRESS_MIRROR: {
		const int64_t period = 2 * (int64_t)n;
		int64_t m = i % period;

		m = m < 0 ? m + period : m;
		return (int32_t)(m < (int64_t)n ? m : period - 1 - m);
	}
	case PTX_ADDRESS_BORDER:
		return -1;
	default:
		return i < 0 ? 0 : (int32_t)n - 1;
	}
}

static inline int32_t axis_point(const struct ptx_sampler *s, uint32_t axis, const struct sample_at *at, uint32_t n)
{
	const int32_t i =
		at->integer ? at->i[axis] : floor_int(bound(axis_texels(s, axis, at->x[axis], n), POINT_BOUND));

	return axis_fold(s->address[axis], (int32_t)((uint32_t)i + (uint32_t)at->offset[axis]), n);
}

struct taps {
	int32_t i[2]; /* -1: border */
	float weight; /* of the second */
};

/* The two texels around a coordinate, not folded yet; value: the weight of the second in 1/256. */
static inline int32_t axis_around(const struct ptx_sampler *s, uint32_t axis, const struct sample_at *at, uint32_t n,
				  int32_t *ret_first)
{
	const float x = bound(axis_texels(s, axis, at->x[axis], n), LINEAR_BOUND) - 0.5f;
	const int32_t fixed = floor_int(x * (float)WEIGHT_ONE + 0.5f);

	*ret_first = (fixed >> 8) + at->offset[axis];
	return fixed & (WEIGHT_ONE - 1);
}

static inline struct taps axis_linear(const struct ptx_sampler *s, uint32_t axis, const struct sample_at *at,
				      uint32_t n)
{
	struct taps t;
	int32_t i;

	t.weight = (float)axis_around(s, axis, at, n, &i) * (1.0f / WEIGHT_ONE);
	t.i[0] = axis_fold(s->address[axis], i, n);
	t.i[1] = axis_fold(s->address[axis], i + 1, n);
	return t;
}

static inline const uint8_t *level_base(const struct ptx_texture *t, const struct ptx_texture_level *l,
					const struct sample_at *at)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)l->data;

	if (t->layers)
		p += (uint64_t)(at->layer < t->layers ? at->layer : t->layers - 1) * l->slice;
	return p;
}

/* ---- filters ---- */

static inline void sample_point(const struct ptx_texture *t, const struct ptx_sampler *s,
				const struct ptx_texture_level *l, const struct sample_at *at, uint32_t ret[4])
{
	const uint8_t *p = level_base(t, l, at);
	int32_t x, y = 0, z = 0;

	x = axis_point(s, 0, at, l->width);
	if (t->dimensions > 1)
		y = axis_point(s, 1, at, l->height);
	if (t->dimensions > 2)
		z = axis_point(s, 2, at, l->depth);
	if ((x | y | z) < 0)
		texel_border(t, ret);
	else
		texel_read(t,
			   p + (uint64_t)(uint32_t)z * l->slice + (uint64_t)(uint32_t)y * l->pitch +
				   (uint64_t)(uint32_t)x * t->element_bytes,
			   ret);
}

static inline __attribute__((always_inline)) void row_add(const struct ptx_texture *t, enum ptx_texel kind,
							  uint32_t channels, const uint8_t *row, const struct taps *x,
							  float weight, float *sum)
{
	for (uint32_t k = 0; k < 2; k++) {
		const float w = weight * (k ? x->weight : 1.0f - x->weight);
		const uint8_t *p = row + (uint64_t)(uint32_t)x->i[k] * t->element_bytes;

		if (w == 0)
			continue;
		if (row && x->i[k] >= 0)
			for (uint32_t c = 0; c < channels; c++)
				sum[c] += w * channel_float(kind, p, c);
		else
			for (uint32_t c = 0; c < channels; c++)
				sum[c] += w * t->border[c];
	}
}

static inline __attribute__((always_inline)) void sample_linear_as(const struct ptx_texture *t, enum ptx_texel kind,
								   uint32_t channels, const struct ptx_sampler *s,
								   const struct ptx_texture_level *l,
								   const struct sample_at *at, uint32_t ret[4])
{
	const uint8_t *p = level_base(t, l, at);
	const struct taps x = axis_linear(s, 0, at, l->width);
	struct taps y = { { 0, 0 }, 0 }, z = { { 0, 0 }, 0 };
	float sum[4] = { 0 };

	if (t->dimensions > 1)
		y = axis_linear(s, 1, at, l->height);
	if (t->dimensions > 2)
		z = axis_linear(s, 2, at, l->depth);
	for (uint32_t k = 0; k < 4; k++) {
		const float w = (k & 1 ? y.weight : 1.0f - y.weight) * (k & 2 ? z.weight : 1.0f - z.weight);
		const int32_t iy = y.i[k & 1], iz = z.i[k >> 1];

		if (w == 0)
			continue;
		row_add(t, kind, channels,
			(iy | iz) < 0 ? NULL
				      : p + (uint64_t)(uint32_t)iz * l->slice + (uint64_t)(uint32_t)iy * l->pitch,
			&x, w, sum);
	}
	ret[1] = ret[2] = 0;
	ret[3] = bits32(1.0f);
	for (uint32_t c = 0; c < channels; c++)
		ret[c] = bits32(sum[c]);
}

/* Copies of the filter for the commonest texels; the last one asks at every texel. */
static void sample_linear(const struct ptx_texture *t, const struct ptx_sampler *s, const struct ptx_texture_level *l,
			  const struct sample_at *at, uint32_t ret[4])
{
	if (t->texel == PTX_TEXEL_F32 && t->channels == 1)
		sample_linear_as(t, PTX_TEXEL_F32, 1, s, l, at, ret);
	else if (t->texel == PTX_TEXEL_F32 && t->channels == 4)
		sample_linear_as(t, PTX_TEXEL_F32, 4, s, l, at, ret);
	else if (t->texel == PTX_TEXEL_UNORM8 && t->channels == 1)
		sample_linear_as(t, PTX_TEXEL_UNORM8, 1, s, l, at, ret);
	else if (t->texel == PTX_TEXEL_UNORM8 && t->channels == 4)
		sample_linear_as(t, PTX_TEXEL_UNORM8, 4, s, l, at, ret);
	else
		sample_linear_as(t, (enum ptx_texel)t->texel, t->channels, s, l, at, ret);
}

/* ---- cube maps ---- */

/* For each face: which axis it lies on, and the axes of s and t, negative where they run backwards (from 1). */
static const int8_t face_axis[6][3] = { { 1, -3, -2 }, { -1, 3, -2 }, { 2, 1, 3 },
					{ -2, 1, -3 }, { 3, 1, -2 },  { -3, -1, -2 } };

static inline float along(const float v[3], int axis)
{
	return axis < 0 ? -v[-axis - 1] : v[axis - 1];
}

/* The face of a direction; where x, y and z are equally large the first counts. */
static uint32_t cube_face(const float v[3])
{
	const float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
	const uint32_t axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;

	return axis * 2 + (v[axis] < 0);
}

static uint32_t cube_place(const float v[3], float ret[2])
{
	const uint32_t face = cube_face(v);
	const float m = along(v, face_axis[face][0]);

	for (int k = 0; k < 2; k++)
		ret[k] = (along(v, face_axis[face][1 + k]) / m + 1.0f) * 0.5f;
	return face;
}

void sample_cube(const struct ptx_texture *t, struct sample_at *at)
{
	const float v[3] = { at->x[0], at->x[1], at->x[2] };
	uint32_t most = t->layers ? t->layers / 6 - 1 : 0;

	at->layer = (at->layer < most ? at->layer : most) * 6 + cube_place(v, at->x);
	at->x[2] = 0;
}

/* Texel (x, y) of a face, where x or y, not both, lies one outside: it is on the face beside it. */
static const uint8_t *cube_neighbour(const struct ptx_texture *t, const struct ptx_texture_level *l, uint32_t layer,
				     int32_t x, int32_t y)
{
	const float n = (float)l->width, st[2] = { (2 * (float)x + 1) / n - 1, (2 * (float)y + 1) / n - 1 };
	const int8_t *axis = face_axis[layer % 6];
	float v[3], place[2];
	int32_t i[2];
	uint32_t face;

	for (int k = 0; k < 3; k++) {
		const float value = k ? st[k - 1] : 1.0f;

		v[abs(axis[k]) - 1] = axis[k] < 0 ? -value : value;
	}
	face = cube_place(v, place);
	for (int k = 0; k < 2; k++)
		i[k] = axis_fold(PTX_ADDRESS_CLAMP, floor_int(place[k] * n), l->width);
	return (const uint8_t *)(uintptr_t)l->data + (uint64_t)(layer / 6 * 6 + face) * l->slice +
	       (uint64_t)(uint32_t)i[1] * l->pitch + (uint64_t)(uint32_t)i[0] * t->element_bytes;
}

/* Adds texel (x, y) of a face; beyond a corner there is none, and the three around it stand for it. */
static void cube_add(const struct ptx_texture *t, const struct ptx_texture_level *l, uint32_t layer, int32_t x,
		     int32_t y, float weight, float sum[4])
{
	const int32_t n = (int32_t)l->width, in_x = axis_fold(PTX_ADDRESS_CLAMP, x, l->width),
		      in_y = axis_fold(PTX_ADDRESS_CLAMP, y, l->height);
	const uint8_t *p;

	if (in_x != x && in_y != y) {
		cube_add(t, l, layer, in_x, in_y, weight / 3, sum);
		cube_add(t, l, layer, x, in_y, weight / 3, sum);
		cube_add(t, l, layer, in_x, y, weight / 3, sum);
		return;
	}
	if (in_x != x || in_y != y)
		p = cube_neighbour(t, l, layer, x < -1 ? -1 : x > n ? n : x, y < -1 ? -1 : y > n ? n : y);
	else
		p = (const uint8_t *)(uintptr_t)l->data + layer * l->slice + (uint64_t)(uint32_t)y * l->pitch +
		    (uint64_t)(uint32_t)x * t->element_bytes;
	for (uint32_t c = 0; c < t->channels; c++)
		sum[c] += weight * channel_float((enum ptx_texel)t->texel, p, c);
}

static void sample_seamless(const struct ptx_texture *t, const struct ptx_sampler *s, const struct ptx_texture_level *l,
			    const struct sample_at *at, uint32_t ret[4])
{
	const uint32_t layer = at->layer < t->layers ? at->layer : t->layers - 1;
	int32_t x, y;
	const float wx = (float)axis_around(s, 0, at, l->width, &x) / WEIGHT_ONE;
	const float wy = (float)axis_around(s, 1, at, l->height, &y) / WEIGHT_ONE;
	float sum[4] = { 0 };

	for (int k = 0; k < 4; k++) {
		const float w = (k & 1 ? wx : 1 - wx) * (k & 2 ? wy : 1 - wy);

		if (w != 0)
			cube_add(t, l, layer, x + (k & 1), y + (k >> 1), w, sum);
	}
	ret[1] = ret[2] = 0;
	ret[3] = bits32(1.0f);
	for (uint32_t c = 0; c < t->channels; c++)
		ret[c] = bits32(sum[c]);
}

/* ---- what the instructions ask for ---- */

void sample_level(const struct ptx_texture *t, const struct ptx_sampler *s, uint32_t level, const struct sample_at *at,
		  uint32_t ret[4])
{
	const struct ptx_texture_level *l = &t->level[level];

	if (t->kind == PTX_TEXTURE_LINEAR) {
		const int32_t i =
			at->integer ? at->i[0] : floor_int(bound(at->x[0] == at->x[0] ? at->x[0] : 0, POINT_BOUND));
		const int64_t place = (int64_t)i + at->offset[0];

		memset(ret, 0, 4 * sizeof(*ret));
		if (place >= 0 && place < (int64_t)l->width)
			texel_read(t, (const uint8_t *)(uintptr_t)l->data + (uint64_t)place * t->element_bytes, ret);
	} else if (!s->linear || at->integer || t->texel < PTX_TEXEL_F32) {
		sample_point(t, s, l, at, ret);
	} else if (t->cube && t->seamless) {
		sample_seamless(t, s, l, at, ret);
	} else {
		sample_linear(t, s, l, at, ret);
	}
}

void sample_gather(const struct ptx_texture *t, const struct ptx_sampler *s, const struct sample_at *at,
		   uint32_t component, uint32_t ret[4])
{
	static const uint8_t order[4][2] = { { 0, 1 }, { 1, 1 }, { 1, 0 }, { 0, 0 } };
	const struct ptx_texture_level *l = &t->level[0];
	const uint8_t *p = level_base(t, l, at);
	int32_t i[2] = { 0 };
	uint32_t texel[4];

	for (uint32_t axis = 0; axis < 2 && axis < t->dimensions; axis++) {
		if (at->integer)
			i[axis] = (int32_t)((uint32_t)at->i[axis] + (uint32_t)at->offset[axis]);
		else
			axis_around(s, axis, at, axis ? l->height : l->width, &i[axis]);
	}
	for (uint32_t k = 0; k < 4; k++) {
		const int32_t x = axis_fold(s->address[0], (int32_t)((uint32_t)i[0] + order[k][0]), l->width);
		const int32_t y = axis_fold(s->address[1], (int32_t)((uint32_t)i[1] + order[k][1]), l->height);

		if ((x | y) < 0)
			texel_border(t, texel);
		else
			texel_read(t, p + (uint64_t)(uint32_t)y * l->pitch + (uint64_t)(uint32_t)x * t->element_bytes,
				   texel);
		ret[k] = texel[component & 3];
	}
}

void sample_lod(const struct ptx_texture *t, const struct ptx_sampler *s, float lod, const struct sample_at *at,
		uint32_t ret[4])
{
	const float most = (float)(t->levels - 1);
	uint32_t above[4];
	int32_t fixed;
	float weight;

	lod = lod == lod ? lod : 0;
	lod = lod < t->level_min ? t->level_min : lod;
	lod = lod > t->level_max ? t->level_max : lod;
	lod = lod > 0 ? lod : 0;
	lod = lod > most ? most : lod;
	if (!t->linear_levels || t->texel < PTX_TEXEL_F32) {
		sample_level(t, s, (uint32_t)(lod + 0.5f), at, ret);
		return;
	}
	fixed = (int32_t)(lod * (float)WEIGHT_ONE + 0.5f);
	weight = (float)(fixed & (WEIGHT_ONE - 1)) / WEIGHT_ONE;
	sample_level(t, s, (uint32_t)fixed >> 8, at, ret);
	if (weight == 0)
		return;
	sample_level(t, s, ((uint32_t)fixed >> 8) + 1, at, above);
	for (uint32_t c = 0; c < t->channels; c++)
		ret[c] = bits32(f32_of(ret[c]) * (1.0f - weight) + f32_of(above[c]) * weight);
}

/* Change of the place on a face from that of a direction: the quotient rule. */
static void cube_gradient(const struct sample_at *at, const float d[3], float ret[3])
{
	const uint32_t face = cube_face(at->x);
	const float m = along(at->x, face_axis[face][0]), dm = along(d, face_axis[face][0]);

	for (int k = 0; k < 2; k++) {
		const int axis = face_axis[face][1 + k];

		ret[k] = (along(d, axis) * m - along(at->x, axis) * dm) / (m * m) * 0.5f;
	}
	ret[2] = 0;
}

float sample_gradient(const struct ptx_texture *t, const struct ptx_sampler *s, const struct sample_at *at,
		      const float dx[3], const float dy[3])
{
	const float size[3] = { (float)t->level[0].width, (float)t->level[0].height, (float)t->level[0].depth };
	const float *d[2] = { dx, dy };
	float cube[2][3], longest = 0;

	for (int k = 0; k < 2; k++) {
		float sum = 0;

		if (t->cube) {
			cube_gradient(at, d[k], cube[k]);
			d[k] = cube[k];
		}
		for (uint32_t axis = 0; axis < t->dimensions; axis++) {
			const float texels = d[k][axis] * (s->normalized ? size[axis] : 1.0f);

			sum += texels * texels;
		}
		longest = sum > longest ? sum : longest;
	}
	return 0.5f * log2f(longest);
}
