/*
 * onednn_product_test.c: products by oneDNN's own layouts against sums in double: float and bfloat16, with strides,
 * turned, with a second matrix that stays and one that has changed.
 */
#include "base/tap.h"
#include "libs/common/half.h"
#include "libs/cudnn/onednn.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST (1 << 20)
#if defined(__x86_64__)
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define HAS_AVX2 false /* where oneDNN may have its loops for any shape alone */
#endif

static float a[MOST], b[MOST], c[MOST];
static uint16_t narrow_a[MOST], narrow_b[MOST], narrow_c[MOST];
static double worst;

static void fill(uint32_t seed)
{
	for (int i = 0; i < MOST; i++) {
		seed = seed * 1664525u + 1013904223u;
		narrow_a[i] = bfloat_write((float)(seed >> 16) / 32768 - 1);
		seed = seed * 1664525u + 1013904223u;
		narrow_b[i] = bfloat_write((float)(seed >> 16) / 32768 - 1);
		a[i] = bfloat_read(narrow_a[i]);
		b[i] = bfloat_read(narrow_b[i]);
	}
}

static double exact(const struct onednn_product *s, int64_t i, int64_t j)
{
	double sum = 0;

	for (int64_t k = 0; k < s->inner; k++)
		sum += (double)a[i * s->a_stride[0] + k * s->a_stride[1]] *
		       (double)b[k * s->b_stride[0] + j * s->b_stride[1]];
	return sum;
}

/* False: oneDNN does not compute it. Leaves in `worst` how far the result is from the exact one. */
static bool multiply(const struct onednn_product *s, uint64_t number)
{
	const void *from_a = s->bfloat ? (void *)narrow_a : a, *from_b = s->bfloat ? (void *)narrow_b : b;

	memset(c, 0x7f, sizeof(c));
	memset(narrow_c, 0x7f, sizeof(narrow_c));
	if (!onednn_product(s, number, from_a, from_b, s->bfloat_c ? (void *)narrow_c : c))
		return false;
	worst = 0;
	for (int64_t i = 0; i < s->rows; i++)
		for (int64_t j = 0; j < s->columns; j++) {
			int64_t at = i * s->c_stride[0] + j * s->c_stride[1];
			double got = (double)(s->bfloat_c ? bfloat_read(narrow_c[at]) : c[at]), right = exact(s, i, j);

			worst = fmax(worst, fabs(got - right) / (1 + fabs(right)));
		}
	return true;
}

static const struct {
	const char *name;
	double near;
	struct onednn_product shape;
} cases[] = {
	{ "float", 1e-5, { 0, 0, 32, 96, 64, { 64, 1 }, { 96, 1 }, { 96, 1 } } },
	{ "float, B turned, gaps", 1e-5, { 0, 0, 33, 97, 65, { 70, 1 }, { 1, 71 }, { 101, 1 } } },
	{ "float, one row", 1e-5, { 0, 0, 1, 97, 65, { 65, 1 }, { 1, 65 }, { 97, 1 } } },
	{ "bfloat16 to float", 1e-5, { 1, 0, 32, 96, 64, { 64, 1 }, { 96, 1 }, { 96, 1 } } },
	{ "bfloat16 to float, B turned, odd", 1e-5, { 1, 0, 33, 97, 65, { 70, 1 }, { 1, 71 }, { 101, 1 } } },
	{ "bfloat16 to bfloat16", 8e-3, { 1, 1, 31, 96, 65, { 65, 1 }, { 96, 1 }, { 96, 1 } } },
};

int main(void)
{
	bool there;

	tap_begin();
	if (!onednn_open())
		tap_skip_all("no oneDNN on this machine");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct onednn_product *s = &cases[i].shape;
		uint64_t number = 2 * i + 1;

		if (s->bfloat && !onednn_has_bfloat()) {
			printf("# %s: the processor has no instructions for bfloat16\n", cases[i].name);
			continue;
		}
		fill(1);
		there = multiply(s, number);
		tap_ok(there || !HAS_AVX2, "%s: is computed", cases[i].name);
		if (!there)
			continue;
		tap_ok(worst < cases[i].near, "%s: %g apart", cases[i].name, worst);
		/* the same B: another A counts */
		for (int k = 0; k < MOST; k++)
			a[k] = bfloat_read(narrow_a[k] ^= 0x8000);
		multiply(s, number);
		tap_ok(worst < cases[i].near, "%s, another A: %g apart", cases[i].name, worst);
		fill(2);
		multiply(s, number + 1);
		tap_ok(worst < cases[i].near, "%s, another B: %g apart", cases[i].name, worst);
		fill(3);
		multiply(s, 0);
		fill(4);
		multiply(s, 0);
		tap_ok(worst < cases[i].near, "%s, without a number: %g apart", cases[i].name, worst);
	}
	return tap_end();
}
