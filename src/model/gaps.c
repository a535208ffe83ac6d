/* gaps.c: see gaps.h. */
#include "model/gaps.h"

/* The n-th smallest, by insertion: there are few. */
static uint64_t nth(const uint64_t *ns, unsigned int count, unsigned int n)
{
	uint64_t sorted[GAPS];

	for (unsigned int i = 0; i < count; i++) {
		unsigned int j = i;

		for (; j && sorted[j - 1] > ns[i]; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = ns[i];
	}
	return sorted[n];
}

void gaps_add(struct gaps *g, uint64_t ns, uint64_t short_ns)
{
	uint64_t few[GAPS];
	unsigned int kept, n = 0;

	g->ns[g->seen++ % GAPS] = ns;
	kept = g->seen < GAPS ? g->seen : GAPS;
	for (unsigned int i = 0; i < kept; i++)
		if (g->ns[i] <= short_ns)
			few[n++] = g->ns[i];
	g->p90_ns = n * 2 > kept ? nth(few, n, (n * 9 - 1) / 10) : 0;
}

uint64_t gaps_p90_ns(const struct gaps *g)
{
	return g->p90_ns;
}
