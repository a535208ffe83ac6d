/* types.c: see types.h. Loops over elements that lie side by side are written so that compilers make vectors of them.
 */
#include "libs/blas/types.h"
#include "libs/common/fp8.h"

#include <math.h>
#include <string.h>

#define READ(ctype, expression)                                                                                        \
	{                                                                                                              \
		const ctype *p = from;                                                                                 \
														       \
		if (step == 1)                                                                                         \
			for (int64_t i = 0; i < count; i++) {                                                          \
				const ctype v = p[i];                                                                  \
				to[i] = (expression);                                                                  \
			}                                                                                              \
		else                                                                                                   \
			for (int64_t i = 0; i < count; i++) {                                                          \
				const ctype v = p[i * step];                                                           \
				to[i] = (expression);                                                                  \
			}                                                                                              \
		return;                                                                                                \
	}

void type_read(unsigned int type, const void *from, int64_t step, int64_t count, float *to)
{
	switch (type) {
	case CUDA_R_32F:
		READ(float, v)
	case CUDA_R_16F:
		READ(uint16_t, half_read(v))
	case CUDA_R_16BF:
		READ(uint16_t, bfloat_read(v))
	case CUDA_R_8I:
		READ(int8_t, v)
	case CUDA_R_8U:
		READ(uint8_t, v)
	case CUDA_R_32I:
		READ(int32_t, (float)v)
	case CUDA_R_8F_E4M3:
		READ(uint8_t, e4m3_read(v))
	case CUDA_R_8F_E5M2:
		READ(uint8_t, e5m2_read(v))
	default:
		memset(to, 0, (size_t)count * sizeof(*to));
	}
}

#define WRITE(ctype, expression)                                                                                       \
	{                                                                                                              \
		ctype *p = to;                                                                                         \
														       \
		if (step == 1)                                                                                         \
			for (int64_t i = 0; i < count; i++) {                                                          \
				const float v = from[i];                                                               \
				p[i] = (ctype)(expression);                                                            \
			}                                                                                              \
		else                                                                                                   \
			for (int64_t i = 0; i < count; i++) {                                                          \
				const float v = from[i];                                                               \
				p[i * step] = (ctype)(expression);                                                     \
			}                                                                                              \
		return;                                                                                                \
	}

static float clamp(float v, float least, float most)
{
	v = rintf(v);
	return v < least ? least : v > most ? most : v == v ? v : 0;
}

void type_write(unsigned int type, const float *from, int64_t count, void *to, int64_t step)
{
	switch (type) {
	case CUDA_R_32F:
		WRITE(float, v)
	case CUDA_R_16F:
		WRITE(uint16_t, half_write(v))
	case CUDA_R_16BF:
		WRITE(uint16_t, bfloat_write(v))
	case CUDA_R_8I:
		WRITE(int8_t, clamp(v, -128, 127))
	case CUDA_R_8U:
		WRITE(uint8_t, clamp(v, 0, 255))
	case CUDA_R_32I:
		WRITE(int32_t, (int64_t)clamp(v, -0x1p31f, 0x1.fffffep30f))
	case CUDA_R_8F_E4M3:
		WRITE(uint8_t, e4m3_write(v))
	case CUDA_R_8F_E5M2:
		WRITE(uint8_t, e5m2_write(v))
	default:
		return;
	}
}

double type_get(unsigned int type, const void *from)
{
	float f = 0;

	if (type == CUDA_R_64F || type == CUDA_C_64F) {
		double d;

		memcpy(&d, from, sizeof(d));
		return d;
	}
	if (type == CUDA_R_32I) {
		int32_t i;

		memcpy(&i, from, sizeof(i));
		return i;
	}
	type_read(type == CUDA_C_32F ? CUDA_R_32F : type, from, 1, 1, &f);
	return f;
}

void type_put(unsigned int type, double value, void *to)
{
	float f = (float)value;

	if (type == CUDA_R_64F)
		memcpy(to, &value, sizeof(value));
	else if (type == CUDA_R_32I)
		memcpy(to, &(int32_t){ (int32_t)llrint(value) }, 4);
	else
		type_write(type, &f, 1, to, 1);
}
