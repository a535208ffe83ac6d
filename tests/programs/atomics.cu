/* Atomics of every operation and type, in global and shared memory, and reductions without a result. */
/* Also those of 64 bits and floating point, and that each of many threads gets another old value. */
#include "program.h"

enum { THREADS = 4096, BLOCK = 256 };

#ifdef __CUDACC__

KERNEL integers(uint32_t *g, int32_t *s, unsigned long long *w, uint8_t *tickets)
{
	uint32_t i = THREAD;

	tickets[atomicAdd(g + 0, 1)] = 1;
	atomicSub(g + 1, i);
	atomicAnd(g + 2, ~(1u << (i % 30)));
	atomicOr(g + 3, 1u << (i % 30));
	atomicXor(g + 4, i * 2654435761u);
	atomicMax(g + 5, i * 2654435761u);
	atomicMin(g + 6, i * 2654435761u);
	atomicInc(g + 7, 99);
	atomicDec(g + 8, 99);
	if (atomicExch(g + 9, i + 1) == 0)
		atomicAdd(g + 10, 1);
	if (atomicCAS(g + 11, 0, i + 1) == 0)
		atomicAdd(g + 12, 1);
	atomicMax(s + 0, (int32_t)(i * 2654435761u));
	atomicMin(s + 1, (int32_t)(i * 2654435761u));
	atomicAdd(w + 0, (unsigned long long)i << 30);
	atomicMax(w + 1, i * 0x9e3779b97f4a7c15ull);
	atomicMin(w + 2, i * 0x9e3779b97f4a7c15ull);
	atomicXor(w + 3, i * 0x9e3779b97f4a7c15ull);
	atomicOr(w + 4, 1ull << (i % 60));
	atomicAnd(w + 5, ~(1ull << (i % 60)));
	asm volatile("red.global.add.u64 [%0], %1;" ::"l"(w + 6), "l"((unsigned long long)i));
	asm volatile("red.relaxed.gpu.global.max.s64 [%0], %1;" ::"l"(w + 7), "l"((long long)i - 5000));
	asm volatile("atom.acq_rel.sys.global.add.u32 %0, [%1], 2;" : "=r"(i) : "l"(g + 13));
	/* a loop around compare and swap, of 64 bits */
	unsigned long long old = w[8], seen;
	while ((seen = atomicCAS(w + 8, old, old * 3 + 1)) != old)
		old = seen;
}

KERNEL floats(float *f, double *d)
{
	int i = THREAD;

	atomicAdd(f + 0, 0.5f);
	atomicExch(f + 1, (float)i);
	atomicAdd(d + 0, (double)i);
	asm volatile("red.global.add.f32 [%0], %1;" ::"l"(f + 2), "f"(2.0f));
	asm volatile("red.global.add.f64 [%0], %1;" ::"l"(d + 1), "d"(0.25));
}

KERNEL in_shared(uint32_t *z)
{
	__shared__ uint32_t u[8];
	__shared__ unsigned long long w[2];
	__shared__ float f;

	if (threadIdx.x < 8)
		u[threadIdx.x] = threadIdx.x == 3 ? ~0u : 0;
	if (threadIdx.x < 2)
		w[threadIdx.x] = 0;
	if (threadIdx.x == 0)
		f = 0;
	__syncthreads();
	atomicAdd(u + 0, threadIdx.x);
	atomicMax(u + 1, threadIdx.x);
	atomicOr(u + 2, 1u << threadIdx.x % 32);
	atomicAnd(u + 3, ~(1u << threadIdx.x % 31));
	atomicXor(u + 4, threadIdx.x);
	atomicInc(u + 5, 1000);
	atomicCAS(u + 6, threadIdx.x, threadIdx.x + 1);
	atomicAdd(w + 0, 1ull << 33);
	atomicMax(w + 1, (unsigned long long)threadIdx.x << 40);
	atomicAdd(&f, 1.0f);
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int k = 0; k < 6; k++)
			z[blockIdx.x * 10 + k] = u[k];
		z[blockIdx.x * 10 + 6] = u[6] > 0;
		z[blockIdx.x * 10 + 7] = w[0] >> 33;
		z[blockIdx.x * 10 + 8] = w[1] >> 40;
		z[blockIdx.x * 10 + 9] = f;
	}
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t g[14], z[16 * 10];
	static int32_t s[2];
	static unsigned long long w[9];
	static uint8_t tickets[THREADS];
	static float f[3];
	static double d[2];
	uint32_t *dg, *dz = DEVICE_ALLOC(uint32_t, 160), x = 0, largest = 0, smallest = ~0u, i, xor_all = 0;
	int32_t *ds = DEVICE_COPY(int32_t, s), most = 0, least = 0;
	unsigned long long *dw, sum = 0, wide_most = 0, wide_least = ~0ull, wide_xor = 0, chain = 0;
	uint8_t *dt = DEVICE_COPY(uint8_t, tickets);
	float *df = DEVICE_COPY(float, f);
	double *dd = DEVICE_COPY(double, d);

	g[2] = g[6] = ~0u;
	g[8] = 50;
	w[2] = w[5] = ~0ull;
	w[7] = (unsigned long long)-6000;
	dg = DEVICE_COPY(uint32_t, g);
	dw = DEVICE_COPY(unsigned long long, w);
	LAUNCH(integers, THREADS / BLOCK, BLOCK, dg, ds, dw, dt);
	LAUNCH(floats, THREADS / BLOCK, BLOCK, df, dd);
	LAUNCH(in_shared, 16, BLOCK, dz);
	BRING(g, dg);
	BRING(s, ds);
	BRING(w, dw);
	BRING(tickets, dt);
	BRING(f, df);
	BRING(d, dd);
	BRING(z, dz);
	for (i = 0; i < THREADS; i++) {
		unsigned long long wide = i * 0x9e3779b97f4a7c15ull;

		x = i * 2654435761u;
		xor_all ^= x;
		largest = x > largest ? x : largest;
		smallest = x < smallest ? x : smallest;
		most = (int32_t)x > most ? (int32_t)x : most;
		least = (int32_t)x < least ? (int32_t)x : least;
		wide_most = wide > wide_most ? wide : wide_most;
		wide_least = wide < wide_least ? wide : wide_least;
		wide_xor ^= wide;
		sum += i;
		chain = chain * 3 + 1;
		CHECK(tickets[i] == 1);
	}
	CHECK(g[0] == THREADS);
	CHECK(g[1] == (uint32_t)-sum);
	CHECK(g[2] == 3u << 30 && g[3] == ~(3u << 30));
	CHECK(g[4] == xor_all && g[5] == largest && g[6] == smallest);
	CHECK(g[7] == THREADS % 100);
	CHECK(g[8] == (50 + 101 * 100 - THREADS) % 100);
	CHECK(g[9] >= 1 && g[9] <= THREADS && g[10] == 1);
	CHECK(g[11] >= 1 && g[11] <= THREADS && g[12] == 1);
	CHECK(g[13] == 2 * THREADS);
	CHECK(s[0] == most && s[1] == least);
	CHECK(w[0] == sum << 30 && w[1] == wide_most && w[2] == wide_least && w[3] == wide_xor);
	CHECK(w[4] == (1ull << 60) - 1 && w[5] == 15ull << 60);
	CHECK(w[6] == sum && (long long)w[7] == THREADS - 1 - 5000);
	CHECK(w[8] == chain);
	CHECK(f[0] == THREADS / 2.0f && f[1] >= 0 && f[1] < THREADS && f[2] == 2.0f * THREADS);
	CHECK(d[0] == (double)sum && d[1] == THREADS / 4.0);
	for (i = 0; i < 16; i++) {
		uint32_t *r = z + i * 10;

		CHECK(r[0] == BLOCK * (BLOCK - 1) / 2 && r[1] == BLOCK - 1 && r[2] == ~0u && r[3] == 1u << 31 && r[4] == 0);
		CHECK(r[5] == BLOCK && r[6] == 1 && r[7] == BLOCK && r[8] == BLOCK - 1 && r[9] == BLOCK);
	}
	return program_end();
}
