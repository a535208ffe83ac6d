/* compute_80: Half precision and bfloat16, single and packed: results against the same computed in single precision and rounded. */
#include "program.h"
#include <math.h>

enum { COUNT = 512, RESULTS = 12 };

#ifdef __CUDACC__

#define TWO(op) asm(op " %0, %1, %2;" : "=h"(*r++) : "h"(a), "h"(b))
#define THREE(op) asm(op " %0, %1, %2, %3;" : "=h"(*r++) : "h"(a), "h"(b), "h"(c))

KERNEL half(const uint16_t *x, const uint16_t *y, uint16_t *z, float *wide)
{
	int i = THREAD;
	uint16_t a = x[i], b = y[i], c = x[i ^ 1], *r = z + i * RESULTS;
	uint32_t pair;
	float f;

	TWO("add.rn.f16");
	TWO("sub.rn.f16");
	TWO("mul.rn.f16");
	THREE("fma.rn.f16");
	TWO("min.f16");
	TWO("max.f16");
	asm("neg.f16 %0, %1;" : "=h"(*r++) : "h"(a));
	asm("abs.f16 %0, %1;" : "=h"(*r++) : "h"(a));
	asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(a | b << 16), "r"(b | c << 16), "r"(c | a << 16));
	*r++ = pair;
	*r++ = pair >> 16;
	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));
	wide[i] = f;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(*r++) : "f"(f * 1.0003f));
	asm("{\n\t.reg .pred p;\n\tsetp.lt.f16 p, %1, %2;\n\tselp.b16 %0, 1, 0, p;\n\t}" : "=h"(*r++) : "h"(a), "h"(b));
}

KERNEL brain(const float *x, const float *y, uint16_t *z)
{
	int i = THREAD;
	uint16_t *r = z + i * 4, a, b;
	uint32_t pair;

	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(a) : "f"(x[i]));
	asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(y[i]));
	r[0] = a;
	asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(r[1]) : "h"(a), "h"(b), "h"(a));
	asm("max.bf16 %0, %1, %2;" : "=h"(r[2]) : "h"(a), "h"(b));
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x[i]), "f"(y[i]));
	r[3] = (uint16_t)pair == b && pair >> 16 == a;
}

#else
#include PROGRAM_STUBS
#endif

static double half_value(uint16_t bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	double value = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? ldexp(fraction + 1024, exponent - 25) : ldexp(fraction, -24);

	return bits >> 15 ? -value : value;
}

/* The nearest half of a finite value, ties to even. */
static double half_rounded(double value)
{
	int exponent;
	double step, result;

	if (value == 0 || isinf(value) || isnan(value))
		return value;
	(void)frexp(value, &exponent);
	step = ldexp(1, (exponent < -13 ? -13 : exponent) - 11);
	result = nearbyint(value / step) * step;
	return fabs(result) > 65504 ? copysign(INFINITY, value) : result;
}

static int same(uint16_t bits, double wanted)
{
	double value = half_value(bits);

	return value == wanted || (isnan(value) && isnan(wanted));
}

static float brain_value(uint16_t bits)
{
	return as_float((uint32_t)bits << 16);
}

static uint16_t brain_rounded(float value)
{
	uint32_t bits = float_bits(value);

	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int main(void)
{
	static uint16_t x[COUNT], y[COUNT], z[COUNT * RESULTS], brains[COUNT * 4];
	static float wide[COUNT], u[COUNT], v[COUNT];
	uint16_t *dz = DEVICE_ALLOC(uint16_t, COUNT * RESULTS), *db = DEVICE_ALLOC(uint16_t, COUNT * 4);
	float *dw = DEVICE_ALLOC(float, COUNT);
	int i;

	if (capability() < 80)
		SKIP("bfloat16 needs compute capability 8.0");
	for (i = 0; i < COUNT; i++) {
		x[i] = (uint16_t)random32();
		y[i] = (uint16_t)(i % 2 ? random32() : (x[i] ^ (random32() & 0x8fff)));
		u[i] = (float)(int32_t)random32() / 3;
		v[i] = (float)(int32_t)random32() / 300000;
	}
	LAUNCH(half, COUNT / 64, 64, DEVICE_COPY(uint16_t, x), DEVICE_COPY(uint16_t, y), dz, dw);
	LAUNCH(brain, COUNT / 64, 64, DEVICE_COPY(float, u), DEVICE_COPY(float, v), db);
	BRING(z, dz);
	BRING(wide, dw);
	BRING(brains, db);
	for (i = 0; i < COUNT; i++) {
		double a = half_value(x[i]), b = half_value(y[i]), c = half_value(x[i ^ 1]);
		uint16_t *r = z + i * RESULTS, *s = brains + i * 4;
		float p, q;

		CHECK(same(r[0], half_rounded(a + b)));
		CHECK(same(r[1], half_rounded(a - b)));
		CHECK(same(r[2], half_rounded(a * b)));
		/* the exact sum of a product and a half fits a double, but for distances that rounding does not see twice */
		CHECK(same(r[3], half_rounded(a * b + c)) || fabs(a * b) > 1e9 * fabs(c) || fabs(c) > 1e9 * fabs(a * b));
		CHECK(same(r[4], isnan(a) ? b : isnan(b) ? a : fmin(a, b)));
		CHECK(same(r[5], isnan(a) ? b : isnan(b) ? a : fmax(a, b)));
		CHECK(same(r[6], -a));
		CHECK(same(r[7], fabs(a)));
		CHECK(r[8] == r[3] || isnan(half_value(r[3])));
		CHECK(same(r[9], half_rounded(b * c + a)) || fabs(b * c) > 1e9 * fabs(a) || fabs(a) > 1e9 * fabs(b * c));
		CHECK(isnan(a) || (double)wide[i] == a);
		CHECK(same(r[10], half_rounded(wide[i] * 1.0003f)));
		CHECK(r[11] == (a < b));
		p = brain_value(brain_rounded(u[i]));
		q = brain_value(brain_rounded(v[i]));
		CHECK(s[0] == brain_rounded(u[i]));
		CHECK(s[1] == brain_rounded((float)((double)p * q + p)) || s[1] == brain_rounded(fmaf(p, q, p)));
		CHECK(brain_value(s[2]) == (p > q ? p : q));
		CHECK(s[3] == 1);
	}
	return program_end();
}
