/*
 * tensor_cases.c: see engine_cases.h. The products of kernels/tensor.cu, each beside a loop of C over the same matrices
 * as f32 or 32-bit integers.
 */
#include "engine_cases.h"

#include <math.h>
#include <string.h>

#define SIDE 512 /* rows, columns, and along the sum */

/* One element of a matrix of random numbers between -2 and 2: its bytes, and its value. */
typedef float element_fn(uint8_t *to, uint32_t random);

static float signed_of(uint32_t random, float x)
{
	return random >> 31 ? -x : x;
}

static float element_f16(uint8_t *to, uint32_t random)
{
	const uint16_t bits = (uint16_t)(random >> 31 << 15 | (8 + (random >> 10 & 7)) << 10 | (random & 1023));

	memcpy(to, &bits, sizeof(bits));
	return signed_of(random, ldexpf((float)(1024 + (random & 1023)), (int)(random >> 10 & 7) - 17));
}

/* The upper half of an f32. */
static float element_bf16(uint8_t *to, uint32_t random)
{
	const float x = signed_of(random, ldexpf((float)(128 + (random & 127)), (int)(random >> 10 & 7) - 14));
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	memcpy(to, (uint16_t[]){ (uint16_t)(bits >> 16) }, 2);
	return x;
}

static float element_tf32(uint8_t *to, uint32_t random)
{
	const float x = signed_of(random, ldexpf((float)(1024 + (random & 1023)), (int)(random >> 10 & 7) - 17));

	memcpy(to, &x, sizeof(x));
	return x;
}

static float element_e4m3(uint8_t *to, uint32_t random)
{
	*to = (uint8_t)(random >> 31 << 7 | (1 + (random >> 10) % 7) << 3 | (random & 7));
	return signed_of(random, ldexpf((float)(8 + (random & 7)), (int)((random >> 10) % 7) - 9));
}

static float element_s8(uint8_t *to, uint32_t random)
{
	*to = (uint8_t)random;
	return (float)(int8_t)random;
}

/* Element (i, j) at i * SIDE + j of the values; in memory column by column when `turned`. */
static void *matrix_take(element_fn *fn, uint32_t bytes, bool turned, float **ret_values)
{
	uint8_t *p = device_take((size_t)SIDE * SIDE * bytes);
	float *values = device_take((size_t)SIDE * SIDE * sizeof(float));

	for (size_t i = 0; i < SIDE; i++)
		for (size_t j = 0; j < SIDE; j++) {
			const size_t at = turned ? j * SIDE + i : i * SIDE + j;

			values[i * SIDE + j] = fn(p + at * bytes, random_next());
		}
	*ret_values = values;
	return p;
}

static void product(struct setup *s, element_fn *fn, uint32_t bytes, bool turned)
{
	float *a, *b;

	s->n = SIDE;
	out_take(s, (size_t)SIDE * SIDE * 4);
	param_pointer(s, matrix_take(fn, bytes, false, &a));
	param_pointer(s, matrix_take(fn, bytes, turned, &b));
	param_pointer(s, s->out);
	param_int(s, SIDE);
	param_int(s, SIDE);
	s->in[0] = a;
	s->in[1] = b;
	shape(s, SIDE / 64, SIDE / 64, 128, 1);
}

#define PRODUCT(kernel, type, bytes, turned)                                                                           \
	static void kernel(struct setup *s)                                                                            \
	{                                                                                                              \
		product(s, element_##type, bytes, turned);                                                             \
	}
PRODUCT(mma_f16, f16, 2, false)
PRODUCT(mma_bf16, bf16, 2, true)
PRODUCT(mma_tf32, tf32, 4, true)
PRODUCT(mma_e4m3, e4m3, 1, true)
PRODUCT(mma_s8, s8, 1, true)
PRODUCT(wgmma_f16, f16, 2, true)

static void product_loop(const struct loops *l, struct setup *s)
{
	l->matmul(s->in[0], s->in[1], s->expect, SIDE);
}

static void product_s8_loop(const struct loops *l, struct setup *s)
{
	float *f = s->expect;

	l->matmul(s->in[0], s->in[1], f, SIDE); /* whole numbers below 2^24: exact */
	for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) {
		const int32_t sum = (int32_t)f[i];

		memcpy(&f[i], &sum, sizeof(sum));
	}
}

const struct bench_case tensor_cases[] = {
	{ "mma_f16", "mma f16, 512", 0, false, mma_f16, product_loop, CLOSE_F32, 1e-3 },
	{ "mma_bf16", "mma bf16, 512", 0, false, mma_bf16, product_loop, CLOSE_F32, 1e-3 },
	{ "mma_tf32", "mma tf32, 512", 0, false, mma_tf32, product_loop, CLOSE_F32, 1e-3 },
	{ "mma_e4m3", "mma e4m3, 512", 0, false, mma_e4m3, product_loop, CLOSE_F32, 1e-3 },
	{ "mma_s8", "mma s8, 512", 0, false, mma_s8, product_s8_loop, SAME, 0 },
	{ "wgmma_f16", "wgmma f16, 512", 0, false, wgmma_f16, product_loop, CLOSE_F32, 1e-3 },
};
const unsigned tensor_case_count = sizeof(tensor_cases) / sizeof(tensor_cases[0]);
