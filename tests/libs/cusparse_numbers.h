/* cusparse_numbers.h: numbers of cuSPARSE's tests, of four types and two kinds of indices, there and back. */
#pragma once

#include "softdev/soft.h"

#include "cusparse_table.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define GOOD(call) is(call, CUSPARSE_STATUS_SUCCESS)
#define MOST 32
#define SPACE (4 << 20) /* bytes */

typedef double complex any;

static struct cusparse_table t;
static cusparseHandle_t handle;
static int type; /* 0 to 3 */

cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int *);

static const cudaDataType data_type[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };
static const size_t each[] = { 4, 8, 8, 16 };

static double random_number(void)
{
	static uint64_t seed = 88172645463325252ull;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(int64_t)seed / 9.3e18;
}

static any some(void)
{
	double x = random_number();

	return type >= 2 ? x + I * random_number() : x;
}

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* Room for a call. NVIDIA's library does not work without; ours needs none, so that every other call gets none. */
static void *space(void)
{
	static CUdeviceptr p;
	static bool none;

	none = !none && !soft_theirs();
	if (none)
		return NULL;
	if (!p && cuMemAlloc(&p, SPACE))
		tap_ok(0, "room");
	return at(p);
}

static void write_one(uint8_t *raw, int i, any v)
{
	double d[2] = { creal(v), cimag(v) };
	float f[2] = { (float)d[0], (float)d[1] };

	memcpy(raw + (size_t)i * each[type], type & 1 ? (void *)d : (void *)f, each[type]);
}

static any read_one(const uint8_t *raw, int i)
{
	double d[2] = { 0 };
	float f[2] = { 0 };

	memcpy(type & 1 ? (void *)d : (void *)f, raw + (size_t)i * each[type], each[type]);
	return type & 1 ? d[0] + I * d[1] : (double)f[0] + I * (double)f[1];
}

static CUdeviceptr put(const any *v, int count)
{
	uint8_t raw[MOST * MOST * 16];
	CUdeviceptr p = 0;

	for (int i = 0; i < count; i++)
		write_one(raw, i, v[i]);
	if (cuMemAlloc(&p, sizeof(raw)) || cuMemcpyHtoD(p, raw, (size_t)count * each[type]))
		tap_ok(0, "memory");
	return p;
}

static void get(any *v, CUdeviceptr p, int count)
{
	uint8_t raw[MOST * MOST * 16];

	if (cuMemcpyDtoH(raw, p, (size_t)count * each[type]))
		tap_ok(0, "reading");
	for (int i = 0; i < count; i++)
		v[i] = read_one(raw, i);
}

static CUdeviceptr put_indices(const int *v, int count, bool wide)
{
	int64_t both[MOST * MOST];
	CUdeviceptr p = 0;

	for (int i = 0; i < count; i++)
		if (wide)
			both[i] = v[i];
		else
			((int32_t *)both)[i] = v[i];
	if (cuMemAlloc(&p, sizeof(both)) || cuMemcpyHtoD(p, both, sizeof(both)))
		tap_ok(0, "memory");
	return p;
}

#define SAME(a, b, count, ...)                                                                                         \
	do {                                                                                                           \
		double worst = 0;                                                                                      \
		for (int k_ = 0; k_ < (count); k_++)                                                                   \
			worst = fmax(worst, cabs((a)[k_] - (b)[k_]));                                                  \
		tap_ok(worst < (type & 1 ? 1e-12 : 1e-4), __VA_ARGS__);                                                \
	} while (0)
