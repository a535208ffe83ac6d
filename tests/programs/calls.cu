/* Functions of the device: recursion, pointers to functions, tables of them, structures by value, local arrays. */
#include "program.h"

enum { N = 256 };

struct pair {
	int low, high;
	double weight;
};

#ifdef __CUDACC__

typedef int (*operation)(int, int);

static __device__ __noinline__ int add(int a, int b) { return a + b; }
static __device__ __noinline__ int subtract(int a, int b) { return a - b; }
static __device__ __noinline__ int multiply(int a, int b) { return a * b; }

static __device__ operation operations[3] = { add, subtract, multiply };

static __device__ __noinline__ unsigned fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __device__ __noinline__ unsigned is_odd(unsigned n);

static __device__ __noinline__ unsigned is_even(unsigned n)
{
	return n == 0 ? 1 : is_odd(n - 1);
}

static __device__ __noinline__ unsigned is_odd(unsigned n)
{
	return n == 0 ? 0 : is_even(n - 1);
}

static __device__ __noinline__ struct pair turned(struct pair p)
{
	struct pair q = { p.high, p.low, p.weight * 2 };

	return q;
}

struct shape {
	__device__ virtual int area() const = 0;
};

struct square : shape {
	int side;
	__device__ square(int s) : side(s) {}
	__device__ __noinline__ int area() const { return side * side; }
};

struct strip : shape {
	int length;
	__device__ strip(int l) : length(l) {}
	__device__ __noinline__ int area() const { return length * 2; }
};

KERNEL calls(const int *x, int *z, struct pair constant)
{
	int i = THREAD, words[24], k;
	struct pair p = { i, i * 2, 0.5 };
	square a(i % 10);
	strip b(i % 10);
	const shape *s = x[i] & 1 ? (const shape *)&a : (const shape *)&b;

	z[i] = operations[x[i] % 3](x[i], i);
	z[N + i] = fibonacci(i % 11);
	z[2 * N + i] = is_even(i % 17) * 2 + is_odd(i % 17);
	p = turned(turned(turned(p)));
	z[3 * N + i] = p.low * 3 + p.high + (int)p.weight + constant.low + (int)constant.weight;
	for (k = 0; k < 24; k++)
		words[(k * 7 + i) % 24] = k * i;
	for (k = 0; k < 24; k++)
		words[(words[k] & 0x7fffffff) % 24] ^= k;
	z[4 * N + i] = words[x[i] % 24] + words[i % 24];
	z[5 * N + i] = s->area();
}

#else
#include PROGRAM_STUBS
#endif

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	static int x[N], z[N * 6];
	int *dz = DEVICE_ALLOC(int, N * 6), i, k;
	struct pair constant = { 1000, 2, 7.5 };

	for (i = 0; i < N; i++)
		x[i] = (int)(random32() >> 18);
	LAUNCH(calls, N / 64, 64, DEVICE_COPY(int, x), dz, constant);
	BRING(z, dz);
	for (i = 0; i < N; i++) {
		int words[24], what = x[i] % 3;

		CHECK(z[i] == (what == 0 ? x[i] + i : what == 1 ? x[i] - i : x[i] * i));
		CHECK(z[N + i] == fib(i % 11));
		CHECK(z[2 * N + i] == (i % 17 % 2 ? 1 : 2));
		CHECK(z[3 * N + i] == 2 * i * 3 + i + 4 + 1000 + 7);
		for (k = 0; k < 24; k++)
			words[(k * 7 + i) % 24] = k * i;
		for (k = 0; k < 24; k++)
			words[(words[k] & 0x7fffffff) % 24] ^= k;
		CHECK(z[4 * N + i] == words[x[i] % 24] + words[i % 24]);
		CHECK(z[5 * N + i] == (x[i] & 1 ? (i % 10) * (i % 10) : 2 * (i % 10)));
	}
	return program_end();
}
