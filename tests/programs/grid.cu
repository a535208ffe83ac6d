/* A barrier of all blocks, of our own making, in a cooperative launch; and what such launches refuse. */
#include "program.h"

enum { ROUNDS = 8 };

#ifdef __CUDACC__

/* Blocks count themselves in; the last one opens the next round. */
DEVICE void grid_barrier(unsigned *arrived, volatile unsigned *round)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		unsigned now = *round;

		__threadfence();
		if (atomicAdd(arrived, 1) == gridDim.x - 1) {
			*arrived = 0;
			__threadfence();
			*round = now + 1;
		} else {
			while (*round == now)
				__nanosleep(50);
		}
		__threadfence();
	}
	__syncthreads();
}

/* Each round every word becomes the sum of both neighbours, which other blocks wrote. */
KERNEL rounds(volatile unsigned *even, volatile unsigned *odd, unsigned *state, int rounds_count)
{
	int n = gridDim.x * blockDim.x, i = THREAD, r;

	for (r = 0; r < rounds_count; r++) {
		volatile unsigned *from = r % 2 ? odd : even, *to = r % 2 ? even : odd;

		to[i] = from[(i + 1) % n] + from[(i + n - 1) % n];
		grid_barrier(state, state + 1);
	}
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	unsigned *even, *odd, *state, *a, *b, *t;
	int blocks = 0, n, i, r, rounds_count = ROUNDS;
	void *args[4] = { &a, &b, &state, &rounds_count };

	if (!attribute(cudaDevAttrCooperativeLaunch))
		SKIP("the device has no cooperative launch");
	CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)rounds, 64, 0));
	CHECK(blocks >= 1);
	blocks *= attribute(cudaDevAttrMultiProcessorCount);
	GIVES(cudaLaunchCooperativeKernel((const void *)rounds, dim(blocks + 1, 1, 1), dim(64, 1, 1), args, 0, 0),
	      cudaErrorCooperativeLaunchTooLarge);
	CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
	if (blocks > 24)
		blocks = 24;
	n = blocks * 64;
	a = (unsigned *)malloc(n * sizeof(*a));
	b = (unsigned *)malloc(n * sizeof(*b));
	for (i = 0; i < n; i++)
		a[i] = random32();
	even = (unsigned *)device_copy(a, n * sizeof(*a));
	odd = DEVICE_ALLOC(unsigned, n);
	state = DEVICE_ALLOC(unsigned, 2);
	args[0] = &even;
	args[1] = &odd;
	args[2] = &state;
	args[3] = &rounds_count;
	CALL(cudaLaunchCooperativeKernel((const void *)rounds, dim(blocks, 1, 1), dim(64, 1, 1), args, 0, 0));
	SYNC();
	for (r = 0; r < ROUNDS; r++) {
		for (i = 0; i < n; i++)
			b[i] = a[(i + 1) % n] + a[(i + n - 1) % n];
		t = a;
		a = b;
		b = t;
	}
	CALL(cudaMemcpy(b, even, n * sizeof(*b), cudaMemcpyDeviceToHost));
	CHECK(!memcmp(a, b, n * sizeof(*b)));
	free(a);
	free(b);
	return program_end();
}
