/* engine_cases.c: see engine_cases.h. Sizes are such that one run takes some hundredths of a second. */
#include "engine_cases.h"

#include <string.h>

uint32_t random_next(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

void *words_take(size_t count)
{
	uint32_t *p = device_take(count * 4);

	for (size_t i = 0; i < count; i++)
		p[i] = random_next();
	return p;
}

void *floats_take(size_t count)
{
	float *p = device_take(count * 4);

	for (size_t i = 0; i < count; i++)
		p[i] = (float)(random_next() >> 8) / 16777216.0f;
	return p;
}

void out_take(struct setup *s, size_t bytes)
{
	s->out = device_take(bytes);
	s->expect = device_take(bytes);
	s->out_bytes = bytes;
	memset(s->out, 0, bytes);
	memset(s->expect, 0, bytes);
}

void shape(struct setup *s, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by)
{
	memcpy(s->grid, (uint32_t[3]){ gx, gy, 1 }, sizeof(s->grid));
	memcpy(s->block, (uint32_t[3]){ bx, by, 1 }, sizeof(s->block));
}

void param(struct setup *s, const void *value, uint32_t bytes)
{
	s->params.used = (s->params.used + bytes - 1) / bytes * bytes;
	memcpy(s->params.bytes + s->params.used, value, bytes);
	s->params.used += bytes;
}

void param_pointer(struct setup *s, const void *p)
{
	param(s, &p, sizeof(p));
}

void param_int(struct setup *s, int v)
{
	param(s, &v, sizeof(v));
}

static void vector_add(struct setup *s)
{
	s->n = 16 << 20;
	out_take(s, (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n));
	param_pointer(s, s->in[1] = floats_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void vector_add_loop(const struct loops *l, struct setup *s)
{
	l->vector_add(s->in[0], s->in[1], s->expect, s->n);
}

static void saxpy(struct setup *s)
{
	const float a = 0.5f;

	s->n = 1 << 20;
	s->m = 256;
	out_take(s, (size_t)s->n * 4);
	param(s, &a, sizeof(a));
	param_pointer(s, s->in[0] = floats_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void saxpy_loop(const struct loops *l, struct setup *s)
{
	l->saxpy(0.5f, s->in[0], s->expect, s->n, s->m);
}

static void matmul_sized(struct setup *s, int n, int tile)
{
	s->n = n;
	out_take(s, (size_t)n * (size_t)n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)n * (size_t)n));
	param_pointer(s, s->in[1] = floats_take((size_t)n * (size_t)n));
	param_pointer(s, s->out);
	param_int(s, n);
	shape(s, (uint32_t)(n / tile), (uint32_t)(n / tile), (uint32_t)tile, (uint32_t)tile);
}

static void matmul(struct setup *s)
{
	matmul_sized(s, 512, 16);
}

static void matmul_plain(struct setup *s)
{
	matmul_sized(s, 256, 16);
}

static void matmul_loop(const struct loops *l, struct setup *s)
{
	l->matmul(s->in[0], s->in[1], s->expect, s->n);
}

static void reduction(struct setup *s)
{
	s->n = 16 << 20;
	s->m = 256;
	out_take(s, 256 * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, 256, 1, 256, 1);
}

static void reduction_loop(const struct loops *l, struct setup *s)
{
	float *expect = s->expect;

	/* in 256 pieces, as many as the kernel has blocks: one sum of 16 M floats would lose what it adds */
	for (int i = 0; i < 256; i++)
		expect[i] = l->reduction((const float *)s->in[0] + i * (s->n / 256), s->n / 256);
}

static void mandelbrot(struct setup *s)
{
	s->n = 512;
	out_take(s, (size_t)s->n * (size_t)s->n * 4);
	param_pointer(s, s->out);
	param_int(s, s->n);
	param_int(s, s->n);
	param_int(s, 256);
	shape(s, 512 / 16, 512 / 16, 16, 16);
}

static void mandelbrot_loop(const struct loops *l, struct setup *s)
{
	l->mandelbrot(s->expect, s->n, s->n, 256);
}

static void histogram(struct setup *s)
{
	s->n = 4 << 20;
	out_take(s, 256 * 4);
	param_pointer(s, s->in[0] = words_take((size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, 64, 1, 256, 1);
}

static void histogram_loop(const struct loops *l, struct setup *s)
{
	l->histogram(s->in[0], s->expect, s->n);
}

static void nbody(struct setup *s)
{
	s->n = 2048;
	out_take(s, (size_t)s->n * 16);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * 4));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 128, 1, 128, 1);
}

static void nbody_loop(const struct loops *l, struct setup *s)
{
	l->nbody(s->in[0], s->expect, s->n);
}

static void stencil(struct setup *s)
{
	s->n = 2048;
	out_take(s, (size_t)s->n * (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	param_int(s, s->n);
	shape(s, 2048 / 32, 2048 / 8, 32, 8);
}

static void stencil_loop(const struct loops *l, struct setup *s)
{
	l->stencil(s->in[0], s->expect, s->n, s->n);
}

static void scan(struct setup *s)
{
	s->n = 2 << 20;
	out_take(s, (size_t)s->n * 4);
	s->in[0] = words_take((size_t)s->n);
	for (int i = 0; i < s->n; i++)
		((uint32_t *)s->in[0])[i] &= 0xffff;
	param_pointer(s, s->in[0]);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void scan_loop(const struct loops *l, struct setup *s)
{
	l->scan(s->in[0], s->expect, s->n, 256);
}

static void bitonic(struct setup *s)
{
	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 4);
	s->in[0] = words_take((size_t)s->n);
	memcpy(s->out, s->in[0], (size_t)s->n * 4);
	memcpy(s->expect, s->in[0], (size_t)s->n * 4);
	param_pointer(s, s->out);
	shape(s, (uint32_t)s->n / 512, 1, 256, 1);
}

static void bitonic_loop(const struct loops *l, struct setup *s)
{
	l->sort(s->expect, s->n);
}

static void xorshift(struct setup *s)
{
	s->n = 128 << 10;
	s->m = 256;
	out_take(s, (size_t)s->n * 8);
	param_pointer(s, s->in[0] = words_take((size_t)s->n * 4));
	param_pointer(s, s->out);
	param_int(s, s->m);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void xorshift_loop(const struct loops *l, struct setup *s)
{
	l->xorshift(s->in[0], s->expect, s->n, s->m);
}

static void sha_rounds(struct setup *s)
{
	s->n = 64 << 10;
	out_take(s, (size_t)s->n * 32);
	param_pointer(s, s->in[0] = words_take((size_t)s->n * 16));
	param_pointer(s, s->out);
	param_pointer(s, s->in[1] = words_take(64));
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void sha_rounds_loop(const struct loops *l, struct setup *s)
{
	l->sha_rounds(s->in[0], s->expect, s->in[1], s->n);
}

static void options(struct setup *s)
{
	double *price, *strike;

	s->n = 256 << 10;
	out_take(s, (size_t)s->n * 8);
	price = s->in[0] = device_take((size_t)s->n * 8);
	strike = s->in[1] = device_take((size_t)s->n * 8);
	for (int i = 0; i < s->n; i++) {
		price[i] = 5 + 25 * (random_next() / 4294967296.0);
		strike[i] = 1 + 99 * (random_next() / 4294967296.0);
	}
	param_pointer(s, price);
	param_pointer(s, strike);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 256, 1, 256, 1);
}

static void options_loop(const struct loops *l, struct setup *s)
{
	l->options(s->in[0], s->in[1], s->expect, s->n);
}

static void words(struct setup *s)
{
	uint8_t *text;

	s->n = 4 << 20;
	out_take(s, (size_t)s->n / 64 * 4);
	text = s->in[0] = device_take((size_t)s->n);
	for (int i = 0; i < s->n; i++)
		text[i] = random_next() % 6 ? (uint8_t)('a' + random_next() % 26) : ' ';
	param_pointer(s, text);
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, (uint32_t)s->n / 64 / 256, 1, 256, 1);
}

static void words_loop(const struct loops *l, struct setup *s)
{
	l->words(s->in[0], s->expect, s->n);
}

static void spmv(struct setup *s)
{
	const int rows = 128 << 10, columns = 64 << 10;
	int *row, *col, used = 0;

	s->n = rows;
	out_take(s, (size_t)rows * 4);
	row = s->in[0] = device_take((size_t)(rows + 1) * 4);
	col = s->in[1] = device_take((size_t)rows * 32 * 4);
	for (int i = 0; i < rows; i++) {
		row[i] = used;
		for (uint32_t k = random_next() % 32; k; k--)
			col[used++] = (int)(random_next() % (uint32_t)columns);
	}
	row[rows] = used;
	param_pointer(s, row);
	param_pointer(s, col);
	param_pointer(s, s->in[2] = floats_take((size_t)used + 1));
	param_pointer(s, s->in[3] = floats_take((size_t)columns));
	param_pointer(s, s->out);
	param_int(s, rows);
	shape(s, (uint32_t)rows / 256, 1, 256, 1);
}

static void spmv_loop(const struct loops *l, struct setup *s)
{
	l->spmv(s->in[0], s->in[1], s->in[2], s->in[3], s->expect, s->n);
}

static void transpose(struct setup *s)
{
	s->n = 2048;
	out_take(s, (size_t)s->n * (size_t)s->n * 4);
	param_pointer(s, s->in[0] = floats_take((size_t)s->n * (size_t)s->n));
	param_pointer(s, s->out);
	param_int(s, s->n);
	shape(s, 2048 / 32, 2048 / 32, 32, 8);
}

static void transpose_loop(const struct loops *l, struct setup *s)
{
	l->transpose(s->in[0], s->expect, s->n);
}

const struct bench_case bench_cases[] = {
	{ "vector_add", "vector add, 16 M", 1.0 / 14, false, vector_add, vector_add_loop, SAME, 0 },
	{ "saxpy_loop", "saxpy loop, 256 fma", 3, true, saxpy, saxpy_loop, CLOSE_F32, 1e-5 },
	{ "matmul", "matrix product 512, shared tiles", 1.0 / 38, false, matmul, matmul_loop, CLOSE_F32, 1e-4 },
	{ "reduction", "reduction, 16 M", 1.0 / 2.6, false, reduction, reduction_loop, SUM_F32, 1e-4 },
	{ "mandelbrot", "mandelbrot, divergent", 1.4, false, mandelbrot, mandelbrot_loop, MOSTLY_S32, 0.01 },
	{ "histogram", "histogram, shared atomics", 1.0 / 22, true, histogram, histogram_loop, SAME, 0 },
	{ "nbody", "n-body 2048, shared float4", 0, false, nbody, nbody_loop, CLOSE_F32, 1e-3 },
	{ "stencil", "stencil of 5 points, 2048 x 2048", 0, false, stencil, stencil_loop, CLOSE_F32, 1e-5 },
	{ "matmul_plain", "matrix product 256, no tiles", 0, false, matmul_plain, matmul_loop, CLOSE_F32, 1e-4 },
	{ "scan", "sums by shuffles, 2 M", 0, false, scan, scan_loop, SAME, 0 },
	{ "bitonic", "bitonic sort of 512s", 0, true, bitonic, bitonic_loop, SAME, 0 },
	{ "xorshift", "xorshift128+, 64 bits", 0, false, xorshift, xorshift_loop, SAME, 0 },
	{ "sha_rounds", "SHA-256 rounds", 0, false, sha_rounds, sha_rounds_loop, SAME, 0 },
	{ "options_f64", "Black-Scholes, f64", 0, false, options, options_loop, CLOSE_F64, 1e-9 },
	{ "words", "words in a text, bytes", 0, false, words, words_loop, SAME, 0 },
	{ "spmv", "sparse matrix times vector", 0, false, spmv, spmv_loop, CLOSE_F32, 1e-4 },
	{ "transpose", "transpose 2048, shared tiles", 0, false, transpose, transpose_loop, SAME, 0 },
};
const unsigned bench_case_count = sizeof(bench_cases) / sizeof(bench_cases[0]);
