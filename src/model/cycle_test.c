/* cycle_test.c: cycles whose turns are whole numbers of kernels. */
#include "model/cycle.h"

#include "base/tap.h"

#include <math.h>

#define MS UINT64_C(1000000)
#define MOST 6u

static uint64_t cycle(const double *shares, unsigned int count, uint64_t kernel_ns)
{
	struct cycle_part parts[MOST];

	for (unsigned int i = 0; i < count; i++)
		parts[i] = (struct cycle_part){ shares[i], kernel_ns };
	return cycle_of_kernels(parts, count, 25 * MS * 5 / 4, MS / 10, 50 * MS, 1000 * MS);
}

/* Whatever the shares are: a cycle that is found goes into the window, and each of its turns is nearly whole kernels.
 */
static void test_random(void)
{
	unsigned int found = 0, wrong = 0;
	uint64_t random = 7;

	for (unsigned int round = 0; round < 2000; round++) {
		uint64_t kernel_ns = 2 * MS + round % 40 * MS / 10, ns;
		unsigned int count = 2;
		double shares[MOST], sum = 0;

		for (unsigned int i = 0; i < count; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			shares[i] = 1 + (double)(random >> 60);
			sum += shares[i];
		}
		for (unsigned int i = 0; i < count; i++)
			shares[i] /= sum;
		ns = cycle(shares, count, kernel_ns);
		found += ns != 0;
		wrong += ns && (ns < 31 * MS || ns > 63 * MS || 1000 * MS % ns > 1000);
		for (unsigned int i = 0; ns && i < count; i++) {
			double kernels = shares[i] * (double)(ns - count * MS / 10) / (double)kernel_ns;

			wrong += fabs(kernels - floor(kernels + 0.5)) > 0.21 || kernels < 0.5;
		}
	}
	tap_ok(!wrong && found > 500, "of 2000 sets of shares %u have a cycle of whole kernels", found);
}

int main(void)
{
	static const double seven[] = { 0.3, 0.7 }, half[] = { 0.5, 0.5 }, three[] = { 0.1, 0.2, 0.7 };
	struct cycle_part unlike[] = { { 0.3, 5 * MS }, { 0.7, 0 } };

	tap_begin();
	tap_ok(cycle(seven, 2, 5 * MS) == 50 * MS, "30 and 70 %% with kernels of 5 ms: 3 and 7 of them in 50 ms");
	tap_ok(cycle(three, 3, 5 * MS) == 0, "three tenants: none");
	tap_ok(cycle(half, 2, 5 * MS) % (10 * MS) < MS, "50 and 50 %%: as many of them for both");
	tap_ok(cycle(seven, 2, MS) == 0, "kernels of 1 ms: no matter");
	tap_ok(cycle_of_kernels(unlike, 2, 31 * MS, MS / 10, 50 * MS, 1000 * MS) == 0, "kernels that are not alike");
	tap_ok(cycle(seven, 2, 70 * MS) == 0, "kernels that are longer than any turn");
	test_random();
	return tap_end();
}
