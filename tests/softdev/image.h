/*
 * image.h: what the texture tests compare with: pictures of random elements, on the device and here, and a reference
 * of every way to sample them. The reference computes in double, from the formulas of the CUDA programming guide, one
 * texel at a time; nothing of it is shared with the device.
 */
#pragma once

#include "softdev/soft.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MOST 8u

enum shape { SHAPE_1D, SHAPE_2D, SHAPE_3D, SHAPE_1D_LAYERED, SHAPE_2D_LAYERED, SHAPE_CUBE, SHAPE_CUBE_LAYERED };

struct picture {
	enum shape shape;
	CUarray_format format;
	unsigned channels;
	CUarray array;
	CUmipmappedArray mipmap;
	unsigned levels;
	unsigned width[LEVELS_MOST], height[LEVELS_MOST], depth[LEVELS_MOST]; /* layers and faces are depth */
	unsigned char *data[LEVELS_MOST];
};

struct place {
	float x, y, z;
	int layer;
	float lod, dx[3], dy[3];
};

static uint64_t random_state = 88172645463325252ull;

static inline uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

static inline unsigned random_below(unsigned n)
{
	return (unsigned)((random_bits() >> 32) % n);
}

static inline float random_between(float a, float b)
{
	return a + (b - a) * (float)(random_bits() >> 40) / 16777216.0f;
}

/* Bytes of a channel, and how it reads: 'u', 's' integers, 'f' float, 'h' half, 'n' unorm, 'm' snorm. */
static inline unsigned channel_bytes(CUarray_format f, char *ret_kind)
{
	switch ((int)f) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
		*ret_kind = 'u';
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
		*ret_kind = 'u';
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
		*ret_kind = 'u';
		return 4;
	case CU_AD_FORMAT_SIGNED_INT8:
		*ret_kind = 's';
		return 1;
	case CU_AD_FORMAT_SIGNED_INT16:
		*ret_kind = 's';
		return 2;
	case CU_AD_FORMAT_SIGNED_INT32:
		*ret_kind = 's';
		return 4;
	case CU_AD_FORMAT_HALF:
		*ret_kind = 'h';
		return 2;
	case CU_AD_FORMAT_FLOAT:
		*ret_kind = 'f';
		return 4;
	default:
		if (f >= CU_AD_FORMAT_UNORM_INT8X1 && f <= CU_AD_FORMAT_UNORM_INT16X4) {
			*ret_kind = 'n';
			return f < CU_AD_FORMAT_UNORM_INT16X1 ? 1 : 2;
		}
		*ret_kind = 'm';
		return f < CU_AD_FORMAT_SNORM_INT16X1 ? 1 : 2;
	}
}

static inline size_t element_bytes(const struct picture *p)
{
	char kind;

	return channel_bytes(p->format, &kind) * p->channels;
}

static inline bool is_layered(enum shape s)
{
	return s == SHAPE_1D_LAYERED || s == SHAPE_2D_LAYERED || s == SHAPE_CUBE_LAYERED;
}

static inline bool is_cube(enum shape s)
{
	return s == SHAPE_CUBE || s == SHAPE_CUBE_LAYERED;
}

static inline unsigned shape_axes(enum shape s)
{
	return s == SHAPE_1D || s == SHAPE_1D_LAYERED ? 1 : s == SHAPE_3D ? 3 : 2;
}

static inline uint16_t half_small(float x) /* of values that a half holds exactly */
{
	uint32_t b;

	memcpy(&b, &x, 4);
	return (uint16_t)(x == 0 ? 0 : (b >> 16 & 0x8000) | ((((b >> 23) & 0xff) - 112) << 10) | (b >> 13 & 0x3ff));
}

static inline void picture_fill(const struct picture *p, unsigned level)
{
	size_t count = (size_t)p->width[level] * p->height[level] * p->depth[level] * p->channels;
	char kind;
	unsigned bytes = channel_bytes(p->format, &kind);

	for (size_t i = 0; i < count; i++) {
		uint64_t bits = random_bits() >> 20;
		float f = (float)((int)(bits % 4096) - 2048) / 128.0f;
		uint16_t h = half_small(f);

		if (kind == 'f')
			memcpy(p->data[level] + i * 4, &f, 4);
		else if (kind == 'h')
			memcpy(p->data[level] + i * 2, &h, 2);
		else
			memcpy(p->data[level] + i * bytes, &bits, bytes);
	}
}

static inline CUresult picture_copy(const struct picture *p, CUarray a, unsigned level)
{
	CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = p->data[level],
			    .srcPitch = p->width[level] * element_bytes(p),
			    .srcHeight = p->height[level],
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .dstArray = a,
			    .WidthInBytes = p->width[level] * element_bytes(p),
			    .Height = p->height[level],
			    .Depth = p->depth[level] };

	return cuMemcpy3D(&c);
}

/* A picture on the device; `levels` 0: a plain array. */
static inline void picture_make(struct picture *p, enum shape shape, CUarray_format f, unsigned channels, unsigned w,
				unsigned h, unsigned d, unsigned levels, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { w, shape_axes(shape) > 1 ? h : 0, 0, f, channels, flags };
	const bool layers = is_layered(shape) || is_cube(shape);
	bool good = true;

	*p = (struct picture){ .shape = shape, .format = f, .channels = channels, .levels = levels ? levels : 1 };
	if (shape_axes(shape) == 3 || layers)
		desc.Depth = d;
	desc.Flags |= (is_layered(shape) ? CUDA_ARRAY3D_LAYERED : 0) | (is_cube(shape) ? CUDA_ARRAY3D_CUBEMAP : 0);
	if (levels)
		good = !cuMipmappedArrayCreate(&p->mipmap, &desc, levels);
	else
		good = !cuArray3DCreate(&p->array, &desc);
	for (unsigned i = 0; i < p->levels && good; i++) {
		CUarray a = p->array;

		p->width[i] = w >> i ? w >> i : 1;
		p->height[i] = desc.Height && desc.Height >> i ? (unsigned)desc.Height >> i : 1;
		p->depth[i] = layers ? d : desc.Depth && desc.Depth >> i ? (unsigned)desc.Depth >> i : 1;
		p->data[i] = malloc((size_t)p->width[i] * p->height[i] * p->depth[i] * element_bytes(p));
		picture_fill(p, i);
		if (levels)
			good = !cuMipmappedArrayGetLevel(&a, p->mipmap, i);
		good = good && !picture_copy(p, a, i);
	}
	tap_ok(good, "a picture of shape %d, format %d x %u, %u x %u x %u, %u levels", (int)shape, (int)f, channels, w,
	       h, d, levels);
}

static inline void picture_free(struct picture *p)
{
	for (unsigned i = 0; i < p->levels; i++)
		free(p->data[i]);
	if (p->mipmap)
		CU(cuMipmappedArrayDestroy(p->mipmap));
	if (p->array)
		CU(cuArrayDestroy(p->array));
}

/* ---- the reference ---- */

/* One channel of one texel; *ret_float: it is a float. */
static inline double texel(const struct picture *p, unsigned level, long x, long y, long z, unsigned c, unsigned flags,
			   bool *ret_float)
{
	char kind;
	unsigned bytes = channel_bytes(p->format, &kind);
	const unsigned char *at =
		p->data[level] +
		(((size_t)z * p->height[level] + (size_t)y) * p->width[level] + (size_t)x) * element_bytes(p) +
		(size_t)c * bytes;
	uint64_t u = 0;
	int64_t s;
	double most, v;
	float f;

	memcpy(&u, at, bytes);
	*ret_float = true;
	if (kind == 'f') {
		memcpy(&f, at, 4);
		return f;
	}
	if (kind == 'h')
		return ldexp((double)((u & 0x3ff) | (u & 0x7c00 ? 0x400 : 0)),
			     (int)(u >> 10 & 31) - 25 + !(u & 0x7c00)) *
		       (u & 0x8000 ? -1 : 1);
	s = (int64_t)(u << (64 - bytes * 8)) >> (64 - bytes * 8);
	if (kind == 'n' || (kind == 'u' && bytes < 4 && !(flags & CU_TRSF_READ_AS_INTEGER))) {
		v = (double)u / (double)((1u << bytes * 8) - 1);
		if (flags & CU_TRSF_SRGB && c < 3)
			v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
		return v;
	}
	if (kind == 'm' || (kind == 's' && bytes < 4 && !(flags & CU_TRSF_READ_AS_INTEGER))) {
		most = (double)((1u << (bytes * 8 - 1)) - 1);
		v = (double)s / most;
		return v < -1 ? -1 : v;
	}
	*ret_float = false;
	return kind == 's' ? (double)s : (double)u;
}

/* The index that an address mode makes of one outside; -1: border. */
static inline long fold(CUaddress_mode mode, bool normalized, long i, long n)
{
	long m;

	if (i >= 0 && i < n)
		return i;
	if (mode == CU_TR_ADDRESS_MODE_BORDER)
		return -1;
	if (normalized && mode == CU_TR_ADDRESS_MODE_WRAP)
		return ((i % n) + n) % n;
	if (normalized && mode == CU_TR_ADDRESS_MODE_MIRROR) {
		m = ((i % (2 * n)) + 2 * n) % (2 * n);
		return m < n ? m : 2 * n - 1 - m;
	}
	return i < 0 ? 0 : n - 1;
}

/* A coordinate in texels, by the guide's words on each mode. */
static inline double in_texels(const CUDA_TEXTURE_DESC *d, unsigned axis, float x, unsigned n)
{
	const bool normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
	double v = x, whole;

	if (isnan(v))
		v = 0;
	if (!normalized)
		return v > 1e9 ? 1e9 : v < -1e9 ? -1e9 : v;
	if (isinf(v) &&
	    (d->addressMode[axis] == CU_TR_ADDRESS_MODE_WRAP || d->addressMode[axis] == CU_TR_ADDRESS_MODE_MIRROR))
		v = 0;
	whole = floor(v);
	if (d->addressMode[axis] == CU_TR_ADDRESS_MODE_WRAP)
		v -= whole;
	else if (d->addressMode[axis] == CU_TR_ADDRESS_MODE_MIRROR)
		v = fmod(whole, 2) == 0 ? v - whole : 1 - (v - whole);
	v *= n;
	return v > 1e9 ? 1e9 : v < -1e9 ? -1e9 : v;
}

/* Whether a value is so near to a boundary that float and double may fall on different sides. */
static inline bool near_step(double v)
{
	return fabs(v) < 1e8 && v != floor(v) && fabs(v - nearbyint(v)) < 1e-3 + fabs(v) * 4e-7;
}

/* Samples one level. False: too near to a boundary to be judged. */
static inline bool reference_level(const struct picture *p, const CUDA_TEXTURE_DESC *d, unsigned level,
				   const double at[3], long layer, double ret[4], bool *ret_float)
{
	const bool normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
	const bool linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
	const unsigned size[3] = { p->width[level], p->height[level], p->depth[level] };
	const unsigned axes = shape_axes(p->shape);
	long first[3] = { 0 };
	double weight[3] = { 0 };

	for (unsigned k = 0; k < axes; k++) {
		double u = at[k], fixed;

		if (!linear) {
			if (near_step(u))
				return false;
			first[k] = (long)floor(u);
			continue;
		}
		fixed = (u - 0.5) * 256;
		if (near_step(fixed + 0.5))
			return false;
		fixed = floor(fixed + 0.5);
		first[k] = (long)floor(fixed / 256);
		weight[k] = fixed / 256 - (double)first[k];
	}
	for (unsigned c = 0; c < 4; c++) {
		ret[c] = c == 3;
		if (c >= p->channels)
			continue;
		ret[c] = 0;
		for (unsigned tap = 0; tap < (linear ? 1u << axes : 1u); tap++) {
			double w = 1, v;
			long i[3] = { 0, 0, layer >= 0 ? layer : 0 };
			bool border = false;

			for (unsigned k = 0; k < axes; k++) {
				const bool second = tap >> k & 1;

				w *= !linear ? 1 : second ? weight[k] : 1 - weight[k];
				i[k] = fold(d->addressMode[k], normalized, first[k] + second, size[k]);
				border |= i[k] < 0;
			}
			v = texel(p, level, border ? 0 : i[0], border ? 0 : i[1], border ? 0 : i[2], c, d->flags,
				  ret_float);
			if (border)
				v = *ret_float ? d->borderColor[c] : (double)(int64_t)d->borderColor[c];
			ret[c] += w ? w * v : 0;
		}
	}
	return true;
}

/* The face that a direction points at, and where: the guide's table. */
static inline long cube_place(const struct place *a, double ret[2])
{
	const double x = a->x, y = a->y, z = a->z;
	const double ax = fabs(x), ay = fabs(y), az = fabs(z);
	double m, s, t;
	long face;

	if (ax >= ay && ax >= az) {
		face = x >= 0 ? 0 : 1;
		m = ax;
		s = x >= 0 ? -z : z;
		t = -y;
	} else if (ay >= az) {
		face = y >= 0 ? 2 : 3;
		m = ay;
		s = x;
		t = y >= 0 ? z : -z;
	} else {
		face = z >= 0 ? 4 : 5;
		m = az;
		s = z >= 0 ? x : -x;
		t = -y;
	}
	ret[0] = (s / m + 1) / 2;
	ret[1] = (t / m + 1) / 2;
	return face;
}

static inline bool reference_at(const struct picture *p, const CUDA_TEXTURE_DESC *d, unsigned level,
				const struct place *a, double ret[4], bool *ret_float)
{
	const float x[3] = { a->x, a->y, a->z };
	CUDA_TEXTURE_DESC clamped = *d;
	double at[3] = { 0 };
	long layer = -1, layers = is_cube(p->shape) ? p->depth[0] / 6 : p->depth[0];

	if (is_layered(p->shape))
		layer = a->layer < 0 || a->layer >= layers ? layers - 1 : a->layer;
	if (is_cube(p->shape)) {
		long face = cube_place(a, at);

		layer = (layer < 0 ? 0 : layer) * 6 + face;
		at[0] *= p->width[level];
		at[1] *= p->width[level];
		clamped.addressMode[0] = clamped.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
		return reference_level(p, &clamped, level, at, layer, ret, ret_float);
	}
	for (unsigned k = 0; k < shape_axes(p->shape); k++)
		at[k] = in_texels(d, k, x[k], k == 0 ? p->width[level] : k == 1 ? p->height[level] : p->depth[level]);
	return reference_level(p, d, level, at, layer, ret, ret_float);
}

static inline bool same_value(uint32_t got, double want, bool is_float)
{
	float f;

	if (!is_float)
		return got == (uint32_t)(int64_t)want;
	memcpy(&f, &got, 4);
	return fabs((double)f - want) <= 2e-5 * (fabs(want) > 1 ? fabs(want) : 1) + 1e-5;
}
