/* blas.h: what the tests of the software device's cuBLAS share: memory, random numbers, comparing. */
#pragma once

#include "softdev/soft.h"

#include "cublas_forward.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define OK(call) is(call, CUBLAS_STATUS_SUCCESS)

static uint64_t blas_seed = 88172645463325252ull;

/* In [-1, 1], the same in every run. */
static inline double blas_random(void)
{
	blas_seed ^= blas_seed << 13;
	blas_seed ^= blas_seed >> 7;
	blas_seed ^= blas_seed << 17;
	return (double)(int64_t)blas_seed / 9.3e18;
}

static inline CUdeviceptr blas_device(const void *from, size_t bytes)
{
	CUdeviceptr at = 0;

	if (cuMemAlloc(&at, bytes ? bytes : 1) || (from && cuMemcpyHtoD(at, from, bytes)))
		tap_ok(0, "device memory for %zu bytes", bytes);
	return at;
}

static inline void *blas_at(CUdeviceptr at)
{
	return (void *)(uintptr_t)at;
}

static inline void blas_back(void *to, CUdeviceptr at, size_t bytes)
{
	if (cuMemcpyDtoH(to, at, bytes))
		tap_ok(0, "reading %zu bytes", bytes);
}

/* ---- types, by way of double complex ---- */

typedef double _Complex any;

static inline uint32_t blas_bytes(int type)
{
	switch (type) {
	case CUDA_R_8I:
	case CUDA_R_8U:
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
		return 4;
	case CUDA_C_64F:
		return 16;
	default:
		return 8;
	}
}

static inline double blas_fp8(uint8_t v, int mantissa, int bias)
{
	int e = (v & 0x7f) >> mantissa, f = v & ((1 << mantissa) - 1);
	double m = e ? ldexp((1 << mantissa) + f, e - bias - mantissa) : ldexp(f, 1 - bias - mantissa);

	return v & 0x80 ? -m : m;
}

static inline any blas_get(int type, const void *from, int64_t i)
{
	uint32_t bits;
	float f;

	switch (type) {
	case CUDA_R_8I:
		return ((const int8_t *)from)[i];
	case CUDA_R_8F_E4M3:
		return blas_fp8(((const uint8_t *)from)[i], 3, 7);
	case CUDA_R_8F_E5M2:
		return blas_fp8(((const uint8_t *)from)[i], 2, 15);
	case CUDA_R_16F: {
		uint16_t h = ((const uint16_t *)from)[i];
		int e = h >> 10 & 31, m = h & 1023;
		double d = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);

		return h & 0x8000 ? -d : d;
	}
	case CUDA_R_16BF:
		bits = (uint32_t)((const uint16_t *)from)[i] << 16;
		memcpy(&f, &bits, 4);
		return f;
	case CUDA_R_32F:
		return ((const float *)from)[i];
	case CUDA_R_32I:
		return ((const int32_t *)from)[i];
	case CUDA_R_64F:
		return ((const double *)from)[i];
	case CUDA_C_32F:
		return ((const float _Complex *)from)[i];
	default:
		return ((const double _Complex *)from)[i];
	}
}

/* A random element, exact in its type. */
static inline void blas_put_random(int type, void *to, int64_t i)
{
	float f = (float)(int)(blas_random() * 16) / 8;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	switch (type) {
	case CUDA_R_8I:
		((int8_t *)to)[i] = (int8_t)(blas_random() * 127);
		break;
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2:
		((uint8_t *)to)[i] = (uint8_t)((uint32_t)(blas_random() * 40 + 40) & 0x3f);
		break;
	case CUDA_R_16F: /* multiples of 1/8 up to 2 */
		((uint16_t *)to)[i] = f == 0 ? 0
					     : (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
							  (bits >> 13 & 1023));
		break;
	case CUDA_R_16BF:
		((uint16_t *)to)[i] = (uint16_t)(bits >> 16);
		break;
	case CUDA_R_32F:
		((float *)to)[i] = (float)blas_random();
		break;
	case CUDA_R_32I:
		((int32_t *)to)[i] = (int32_t)(blas_random() * 1000);
		break;
	case CUDA_R_64F:
		((double *)to)[i] = blas_random();
		break;
	case CUDA_C_32F:
		((float *)to)[2 * i] = (float)blas_random();
		((float *)to)[2 * i + 1] = (float)blas_random();
		break;
	default:
		((double *)to)[2 * i] = blas_random();
		((double *)to)[2 * i + 1] = blas_random();
		break;
	}
}

/* A matrix or vector on both sides. */
struct blas_array {
	int type;
	int64_t count;
	void *host;
	CUdeviceptr device;
};

static inline struct blas_array blas_new(int type, int64_t count)
{
	struct blas_array a = { .type = type, .count = count };

	a.host = malloc((size_t)(count ? count : 1) * blas_bytes(type));
	for (int64_t i = 0; i < count; i++)
		blas_put_random(type, a.host, i);
	a.device = blas_device(a.host, (size_t)count * blas_bytes(type));
	return a;
}

static inline any blas_host(const struct blas_array *a, int64_t i)
{
	return blas_get(a->type, a->host, i);
}

static inline void blas_free(struct blas_array *a)
{
	free(a->host);
	cuMemFree(a->device);
}

/* How far results of a type may be from the exact ones, relative to the sum of the magnitudes. */
static inline double blas_tolerance(int type)
{
	switch (type) {
	case CUDA_R_8F_E5M2:
		return 0.13;
	case CUDA_R_8F_E4M3:
		return 0.07;
	case CUDA_R_16F:
		return 1e-3;
	case CUDA_R_16BF:
		return 8e-3;
	case CUDA_R_64F:
	case CUDA_C_64F:
		return 1e-13;
	case CUDA_R_32I:
		return 0;
	default:
		return 1e-5;
	}
}
