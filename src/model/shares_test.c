/* shares_test.c: the division of an engine by table and at random; the bucket, the gaps and the lags that go with it.
 */
#include "model/shares.h"

#include "base/tap.h"
#include "model/bucket.h"
#include "model/gaps.h"
#include "model/lags.h"

#include <math.h>

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static void test_table(void)
{
	struct shares_claim fair[] = { { 0, 1, 100 }, { 0, 1, 100 }, { 0, 1, 200 } };
	struct shares_claim mixed[] = { { 0.3, 0.3, 0 }, { 0.2, 0.4, 100 }, { 0, 1, 100 } };
	struct shares_claim over[] = { { 0.8, 0.8, 0 }, { 0.8, 0.8, 0 } };
	struct shares_claim poor[] = { { 1, 1, 0 }, { 0, 1, 100 } };
	struct shares_claim fixed[] = { { 0.1, 0.1, 0 }, { 0.2, 0.2, 0 } };

	shares_divide(fair, 3);
	ok(near(fair[0].share, 0.25) && near(fair[2].share, 0.5));
	shares_divide(mixed, 3);
	ok(near(mixed[0].share, 0.3) && near(mixed[1].share, 0.4) && near(mixed[2].share, 0.3));
	shares_divide(over, 2);
	ok(near(over[0].share, 0.5) && near(over[1].share, 0.5));
	shares_divide(poor, 2);
	ok(near(poor[1].share, SHARES_FLOOR) && near(poor[0].share, 1 - SHARES_FLOOR));
	shares_divide(fixed, 2);
	ok(near(fixed[0].share, 0.1) && near(fixed[1].share, 0.2));
	shares_divide(NULL, 0);
}

static uint64_t state = 7;

static double unit(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) / 9007199254740992.0;
}

static void test_random(void)
{
	bool within = true, promised = true, whole = true;

	for (int round = 0; round < 20000; round++) {
		struct shares_claim c[16];
		unsigned int n = 1 + (unsigned int)(unit() * 16), weighted = 0;
		double sum = 0, guarantees = 0, room = 0;

		for (unsigned int i = 0; i < n; i++) {
			c[i].guarantee = unit() < 0.5 ? unit() * 0.3 : 0;
			c[i].limit = unit() < 0.5 ? 1 : fmax(c[i].guarantee, 0.05 + unit());
			c[i].limit = fmin(c[i].limit, 1);
			c[i].weight = unit() < 0.7 ? 1 + unit() * 100 : 0;
			guarantees += c[i].guarantee;
			room += c[i].weight > 0 ? c[i].limit : c[i].guarantee;
			weighted += c[i].weight > 0;
		}
		shares_divide(c, n);
		for (unsigned int i = 0; i < n; i++) {
			sum += c[i].share;
			within &= c[i].share <= c[i].limit + 1e-9 || c[i].share <= SHARES_FLOOR + 1e-9;
			promised &= guarantees > 1 || c[i].share >= c[i].guarantee * (1 - SHARES_FLOOR) - 1e-9;
		}
		whole &= sum <= 1 + 1e-9 && (!weighted || room < 1 || sum > 1 - SHARES_FLOOR - 1e-9);
	}
	tap_ok(within, "nobody above its limit");
	tap_ok(promised, "nobody below its guarantee");
	tap_ok(whole, "all of it is divided when somebody may take it");
}

static void test_bucket(void)
{
	struct bucket b = { .rate = 0.25 };

	bucket_refill(&b, 1000, 500);
	ok(near(b.tokens_ns, 250));
	bucket_refill(&b, 10000, 500);
	ok(near(b.tokens_ns, 500));
	is(bucket_lasts_ns(&b), 666);
	bucket_spend(&b, 1500);
	ok(near(b.tokens_ns, -1000));
	is(bucket_lasts_ns(&b), 0);
	is(bucket_wait_ns(&b, 0), 4001);
	b.rate = 1;
	ok(bucket_lasts_ns(&b) == UINT64_MAX);
	/* Tokens that were there before a lower cap are kept. */
	b.tokens_ns = 900;
	bucket_refill(&b, 1, 500);
	ok(near(b.tokens_ns, 900));
}

/* Half of the time is spent as a limit of 50 % allows; the tokens fall by 5 ms and rise again in each 20 ms. */
static double spent_in(struct bucket *b, uint64_t windows)
{
	double spent = 0;

	for (uint64_t ns = 0; ns < windows * BUCKET_WINDOW_NS; ns += 20000000) {
		bucket_refill(b, 10000000, 1e18);
		bucket_note(b, b->tokens_ns);
		spent += b->tokens_ns;
		bucket_spend(b, (int64_t)b->tokens_ns);
		bucket_note(b, b->tokens_ns);
		bucket_refill(b, 10000000, 1e18);
	}
	return spent / (double)BUCKET_WINDOW_NS;
}

/* The range of the tokens is kept back in each window, where the limit is all that holds the tenant back. */
static void test_bucket_range(void)
{
	struct bucket b = { .rate = 0.5, .lone = true }, beside = { .rate = 0.5 };
	double kept;

	spent_in(&b, 2);
	kept = 4 * 0.5 - spent_in(&b, 4);
	tap_ok(kept > 4 * 9e6 / 5e9 / 2 && kept < 4 * BUCKET_KEPT_NS / 5e9 * 1.01,
	       "%.1f ms of each window are kept back", kept * 5e3 / 4);
	ok(near(spent_in(&beside, 4), 4 * 0.5 - 5e6 / 5e9));
	/* Kernels that are longer than what can be kept back cost their tenant nothing. */
	bucket_note(&b, -2 * BUCKET_RANGE_NS);
	ok(bucket_wait_ns(&b, b.tokens_ns + 1e6) == 2000001);
}

static void test_gaps(void)
{
	struct gaps g = { 0 };

	for (int i = 0; i < 10; i++)
		gaps_add(&g, 1000 + (uint64_t)i, 2000);
	ok(gaps_p90_ns(&g) >= 1007 && gaps_p90_ns(&g) <= 1009);
	for (int i = 0; i < 100; i++)
		gaps_add(&g, 5000, 2000);
	is(gaps_p90_ns(&g), 0);
}

static double lag_sum(const struct lags *l)
{
	double sum = 0;

	for (unsigned int i = 0; i < l->count; i++)
		sum += l->of[l->list[i]].ns;
	return sum;
}

/* Whatever is spent, whoever comes and goes: the lags of those who want add up to nothing. */
static void test_lags(void)
{
	static struct lags l;
	double worst = 0, share = 1.0 / 8, highest = 0;

	for (unsigned int i = 0; i < 8; i++) {
		lags_enter(&l, i, 0);
		lags_share(&l, i, share);
	}
	for (uint64_t n = 1; n < 100000; n++) {
		unsigned int i = (unsigned int)(unit() * 8);

		if (unit() < 0.2 && l.of[i].wants && l.count > 1)
			lags_leave(&l, i, n * 1000);
		else if (!l.of[i].wants)
			lags_enter(&l, i, n * 1000);
		i = l.list[(unsigned int)(unit() * l.count)];
		lags_spend(&l, i, unit() * 1000);
		lags_settle(&l);
		for (unsigned int k = 0; k < 8; k++)
			lags_clamp(&l, k, -20000, 20000);
		worst = fmax(worst, fabs(lag_sum(&l)));
		highest = fmax(highest, l.count > 1 ? l.of[i].ns : 0);
	}
	tap_ok(worst < 1, "the sum of lags is never further from 0 than %g ns", worst);
	tap_ok(highest <= 21000, "nobody is owed more than the bound (%.0f ns)", highest);
}

int main(void)
{
	tap_begin();
	test_table();
	test_random();
	test_bucket();
	test_bucket_range();
	test_gaps();
	test_lags();
	return tap_end();
}
