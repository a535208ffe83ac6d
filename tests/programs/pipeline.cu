/* compute_80: copies into shared memory that run beside the kernel, groups of them, barriers in memory, reductions of a warp. */
#include "program.h"

enum { TILES = 6, BLOCK = 128 };

#ifdef __CUDACC__

/* Two tiles in flight: one is copied while the other is summed. */
KERNEL pipelined(const uint4 *x, uint32_t *z)
{
	__shared__ uint4 tile[2][BLOCK];
	uint32_t t = threadIdx.x, sum = 0;

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(&tile[0][t])), "l"(x + t) : "memory");
	asm volatile("cp.async.commit_group;" ::: "memory");
	for (int k = 0; k < TILES; k++) {
		if (k + 1 < TILES)
			asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
				     ::"r"((uint32_t)__cvta_generic_to_shared(&tile[(k + 1) % 2][t])), "l"(x + (k + 1) * BLOCK + t) : "memory");
		asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
		__syncthreads();
		uint4 other = tile[k % 2][BLOCK - 1 - t];
		sum += (other.x ^ other.y) + (other.z ^ other.w);
		__syncthreads();
	}
	z[t] = sum;
	/* the last bytes are zeros when the source is shorter */
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8, 4;\n\tcp.async.wait_all;"
		     ::"r"((uint32_t)__cvta_generic_to_shared(&tile[0][t])), "l"(x + t) : "memory");
	z[BLOCK + t] = tile[0][t].x;
	z[2 * BLOCK + t] = tile[0][t].y;
}

/* A barrier in shared memory: three rounds of a rotating array. */
KERNEL memory_barrier(uint32_t *z)
{
	__shared__ uint64_t barrier;
	__shared__ uint32_t words[BLOCK];
	uint32_t t = threadIdx.x, address = (uint32_t)__cvta_generic_to_shared(&barrier), value = t, done;
	uint64_t token;

	if (t == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(BLOCK) : "memory");
	__syncthreads();
	for (int round = 0; round < 3; round++) {
		words[t] = value;
		asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address) : "memory");
		do {
			asm volatile("{\n\t.reg .pred p;\n\tmbarrier.test_wait.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
				     : "=r"(done) : "r"(address), "l"(token) : "memory");
		} while (!done);
		value = words[(t + 1) % BLOCK] + round;
		__syncthreads();
	}
	z[t] = value;
	if (t == 0)
		asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address) : "memory");
}

KERNEL reductions(const int *x, int *z)
{
	int a = x[threadIdx.x], r;
	int *to = z + threadIdx.x * 6;

	asm volatile("redux.sync.add.s32 %0, %1, -1;" : "=r"(r) : "r"(a));
	to[0] = r;
	asm volatile("redux.sync.min.s32 %0, %1, -1;" : "=r"(r) : "r"(a));
	to[1] = r;
	asm volatile("redux.sync.max.u32 %0, %1, -1;" : "=r"(r) : "r"(a));
	to[2] = r;
	asm volatile("redux.sync.xor.b32 %0, %1, -1;" : "=r"(r) : "r"(a));
	to[3] = r;
	if (threadIdx.x % 2) {
		asm volatile("redux.sync.and.b32 %0, %1, 0xaaaaaaaa;" : "=r"(r) : "r"(a));
		to[4] = r;
	} else {
		asm volatile("redux.sync.or.b32 %0, %1, 0x55555555;" : "=r"(r) : "r"(a));
		to[4] = r;
	}
	asm volatile("{\n\t.reg .pred p, q;\n\tisspacep.global p, %1;\n\tisspacep.shared q, %1;\n\tselp.s32 %0, 2, 0, p;\n\t@q add.s32 %0, %0, 1;\n\t}"
		     : "=r"(r) : "l"(to));
	to[5] = r;
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t x[TILES * BLOCK * 4], z[BLOCK * 3], turned[BLOCK];
	static int y[32], sums[32 * 6];
	uint32_t *dz = DEVICE_ALLOC(uint32_t, BLOCK * 3), *dt = DEVICE_ALLOC(uint32_t, BLOCK), most = 0;
	int *ds = DEVICE_ALLOC(int, 32 * 6), i, k, sum = 0, least = INT32_MAX, all = 0, odd = -1, even = 0;

	if (capability() < 80)
		SKIP("needs compute capability 8.0");
	for (i = 0; i < TILES * BLOCK * 4; i++)
		x[i] = random32();
	for (i = 0; i < 32; i++) {
		y[i] = (int)random32() >> 6;
		sum += y[i];
		least = y[i] < least ? y[i] : least;
		most = (uint32_t)y[i] > most ? (uint32_t)y[i] : most;
		all ^= y[i];
		odd &= i % 2 ? y[i] : -1;
		even |= i % 2 ? 0 : y[i];
	}
	LAUNCH(pipelined, 1, BLOCK, (const struct uint4 *)DEVICE_COPY(uint32_t, x), dz);
	LAUNCH(memory_barrier, 1, BLOCK, dt);
	LAUNCH(reductions, 1, 32, DEVICE_COPY(int, y), ds);
	BRING(z, dz);
	BRING(turned, dt);
	BRING(sums, ds);
	for (i = 0; i < BLOCK; i++) {
		uint32_t wanted = 0;

		for (k = 0; k < TILES; k++) {
			uint32_t *w = x + (k * BLOCK + BLOCK - 1 - i) * 4;

			wanted += (w[0] ^ w[1]) + (w[2] ^ w[3]);
		}
		CHECK(z[i] == wanted);
		CHECK(z[BLOCK + i] == x[i * 4] && z[2 * BLOCK + i] == 0);
		CHECK(turned[i] == (uint32_t)(i + 3) % BLOCK + 3);
	}
	for (i = 0; i < 32; i++) {
		int *r = sums + i * 6;

		CHECK(r[0] == sum && r[1] == least && (uint32_t)r[2] == most && r[3] == all && r[4] == (i % 2 ? odd : even) && r[5] == 2);
	}
	return program_end();
}
