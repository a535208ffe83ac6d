/* Single precision: IEEE operations in four roundings, flushing, saturation, minima, comparisons with NaN. */
#include "program.h"
#include <fenv.h>
#include <math.h>

enum { COUNT = 1024, RESULTS = 30 };

#ifdef __CUDACC__

#define TWO(op) asm(op " %0, %1, %2;" : "=f"(*r++) : "f"(a), "f"(b))
#define ONE(op, x) asm(op " %0, %1;" : "=f"(*r++) : "f"(x))
#define ROUNDED(mode)                                                                                                  \
	TWO("add." mode ".f32");                                                                                       \
	TWO("sub." mode ".f32");                                                                                       \
	TWO("mul." mode ".f32");                                                                                       \
	TWO("div." mode ".f32");                                                                                       \
	asm("fma." mode ".f32 %0, %1, %2, %3;" : "=f"(*r++) : "f"(a), "f"(b), "f"(c))

KERNEL single(const float *x, const float *y, float *z)
{
	int i = THREAD, less, ordered, class_of;
	float a = x[i], b = y[i], c = x[i ^ 1], *r = z + i * RESULTS;

	ROUNDED("rn");
	ROUNDED("rz");
	ROUNDED("rm");
	ROUNDED("rp");
	ONE("sqrt.rn.f32", fabsf(a));
	ONE("rcp.rn.f32", a);
	TWO("min.f32");
	TWO("max.f32");
	TWO("copysign.f32");
	ONE("neg.f32", a);
	asm("add.sat.f32 %0, %1, %2;" : "=f"(*r++) : "f"(a), "f"(b));
	asm("mul.ftz.f32 %0, %1, %2;" : "=f"(*r++) : "f"(a), "f"(b));
	asm("{\n\t.reg .pred p, q;\n\tsetp.ltu.f32 p, %2, %3;\n\tsetp.num.f32 q, %2, %3;\n\tselp.s32 %0, 1, 0, p;\n\tselp.s32 %1, 1, 0, q;\n\t}"
	    : "=r"(less), "=r"(ordered) : "f"(a), "f"(b));
	asm("{\n\t.reg .pred p;\n\ttestp.finite.f32 p, %1;\n\tselp.s32 %0, 1, 0, p;\n\t}" : "=r"(class_of) : "f"(a));
	*r++ = (float)(less + 2 * ordered + 4 * class_of);
	asm("set.gt.f32.f32 %0, %1, %2;" : "=f"(*r++) : "f"(a), "f"(b));
}

#else
#include PROGRAM_STUBS
#endif

static int same(float a, float b)
{
	return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

int main(void)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
	static const uint32_t edges[] = { 0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800000 };
	static float x[COUNT], y[COUNT], z[COUNT * RESULTS];
	float *dz = DEVICE_ALLOC(float, COUNT * RESULTS);
	int i, m;

	for (i = 0; i < COUNT; i++) {
		x[i] = as_float(i < 100 ? edges[i / 10] : random32());
		y[i] = as_float(i < 100 ? edges[i % 10] : i % 2 ? random32() : (float_bits(x[i]) ^ (random32() & 0x81ffffff)));
	}
	LAUNCH(single, COUNT / 128, 128, DEVICE_COPY(float, x), DEVICE_COPY(float, y), dz);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		volatile float a = x[i], b = y[i], c = x[i ^ 1], v;
		float *r = z + i * RESULTS, wanted;

		for (m = 0; m < 4; m++, r += 5) {
			fesetround(modes[m]);
			v = a + b;
			CHECK(same(r[0], v));
			v = a - b;
			CHECK(same(r[1], v));
			v = a * b;
			CHECK(same(r[2], v));
			v = a / b;
			CHECK(same(r[3], v));
			v = fmaf(a, b, c);
			CHECK(same(r[4], v));
		}
		fesetround(FE_TONEAREST);
		CHECK(same(r[0], sqrtf(fabsf(a))));
		CHECK(same(r[1], 1 / a));
		wanted = isnan(a) ? b : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b;
		CHECK(same(r[2], wanted));
		wanted = isnan(a) ? b : isnan(b) ? a : a > b || (a == b && !signbit(a)) ? a : b;
		CHECK(same(r[3], wanted));
		/* the sign comes from the first operand */
		CHECK(isnan(b) || same(r[4], copysignf(b, a)));
		CHECK(same(r[5], -a));
		v = a + b;
		CHECK(r[6] == (v > 1 ? 1 : v > 0 ? v : 0));
		v = (fpclassify(a) == FP_SUBNORMAL ? copysignf(0, a) : a) * (fpclassify(b) == FP_SUBNORMAL ? copysignf(0, b) : b);
		CHECK(same(r[7], v) || (fabsf(v) <= 1.17549435e-38f && r[7] == 0));
		CHECK(r[8] == (float)(!(a >= b) + 2 * !(isnan(a) || isnan(b)) + 4 * !!isfinite(a)));
		CHECK(r[9] == (a > b ? 1.0f : 0.0f));
	}
	return program_end();
}
