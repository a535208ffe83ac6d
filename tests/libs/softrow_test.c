/* softrow_test.c: rows of softmax by each set of instructions that the processor has, against double. */
#include "libs/cudnn/softrow.h"
#include "libs/common/half.h"

#include "base/tap.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define MOST 133
#define NEAR 4e-6

static float x[MOST], got[MOST];
static uint16_t narrow[MOST];

static void fill(int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)((double)((uint64_t)(i + 1) * (uint64_t)(n + 7) * 2654435761u % 1000003) / 1000003 * 24 -
			       12);
}

struct set {
	const char *name;
	bool there;
	float (*largest)(const float *x, int64_t count, float most);
	double (*exponentials)(float *x, int64_t count, float base);
	void (*multiply)(float *x, int64_t count, float factor);
	void (*to_float)(const float *restrict x, int64_t count, float factor, float *restrict to);
	void (*to_half)(const float *x, int64_t count, float factor, uint16_t *to);
	void (*to_bfloat)(const float *x, int64_t count, float factor, uint16_t *to);
};

static bool largest_right(const struct set *s, int64_t n)
{
	float most = x[0];

	for (int64_t i = 1; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return s->largest(x, n, -INFINITY) == most && s->largest(x, n, 13) == 13;
}

static bool exponentials_right(const struct set *s, int64_t n)
{
	double sum = 0, told;
	bool right = true;

	memcpy(got, x, sizeof(got));
	told = s->exponentials(got, n, 3);
	for (int64_t i = 0; i < n; i++) {
		double e = exp((double)x[i] - 3);

		sum += e;
		right = right && fabs((double)got[i] - e) <= NEAR * e;
	}
	return right && fabs(told - sum) <= NEAR * sum;
}

static bool products_right(const struct set *s, int64_t n)
{
	bool right = true;

	s->to_float(x, n, 0.3f, got);
	for (int64_t i = 0; i < n; i++)
		right = right && got[i] == x[i] * 0.3f;
	memcpy(got, x, sizeof(got));
	s->multiply(got, n, 0.3f);
	for (int64_t i = 0; i < n; i++)
		right = right && got[i] == x[i] * 0.3f;
	s->to_half(x, n, 0.3f, narrow);
	for (int64_t i = 0; i < n; i++)
		right = right && narrow[i] == half_write(x[i] * 0.3f);
	s->to_bfloat(x, n, 0.3f, narrow);
	for (int64_t i = 0; i < n; i++)
		right = right && narrow[i] == bfloat_write(x[i] * 0.3f);
	return right;
}

static void try(const struct set *s)
{
	bool largest = true, exponentials = true, products = true;

	for (int64_t n = 1; n <= MOST; n++) {
		fill(n);
		largest = largest && largest_right(s, n);
		exponentials = exponentials && exponentials_right(s, n);
		products = products && products_right(s, n);
	}
	tap_ok(largest, "%s: the largest number", s->name);
	tap_ok(exponentials, "%s: exponentials and their sum", s->name);
	tap_ok(products, "%s: products in float, half and bfloat16", s->name);
	fill(MOST);
	x[MOST / 2] = NAN;
	memcpy(got, x, sizeof(got));
	tap_ok(s->largest(x, MOST, -INFINITY) <= 12 && isnan(s->exponentials(got, MOST, 3)),
	       "%s: NaN is no largest number, but makes the sum NaN", s->name);
}

#define SET(suffix, is_there)                                                                                          \
	{                                                                                                              \
		.name = "softrow" #suffix, .there = is_there, .largest = softrow_largest##suffix,                      \
		.exponentials = softrow_exponentials##suffix, .multiply = softrow_multiply##suffix,                    \
		.to_float = softrow_float##suffix, .to_half = softrow_half##suffix,                                    \
		.to_bfloat = softrow_bfloat##suffix                                                                    \
	}

#if defined(__x86_64__)
#define HAS(a, b) (__builtin_cpu_supports(a) && __builtin_cpu_supports(b))
#else
#define HAS(a, b) false
#endif

int main(void)
{
	const struct set sets[] = { SET(, true), SET(_any, true), SET(_avx2, HAS("avx2", "fma")),
				    SET(_avx512, HAS("avx512f", "avx512dq")) };

	tap_begin();
	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		if (sets[i].there)
			try(&sets[i]);
	return tap_end();
}
