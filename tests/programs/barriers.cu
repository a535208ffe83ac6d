/* Barriers of every form: named ones, parts of a block, arriving without waiting, and with a vote. */
#include "program.h"

enum { BLOCK = 256 };

#ifdef __CUDACC__

KERNEL barriers(const int *x, int *z)
{
	__shared__ volatile int words[BLOCK];
	int t = threadIdx.x, count, all, any;

	words[t] = x[t];
	__syncthreads();
	z[t] = words[BLOCK - 1 - t];
	count = __syncthreads_count(x[t] & 1);
	all = __syncthreads_and(x[t] != 12345);
	any = __syncthreads_or(x[t] == x[77]);
	z[BLOCK + t] = count + 1000 * (all != 0) + 2000 * (any != 0);
	/* four groups of 64 threads, each with a barrier of its own */
	for (int round = 0; round < 5; round++) {
		words[t] = words[t] + round;
		asm volatile("bar.sync %0, %1;" ::"r"(t / 64 + 1), "r"(64) : "memory");
		int next = words[t / 64 * 64 + (t + 1) % 64];
		asm volatile("barrier.sync.aligned %0, 64;" ::"r"(t / 64 + 1) : "memory");
		words[t] = next;
		asm volatile("barrier.sync %0, 64;" ::"r"(t / 64 + 1) : "memory");
	}
	z[2 * BLOCK + t] = words[t];
	__syncthreads();
	/* half of the threads produce and go on, the other half waits for them */
	if (t < BLOCK / 2) {
		words[t] = x[t] * 7;
		__threadfence_block();
		asm volatile("bar.arrive 9, 256;" ::: "memory");
	} else {
		asm volatile("bar.sync 9, 256;" ::: "memory");
		z[3 * BLOCK + t - BLOCK / 2] = words[t - BLOCK / 2];
	}
	asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbar.red.and.pred q, 3, 256, p;\n\tselp.s32 %0, 1, 0, q;\n\t}"
		     : "=r"(all) : "r"(t - 300) : "memory");
	asm volatile("{\n\t.reg .pred p;\n\tsetp.gt.s32 p, %1, 99;\n\tbarrier.red.popc.aligned.u32 %0, 4, 256, p;\n\t}" : "=r"(count) : "r"(t) : "memory");
	z[3 * BLOCK + BLOCK / 2 + t % (BLOCK / 2)] = count * 2 + all;
}

/* Threads that have left no longer count. */
KERNEL leavers(int *z)
{
	if (threadIdx.x >= 32 && threadIdx.x < 96)
		asm volatile("exit;");
	__syncthreads();
	atomicAdd(z, 1);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static int x[BLOCK], z[BLOCK * 4], state[BLOCK], next[BLOCK], left[1];
	int *dz = DEVICE_ALLOC(int, BLOCK * 4), *dl = DEVICE_ALLOC(int, 1), i, round, odd = 0;

	for (i = 0; i < BLOCK; i++) {
		x[i] = state[i] = (int)(random32() >> 8) + 20000;
		odd += x[i] & 1;
	}
	LAUNCH(barriers, 1, BLOCK, DEVICE_COPY(int, x), dz);
	LAUNCH(leavers, 1, 160, dl);
	BRING(z, dz);
	BRING(left, dl);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < BLOCK; i++)
			state[i] += round;
		for (i = 0; i < BLOCK; i++)
			next[i] = state[i / 64 * 64 + (i + 1) % 64];
		memcpy(state, next, sizeof(state));
	}
	for (i = 0; i < BLOCK; i++) {
		CHECK(z[i] == x[BLOCK - 1 - i]);
		CHECK(z[BLOCK + i] == odd + 3000);
		CHECK(z[2 * BLOCK + i] == state[i]);
		CHECK(z[3 * BLOCK + i] == (i < BLOCK / 2 ? x[i] * 7 : 2 * (BLOCK - 100) + 1));
	}
	CHECK(left[0] == 96);
	return program_end();
}
