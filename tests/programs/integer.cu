/* Whole numbers of every width: sums, products, quotients, remainders, comparisons, shifts, against the host's. */
#include "program.h"

enum { COUNT = 1024 };

#ifdef __CUDACC__

#define OPS(type, unsigned_type)                                                                                       \
	type a = x[i], b = y[i], d = b ? b : 1;                                                                        \
	z[i * 12 + 0] = a + b;                                                                                         \
	z[i * 12 + 1] = a - b;                                                                                         \
	z[i * 12 + 2] = a * b;                                                                                         \
	z[i * 12 + 3] = d == (type)-1 ? 0 : a / d;                                                                     \
	z[i * 12 + 4] = d == (type)-1 ? 0 : a % d;                                                                     \
	z[i * 12 + 5] = a < b ? a : b;                                                                                 \
	z[i * 12 + 6] = a > b ? a : b;                                                                                 \
	z[i * 12 + 7] = (a & b) ^ (a | ~b);                                                                            \
	z[i * 12 + 8] = (type)((unsigned_type)a << (b & 7));                                                           \
	z[i * 12 + 9] = a >> (b & 7);                                                                                  \
	z[i * 12 + 10] = -a;                                                                                           \
	z[i * 12 + 11] = a * b + d;

KERNEL bytes(const int8_t *x, const int8_t *y, int8_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(int8_t, uint8_t)
}

KERNEL shorts(const int16_t *x, const int16_t *y, int16_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(int16_t, uint16_t)
}

KERNEL words(const int32_t *x, const int32_t *y, int32_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(int32_t, uint32_t)
}

KERNEL unsigned_words(const uint32_t *x, const uint32_t *y, uint32_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(uint32_t, uint32_t)
}

KERNEL longs(const int64_t *x, const int64_t *y, int64_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(int64_t, uint64_t)
}

KERNEL unsigned_longs(const uint64_t *x, const uint64_t *y, uint64_t *z, int n)
{
	int i = THREAD;

	if (i >= n)
		return;
	OPS(uint64_t, uint64_t)
}

/* What C has no operator for. */
KERNEL special(const int32_t *x, const int32_t *y, int64_t *z, int n)
{
	int i = THREAD;
	int32_t a, b, r;
	int64_t wide;
	uint32_t u;
	int16_t h;

	if (i >= n)
		return;
	a = x[i];
	b = y[i];
	asm("mul.hi.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	z[i * 12 + 0] = r;
	asm("mul.hi.u32 %0, %1, %2;" : "=r"(u) : "r"(a), "r"(b));
	z[i * 12 + 1] = u;
	asm("mul24.lo.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	z[i * 12 + 2] = r;
	asm("mad24.lo.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(7));
	z[i * 12 + 3] = r;
	asm("sad.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a >> 1), "r"(b >> 1), "r"(5));
	z[i * 12 + 4] = r;
	asm("abs.s32 %0, %1;" : "=r"(r) : "r"(a | 1));
	z[i * 12 + 5] = r;
	asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(wide) : "r"(a), "r"(b), "l"((int64_t)b));
	z[i * 12 + 6] = wide;
	asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	z[i * 12 + 7] = r;
	asm("sub.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	z[i * 12 + 8] = r;
	asm("set.lt.u32.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
	z[i * 12 + 9] = r;
	asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(a));
	z[i * 12 + 10] = r;
	asm("mul.lo.s16 %0, %1, %2;" : "=h"(h) : "h"((int16_t)a), "h"((int16_t)b));
	z[i * 12 + 11] = h;
}

#else
#include PROGRAM_STUBS
#endif

static int64_t saturated(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
}

static int64_t low24(int32_t value)
{
	return (int32_t)((uint32_t)value << 8) >> 8;
}

#define TRY(kernel, type, unsigned_type)                                                                               \
	do {                                                                                                           \
		static type x[COUNT], y[COUNT], z[COUNT * 12];                                                         \
		type *dx, *dy, *dz;                                                                                    \
		int i;                                                                                                 \
                                                                                                                       \
		for (i = 0; i < COUNT; i++) {                                                                          \
			x[i] = (type)(i % 5 ? random64() : (uint64_t)random64() % 3 - 1);                              \
			y[i] = (type)(i % 7 ? random64() : (uint64_t)random64() % 3 - 1);                              \
		}                                                                                                      \
		x[0] = (type)((uint64_t)1 << (sizeof(type) * 8 - 1));                                                  \
		dx = DEVICE_COPY(type, x);                                                                             \
		dy = DEVICE_COPY(type, y);                                                                             \
		dz = DEVICE_ALLOC(type, COUNT * 12);                                                                   \
		LAUNCH(kernel, COUNT / 128 + 1, 128, dx, dy, dz, COUNT);                                               \
		BRING(z, dz);                                                                                          \
		for (i = 0; i < COUNT; i++) {                                                                          \
			type a = x[i], b = y[i], d = b ? b : 1;                                                        \
			unsigned_type ua = (unsigned_type)a, ub = (unsigned_type)b;                                    \
			int shift = (int)(b & 7);                                                                      \
                                                                                                                       \
			CHECK(z[i * 12 + 0] == (type)(unsigned_type)(ua + ub));                                        \
			CHECK(z[i * 12 + 1] == (type)(unsigned_type)(ua - ub));                                        \
			CHECK(z[i * 12 + 2] == (type)(unsigned_type)((uint64_t)ua * ub));                              \
			CHECK(z[i * 12 + 3] == (type)(d == (type)-1 ? 0 : a / d));                                     \
			CHECK(z[i * 12 + 4] == (type)(d == (type)-1 ? 0 : a % d));                                     \
			CHECK(z[i * 12 + 5] == (a < b ? a : b));                                                       \
			CHECK(z[i * 12 + 6] == (a > b ? a : b));                                                       \
			CHECK(z[i * 12 + 7] == (type)((a & b) ^ (a | ~b)));                                            \
			CHECK(z[i * 12 + 8] == (type)(unsigned_type)((uint64_t)ua << shift));                          \
			CHECK(z[i * 12 + 9] == (type)(a >> shift));                                                    \
			CHECK(z[i * 12 + 10] == (type)(unsigned_type)(0 - ua));                                        \
			CHECK(z[i * 12 + 11] == (type)(unsigned_type)((uint64_t)ua * ub + (unsigned_type)d));          \
		}                                                                                                      \
	} while (0)

static void try_special(void)
{
	static int32_t x[COUNT], y[COUNT];
	static int64_t z[COUNT * 12];
	int64_t *dz = DEVICE_ALLOC(int64_t, COUNT * 12);
	int i;

	for (i = 0; i < COUNT; i++) {
		x[i] = (int32_t)random32() >> (i % 8);
		y[i] = (int32_t)random32() >> (i % 11);
	}
	LAUNCH(special, COUNT / 128, 128, DEVICE_COPY(int32_t, x), DEVICE_COPY(int32_t, y), dz, COUNT);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		int64_t a = x[i], b = y[i], *r = z + i * 12, half = a >> 1, other = b >> 1;

		CHECK(r[0] == (a * b) >> 32);
		CHECK((uint64_t)r[1] == ((uint64_t)(uint32_t)a * (uint32_t)b) >> 32);
		CHECK(r[2] == (int32_t)(uint32_t)(low24(x[i]) * low24(y[i])));
		CHECK(r[3] == (int32_t)(uint32_t)(low24(x[i]) * low24(y[i]) + 7));
		CHECK(r[4] == (int32_t)(uint32_t)((half > other ? half - other : other - half) + 5));
		CHECK(r[5] == ((a | 1) < 0 ? -(a | 1) : (a | 1)));
		CHECK(r[6] == a * b + b);
		CHECK(r[7] == saturated(a + b));
		CHECK(r[8] == saturated(a - b));
		CHECK(r[9] == (a < b ? -1 : 0));
		CHECK(r[10] == saturated(((a * b) >> 32) + a));
		CHECK(r[11] == (int16_t)((int16_t)a * (int16_t)b));
	}
}

int main(void)
{
	TRY(bytes, int8_t, uint8_t);
	TRY(shorts, int16_t, uint16_t);
	TRY(words, int32_t, uint32_t);
	TRY(unsigned_words, uint32_t, uint32_t);
	TRY(longs, int64_t, uint64_t);
	TRY(unsigned_longs, uint64_t, uint64_t);
	try_special();
	return program_end();
}
