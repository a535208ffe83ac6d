/*
 * engine.cu: the kernels of bench/engine.c. The PTX beside it is made with
 *   nvcc -ptx -arch=compute_75 -o engine.ptx engine.cu
 * and is built with nothing but this file: functions such as exp are written out here.
 */
#include <cstdint>

/* ---- the six that have goals ---- */

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy_loop(float a, const float *x, float *y, int n, int turns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float v = y[i], w = x[i];
	for (int k = 0; k < turns; k++)
		v = a * v + w;
	y[i] = v;
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

extern "C" __global__ void reduction(const float *x, float *part, int n)
{
	__shared__ float s[256];
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += x[i];
	s[threadIdx.x] = sum;
	__syncthreads();
	for (int half = 128; half > 0; half >>= 1) {
		if (threadIdx.x < half)
			s[threadIdx.x] += s[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		part[blockIdx.x] = s[0];
}

extern "C" __global__ void mandelbrot(int *out, int width, int height, int most)
{
	int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y, k = 0;
	float cx = -2.0f + 3.0f * px / width, cy = -1.5f + 3.0f * py / height, x = 0, y = 0;

	while (k < most && x * x + y * y < 4.0f) {
		float t = x * x - y * y + cx;

		y = 2.0f * x * y + cy;
		x = t;
		k++;
	}
	out[py * width + px] = k;
}

extern "C" __global__ void histogram(const uint32_t *x, uint32_t *bins, int n)
{
	__shared__ uint32_t s[256];

	s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[x[i] & 255], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

/* ---- others, so that nothing is tuned to six kernels ---- */

extern "C" __global__ void nbody(const float4 *p, float4 *force, int n)
{
	__shared__ float4 tile[128];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 me = p[i];
	float fx = 0, fy = 0, fz = 0;

	for (int t = 0; t < n; t += 128) {
		tile[threadIdx.x] = p[t + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < 128; k++) {
			float4 q = tile[k];
			float dx = q.x - me.x, dy = q.y - me.y, dz = q.z - me.z;
			float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
			float s = q.w / (r2 * __fsqrt_rn(r2));

			fx += s * dx;
			fy += s * dy;
			fz += s * dz;
		}
		__syncthreads();
	}
	force[i] = make_float4(fx, fy, fz, 0);
}

extern "C" __global__ void stencil(const float *in, float *out, int width, int height)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
		return;
	int i = y * width + x;
	out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}

extern "C" __global__ void matmul_plain(const float *a, const float *b, float *c, int n)
{
	int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

/* Inclusive sums of each block's 256 numbers. */
extern "C" __global__ void scan(const int *in, int *out, int n)
{
	__shared__ int sums[8];
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	int v = in[i];

	for (int d = 1; d < 32; d *= 2) {
		int other = __shfl_up_sync(~0u, v, d);

		if (lane >= d)
			v += other;
	}
	if (lane == 31)
		sums[warp] = v;
	__syncthreads();
	for (int k = 0; k < warp; k++)
		v += sums[k];
	out[i] = v;
}

/* Sorts each block's 512 numbers. */
extern "C" __global__ void bitonic(uint32_t *x)
{
	__shared__ uint32_t s[512];
	uint32_t *mine = x + blockIdx.x * 512;

	s[threadIdx.x] = mine[threadIdx.x];
	s[threadIdx.x + 256] = mine[threadIdx.x + 256];
	for (unsigned size = 2; size <= 512; size *= 2)
		for (unsigned stride = size / 2; stride > 0; stride /= 2) {
			__syncthreads();
			unsigned i = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
			uint32_t a = s[i], b = s[i + stride];
			bool up = !(i & size);

			if ((a > b) == up) {
				s[i] = b;
				s[i + stride] = a;
			}
		}
	__syncthreads();
	mine[threadIdx.x] = s[threadIdx.x];
	mine[threadIdx.x + 256] = s[threadIdx.x + 256];
}

extern "C" __global__ void xorshift(const uint64_t *seed, uint64_t *out, int turns)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t a = seed[2 * i], b = seed[2 * i + 1], sum = 0;

	for (int k = 0; k < turns; k++) {
		uint64_t t = a, s = b;

		a = s;
		t ^= t << 23;
		t ^= t >> 18 ^ s ^ s >> 5;
		b = t;
		sum += t + s;
	}
	out[i] = sum;
}

/* The rounds of SHA-256 over one block of 16 words per thread. */
extern "C" __global__ void sha_rounds(const uint32_t *in, uint32_t *out, const uint32_t *constants, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t w[16], s[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

#define ROTATE(v, by) ((v) >> (by) | (v) << (32 - (by)))
	for (int k = 0; k < 16; k++)
		w[k] = in[k * n + i];
#pragma unroll
	for (int k = 0; k < 64; k++) {
		uint32_t e = s[4], a = s[0];
		uint32_t t1 = s[7] + (ROTATE(e, 6) ^ ROTATE(e, 11) ^ ROTATE(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + constants[k] + w[k & 15];
		uint32_t t2 = (ROTATE(a, 2) ^ ROTATE(a, 13) ^ ROTATE(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
		uint32_t x = w[(k + 1) & 15], y = w[(k + 14) & 15];

		w[k & 15] += (ROTATE(x, 7) ^ ROTATE(x, 18) ^ x >> 3) + w[(k + 9) & 15] + (ROTATE(y, 17) ^ ROTATE(y, 19) ^ y >> 10);
		for (int j = 7; j > 0; j--)
			s[j] = s[j - 1];
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int k = 0; k < 8; k++)
		out[k * n + i] = s[k];
}

__device__ static double exponential(double x)
{
	double k = rint(x * 1.4426950408889634), r = x - k * 0.6931471805599453, p = 1.0 / 5040;

	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1.0;
	p = p * r + 1.0;
	return p * __longlong_as_double(((long long)k + 1023) << 52);
}

__device__ static double logarithm(double x)
{
	long long bits = __double_as_longlong(x), e = (bits >> 52) - 1023;
	double m = __longlong_as_double((bits & 0xfffffffffffffll) | 0x3ff0000000000000ll), s = (m - 1) / (m + 1), q = s * s;

	return (double)e * 0.6931471805599453 + 2 * s * (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9)))));
}

__device__ static double normal_share(double x)
{
	double a = x < 0 ? -x : x, k = 1 / (1 + 0.2316419 * a);
	double v = exponential(-0.5 * a * a) * 0.3989422804014327 * k *
		   (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));

	return x < 0 ? v : 1 - v;
}

extern "C" __global__ void options_f64(const double *price, const double *strike, double *call, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	double root = __dsqrt_rn(1.5) * 0.3, d1 = (logarithm(price[i] / strike[i]) + (0.02 + 0.045) * 1.5) / root;

	call[i] = price[i] * normal_share(d1) - strike[i] * exponential(-0.02 * 1.5) * normal_share(d1 - root);
}

/* Words in a text: a letter after what is no letter. One thread, 64 bytes. */
extern "C" __global__ void words(const uint8_t *text, int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, from = i * 64, found = 0;
	uint8_t before = from ? text[from - 1] : ' ';

	for (int k = from; k < from + 64 && k < n; k++) {
		uint8_t c = text[k], low = c | 0x20;
		bool letter = low >= 'a' && low <= 'z', was = (before | 0x20) >= 'a' && (before | 0x20) <= 'z';

		found += letter && !was;
		before = c;
	}
	count[i] = found;
}

/* One row, one thread. */
extern "C" __global__ void spmv(const int *row, const int *col, const float *value, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (int k = row[i]; k < row[i + 1]; k++)
		sum += value[k] * x[col[k]];
	y[i] = sum;
}

extern "C" __global__ void transpose(const float *in, float *out, int n)
{
	__shared__ float s[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;

	for (int k = 0; k < 32; k += 8)
		s[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int k = 0; k < 32; k += 8)
		out[(y + k) * n + x] = s[threadIdx.x][threadIdx.y + k];
}

extern "C" __global__ void nothing()
{
}
