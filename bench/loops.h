/*
 * loops.h: what the kernels of kernels/engine.cu compute, as plain loops of C, to compare with. loops.c is built twice,
 * with other flags each time; a struct loops is one of the builds.
 */
#pragma once

#include <stdint.h>

struct float4 {
	float x, y, z, w;
};

struct loops {
	const char *flags;
	void (*vector_add)(const float *a, const float *b, float *c, int n);
	void (*saxpy)(float a, const float *x, float *y, int n, int turns);
	void (*matmul)(const float *a, const float *b, float *c, int n);
	float (*reduction)(const float *x, int n);
	void (*mandelbrot)(int *out, int width, int height, int most);
	void (*histogram)(const uint32_t *x, uint32_t *bins, int n);
	void (*nbody)(const struct float4 *p, struct float4 *force, int n);
	void (*stencil)(const float *in, float *out, int width, int height);
	void (*scan)(const int *in, int *out, int n, int block);
	void (*sort)(uint32_t *x, int n);
	void (*xorshift)(const uint64_t *seed, uint64_t *out, int n, int turns);
	void (*sha_rounds)(const uint32_t *in, uint32_t *out, const uint32_t *constants, int n);
	void (*options)(const double *price, const double *strike, double *call, int n);
	void (*words)(const uint8_t *text, int *count, int n);
	void (*spmv)(const int *row, const int *col, const float *value, const float *x, float *y, int n);
	void (*transpose)(const float *in, float *out, int n);
};

extern const struct loops loops_plain, loops_native;
