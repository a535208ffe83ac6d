/*
 * vmath_test.c: the approximations of vmath.h against libm in f64: over all of f32 at a stride, around the places where
 * they change their way, and at the ends of the range.
 */
#include "softdev/ptx/vmath.h"

#include <stdbool.h>
#include <stdio.h>

#define STRIDE 2053u

struct approximation {
	const char *name;
	f32 (*ours)(f32 x);
	double (*right)(double x);
	double most; /* argument, in size */
};

static f32 sine(f32 x)
{
	return angle_of(x, 0);
}

static f32 cosine(f32 x)
{
	return angle_of(x, 1);
}

static const struct approximation functions[] = {
	{ "ex2", ex2_of, exp2, INFINITY }, { "lg2", lg2_of, log2, INFINITY },	 { "tanh", tanh_of, tanh, INFINITY },
	{ "sin", sine, sin, ANGLE_MAX },   { "cos", cosine, cos, ANGLE_MAX },
};

/* Units in the last place between x and the exact value, of the place that the exact value has in f32. */
static double ulps(f32 x, double right)
{
	const double size = fabs(right);
	int e;

	if (isnan(right))
		return isnan(x) ? 0 : INFINITY;
	if (isinf(x))
		return size >= 0x1.ffffffp127 && !signbit(x) == !signbit(right) ? 0 : INFINITY;
	if (isinf(right))
		return INFINITY;
	if (right == 0)
		return bits32(x) == bits32((f32)right) ? 0 : INFINITY;
	frexp(size, &e);
	return fabs((double)x - right) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

static bool good_at(const struct approximation *f, u32 bits)
{
	const f32 x = f32_of(bits);
	double off;

	if (fabs((double)x) > f->most)
		return true;
	off = ulps(f->ours(x), f->right((double)x));
	if (off <= 0.51)
		return true;
	printf("# %s(%a) gives %a, which is %g units off %a\n", f->name, (double)x, (double)f->ours(x), off,
	       f->right((double)x));
	return false;
}

static bool good(const struct approximation *f)
{
	static const f32 places[] = { 0.0f,	   1.0f,   0.5f,    2.0f,    0.125f,  0.70710678f, 1.41421356f, 0.78539816f,
				      1.57079633f, 128.0f, -126.0f, -149.0f, -150.0f, 20.0f,	   9.01f,	ANGLE_MAX };
	int bad = 0;

	for (u64 b = 0; b <= 0xffffffffu && bad < 5; b += STRIDE)
		bad += !good_at(f, (u32)b);
	for (u32 i = 0; i < sizeof(places) / sizeof(places[0]) && bad < 5; i++)
		for (u32 k = 0; k < 2000; k++) {
			bad += !good_at(f, bits32(places[i]) - 1000 + k);
			bad += !good_at(f, (bits32(places[i]) - 1000 + k) ^ 0x80000000u);
		}
	for (u32 e = 0x7f800000u; e; e = e == 0x7f800000u ? 0xff800000u : e == 0xff800000u ? F32_NAN : 0)
		bad += !good_at(f, e);
	return !bad;
}

int main(void)
{
	const u32 count = sizeof(functions) / sizeof(functions[0]);
	int failed = 0;

	printf("1..%u\n", count);
	for (u32 i = 0; i < count; i++) {
		const bool ok = good(&functions[i]);

		printf("%sok %u - %s is the nearest f32 within a hundredth of a unit\n", ok ? "" : "not ", i + 1,
		       functions[i].name);
		failed += !ok;
	}
	return failed ? 1 : 0;
}
