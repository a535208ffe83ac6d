/* rounding.c: see rounding.h. */
#include "model/rounding.h"

#include <math.h>

/* High powers, because the largest of all matters most. */
static double cost(double off_ns, bool known, double was_ns)
{
	double off = off_ns * off_ns, from = (off_ns - was_ns) * (off_ns - was_ns);

	return off * off + (known ? from * from : 0);
}

/* Kernels of a turn: the tenant is even at the end of its place with so many and a part of one. */
static double fewest(const struct rounding_turn *t, double change_ns)
{
	double n = floor((t->place_ns - t->off_ns - change_ns) / t->kernel_ns);

	return n > 0 ? n : 0;
}

static double length_ns(const struct rounding_turn *t, bool up, double change_ns)
{
	double n;

	if (t->kernel_ns <= 0)
		return t->place_ns - t->off_ns;
	n = fewest(t, change_ns) + up;
	return n > 0 ? change_ns + n * t->kernel_ns : 0;
}

/* All turns together; a bit of `ups` for each of the first: it is rounded up. */
static double cost_of(const struct rounding_turn *turns, size_t count, double late_ns, double change_ns,
		      unsigned int ups)
{
	double sum = 0, first_off_ns = turns->off_ns;

	for (size_t i = 0; i < count && i < ROUNDING_TURNS; i++) {
		const struct rounding_turn *t = &turns[i], *next = i + 1 < count ? t + 1 : NULL;
		double begun = t->off_ns - late_ns;

		late_ns += length_ns(t, ups >> i & 1, change_ns) - t->place_ns;
		first_off_ns = i ? first_off_ns : begun + late_ns;
		sum += cost(begun + late_ns, t->known, t->ended_ns);
		if (next)
			sum += cost(next->off_ns - late_ns, next->known, next->begun_ns);
		else
			sum += cost(first_off_ns - late_ns, false, 0);
	}
	return sum;
}

unsigned int rounding_kernels(const struct rounding_turn *turns, size_t count, double late_ns, double change_ns,
			      unsigned int most)
{
	double best = INFINITY, n;
	bool up = false;

	unsigned int most_ups = 1u << (count < ROUNDING_TURNS ? count : ROUNDING_TURNS);

	if (!count || turns->kernel_ns <= 0)
		return 0;
	for (unsigned int ups = 0; ups < most_ups; ups++) {
		double sum = cost_of(turns, count, late_ns, change_ns, ups);

		if (sum >= best)
			continue;
		best = sum;
		up = ups & 1;
	}
	n = fewest(turns, change_ns) + up;
	return n < (double)most ? (unsigned int)n : most;
}
