/* Shared memory, static and dynamic, beyond 48 KB when the kernel asks for it: transposition, sums, a histogram. */
#include "program.h"

enum { SIDE = 64, LARGE = 64 * 1024 };

#ifdef __CUDACC__

KERNEL transpose(const uint32_t *x, uint32_t *z)
{
	__shared__ uint32_t tile[32][33];
	int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;

	tile[threadIdx.y][threadIdx.x] = x[row * SIDE + column];
	__syncthreads();
	column = blockIdx.y * 32 + threadIdx.x;
	row = blockIdx.x * 32 + threadIdx.y;
	z[row * SIDE + column] = tile[threadIdx.x][threadIdx.y];
}

KERNEL sum(const uint32_t *x, uint32_t *z)
{
	extern __shared__ uint32_t words[];
	unsigned step;

	words[threadIdx.x] = x[THREAD];
	for (step = blockDim.x / 2; step; step /= 2) {
		__syncthreads();
		if (threadIdx.x < step)
			words[threadIdx.x] += words[threadIdx.x + step];
	}
	if (threadIdx.x == 0)
		z[blockIdx.x] = words[0];
}

/* Every word of a large block of shared memory is written by one thread and read by another. */
KERNEL large(uint32_t *z, int words_count)
{
	extern __shared__ uint32_t words[];
	uint32_t total = 0;
	int i;

	for (i = threadIdx.x; i < words_count; i += blockDim.x)
		words[i] = i * 3;
	__syncthreads();
	for (i = threadIdx.x; i < words_count; i += blockDim.x)
		total += words[words_count - 1 - i];
	atomicAdd(z, total);
}

KERNEL histogram(const uint32_t *x, uint32_t *z, int n)
{
	__shared__ uint32_t bins[256];
	int i;

	bins[threadIdx.x] = 0;
	__syncthreads();
	for (i = THREAD; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(bins + (x[i] & 255), 1);
	__syncthreads();
	atomicAdd(z + threadIdx.x, bins[threadIdx.x]);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t x[SIDE * SIDE], z[SIDE * SIDE], sums[16], bins[256], wanted[256];
	uint32_t *dx, *dz = DEVICE_ALLOC(uint32_t, SIDE * SIDE), *ds = DEVICE_ALLOC(uint32_t, 16), *db = DEVICE_ALLOC(uint32_t, 256);
	uint32_t *dl = DEVICE_ALLOC(uint32_t, 1), total[1] = { 0 };
	int i, k;

	for (i = 0; i < SIDE * SIDE; i++)
		wanted[(x[i] = random32()) & 255]++;
	dx = DEVICE_COPY(uint32_t, x);
	LAUNCH(transpose, dim(SIDE / 32, SIDE / 32, 1), dim(32, 32, 1), dx, dz);
	BRING(z, dz);
	for (i = 0; i < SIDE; i++)
		for (k = 0; k < SIDE; k++)
			CHECK(z[k * SIDE + i] == x[i * SIDE + k]);
	CALL(LAUNCH_ON(sum, 16, 256, 256 * sizeof(uint32_t), 0, dx, ds));
	BRING(sums, ds);
	for (i = 0; i < 16; i++) {
		uint32_t s = 0;

		for (k = 0; k < 256; k++)
			s += x[i * 256 + k];
		CHECK(sums[i] == s);
	}
	LAUNCH(histogram, 3, 256, dx, db, SIDE * SIDE);
	BRING(bins, db);
	CHECK(!memcmp(bins, wanted, sizeof(bins)));
	if (attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < LARGE)
		return program_end();
	GIVES(LAUNCH_ON(large, 1, 128, LARGE, 0, dl, LARGE / 4), cudaErrorInvalidValue);
	CALL(cudaFuncSetAttribute((const void *)large, cudaFuncAttributeMaxDynamicSharedMemorySize, LARGE));
	CALL(LAUNCH_ON(large, 1, 128, LARGE, 0, dl, LARGE / 4));
	BRING(total, dl);
	CHECK(total[0] == 3u * (LARGE / 4) * (LARGE / 4 - 1) / 2);
	return program_end();
}
