/* Loads and stores of every width: vectors, volatile, cache hints, read-only, ordered ones; prefetching. */
#include "program.h"

enum { COUNT = 256 };

#ifdef __CUDACC__

KERNEL vectors(const uint4 *x, uint4 *z, volatile uint32_t *spill, const uint8_t *bytes, uint32_t *sums)
{
	int i = THREAD;
	uint4 a = x[i], b;
	uint2 half_of;
	uint32_t s0, s1, s2, s3, s4, s5;
	uint16_t u16;
	int16_t s16;
	uint64_t u64, v64;
	double d0, d1;

	asm volatile("prefetch.global.L1 [%0];\n\tprefetch.global.L2 [%0];\n\tprefetchu.L1 [%0];" ::"l"(x + i));
	asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2+8];" : "=r"(half_of.x), "=r"(half_of.y) : "l"(x + i));
	asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(s0) : "l"(x + i));
	asm volatile("ld.global.cs.u32 %0, [%1+4];" : "=r"(s1) : "l"(x + i));
	asm volatile("ld.global.cv.u32 %0, [%1+8];" : "=r"(s2) : "l"(x + i));
	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1+12];" : "=r"(s3) : "l"(x + i));
	asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(s4) : "l"(x + i));
	asm volatile("ld.global.u8 %0, [%1];" : "=r"(s5) : "l"(bytes + i));
	asm volatile("ld.global.s8 %0, [%1+1];" : "=h"(s16) : "l"(bytes + i));
	asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(u64), "=l"(v64) : "l"(x + i));
	asm volatile("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(d0), "=d"(d1) : "l"(x + i));
	asm volatile("ld.volatile.global.u16 %0, [%1+2];" : "=h"(u16) : "l"(x + i));
	b.x = a.x ^ half_of.y;
	b.y = s0 + s1 + s2 + s3;
	b.z = s4 + s5 + s16;
	b.w = (uint32_t)(u64 >> 32) + (uint32_t)v64 + u16 + (__double_as_longlong(d0) == (long long)u64);
	spill[i] = b.x;
	asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(sums + i), "r"(b.y));
	asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(sums + COUNT + i), "r"(b.z));
	asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(sums + 2 * COUNT + i), "r"(b.w));
	asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(z + i), "r"(spill[i]), "r"(b.y), "r"(b.z), "r"(b.w));
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t x[COUNT * 4], z[COUNT * 4], sums[COUNT * 3];
	static uint8_t bytes[COUNT + 1];
	uint32_t *dx, *dz = DEVICE_ALLOC(uint32_t, COUNT * 4), *spill = DEVICE_ALLOC(uint32_t, COUNT), *ds = DEVICE_ALLOC(uint32_t, COUNT * 3);
	int i;

	for (i = 0; i < COUNT * 4; i++)
		x[i] = random32();
	for (i = 0; i <= COUNT; i++)
		bytes[i] = (uint8_t)random32();
	dx = DEVICE_COPY(uint32_t, x);
	LAUNCH(vectors, 2, COUNT / 2, (const struct uint4 *)dx, (struct uint4 *)dz, spill, DEVICE_COPY(uint8_t, bytes), ds);
	BRING(z, dz);
	BRING(sums, ds);
	for (i = 0; i < COUNT; i++) {
		uint32_t *a = x + i * 4, *b = z + i * 4;

		CHECK(b[0] == (a[0] ^ a[3]));
		CHECK(b[1] == a[0] + a[1] + a[2] + a[3]);
		CHECK(b[2] == a[0] + bytes[i] + (uint32_t)(int8_t)bytes[i + 1]);
		CHECK(b[3] == a[1] + a[2] + (a[0] >> 16) + 1);
		CHECK(sums[i] == b[1] && sums[COUNT + i] == b[2] && sums[2 * COUNT + i] == b[3]);
	}
	return program_end();
}
