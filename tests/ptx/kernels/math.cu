/*
 * math.cu: mathematical functions for tests/ptx/math_test.c: their slow paths use carry chains, local arrays, calls.
 * The compiler fills in the vendor's own routines, so the PTX is not kept here: the build makes it where nvcc is.
 */
#include <cstdint>
#include <cstdio>
#include <cassert>

#define FUNCTION(name)                                                                                                \
	extern "C" __global__ void f_##name(const float *x, float *y)                                                 \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		y[i] = name##f(x[i]);                                                                                  \
	}                                                                                                              \
	extern "C" __global__ void d_##name(const double *x, double *y)                                               \
	{                                                                                                              \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                                         \
		y[i] = name(x[i]);                                                                                     \
	}

FUNCTION(sin)
FUNCTION(tan)
FUNCTION(exp)
FUNCTION(log)
FUNCTION(sqrt)
FUNCTION(cbrt)
FUNCTION(atan)
FUNCTION(tanh)
FUNCTION(erf)
FUNCTION(tgamma)
FUNCTION(rint)
FUNCTION(log1p)

extern "C" __global__ void d_pow(const double *x, double *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = pow(fabs(x[i]), 1.7);
}

extern "C" __global__ void d_fmod(const double *x, double *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = fmod(x[i], 0.7);
}

extern "C" __global__ void say(int n)
{
	if (threadIdx.x == 2)
		printf("%d|%s|%.3f|%lld|%c|%5.2e|%-4u|%x|%%\n", threadIdx.x + n, "text", 1.5 * n, 123456789012LL, 'x',
		       3.25, 7u, 255);
}

extern "C" __global__ void printf_value(int *out)
{
	out[0] = printf("%d %s %*d;", 1, "text", 5, 2);
	out[1] = printf("nothing;");
	out[2] = printf("%s;", (const char *)nullptr);
}

extern "C" __global__ void doubtful(int n)
{
	assert((int)threadIdx.x < n);
}

struct shape {
	__device__ virtual int area() = 0;
};
struct square : shape {
	int side;
	__device__ int area() override
	{
		return side * side;
	}
};
struct bar : shape {
	int a, b;
	__device__ int area() override
	{
		return a * b;
	}
};

extern "C" __global__ void virtuals(int *out)
{
	square s;
	bar r;
	shape *p = &s;

	s.side = threadIdx.x;
	r.a = threadIdx.x;
	r.b = 3;
	if (out[threadIdx.x] & 1)
		p = &r;
	out[threadIdx.x] = p->area();
}

extern "C" __global__ void heap(int **keep, int *out)
{
	int *p = (int *)malloc(16 * sizeof(int));

	for (int i = 0; i < 16; i++)
		p[i] = i * threadIdx.x;
	keep[threadIdx.x] = p;
	__syncthreads();
	int sum = 0;
	for (int i = 0; i < 16; i++)
		sum += keep[(threadIdx.x + 1) % blockDim.x][i];
	out[threadIdx.x] = sum;
	__syncthreads();
	free(p);
}
