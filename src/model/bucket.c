/* bucket.c: see bucket.h. */
#include "model/bucket.h"

static double refill_rate(const struct bucket *b)
{
	double most = b->most_ns[0] > b->most_ns[1] ? b->most_ns[0] : b->most_ns[1];
	double least = b->least_ns[0] < b->least_ns[1] ? b->least_ns[0] : b->least_ns[1];
	double range = most - least, kept = range < BUCKET_KEPT_NS ? range : BUCKET_KEPT_NS;
	double at_most = BUCKET_KEPT_PART * b->rate;

	kept /= (double)BUCKET_WINDOW_NS;
	if (!b->lone || range > BUCKET_RANGE_NS)
		return b->rate;
	return b->rate - (kept < at_most ? kept : at_most);
}

void bucket_note(struct bucket *b, double tokens_ns)
{
	if (tokens_ns > b->most_ns[0])
		b->most_ns[0] = tokens_ns;
	if (tokens_ns < b->least_ns[0])
		b->least_ns[0] = tokens_ns;
}

static void pass_window(struct bucket *b, uint64_t ns)
{
	b->window_ns += ns;
	if (b->window_ns < BUCKET_WINDOW_NS)
		return;
	b->window_ns = 0;
	b->most_ns[1] = b->most_ns[0];
	b->least_ns[1] = b->least_ns[0];
	b->most_ns[0] = b->least_ns[0] = b->tokens_ns;
}

void bucket_refill(struct bucket *b, uint64_t ns, double cap_ns)
{
	double tokens = b->tokens_ns + refill_rate(b) * (double)ns;

	if (tokens > cap_ns)
		tokens = b->tokens_ns > cap_ns ? b->tokens_ns : cap_ns;
	b->tokens_ns = tokens;
	pass_window(b, ns);
}

void bucket_spend(struct bucket *b, int64_t ns)
{
	b->tokens_ns -= (double)ns;
}

uint64_t bucket_wait_ns(const struct bucket *b, double tokens_ns)
{
	if (b->tokens_ns >= tokens_ns)
		return 0;
	return (uint64_t)((tokens_ns - b->tokens_ns) / refill_rate(b)) + 1;
}

uint64_t bucket_lasts_ns(const struct bucket *b)
{
	if (b->rate >= 1)
		return UINT64_MAX;
	return b->tokens_ns <= 0 ? 0 : (uint64_t)(b->tokens_ns / (1 - b->rate));
}
