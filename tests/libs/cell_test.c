/* cell_test.c: cells of float, by each set of instructions that the processor has, against those of double. */
#include "libs/cudnn/cell.h"

#include "base/tap.h"

#include <math.h>
#include <stdbool.h>

#define MOST 67
#define NEAR 4e-6

enum { GATES, PART, BIAS, H, C, ARRAYS };
static const unsigned int parts[ARRAYS] = { 4, 4, 4, 1, 1 };

static float single[ARRAYS][4 * MOST];
static double twice[ARRAYS][4 * MOST];

/* From -12 to 12, with zeros and small numbers among them. */
static double value(uint64_t i)
{
	double x = (double)(i * 2654435761u % 1000003) / 1000003 * 24 - 12;

	return i % 11 == 0 ? 0 : i % 7 == 0 ? x * 1e-4 : x;
}

static void fill(int64_t n)
{
	for (unsigned int a = 0; a < ARRAYS; a++)
		for (int64_t i = 0; i < n * parts[a]; i++)
			twice[a][i] = single[a][i] = (float)value((uint64_t)(i + 1) * (a + 3));
}

static double apart(int64_t n)
{
	double most = 0;

	for (unsigned int a = 0; a < ARRAYS; a++)
		for (int64_t i = 0; i < n * parts[a]; i++)
			most = fmax(most, fabs(single[a][i] - twice[a][i]) / (1 + fabs(twice[a][i])));
	return most;
}

#define USED_tanh(arrays) arrays[GATES], arrays[PART], arrays[BIAS], arrays[H]
#define USED_lstm(arrays) arrays[GATES], arrays[PART], arrays[BIAS], arrays[H], arrays[C]
#define USED_gru(arrays) arrays[GATES], arrays[PART], arrays[H]

#define TRY(kind, set)                                                                                                 \
	do {                                                                                                           \
		double worst = 0;                                                                                      \
		for (int64_t n = 1; n <= MOST; n++) {                                                                  \
			fill(n);                                                                                       \
			cell_##kind##_d(n, USED_##kind(twice));                                                        \
			cell_##kind##set(n, USED_##kind(single));                                                      \
			worst = fmax(worst, apart(n));                                                                 \
		}                                                                                                      \
		tap_ok(worst < NEAR, #kind #set ": %g apart", worst);                                                  \
	} while (0)

#define TRY_ALL(set)                                                                                                   \
	do {                                                                                                           \
		TRY(tanh, set);                                                                                        \
		TRY(lstm, set);                                                                                        \
		TRY(gru, set);                                                                                         \
	} while (0)

#if defined(__x86_64__)
#define HAS(a, b) (__builtin_cpu_supports(a) && __builtin_cpu_supports(b))
#else
#define HAS(a, b) false
#endif

int main(void)
{
	tap_begin();
	TRY_ALL(_f_any);
	TRY_ALL(_f);
	if (HAS("avx2", "fma"))
		TRY_ALL(_f_avx2);
	if (HAS("avx512f", "avx512dq"))
		TRY_ALL(_f_avx512);
	return tap_end();
}
