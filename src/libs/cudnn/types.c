/* types.c: the elements of tensors as floats and doubles, and back. */
#include "libs/cudnn/types.h"

#include <math.h>
#include <string.h>

uint32_t dnn_type_bytes(unsigned int type)
{
	switch (type) {
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
		return 1;
	case CUDNN_DATA_HALF:
	case CUDNN_DATA_BFLOAT16:
		return 2;
	case CUDNN_DATA_FLOAT:
	case CUDNN_DATA_INT32:
		return 4;
	case CUDNN_DATA_DOUBLE:
	case CUDNN_DATA_INT64:
		return 8;
	default:
		return 0;
	}
}

bool dnn_type_is_wide(unsigned int type)
{
	return type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_INT64 || type == CUDNN_DATA_INT32;
}

static inline float float_of(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

static inline uint32_t bits_of(float f)
{
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return bits;
}

/* A product with 2^112 moves the exponent to its place, for subnormal numbers too. */
static inline float half_read(uint16_t h)
{
	uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0;

	return float_of(bits_of(float_of(magnitude) * 0x1p112f) | special | sign);
}

static inline uint16_t half_write(float value)
{
	uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
	/* subnormal results: adding 0.5 leaves the rounded value in the lowest bits */
	uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
	uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
	uint32_t result = magnitude < 0x38800000u ? small : normal;

	result = magnitude >= 0x47800000u ? 0x7c00u : result;
	result = magnitude > 0x7f800000u ? 0x7e00u : result;
	return (uint16_t)(result | sign);
}

static inline float bfloat_read(uint16_t b)
{
	return float_of((uint32_t)b << 16);
}

static inline uint16_t bfloat_write(float value)
{
	uint32_t bits = bits_of(value);

	if ((bits & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Nearest whole number within the limits of the type; NaN is 0. */
static inline int64_t whole(double value, double low, double high)
{
	if (!(value > low))
		return isnan(value) ? 0 : (int64_t)low;
	return value >= high ? (int64_t)high : (int64_t)rint(value);
}

#define READ(type, expression)                                                                                         \
	{                                                                                                              \
		const type *p = at;                                                                                    \
		if (stride == 1)                                                                                       \
			for (int64_t i = 0; i < count; i++)                                                            \
				to[i] = expression(p[i]);                                                              \
		else                                                                                                   \
			for (int64_t i = 0; i < count; i++)                                                            \
				to[i] = expression(p[i * stride]);                                                     \
	}                                                                                                              \
	break

#define WRITE(type, expression)                                                                                        \
	{                                                                                                              \
		type *p = at;                                                                                          \
		if (stride == 1)                                                                                       \
			for (int64_t i = 0; i < count; i++)                                                            \
				p[i] = (type)(expression(from[i]));                                                    \
		else                                                                                                   \
			for (int64_t i = 0; i < count; i++)                                                            \
				p[i * stride] = (type)(expression(from[i]));                                           \
	}                                                                                                              \
	break

#define SAME(v) (v)
#define FLAG(v) ((v) != 0)
#define BYTE(v) whole(v, -128, 127)
#define UNSIGNED_BYTE(v) whole(v, 0, 255)
#define WORD(v) whole(v, -0x1p31, 0x1p31 - 1)
#define LONG_LIMIT 9223372036854774784.0 /* the largest double below 2^63 */
#define LONG(v) whole(v, -LONG_LIMIT, LONG_LIMIT)
#define HALF(v) half_write((float)(v))
#define BFLOAT(v) bfloat_write((float)(v))

#define MOVES(T, suffix)                                                                                               \
	void dnn_read_##suffix(T *to, unsigned int type, const void *at, int64_t stride, int64_t count)                \
	{                                                                                                              \
		switch (type) {                                                                                        \
		case CUDNN_DATA_FLOAT:                                                                                 \
			READ(float, (T));                                                                              \
		case CUDNN_DATA_DOUBLE:                                                                                \
			READ(double, (T));                                                                             \
		case CUDNN_DATA_HALF:                                                                                  \
			READ(uint16_t, half_read);                                                                     \
		case CUDNN_DATA_BFLOAT16:                                                                              \
			READ(uint16_t, bfloat_read);                                                                   \
		case CUDNN_DATA_INT8:                                                                                  \
			READ(int8_t, SAME);                                                                            \
		case CUDNN_DATA_UINT8:                                                                                 \
			READ(uint8_t, SAME);                                                                           \
		case CUDNN_DATA_BOOLEAN:                                                                               \
			READ(uint8_t, FLAG);                                                                           \
		case CUDNN_DATA_INT32:                                                                                 \
			READ(int32_t, (T));                                                                            \
		case CUDNN_DATA_INT64:                                                                                 \
			READ(int64_t, (T));                                                                            \
		default:                                                                                               \
			break;                                                                                         \
		}                                                                                                      \
	}                                                                                                              \
	void dnn_write_##suffix(const T *from, unsigned int type, void *at, int64_t stride, int64_t count)             \
	{                                                                                                              \
		switch (type) {                                                                                        \
		case CUDNN_DATA_FLOAT:                                                                                 \
			WRITE(float, SAME);                                                                            \
		case CUDNN_DATA_DOUBLE:                                                                                \
			WRITE(double, SAME);                                                                           \
		case CUDNN_DATA_HALF:                                                                                  \
			WRITE(uint16_t, HALF);                                                                         \
		case CUDNN_DATA_BFLOAT16:                                                                              \
			WRITE(uint16_t, BFLOAT);                                                                       \
		case CUDNN_DATA_INT8:                                                                                  \
			WRITE(int8_t, BYTE);                                                                           \
		case CUDNN_DATA_UINT8:                                                                                 \
			WRITE(uint8_t, UNSIGNED_BYTE);                                                                 \
		case CUDNN_DATA_BOOLEAN:                                                                               \
			WRITE(uint8_t, FLAG);                                                                          \
		case CUDNN_DATA_INT32:                                                                                 \
			WRITE(int32_t, WORD);                                                                          \
		case CUDNN_DATA_INT64:                                                                                 \
			WRITE(int64_t, LONG);                                                                          \
		default:                                                                                               \
			break;                                                                                         \
		}                                                                                                      \
	}

/* clang-format off */
MOVES(float, f)
MOVES(double, d)
/* clang-format on */

void dnn_read_value(double *ret, unsigned int type, const void *at)
{
	dnn_read_d(ret, type, at, 1, 1);
}
