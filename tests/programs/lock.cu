/* Threads that wait for each other: a spin lock within a warp, fences, the last block finishes the work of all. */
#include "program.h"

enum { BLOCKS = 24, BLOCK = 96 };

#ifdef __CUDACC__

VARIABLE unsigned blocks_done;
VARIABLE volatile unsigned published[BLOCKS];

KERNEL locked(int *lock, volatile unsigned *account)
{
	/* every lane of a warp wants the lock at once */
	while (atomicCAS(lock, 0, 1))
		__nanosleep(20);
	__threadfence();
	account[0] = account[0] * 1 + 1;
	account[1] = account[0] + 5;
	asm volatile("membar.gl;");
	asm volatile("fence.acq_rel.gpu;");
	atomicExch(lock, 0);
}

KERNEL last_block(unsigned *total)
{
	__shared__ int last;
	int k;

	if (threadIdx.x == 0) {
		published[blockIdx.x] = blockIdx.x * 3 + 1;
		asm volatile("membar.sys;\n\tfence.sc.sys;\n\tmembar.cta;");
		last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0)
		for (k = 0; k < (int)gridDim.x; k++)
			*total += published[k];
}

/* A lane waits for what a higher and a lower lane of its own warp do later in the program. */
KERNEL relay(volatile unsigned *flags, unsigned *order)
{
	unsigned lane = threadIdx.x, turn = (lane * 11 + 7) % 32;

	while (flags[0] != turn)
		;
	order[turn] = lane;
	__threadfence();
	flags[0] = turn + 1;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	unsigned account[2], total[1], order[32], *da = DEVICE_ALLOC(unsigned, 2), *dt = DEVICE_ALLOC(unsigned, 1), *flags = DEVICE_ALLOC(unsigned, 1),
						   *dorder = DEVICE_ALLOC(unsigned, 32), i;
	int *lock = DEVICE_ALLOC(int, 1);

	LAUNCH(locked, BLOCKS, BLOCK, lock, da);
	BRING(account, da);
	CHECK(account[0] == BLOCKS * BLOCK && account[1] == BLOCKS * BLOCK + 5);
	LAUNCH(last_block, BLOCKS, BLOCK, dt);
	BRING(total, dt);
	CHECK(total[0] == 3 * BLOCKS * (BLOCKS - 1) / 2 + BLOCKS);
	LAUNCH(relay, 1, 32, flags, dorder);
	BRING(order, dorder);
	for (i = 0; i < 32; i++)
		CHECK((order[i] * 11 + 7) % 32 == i);
	return program_end();
}
