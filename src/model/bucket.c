/* bucket.c: see bucket.h. */
#include "model/bucket.h"

void bucket_refill(struct bucket *b, uint64_t ns, double cap_ns)
{
	double tokens = b->tokens_ns + b->rate * (double)ns;

	if (tokens > cap_ns)
		tokens = b->tokens_ns > cap_ns ? b->tokens_ns : cap_ns;
	b->tokens_ns = tokens;
}

void bucket_spend(struct bucket *b, int64_t ns)
{
	b->tokens_ns -= (double)ns;
}

uint64_t bucket_wait_ns(const struct bucket *b, double tokens_ns)
{
	if (b->tokens_ns >= tokens_ns)
		return 0;
	return (uint64_t)((tokens_ns - b->tokens_ns) / b->rate) + 1;
}

uint64_t bucket_lasts_ns(const struct bucket *b)
{
	if (b->rate >= 1)
		return UINT64_MAX;
	return b->tokens_ns <= 0 ? 0 : (uint64_t)(b->tokens_ns / (1 - b->rate));
}
