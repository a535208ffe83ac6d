/* cycle.c: see cycle.h. */
#include "model/cycle.h"

#include <math.h>

#define LONG_PART 16u	 /* kernels matter from this part of a cycle on */
#define OFF_MOST 0.2	 /* of a kernel: so far a turn may be from a whole number of them */
#define PARTS_MOST 2u	 /* with more, the software device showed no gain (docs/performance.md) */
#define LONGER_NS 100000 /* a cycle twice as long is worth half of this, because it has half as many changes */

/* By how much turns are not whole numbers of kernels, on average; below 0: some turn is not even nearly one. */
static double off_ns(const struct cycle_part *parts, unsigned int count, double cycle_ns, uint64_t change_ns,
		     uint64_t most_ns)
{
	double used_ns = cycle_ns - (double)count * (double)change_ns, sum = 0;

	for (unsigned int i = 0; i < count; i++) {
		double kernel = (double)parts[i].kernel_ns, turn = parts[i].share * used_ns;
		double off = fabs(turn - floor(turn / kernel + 0.5) * kernel);

		if (off > OFF_MOST * kernel || turn < kernel / 2 || turn > (double)most_ns)
			return -1;
		sum += off;
	}
	return sum / count;
}

uint64_t cycle_of_kernels(const struct cycle_part *parts, unsigned int count, uint64_t base_ns, uint64_t change_ns,
			  uint64_t most_ns, uint64_t window_ns)
{
	uint64_t longest = 0, best = 0;
	double least = INFINITY;

	for (unsigned int i = 0; i < count; i++) {
		if (!parts[i].kernel_ns)
			return 0;
		longest = parts[i].kernel_ns > longest ? parts[i].kernel_ns : longest;
	}
	if (longest < base_ns / LONG_PART || count > PARTS_MOST)
		return 0;
	for (uint64_t n = window_ns / base_ns; n && n * 2 * base_ns > window_ns; n--) {
		double cycle = (double)window_ns / (double)n, off = off_ns(parts, count, cycle, change_ns, most_ns);

		if (off < 0 || (off += LONGER_NS * (double)base_ns / cycle) >= least)
			continue;
		least = off;
		best = window_ns / n;
	}
	return best;
}
