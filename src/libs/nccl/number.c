/*
 * number.c: types of NCCL and their reductions.
 *
 * Elements are reduced in the order of the ranks. Numbers of 16 and 8 bits are summed as floats and rounded once. An
 * average is a sum of products with 1 / ranks, of whole numbers a quotient, as NCCL has it.
 */
#include "libs/nccl/nccl.h"

#include <math.h>
#include <string.h>

static const uint8_t bytes_of[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

uint32_t nccl_bytes(ncclDataType_t type)
{
	return (unsigned int)type < sizeof(bytes_of) ? bytes_of[type] : 0;
}

/* ---- narrow numbers: sign, `exponent` and `mantissa` bits ---- */

struct narrow {
	int exponent, mantissa;
	bool finite; /* no infinity: the greatest exponent is one of numbers, but for all bits set */
};

static const struct narrow half = { 5, 10, false }, bfloat = { 8, 7, false }, e4m3 = { 4, 3, true },
			   e5m2 = { 5, 2, false };

static const struct narrow *narrow_of(ncclDataType_t type)
{
	switch (type) {
	case ncclFloat16:
		return &half;
	case ncclBfloat16:
		return &bfloat;
	case ncclFloat8e4m3:
		return &e4m3;
	case ncclFloat8e5m2:
		return &e5m2;
	default:
		return NULL;
	}
}

static float narrow_read(const struct narrow *f, uint32_t v)
{
	uint32_t exponents = (1u << f->exponent) - 1, mantissas = (1u << f->mantissa) - 1;
	uint32_t e = v >> f->mantissa & exponents, m = v & mantissas;
	int bias = (int)(exponents >> 1);
	float x;

	if (e == exponents && (!f->finite || m == mantissas))
		x = m ? NAN : INFINITY;
	else if (e)
		x = ldexpf((float)(m | 1u << f->mantissa), (int)e - bias - f->mantissa);
	else
		x = ldexpf((float)m, 1 - bias - f->mantissa);
	return v >> (f->exponent + f->mantissa) & 1 ? -x : x;
}

/* To the nearest, ties to even. Too large is infinity, or the greatest number where there is none. */
static uint32_t narrow_write(const struct narrow *f, float x)
{
	uint32_t exponents = (1u << f->exponent) - 1, mantissas = (1u << f->mantissa) - 1;
	uint32_t sign = signbit(x) ? 1u << (f->exponent + f->mantissa) : 0, v;
	uint32_t infinity = exponents << f->mantissa, greatest = infinity | (f->finite ? mantissas - 1 : 0);
	int bias = (int)(exponents >> 1), e;
	float m;

	if (isnan(x))
		return sign | infinity | mantissas;
	x = fabsf(x);
	if (isinf(x))
		return sign | greatest;
	if (x == 0)
		return sign;
	frexpf(x, &e);
	e = e - 1 < 1 - bias ? 1 - bias : e - 1;
	m = rintf(ldexpf(x, f->mantissa - e)); /* exact before: a float has more bits */
	v = (uint32_t)m;
	if (v >> (f->mantissa + 1)) {
		v >>= 1;
		e++;
	}
	if (v >> f->mantissa)
		v = (v & mantissas) | (uint32_t)(e + bias) << f->mantissa;
	return sign | (e + bias > (int)exponents || v > greatest ? greatest : v);
}

/* ---- reductions ---- */

#define MINIMUM(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define MAXIMUM(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))

/* READ(r, i): element i of rank r; A is what it is reduced as. */
#define REDUCE_ALL(A, READ, WRITE, SCALE, W)                                                                           \
	for (uint64_t i = 0; i < count; i++) {                                                                         \
		A sum = SCALE(READ(0, i));                                                                             \
		for (int r = 1; r < ranks; r++) {                                                                      \
			A next = SCALE(READ(r, i));                                                                    \
			switch (op->reduction) {                                                                       \
			case ncclProd:                                                                                 \
				sum = (A)((W)sum * (W)next);                                                           \
				break;                                                                                 \
			case ncclMax:                                                                                  \
				sum = MAXIMUM(sum, next);                                                              \
				break;                                                                                 \
			case ncclMin:                                                                                  \
				sum = MINIMUM(sum, next);                                                              \
				break;                                                                                 \
			default:                                                                                       \
				sum = (A)((W)sum + (W)next);                                                           \
				break;                                                                                 \
			}                                                                                              \
		}                                                                                                      \
		WRITE(i, sum);                                                                                         \
	}

/* Sums without a sign wrap around, and their bits are those of signed ones. */
#define WHOLE(T, WIDE)                                                                                                 \
	static void reduce_##T(const struct nccl_op *op, int ranks, T *to, const void *const *from, uint64_t count)    \
	{                                                                                                              \
		WIDE scale = op->scaled ? (WIDE)op->scale_whole : 1;                                                   \
		bool average = op->reduction == ncclAvg;                                                               \
		REDUCE_ALL(T, WHOLE_READ, WHOLE_WRITE, WHOLE_SCALE, uint64_t)                                          \
	}
#define WHOLE_READ(r, i) (((__typeof__(to))(uintptr_t)from[r])[i])
#define WHOLE_WRITE(i, v) (to[i] = average ? (__typeof__(*to))((v) / (__typeof__(*to))ranks) : (v))
#define WHOLE_SCALE(v) ((__typeof__(*to))((uint64_t)(v) * (uint64_t)scale))
WHOLE(int8_t, int64_t)
WHOLE(uint8_t, uint64_t)
WHOLE(int32_t, int64_t)
WHOLE(uint32_t, uint64_t)
WHOLE(int64_t, int64_t)
WHOLE(uint64_t, uint64_t)

static double scale_of(const struct nccl_op *op, int ranks)
{
	return op->scaled ? op->scale : op->reduction == ncclAvg ? 1.0 / ranks : 1;
}

#define FLOATING(T)                                                                                                    \
	static void reduce_##T(const struct nccl_op *op, int ranks, T *to, const void *const *from, uint64_t count)    \
	{                                                                                                              \
		T scale = (T)scale_of(op, ranks);                                                                      \
		REDUCE_ALL(T, WHOLE_READ, FLOAT_WRITE, FLOAT_SCALE, T)                                                 \
	}
#define FLOAT_WRITE(i, v) (to[i] = (v))
#define FLOAT_SCALE(v) ((v)*scale)
FLOATING(float)
FLOATING(double)

static void reduce_narrow(const struct nccl_op *op, int ranks, void *to, const void *const *from, uint64_t count)
{
	const struct narrow *f = narrow_of(op->type);
	float scale = (float)scale_of(op, ranks);
	bool wide = nccl_bytes(op->type) == 2;

#define NARROW_READ(r, i) narrow_read(f, wide ? ((const uint16_t *)from[r])[i] : ((const uint8_t *)from[r])[i])
#define NARROW_WRITE(i, v)                                                                                             \
	do {                                                                                                           \
		if (wide)                                                                                              \
			((uint16_t *)to)[i] = (uint16_t)narrow_write(f, v);                                            \
		else                                                                                                   \
			((uint8_t *)to)[i] = (uint8_t)narrow_write(f, v);                                              \
	} while (0)
	REDUCE_ALL(float, NARROW_READ, NARROW_WRITE, FLOAT_SCALE, float)
}

void nccl_reduce(const struct nccl_op *op, int ranks, void *to, const void *const *from, uint64_t count)
{
	switch (op->type) {
	case ncclInt8:
		reduce_int8_t(op, ranks, to, from, count);
		break;
	case ncclUint8:
		reduce_uint8_t(op, ranks, to, from, count);
		break;
	case ncclInt32:
		reduce_int32_t(op, ranks, to, from, count);
		break;
	case ncclUint32:
		reduce_uint32_t(op, ranks, to, from, count);
		break;
	case ncclInt64:
		reduce_int64_t(op, ranks, to, from, count);
		break;
	case ncclUint64:
		reduce_uint64_t(op, ranks, to, from, count);
		break;
	case ncclFloat32:
		reduce_float(op, ranks, to, from, count);
		break;
	case ncclFloat64:
		reduce_double(op, ranks, to, from, count);
		break;
	default:
		reduce_narrow(op, ranks, to, from, count);
		break;
	}
}

void nccl_scalar_read(ncclDataType_t type, const void *at, double *ret, int64_t *ret_whole)
{
	const struct narrow *f = narrow_of(type);
	uint64_t raw = 0;
	float x;

	memcpy(&raw, at, nccl_bytes(type));
	*ret_whole = type == ncclInt8 ? (int8_t)raw : type == ncclInt32 ? (int32_t)raw : (int64_t)raw;
	*ret = (double)*ret_whole;
	if (f) {
		*ret = (double)narrow_read(f, (uint32_t)raw);
	} else if (type == ncclFloat32) {
		memcpy(&x, at, sizeof(x));
		*ret = (double)x;
	} else if (type == ncclFloat64) {
		memcpy(ret, at, sizeof(*ret));
	}
}
