/* math_test.c: mathematical functions against libm, and what kernels call by name: printf, assert, malloc, virtual functions. */
#include "harness.h"

enum { N = 2048 };

static double least, most;

/* Bits of all sizes, most of them in [least, most]. */
static double argument(int i)
{
	double u = (double)(random_bits() >> 11) * 0x1p-53;

	return i % 8 == 0 ? ldexp(u, (int)(random_bits() % 40) - 20) : least + (most - least) * u;
}

static void compare(struct ptx_module *m, const char *name, double (*want)(double), double tolerance)
{
	char kernel[32];
	double *x = device_alloc(N * 8), *y = device_alloc(N * 8), worst = 0;
	float *fx = device_alloc(N * 4), *fy = device_alloc(N * 4), fworst = 0;

	for (int i = 0; i < N; i++)
		fx[i] = (float)(x[i] = argument(i));
	snprintf(kernel, sizeof(kernel), "d_%s", name);
	is(launch(m, kernel, DIM(N / 128), DIM(128), ARGS(PTR(x), PTR(y))), 0);
	for (int i = 0; i < N; i++) {
		double w = want(x[i]), e = fabs(y[i] - w) / (fabs(w) > 1e-300 ? fabs(w) : 1);

		worst = e > worst ? e : worst;
		if (isnan(w) != isnan(y[i]))
			worst = INFINITY;
	}
	tap_ok(worst < tolerance, "%s: relative error %.2g", kernel, worst);
	snprintf(kernel, sizeof(kernel), "f_%s", name);
	if (!ptx_module_kernel_find(m, kernel))
		return;
	is(launch(m, kernel, DIM(N / 128), DIM(128), ARGS(PTR(fx), PTR(fy))), 0);
	for (int i = 0; i < N; i++) {
		float w = (float)want(fx[i]), e = fabsf(fy[i] - w) / (fabsf(w) > 1e-30f ? fabsf(w) : 1);

		fworst = e > fworst ? e : fworst;
	}
	tap_ok(fworst < 4e-6f, "%s: relative error %.2g", kernel, (double)fworst);
}

static double pow_17(double x)
{
	return pow(fabs(x), 1.7);
}

static double fmod_07(double x)
{
	return fmod(x, 0.7);
}

static uint8_t *heap;
static int heap_live;

static uint64_t heap_alloc(void *ctx, uint64_t bytes)
{
	uint64_t at = __atomic_fetch_add((uint64_t *)ctx, (bytes + 15) & ~15ull, __ATOMIC_RELAXED);

	__atomic_fetch_add(&heap_live, 1, __ATOMIC_RELAXED);
	return PTR(heap) + at;
}

static void heap_free(void *ctx, uint64_t address)
{
	__atomic_fetch_sub(&heap_live, 1, __ATOMIC_RELAXED);
}

static void test_named(struct ptx_module *m)
{
	int *out = device_alloc(64 * 4), wrong = 0;
	uint64_t *keep = device_alloc(64 * 8), used = 0;
	struct ptx_launch l = { 0 };

	printed_bytes = 0;
	is(launch(m, "say", DIM(1), DIM(32), ARGS(40)), 0);
	printed[strcspn(printed, "\n")] = 0;
	is_str(printed, "42|text|60.000|123456789012|x|3.25e+00|7   |ff|%");
	printed_bytes = 0;
	is(launch(m, "printf_value", DIM(1), DIM(1), ARGS(PTR(out))), 0);
	is_str(printed, "1 text     2;nothing;(null);");
	is(out[0], 4); /* arguments, not characters */
	is(out[1], 0);
	is(out[2], 1);
	printed_bytes = 0;
	is(launch_with(&l, m, "doubtful", DIM(2), DIM(32), ARGS(7)), 1);
	is(l.fault.kind, PTX_FAULT_ASSERT);
	ok(strstr(printed, "Assertion `(int)threadIdx.x < n` failed.") != NULL);
	is(launch(m, "doubtful", DIM(2), DIM(32), ARGS(32)), 0);
	for (int i = 0; i < 64; i++)
		out[i] = i / 2;
	is(launch(m, "virtuals", DIM(1), DIM(64), ARGS(PTR(out))), 0);
	for (int i = 0; i < 64; i++)
		wrong += out[i] != (i / 2 & 1 ? i * 3 : i * i);
	is(wrong, 0);
	heap = device_alloc(1 << 20);
	l = (struct ptx_launch){ .memory = { .heap_alloc = heap_alloc, .heap_free = heap_free, .ctx = &used } };
	is(launch_with(&l, m, "heap", DIM(1), DIM(64), ARGS(PTR(keep), PTR(out))), 0);
	for (int i = 0; i < 64; i++)
		wrong += out[i] != (i + 1) % 64 * 120;
	is(wrong, 0);
	is(heap_live, 0);
}

int main(int argc, char **argv)
{
	struct ptx_module *m;

	if (argc < 2)
		tap_skip_all("nvcc was not there when this was built; it makes math.ptx from kernels/math.cu");
	tap_begin();
	device_open(2);
	m = load_file(argv[1], "math.ptx", NULL);
	if (ok(m != NULL)) {
		least = -1e6, most = 1e6;
		compare(m, "sin", sin, 1e-13);
		compare(m, "tan", tan, 1e-13);
		compare(m, "rint", rint, 1e-15);
		compare(m, "atan", atan, 1e-14);
		compare(m, "cbrt", cbrt, 1e-14);
		compare(m, "fmod", fmod_07, 1e-9);
		compare(m, "pow", pow_17, 1e-13);
		least = -20, most = 20;
		compare(m, "exp", exp, 1e-14);
		compare(m, "tanh", tanh, 1e-13);
		compare(m, "erf", erf, 1e-14);
		compare(m, "tgamma", tgamma, 1e-13);
		least = 0, most = 1e9;
		compare(m, "log", log, 1e-13);
		compare(m, "log1p", log1p, 1e-13);
		compare(m, "sqrt", sqrt, 1e-15);
		test_named(m);
		ptx_module_free(m);
	}
	device_close();
	return tap_end();
}
