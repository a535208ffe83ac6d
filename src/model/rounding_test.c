/* rounding_test.c: with how many kernels a turn ends, by itself and in a cycle of several tenants. */
#include "model/rounding.h"

#include "base/tap.h"

#include <math.h>
#include <stdint.h>

#define MS 1e6
#define TENANTS 6u
#define CYCLES 20u /* in a window of a second */

static struct rounding_turn turn(double place_ms, double kernel_ms, double off_ms)
{
	return (struct rounding_turn){ .place_ns = place_ms * MS, .kernel_ns = kernel_ms * MS, .off_ns = off_ms * MS };
}

static unsigned int kernels(const struct rounding_turn *turns, size_t count, double late_ms)
{
	return rounding_kernels(turns, count, late_ms * MS, 0, 1000);
}

static void test_single(void)
{
	struct rounding_turn t[2] = { turn(12, 5, 0), turn(12, 5, 0) };

	tap_ok(kernels(t, 1, 0) == 2, "12 ms are 2 kernels of 5 ms");
	t[0] = turn(13.5, 5, 0);
	tap_ok(kernels(t, 1, 0) == 3, "13.5 ms are 3");
	t[0] = turn(12, 5, 6);
	tap_ok(kernels(t, 1, 0) == 1, "who is 6 ms ahead has one");
	t[0] = turn(12, 5, 30);
	tap_ok(kernels(t, 1, 0) == 0, "and none when it is 30 ms ahead");
	t[0] = turn(12, 5, -200);
	tap_ok(rounding_kernels(t, 1, 0, 0, 7) == 7, "who is far behind has no more than it may");
	t[0] = turn(12, 0, 0);
	tap_ok(kernels(t, 1, 0) == 0, "kernels of unknown length are not counted");
}

static void test_next(void)
{
	struct rounding_turn t[2] = { turn(12.4, 5, 0), turn(20, 5, -4) };

	/* 2 kernels would leave it 2.4 ms behind, and the next one begin 1.6 ms behind; 3: 2.6 ahead, and 6.6 behind.
	 */
	tap_ok(kernels(t, 2, 0) == 2, "the next one is behind, and need not wait for one kernel more");
	t[1] = turn(20, 5, 4);
	tap_ok(kernels(t, 2, 0) == 3, "the next one is ahead, and waits for it");
	t[0] = turn(12.5, 5, 0);
	t[1] = turn(20, 5, 0);
	t[0].known = t[1].known = true;
	t[0].ended_ns = 2.5 * MS;
	t[1].begun_ns = -2.5 * MS;
	tap_ok(kernels(t, 2, 0) == 3, "half a kernel up, as it was a second ago");
	t[0].ended_ns = -2.5 * MS;
	t[1].begun_ns = 2.5 * MS;
	tap_ok(kernels(t, 2, 0) == 2, "half a kernel down, as it was a second ago");
}

/* Tenants that take turns: the most that a window of a second differs from their share of the time used, in kernels. */
static double worst_of(const double *share, unsigned int count, double kernel_ms, double change_ms)
{
	double cycle = 1000.0 / CYCLES, off[TENANTS] = { 0 }, late = 0, worst = 0;
	double begun[TENANTS][CYCLES] = { { 0 } }, ended[TENANTS][CYCLES] = { { 0 } };

	for (unsigned int n = 0; n < 40 * CYCLES * count; n++) {
		unsigned int i = n % count, c = n / count % CYCLES, many;
		struct rounding_turn t[TENANTS];
		double had, before = off[i] - late;

		for (unsigned int k = 0; k < count; k++) {
			unsigned int j = (i + k) % count, d = (n + k) / count % CYCLES;

			t[k] = turn(share[j] * cycle, kernel_ms, off[j]);
			t[k].known = n >= CYCLES * count;
			t[k].begun_ns = begun[j][d] * MS;
			t[k].ended_ns = ended[j][d] * MS;
		}
		many = rounding_kernels(t, count, late * MS, change_ms * MS, 1000);
		had = many ? many * kernel_ms + change_ms : 0;
		if (n >= 10 * CYCLES * count)
			worst = fmax(worst, fabs(before - begun[i][c]));
		begun[i][c] = before;
		late += had - share[i] * cycle;
		off[i] = before + late;
		if (n >= 10 * CYCLES * count)
			worst = fmax(worst, fabs(off[i] - ended[i][c]));
		ended[i][c] = off[i];
	}
	return worst / kernel_ms;
}

/* Rounded one by one, the next turn begins off by the sum of all others: 2 kernels with 3 tenants, and 5 with 6. */
static void test_cycles(void)
{
	for (unsigned int count = 2; count <= TENANTS; count++) {
		uint64_t random = 5 * count;
		double worst = 0;

		for (unsigned int round = 0; round < 40; round++) {
			double share[TENANTS], sum = 0;

			for (unsigned int i = 0; i < count; i++) {
				random = random * 6364136223846793005u + 1442695040888963407u;
				sum += share[i] = 0.3 + (double)(random >> 32) / 4294967296.0;
			}
			for (unsigned int i = 0; i < count; i++)
				share[i] /= sum;
			worst = fmax(worst, worst_of(share, count, 3 + round % 3, 0.1));
		}
		tap_ok(worst <= 1.6,
		       "%u tenants, 40 sets of shares: no turn is off by more than %.2f kernels from what it "
		       "was off by a second ago",
		       count, worst);
	}
}

int main(void)
{
	tap_begin();
	test_single();
	test_next();
	test_cycles();
	return tap_end();
}
