/* types.c: the elements of tensors as floats and doubles, and back. */
#include "libs/cudnn/types.h"
#include "libs/common/fp8.h"

#include <math.h>
#include <string.h>

uint32_t dnn_type_bytes(unsigned int type)
{
	switch (type) {
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
	case CUDNN_DATA_FP8_E4M3:
	case CUDNN_DATA_FP8_E5M2:
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
#define E4M3(v) e4m3_write((float)(v))
#define E5M2(v) e5m2_write((float)(v))

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
		case CUDNN_DATA_FP8_E4M3:                                                                              \
			READ(uint8_t, e4m3_read);                                                                      \
		case CUDNN_DATA_FP8_E5M2:                                                                              \
			READ(uint8_t, e5m2_read);                                                                      \
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
		case CUDNN_DATA_FP8_E4M3:                                                                              \
			WRITE(uint8_t, E4M3);                                                                          \
		case CUDNN_DATA_FP8_E5M2:                                                                              \
			WRITE(uint8_t, E5M2);                                                                          \
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
