/* Bytes and halves in a word: dot products, sums of absolute differences, scalar and packed video instructions. */
#include "program.h"

enum { COUNT = 256, RESULTS = 10 };

#ifdef __CUDACC__

KERNEL video(const uint32_t *x, const uint32_t *y, uint32_t *z)
{
	int i = THREAD;
	uint32_t a = x[i], b = y[i], *r = z + i * RESULTS;

	asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r[0]) : "r"(a), "r"(b), "r"(100));
	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r[1]) : "r"(a), "r"(b), "r"(-100));
	asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(r[2]) : "r"(a), "r"(b), "r"(9));
	asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(r[3]) : "r"(a), "r"(b), "r"(9));
	asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r[4]) : "r"(a), "r"(b), "r"(1000));
	asm("vabsdiff4.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"(a), "r"(b), "r"(0));
	asm("sad.u32 %0, %1, %2, %3;" : "=r"(r[6]) : "r"(a), "r"(b), "r"(3));
	asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r[7]) : "r"(a), "r"(b), "r"((int)(a ^ b)));
	r[8] = __byte_perm(a, b, 0x6172);
	asm("sad.u16 %0, %1, %2, %3;" : "=h"(*(uint16_t *)(r + 9)) : "h"((uint16_t)a), "h"((uint16_t)b), "h"((uint16_t)3));
}

#else
#include PROGRAM_STUBS
#endif

#define BYTE(word, i) ((word) >> (8 * (i)) & 255)

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

int main(void)
{
	static uint32_t x[COUNT], y[COUNT], z[COUNT * RESULTS];
	uint32_t *dz = DEVICE_ALLOC(uint32_t, COUNT * RESULTS);
	int i, k;

	for (i = 0; i < COUNT; i++) {
		x[i] = random32();
		y[i] = random32();
	}
	LAUNCH(video, COUNT / 64, 64, DEVICE_COPY(uint32_t, x), DEVICE_COPY(uint32_t, y), dz);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		uint32_t a = x[i], b = y[i], *r = z + i * RESULTS, u4 = 100, s4 = (uint32_t)-100, sum = 1000, packed = 0, s2 = 9, u2 = 9;

		for (k = 0; k < 4; k++) {
			u4 += BYTE(a, k) * BYTE(b, k);
			s4 += (uint32_t)((int8_t)BYTE(a, k) * (int8_t)BYTE(b, k));
			sum += distance(BYTE(a, k), BYTE(b, k));
			packed |= distance(BYTE(a, k), BYTE(b, k)) << (8 * k);
		}
		for (k = 0; k < 2; k++) {
			s2 += (uint32_t)((int16_t)(a >> (16 * k)) * (int8_t)BYTE(b, k));
			u2 += (a >> (16 * k) & 0xffff) * BYTE(b, k + 2);
		}
		CHECK(r[0] == u4);
		CHECK(r[1] == s4);
		CHECK(r[2] == s2);
		CHECK(r[3] == u2);
		CHECK(r[4] == sum);
		CHECK(r[5] == packed);
		CHECK(r[6] == distance(a, b) + 3);
		CHECK(r[7] == ((int32_t)(a ^ b) >= 0 ? a : b));
		CHECK(r[8] == (BYTE(a, 2) | BYTE(b, 3) << 8 | BYTE(a, 1) << 16 | BYTE(b, 2) << 24));
		CHECK((r[9] & 0xffff) == ((distance(a & 0xffff, b & 0xffff) + 3) & 0xffff));
	}
	return program_end();
}
