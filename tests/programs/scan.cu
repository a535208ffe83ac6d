/* Classic algorithms put together: a prefix sum over many blocks, a bitonic sort, a product of matrices in tiles. */
#include "program.h"

enum { N = 4096, SIDE = 64 };

#ifdef __CUDACC__

KERNEL scan(const unsigned *x, unsigned *z, unsigned *sums)
{
	__shared__ unsigned words[2][256];
	int t = threadIdx.x, from = 0;

	words[0][t] = x[THREAD];
	for (int step = 1; step < 256; step *= 2, from ^= 1) {
		__syncthreads();
		words[from ^ 1][t] = words[from][t] + (t >= step ? words[from][t - step] : 0);
	}
	__syncthreads();
	z[THREAD] = words[from][t];
	if (t == 255)
		sums[blockIdx.x] = words[from][t];
}

KERNEL spread(unsigned *z, const unsigned *sums)
{
	unsigned before = 0;

	for (int k = 0; k < (int)blockIdx.x; k++)
		before += sums[k];
	z[THREAD] += before;
}

KERNEL sort_step(unsigned *p, unsigned distance, unsigned length)
{
	unsigned i = THREAD, k = i ^ distance;

	if (k > i && (p[i] > p[k]) == ((i & length) == 0)) {
		unsigned w = p[i];

		p[i] = p[k];
		p[k] = w;
	}
}

KERNEL multiply(const float *a, const float *b, float *c)
{
	__shared__ float x[16][16], y[16][17];
	int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int tile = 0; tile < SIDE; tile += 16) {
		x[threadIdx.y][threadIdx.x] = a[row * SIDE + tile + threadIdx.x];
		y[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * SIDE + column];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += x[threadIdx.y][k] * y[k][threadIdx.x];
		__syncthreads();
	}
	c[row * SIDE + column] = sum;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static unsigned x[N], z[N];
	static float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
	unsigned *dx, *dz = DEVICE_ALLOC(unsigned, N), *sums = DEVICE_ALLOC(unsigned, N / 256), sum = 0, i, j, k;
	float *dc = DEVICE_ALLOC(float, SIDE * SIDE);

	for (i = 0; i < N; i++) {
		x[i] = random32();
		a[i] = (float)(x[i] % 17);
		b[i] = (float)(x[i] % 23) - 11;
	}
	dx = DEVICE_COPY(unsigned, x);
	LAUNCH(scan, N / 256, 256, dx, dz, sums);
	LAUNCH(spread, N / 256, 256, dz, sums);
	BRING(z, dz);
	for (i = 0; i < N; i++)
		CHECK(z[i] == (sum += x[i]));
	for (k = 2; k <= N; k *= 2)
		for (j = k / 2; j; j /= 2)
			LAUNCH(sort_step, N / 256, 256, dx, j, k);
	BRING(z, dx);
	sum = z[0];
	for (i = 1; i < N; i++) {
		CHECK(z[i - 1] <= z[i]);
		sum += z[i];
	}
	for (i = 0; i < N; i++)
		sum -= x[i];
	CHECK(sum == 0);
	LAUNCH(multiply, dim(SIDE / 16, SIDE / 16, 1), dim(16, 16, 1), DEVICE_COPY(float, a), DEVICE_COPY(float, b), dc);
	BRING(c, dc);
	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++) {
			float wanted = 0;

			for (k = 0; k < SIDE; k++)
				wanted += a[i * SIDE + k] * b[k * SIDE + j];
			CHECK(c[i * SIDE + j] == wanted);
		}
	return program_end();
}
