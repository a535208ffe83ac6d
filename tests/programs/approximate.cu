/* The approximate functions of single precision, within the bounds that the PTX manual gives, and their edge cases. */
#include "program.h"
#include <math.h>

enum { COUNT = 1024, RESULTS = 10 };

#ifdef __CUDACC__

#define ONE(op, x) asm(op " %0, %1;" : "=f"(*r++) : "f"(x))

KERNEL approximate(const float *x, float *z)
{
	int i = THREAD;
	float a = x[i], *r = z + i * RESULTS;

	ONE("ex2.approx.f32", a);
	ONE("lg2.approx.f32", a);
	ONE("sin.approx.f32", a);
	ONE("cos.approx.f32", a);
	ONE("tanh.approx.f32", a);
	ONE("rsqrt.approx.f32", a);
	ONE("sqrt.approx.f32", a);
	ONE("rcp.approx.f32", a);
	asm("div.approx.f32 %0, %1, %2;" : "=f"(*r++) : "f"(a), "f"(3.0f));
	asm("div.full.f32 %0, %1, %2;" : "=f"(*r++) : "f"(7.0f), "f"(a));
}

#else
#include PROGRAM_STUBS
#endif

static int near(double value, double wanted, double relative, double absolute)
{
	if (isnan(wanted))
		return isnan(value);
	return value == wanted || fabs(value - wanted) <= fabs(wanted) * relative + absolute;
}

int main(void)
{
	static float x[COUNT], z[COUNT * RESULTS];
	float *dz = DEVICE_ALLOC(float, COUNT * RESULTS);
	int i;

	for (i = 0; i < COUNT; i++)
		x[i] = (float)((random32() % 2000001) - 1000000.0) / 318310.0f; /* -π to π */
	x[0] = 0;
	x[1] = INFINITY;
	x[2] = -INFINITY;
	x[3] = NAN;
	LAUNCH(approximate, COUNT / 128, 128, DEVICE_COPY(float, x), dz);
	BRING(z, dz);
	for (i = 0; i < COUNT; i++) {
		double a = x[i];
		float *r = z + i * RESULTS;

		CHECK(near(r[0], exp2(a), 3e-7, 0));
		CHECK(a > 0 && a < 4 && (a < 0.5 || a > 2) ? near(r[1], log2(a), 1e-6, 0) : 1);
		CHECK(near(r[1], log2(a), 1e-6, 1e-6));
		CHECK(isinf(a) ? isnan(r[2]) : near(r[2], sin(a), 0, 6e-7));
		CHECK(isinf(a) ? isnan(r[3]) : near(r[3], cos(a), 0, 6e-7));
		CHECK(near(r[4], tanh(a), 6.2e-4, 0));
		CHECK(near(r[5], 1 / sqrt(a), 3.6e-7, 0));
		CHECK(near(r[6], sqrt(a), 3.6e-7, 0));
		CHECK(near(r[7], 1 / a, 1.3e-7, 0));
		CHECK(near(r[8], a / 3, 2.5e-7, 0));
		CHECK(near(r[9], 7 / a, 2.5e-7, 0));
	}
	return program_end();
}
