/* What lanes of a warp do together: shuffles of every mode, votes, matches, masks, and sums over partial warps. */
#include "program.h"

enum { WARPS = 4, N = WARPS * 32, RESULTS = 14 };

#ifdef __CUDACC__

KERNEL warps(const uint32_t *x, uint32_t *z)
{
	int i = THREAD, lane = threadIdx.x % 32, predicate;
	uint32_t a = x[i], *r = z + i * RESULTS, mask, sum;

	r[0] = __shfl_sync(~0u, a, (lane * 7 + 3) % 32);
	r[1] = __shfl_up_sync(~0u, a, 5);
	r[2] = __shfl_down_sync(~0u, a, 9, 16);
	r[3] = __shfl_xor_sync(~0u, a, 21);
	r[4] = __ballot_sync(~0u, a & 1);
	r[5] = __any_sync(~0u, a == x[i - lane + 4]) + 2 * __all_sync(~0u, a & 0x80000000 || 1) + 4 * __all_sync(~0u, lane);
	r[6] = __match_any_sync(~0u, a & 3);
	r[7] = __match_all_sync(~0u, blockIdx.x, &predicate) ^ predicate;
	r[8] = __match_all_sync(~0u, a & 7, &predicate) ^ predicate;
	/* a part of the warp, found at run time */
	r[9] = 0;
	r[10] = 0;
	if (a & 4) {
		mask = __activemask();
		mask = __ballot_sync(mask, 1);
		r[9] = (mask >> lane & 1);
	}
	mask = __ballot_sync(~0u, a & 8);
	if (a & 8) {
		r[10] = __shfl_sync(mask, a, __ffs(mask) - 1);
		__syncwarp(mask);
	}
	sum = a;
	for (int step = 16; step; step /= 2)
		sum += __shfl_down_sync(~0u, sum, step);
	r[11] = __shfl_sync(~0u, sum, 0);
	asm volatile("{\n\t.reg .pred p;\n\tshfl.sync.bfly.b32 %0|p, %1, 17, 0x0f0f, -1;\n\t@!p mov.u32 %0, 77;\n\t}" : "=r"(r[12]) : "r"(a));
	asm volatile("{\n\t.reg .pred p, q;\n\tsetp.ne.u32 p, %1, 0;\n\tvote.sync.uni.pred q, p, -1;\n\tselp.u32 %0, 1, 0, q;\n\t}"
		     : "=r"(r[13]) : "r"(a & 1));
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t x[N], z[N * RESULTS];
	uint32_t *dz = DEVICE_ALLOC(uint32_t, N * RESULTS);
	int i, k;

	for (i = 0; i < N; i++)
		x[i] = random32();
	for (i = 32; i < 64; i++)
		x[i] |= 15; /* a warp in which all agree */
	LAUNCH(warps, 2, N / 2, DEVICE_COPY(uint32_t, x), dz);
	BRING(z, dz);
	for (i = 0; i < N; i++) {
		int lane = i % 32, source;
		uint32_t *w = x + i - lane, a = x[i], *r = z + i * RESULTS, ones = 0, same = 0, all7 = 1, sum = 0, first = 0, any = 0;

		for (k = 31; k >= 0; k--) {
			ones |= (w[k] & 1) << k;
			same |= (uint32_t)((w[k] & 3) == (a & 3)) << k;
			all7 &= (w[k] & 7) == (w[0] & 7);
			sum += w[k];
			any |= w[k] == w[4];
			if (w[k] & 8)
				first = w[k];
		}
		CHECK(r[0] == w[(lane * 7 + 3) % 32]);
		CHECK(r[1] == w[lane < 5 ? lane : lane - 5]);
		CHECK(r[2] == w[lane % 16 + 9 < 16 ? lane + 9 : lane]);
		CHECK(r[3] == w[lane ^ 21]);
		CHECK(r[4] == ones);
		CHECK(r[5] == any + 2);
		CHECK(r[6] == same);
		CHECK(r[7] == (0xffffffff ^ 1));
		CHECK(r[8] == (all7 ? 0xffffffff ^ 1 : 0));
		CHECK(r[9] == (a >> 2 & 1));
		CHECK(r[10] == (a & 8 ? first : 0));
		CHECK(r[11] == sum);
		/* segments of which the lane itself is the last: no lane above it is a source */
		source = lane ^ 17;
		CHECK(r[12] == (source <= (lane & 15) ? w[source] : 77));
		CHECK(r[13] == (ones == 0 || ones == 0xffffffff));
	}
	return program_end();
}
