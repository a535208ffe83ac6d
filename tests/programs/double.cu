/* Double precision: IEEE operations in four roundings, minima, square roots, comparisons, seeds of reciprocals. */
#include "program.h"
#include <fenv.h>
#include <math.h>

enum { COUNT = 512, RESULTS = 26 };

#ifdef __CUDACC__

#define TWO(op) asm(op " %0, %1, %2;" : "=d"(*r++) : "d"(a), "d"(b))
#define ONE(op, x) asm(op " %0, %1;" : "=d"(*r++) : "d"(x))
#define ROUNDED(mode)                                                                                                  \
	TWO("add." mode ".f64");                                                                                       \
	TWO("mul." mode ".f64");                                                                                       \
	TWO("div." mode ".f64");                                                                                       \
	ONE("sqrt." mode ".f64", fabs(a));                                                                             \
	asm("fma." mode ".f64 %0, %1, %2, %3;" : "=d"(*r++) : "d"(a), "d"(b), "d"(c))

KERNEL doubles(const double *x, const double *y, double *z)
{
	int i = THREAD;
	double a = x[i], b = y[i], c = x[i ^ 1], *r = z + i * RESULTS;

	ROUNDED("rn");
	ROUNDED("rz");
	ROUNDED("rm");
	ROUNDED("rp");
	TWO("min.f64");
	TWO("max.f64");
	TWO("copysign.f64");
	ONE("rcp.rn.f64", a);
	ONE("rcp.approx.ftz.f64", a);
	ONE("rsqrt.approx.f64", fabs(a));
}

#else
#include PROGRAM_STUBS
#endif

static int same(double a, double b)
{
	return double_bits(a) == double_bits(b) || (isnan(a) && isnan(b));
}

int main(void)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };
	static const uint64_t edges[] = { 0, 1ull << 63, 1, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
		0x3ff0000000000000 };
	static double x[COUNT], y[COUNT], z[COUNT * RESULTS];
	double *dz = DEVICE_ALLOC(double, COUNT * RESULTS);
	int i, m;

	for (i = 0; i < COUNT; i++) {
		x[i] = as_double(i < 64 ? edges[i / 8] : random64());
		y[i] = as_double(i < 64 ? edges[i % 8] : i % 2 ? random64() : (double_bits(x[i]) ^ (random64() & 0x801fffffffffffff)));
	}
	LAUNCH(doubles, COUNT / 128, 128, DEVICE_COPY(double, x), DEVICE_COPY(double, y), dz);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		volatile double a = x[i], b = y[i], c = x[i ^ 1], v;
		double *r = z + i * RESULTS, wanted;

		for (m = 0; m < 4; m++, r += 5) {
			fesetround(modes[m]);
			v = a + b;
			CHECK(same(r[0], v));
			v = a * b;
			CHECK(same(r[1], v));
			v = a / b;
			CHECK(same(r[2], v));
			v = sqrt(fabs(a));
			CHECK(same(r[3], v));
			v = fma(a, b, c);
			CHECK(same(r[4], v));
		}
		fesetround(FE_TONEAREST);
		wanted = isnan(a) ? b : isnan(b) ? a : a < b || (a == b && signbit(a)) ? a : b;
		CHECK(same(r[0], wanted));
		wanted = isnan(a) ? b : isnan(b) ? a : a > b || (a == b && !signbit(a)) ? a : b;
		CHECK(same(r[1], wanted));
		CHECK(isnan(b) || same(r[2], copysign(b, a)));
		CHECK(same(r[3], 1 / a));
		if (isnormal(a) && isnormal(1 / a)) {
			CHECK(fabs(r[4] * a - 1) < 1e-5);
			CHECK(fabs(r[5] * r[5] * fabs(a) - 1) < 1e-5);
		}
	}
	return program_end();
}
