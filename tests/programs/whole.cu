/* Ordered and volatile vectors of up to 16 bytes are seen whole by other blocks, as scans that look back need it. */
#include "program.h"

enum { BLOCKS = 8, ROUNDS = 3000 };

#ifdef __CUDACC__

DEVICE void write_two(uint32_t *p, uint32_t v)
{
	asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1, %2};" ::"l"(p), "r"(v), "r"(~v) : "memory");
}

DEVICE void write_four(uint32_t *p, uint32_t v)
{
	asm volatile("st.volatile.v4.u32 [%0], {%1, %2, %1, %2};" ::"l"(p), "r"(v), "r"(~v) : "memory");
}

DEVICE void write_wide(unsigned long long *p, unsigned long long v)
{
	asm volatile("st.release.gpu.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(v), "l"(~v) : "memory");
}

DEVICE uint32_t torn_two(const uint32_t *p)
{
	uint32_t a, b;

	asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(p) : "memory");
	return b != ~a;
}

DEVICE uint32_t torn_four(const uint32_t *p)
{
	uint32_t a, b, c, d;

	asm volatile("ld.volatile.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "l"(p)
		     : "memory");
	return b != ~a || c != a || d != b;
}

DEVICE uint32_t torn_wide(const unsigned long long *p)
{
	unsigned long long a, b;

	asm volatile("ld.acquire.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(p) : "memory");
	return b != ~a;
}

/* Half of the blocks write, the others look. */
KERNEL whole(uint32_t *two, uint32_t *four, unsigned long long *wide, uint32_t *torn)
{
	uint32_t found[3] = { 0, 0, 0 };

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t at = (threadIdx.x + i) % 32, v = i * 64 + blockIdx.x;

		if (blockIdx.x % 2) {
			write_two(two + 2 * at, v);
			write_four(four + 4 * at, v);
			write_wide(wide + 2 * at, v | (unsigned long long)v << 32);
		} else {
			found[0] += torn_two(two + 2 * at);
			found[1] += torn_four(four + 4 * at);
			found[2] += torn_wide(wide + 2 * at);
		}
	}
	for (int k = 0; k < 3; k++)
		atomicAdd(torn + k, found[k]);
}

#else
#include PROGRAM_STUBS
#endif

int main(void)
{
	static uint32_t two[64], four[128], torn[3];
	static unsigned long long wide[64];
	uint32_t *d_two, *d_four, *d_torn = DEVICE_COPY(uint32_t, torn);
	unsigned long long *d_wide;

	for (int i = 0; i < 64; i++) {
		two[i] = i % 2 ? ~0u : 0;
		four[2 * i] = 0;
		four[2 * i + 1] = ~0u;
		wide[i] = i % 2 ? ~0ull : 0;
	}
	d_two = DEVICE_COPY(uint32_t, two);
	d_four = DEVICE_COPY(uint32_t, four);
	d_wide = DEVICE_COPY(unsigned long long, wide);
	LAUNCH(whole, BLOCKS, 32, d_two, d_four, d_wide, d_torn);
	BRING(torn, d_torn);
	CHECK(torn[0] == 0);
	CHECK(torn[1] == 0);
	CHECK(torn[2] == 0);
	return program_end();
}
