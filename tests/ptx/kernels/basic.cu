/*
 * basic.cu: kernels for tests/ptx/basic_test.c. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o basic.ptx basic.cu
 */
#include <cstdint>

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = a * x[i] + y[i];
}

#define TILE 16

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		ta[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		tb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += ta[threadIdx.y][k] * tb[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + col] = sum;
}

extern "C" __global__ void reduce(const int *in, unsigned long long *out, int n)
{
	__shared__ int part[32];
	int sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	for (int d = 16; d; d /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x < 32) {
		sum = threadIdx.x < (blockDim.x + 31) / 32 ? part[threadIdx.x] : 0;
		for (int d = 16; d; d /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, d);
		if (threadIdx.x == 0)
			atomicAdd(out, (unsigned long long)sum);
	}
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n)
{
	__shared__ unsigned local[256];

	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		local[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[in[i]], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += blockDim.x)
		atomicAdd(&bins[i], local[i]);
}

/* Divergent: every pixel has its own number of rounds. */
extern "C" __global__ void mandelbrot(int *out, int width, int height, int most)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, n = 0;
	float cx = -2.0f + 3.0f * x / width, cy = -1.5f + 3.0f * y / height, zx = 0, zy = 0;

	if (x >= width || y >= height)
		return;
	while (n < most && zx * zx + zy * zy < 4.0f) {
		float t = zx * zx - zy * zy + cx;

		zy = 2 * zx * zy + cy;
		zx = t;
		n++;
	}
	out[y * width + x] = n;
}

extern "C" __global__ void flops(float *out, int n)
{
	float a = threadIdx.x, b = 1.0001f, c = 0.5f;

	for (int i = 0; i < n; i++)
		a = a * b + c;
	out[blockIdx.x * blockDim.x + threadIdx.x] = a;
}

/* A lock per block that the lanes of a warp fight for. */
extern "C" __global__ void spinlock(int *lock, int *count)
{
	bool done = false;

	while (!done) {
		if (atomicCAS(lock, 0, 1) == 0) {
			*(volatile int *)count = *(volatile int *)count + 1;
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
	}
}

/* The winner leaves the loop before it lets go: what it does stands behind the loop of those who wait. */
extern "C" __global__ void spinlock_hard(int *lock, int *count)
{
	while (atomicCAS(lock, 0, 1) != 0)
		;
	*(volatile int *)count = *(volatile int *)count + 1;
	__threadfence();
	atomicExch(lock, 0);
}

__device__ __noinline__ int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

extern "C" __global__ void recursion(int *out)
{
	out[threadIdx.x] = fib(threadIdx.x % 16);
}

struct pair {
	int a;
	double b;
};

__device__ __noinline__ pair swap_sum(pair p, int k)
{
	pair r;

	r.a = (int)p.b + k;
	r.b = p.a * 2.0;
	return r;
}

extern "C" __global__ void structs(pair *p)
{
	p[threadIdx.x] = swap_sum(p[threadIdx.x], threadIdx.x);
}

__device__ __noinline__ float op_add(float a, float b)
{
	return a + b;
}
__device__ __noinline__ float op_mul(float a, float b)
{
	return a * b;
}
typedef float (*op_fn)(float, float);
__device__ op_fn ops[2] = { op_add, op_mul };

extern "C" __global__ void indirect(float *out)
{
	out[threadIdx.x] = ops[threadIdx.x & 1](threadIdx.x, 3.0f);
}

__constant__ int coefficients[4] = { 3, 5, 7, 11 };
__device__ int counter = 40;
__device__ int *counter_address = &counter;

extern "C" __global__ void variables(int *out)
{
	out[threadIdx.x] = coefficients[threadIdx.x & 3];
	if (threadIdx.x == 0)
		atomicAdd(counter_address, 2);
}

extern "C" __global__ void dynamic_shared(int *out)
{
	extern __shared__ int dynamic[];
	__shared__ int fixed[8];

	dynamic[threadIdx.x] = threadIdx.x * 3;
	if (threadIdx.x < 8)
		fixed[threadIdx.x] = 100 + threadIdx.x;
	__syncthreads();
	out[threadIdx.x] = dynamic[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x & 7];
}

extern "C" __global__ void local_array(int *out, int n)
{
	int a[32];

	for (int i = 0; i < 32; i++)
		a[(i * 7 + threadIdx.x) & 31] = i;
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += a[(threadIdx.x + i) & 31] * i;
	out[threadIdx.x] = sum;
}

extern "C" __global__ void switches(int *out)
{
	int i = threadIdx.x, r;

	switch (i % 9) {
	case 0: r = i * 3; break;
	case 1: r = i + 100; break;
	case 2: r = i ^ 0x55; break;
	case 3: r = -i; break;
	case 4: r = i << 3; break;
	case 5: r = i / 3; break;
	case 6: r = i % 5; break;
	case 7: r = i * i; break;
	default: r = 7777; break;
	}
	out[i] = r;
}

extern "C" __global__ void oob(int *p, long long at)
{
	if (threadIdx.x == 5)
		p[at] = 1;
}

extern "C" __global__ void misaligned(char *p)
{
	*(int *)(p + threadIdx.x) = 1;
}

extern "C" __global__ void trapped(int *p)
{
	if (threadIdx.x == 3)
		asm volatile("trap;");
	p[threadIdx.x] = 1;
}

extern "C" __global__ void forever(volatile int *p)
{
	while (!*p)
		;
}

extern "C" __global__ void lonely_barrier(int *p)
{
	if (threadIdx.x < 32)
		asm volatile("bar.sync 1, 64;");
	p[threadIdx.x] = 1;
}

/* Blocks in a chain: each waits for the one before it. */
extern "C" __global__ void chain(volatile int *flag)
{
	if (blockIdx.x)
		while (!flag[blockIdx.x - 1])
			;
	__threadfence();
	flag[blockIdx.x] = flag[blockIdx.x ? blockIdx.x - 1 : 0] + 1;
}

/* Blocks in a ring: block 0 waits for the last one, so all must be resident. */
extern "C" __global__ void grid_barrier(unsigned *count, unsigned *out)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(count, 1);
		while (*(volatile unsigned *)count < gridDim.x)
			;
	}
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = *(volatile unsigned *)count;
}

extern "C" __global__ void barriers(int *out)
{
	__shared__ int x[256];
	int t = threadIdx.x;

	x[t] = t;
	for (int d = 1; d < 256; d *= 2) {
		int v = t >= d ? x[t - d] : 0;

		__syncthreads();
		x[t] += v;
		__syncthreads();
	}
	out[t] = x[t] + 1000000 * __syncthreads_count(t & 1) + 100000000 * __syncthreads_or(t == 77) +
		 200000000 * __syncthreads_and(t < 256);
}

/* A barrier in divergent code, arrived at by the lanes of a warp one group after the other. */
extern "C" __global__ void producer(int *out)
{
	__shared__ int box[64];

	if (threadIdx.x < 64) {
		box[threadIdx.x] = threadIdx.x * 5;
		asm volatile("bar.arrive 2, 128;");
	} else {
		asm volatile("bar.sync 2, 128;");
		out[threadIdx.x - 64] = box[threadIdx.x - 64];
	}
}

extern "C" __global__ void cross_lane(unsigned *out)
{
	unsigned t = threadIdx.x, r = 0;

	r += __ballot_sync(0xffffffff, t & 1);
	r ^= __any_sync(0xffffffff, t == 9) << 3;
	r ^= __all_sync(0xffffffff, t < 32) << 5;
	r ^= __match_any_sync(0xffffffff, t / 3);
	r += __shfl_sync(0xffffffff, t * 7, (t + 5) & 31);
	r += __shfl_up_sync(0xffffffff, t, 3, 8);
	r += __popc(__activemask());
	if (t < 16)
		r += __shfl_xor_sync(0xffff, t, 1) + (__ballot_sync(0xffff, t & 2) << 8);
	else
		r -= __shfl_xor_sync(0xffff0000, t, 2);
	out[t] = r;
}
