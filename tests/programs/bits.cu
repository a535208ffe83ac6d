/* Bits: counts, positions, fields, permutations, three-operand logic, funnel shifts. */
#include "program.h"

enum { COUNT = 512, RESULTS = 18 };

#ifdef __CUDACC__

KERNEL bits(const uint32_t *x, const uint32_t *y, uint32_t *z)
{
	int i = THREAD;
	uint32_t a = x[i], b = y[i], *r = z + i * RESULTS;
	uint64_t wide = (uint64_t)a << 32 | b;

	r[0] = __popc(a);
	r[1] = __clz(a);
	r[2] = __brev(a);
	r[3] = __popcll(wide);
	r[4] = __clzll(wide);
	r[5] = (uint32_t)(__brevll(wide) >> 32);
	asm("bfind.u32 %0, %1;" : "=r"(r[6]) : "r"(a));
	asm("bfind.shiftamt.s32 %0, %1;" : "=r"(r[7]) : "r"(a));
	asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r[8]) : "r"(a), "r"(b & 31), "r"(b >> 8 & 31));
	asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[9]) : "r"(a), "r"(b & 31), "r"(b >> 8 & 31));
	asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[10]) : "r"(a), "r"(b), "r"(b & 31), "r"(b >> 8 & 31));
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[11]) : "r"(a), "r"(b), "r"(a >> 7));
	asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r[12]) : "r"(a), "r"(b), "r"(a * 77));
	asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r[13]) : "r"(a), "r"(b), "r"(b));
	asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(r[14]) : "r"(a), "r"(b), "r"(b & 63));
	asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(r[15]) : "r"(b & 31), "r"(b >> 8 & 63));
	asm("cnot.b32 %0, %1;" : "=r"(r[16]) : "r"(a & 3));
	asm("fns.b32 %0, %1, %2, %3;" : "=r"(r[17]) : "r"(a), "r"(b & 31), "r"((int)(b >> 8 & 3) + 1));
}

#else
#include PROGRAM_STUBS
#endif

static unsigned ones(uint64_t value)
{
	unsigned count = 0;

	for (; value; value &= value - 1)
		count++;
	return count;
}

static unsigned leading(uint64_t value, int width)
{
	unsigned count = 0;

	while (width-- && !(value >> width & 1))
		count++;
	return count;
}

static uint32_t reversed(uint32_t value)
{
	uint32_t result = 0;
	int i;

	for (i = 0; i < 32; i++)
		result |= (value >> i & 1) << (31 - i);
	return result;
}

static uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t bytes = (uint64_t)b << 32 | a;
	uint32_t result = 0;
	int i;

	for (i = 0; i < 4; i++) {
		uint32_t s = selector >> (4 * i) & 15, byte = (uint32_t)(bytes >> (8 * (s & 7))) & 255;

		result |= (s & 8 ? (byte & 128 ? 255 : 0) : byte) << (8 * i);
	}
	return result;
}

static uint32_t field(uint32_t value, unsigned at, unsigned length, int is_signed)
{
	uint32_t result = 0, sign;
	unsigned i, last = at + length - 1 > 31 ? 31 : at + length - 1;

	sign = is_signed && length ? value >> last & 1 : 0;
	for (i = 0; i < 32; i++)
		result |= (i < length && at + i < 32 ? value >> (at + i) & 1 : sign) << i;
	return result;
}

static uint32_t inserted(uint32_t from, uint32_t into, unsigned at, unsigned length)
{
	unsigned i;

	for (i = 0; i < length && at + i < 32; i++)
		into = (into & ~(1u << (at + i))) | (from >> i & 1) << (at + i);
	return into;
}

static uint32_t nth_set(uint32_t mask, unsigned base, int n)
{
	unsigned i;

	for (i = base; i < 32; i++)
		if (mask >> i & 1 && !--n)
			return i;
	return 0xffffffff;
}

int main(void)
{
	static uint32_t x[COUNT], y[COUNT], z[COUNT * RESULTS];
	uint32_t *dz = DEVICE_ALLOC(uint32_t, COUNT * RESULTS);
	int i;

	for (i = 0; i < COUNT; i++) {
		x[i] = random32() >> (i % 32);
		y[i] = random32();
	}
	x[0] = 0;
	x[1] = 0xffffffff;
	LAUNCH(bits, COUNT / 128, 128, DEVICE_COPY(uint32_t, x), DEVICE_COPY(uint32_t, y), dz);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		uint32_t a = x[i], b = y[i], *r = z + i * RESULTS, sign = (int32_t)a < 0 ? ~a : a, at, length, mask = 0, k;
		uint64_t wide = (uint64_t)a << 32 | b, pair = (uint64_t)b << 32 | a;

		CHECK(r[0] == ones(a));
		CHECK(r[1] == leading(a, 32));
		CHECK(r[2] == reversed(a));
		CHECK(r[3] == ones(wide));
		CHECK(r[4] == leading(wide, 64));
		CHECK(r[5] == reversed(b));
		CHECK(r[6] == (a ? 31 - leading(a, 32) : 0xffffffff));
		CHECK(r[7] == (sign ? leading(sign, 32) : 0xffffffff));
		CHECK(r[8] == field(a, b & 31, b >> 8 & 31, 0));
		CHECK(r[9] == field(a, b & 31, b >> 8 & 31, 1));
		CHECK(r[10] == inserted(a, b, b & 31, b >> 8 & 31));
		CHECK(r[11] == permuted(a, b, a >> 7));
		CHECK(r[12] == ((a & b) | (~a & (a * 77))));
		CHECK(r[13] == (uint32_t)((pair << (b & 31)) >> 32));
		k = (b & 63) > 32 ? 32 : b & 63;
		CHECK(r[14] == (uint32_t)(pair >> k));
		at = b & 31;
		length = b >> 8 & 63;
		for (k = at; k < 32 && k < at + length; k++)
			mask |= 1u << k;
		CHECK(r[15] == mask);
		CHECK(r[16] == !(a & 3));
		CHECK(r[17] == nth_set(a, b & 31, (int)(b >> 8 & 3) + 1));
	}
	return program_end();
}
