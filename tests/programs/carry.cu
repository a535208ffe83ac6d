/* Carry chains: sums, differences and products of 128 bits from 32-bit pieces, against the host's __int128. */
#include "program.h"

enum { COUNT = 256 };

#ifdef __CUDACC__

KERNEL carry(const uint32_t *x, const uint32_t *y, uint32_t *sum, uint32_t *difference, uint32_t *product)
{
	int i = THREAD * 4;
	uint32_t a = x[i], b = y[i], low, high, next;

	asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
	    : "=&r"(sum[i]), "=&r"(sum[i + 1]), "=&r"(sum[i + 2]), "=&r"(sum[i + 3])
	    : "r"(a), "r"(x[i + 1]), "r"(x[i + 2]), "r"(x[i + 3]), "r"(b), "r"(y[i + 1]), "r"(y[i + 2]), "r"(y[i + 3]));
	asm("sub.cc.u32 %0, %4, %8;\n\tsubc.cc.u32 %1, %5, %9;\n\tsubc.cc.u32 %2, %6, %10;\n\tsubc.u32 %3, %7, %11;"
	    : "=&r"(difference[i]), "=&r"(difference[i + 1]), "=&r"(difference[i + 2]), "=&r"(difference[i + 3])
	    : "r"(a), "r"(x[i + 1]), "r"(x[i + 2]), "r"(x[i + 3]), "r"(b), "r"(y[i + 1]), "r"(y[i + 2]), "r"(y[i + 3]));
	/* 64 × 32 bits, and a number added on the way */
	asm("mad.lo.cc.u32 %0, %3, %5, %6;\n\tmadc.hi.u32 %1, %3, %5, 0;\n\tmad.lo.cc.u32 %1, %4, %5, %1;\n\tmadc.hi.u32 %2, %4, %5, 0;"
	    : "=&r"(low), "=&r"(high), "=&r"(next) : "r"(a), "r"(x[i + 1]), "r"(b), "r"(y[i + 1]));
	product[i] = low;
	product[i + 1] = high;
	product[i + 2] = next;
}

KERNEL carry64(const uint64_t *x, const uint64_t *y, uint64_t *sum)
{
	int i = THREAD * 2;

	asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
	    : "=&l"(sum[i]), "=&l"(sum[i + 1]) : "l"(x[i]), "l"(x[i + 1]), "l"(y[i]), "l"(y[i + 1]));
}

#else
#include PROGRAM_STUBS
#endif

typedef unsigned __int128 u128;

static u128 joined(const uint32_t *words)
{
	return (u128)words[3] << 96 | (u128)words[2] << 64 | (u128)words[1] << 32 | words[0];
}

int main(void)
{
	static uint32_t x[COUNT * 4], y[COUNT * 4], z[COUNT * 4];
	uint32_t *dx, *dy, *sum = DEVICE_ALLOC(uint32_t, COUNT * 4), *difference = DEVICE_ALLOC(uint32_t, COUNT * 4),
			   *product = DEVICE_ALLOC(uint32_t, COUNT * 4);
	uint64_t *wide = DEVICE_ALLOC(uint64_t, COUNT * 2);
	int i;

	for (i = 0; i < COUNT * 4; i++) {
		x[i] = i % 3 ? random32() : 0xffffffff;
		y[i] = i % 5 ? random32() : i % 2 ? 0 : 0xffffffff;
	}
	dx = DEVICE_COPY(uint32_t, x);
	dy = DEVICE_COPY(uint32_t, y);
	LAUNCH(carry, COUNT / 64, 64, dx, dy, sum, difference, product);
	LAUNCH(carry64, COUNT / 64, 64, (const uint64_t *)dx, (const uint64_t *)dy, wide);
	BRING(z, sum);
	for (i = 0; i < COUNT * 4; i += 4)
		CHECK(joined(z + i) == joined(x + i) + joined(y + i));
	BRING(z, difference);
	for (i = 0; i < COUNT * 4; i += 4)
		CHECK(joined(z + i) == joined(x + i) - joined(y + i));
	BRING(z, wide);
	for (i = 0; i < COUNT * 4; i += 4)
		CHECK(joined(z + i) == joined(x + i) + joined(y + i));
	BRING(z, product);
	for (i = 0; i < COUNT * 4; i += 4)
		CHECK(joined(z + i) == (u128)(((uint64_t)x[i + 1] << 32) | x[i]) * y[i] + y[i + 1]);
	return program_end();
}
