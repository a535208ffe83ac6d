/*
 * handed_test.c: nobody gains or loses by another arbiter that goes on with the accounts of the one before it: not by
 * what was put off beside work that has not been measured yet, not by debts, and not by numbers that are made up.
 */
#include "model/arbiter_state.h"

#include "base/tap.h"

#define SECOND (1000 * MS)

static const struct arbiter_terms half = {
	.gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = 500000, .limit_ppm = 1000000, .weight = 100
};
static const struct arbiter_terms rest = {
	.gated = true, .class = ARBITER_NORMAL, .limit_ppm = 1000000, .weight = 100
};

static double ms(double ns)
{
	return ns / (double)MS;
}

/* One with a guarantee computes; another has work of unknown length in flight, `says`, of which nothing is measured. */
static void tell(struct arbiter *a, int i, int other, bool says, uint64_t now)
{
	bool open = arbiter_turn(a, i)->open;
	struct arbiter_demand d = { .waiting = true, .since_ns = now, .needs_ns = MS, .busy = open };
	struct arbiter_demand o = { .waiting = !says, .since_ns = now, .busy = says, .unknown = says };

	if (open != a->tenant[i].demand.busy)
		(open ? arbiter_begins : arbiter_ends)(a, i, now);
	d.began_ns = now;
	d.done_by_ns = now + MS;
	o.began_ns = now - 10 * MS;
	arbiter_demands(a, i, &d, now);
	arbiter_demands(a, other, &o, now);
}

static uint64_t pass(struct arbiter *a, int i, int other, bool says, uint64_t from_ns, uint64_t ns)
{
	for (uint64_t now = from_ns; now < from_ns + ns; now += MS) {
		tell(a, i, other, says, now);
		arbiter_step(a, now);
	}
	return from_ns + ns;
}

static struct arbiter *one_more(int *i, int *other, uint64_t now)
{
	struct arbiter *a = arbiter_new(NULL);

	*other = arbiter_join(a, &rest, now);
	*i = arbiter_join(a, &half, now);
	return a;
}

/* It is behind: what it has is by its claim, and counts in full. */
static struct arbiter *one_behind(int *i, int *other, uint64_t now)
{
	struct arbiter *a = one_more(i, other, now);

	arbiter_resume_rights(a, *i, &(struct arbiter_rights){ .arrears_ns = (int64_t)(1900 * MS) }, now);
	return a;
}

/* Of `a`, as a meted writes it down. */
static struct arbiter *successor(const struct arbiter *a, int i, int other, uint64_t now)
{
	struct arbiter *b;
	struct arbiter_reading r;
	struct arbiter_rights rights;
	int k, l;

	b = one_more(&k, &l, now);
	r = arbiter_read(a, i, now);
	arbiter_rights(a, i, &rights);
	arbiter_resume(b, k, r.charged_ns, r.lag_ns);
	arbiter_resume_rights(b, k, &rights, now);
	r = arbiter_read(a, other, now);
	arbiter_rights(a, other, &rights);
	arbiter_resume(b, l, r.charged_ns, r.lag_ns);
	arbiter_resume_rights(b, l, &rights, now);
	return b;
}

/* What is put off is spent when nothing of that work was measured, whoever is the arbiter then. */
static void test_pretence(void)
{
	uint64_t now = SECOND;
	int i, other;
	struct arbiter *a = one_behind(&i, &other, now), *b;
	double off, stays, goes;

	now = pass(a, i, other, false, now, 500 * MS);
	now = pass(a, i, other, true, now, SECOND);
	off = a->tenant[i].unspent_ns + a->tenant[i].unspent_free_ns;
	b = successor(a, i, other, now);
	tell(b, i, other, true, now);
	pass(a, i, other, true, now, 3 * SECOND);
	pass(b, i, other, true, now, 3 * SECOND);
	now += 3 * SECOND;
	tap_ok(b->tenant[i].handed.ns + b->tenant[i].handed.free_ns > off - 1,
	       "what was put off under the arbiter before stays so while that work is in flight: %.0f ms", ms(off));
	pass(a, i, other, false, now, 20 * MS);
	pass(b, i, other, false, now, 20 * MS);
	stays = a->tenant[i].arrears.ns;
	goes = b->tenant[i].arrears.ns;
	tap_ok(off > 200 * (double)MS && goes < stays + 60 * (double)MS && goes > stays - 60 * (double)MS,
	       "and is spent when that was a pretence: behind by %.0f ms, without another arbiter by %.0f", ms(goes),
	       ms(stays));
	tap_ok(b->tenant[i].handed.ns + b->tenant[i].handed.free_ns == 0, "once");
	arbiter_free(a);
	arbiter_free(b);
}

/* It is not spent where that work is measured after all; whose it was is charged for its part. */
static void test_real(void)
{
	uint64_t now = SECOND, from;
	int i, other;
	struct arbiter *a = one_behind(&i, &other, now), *b;
	double off, before, lag;
	uint64_t charged;

	now = pass(a, i, other, false, now, 500 * MS);
	from = now;
	now = pass(a, i, other, true, now, SECOND);
	off = a->tenant[i].unspent_ns + a->tenant[i].unspent_free_ns;
	b = successor(a, i, other, now);
	tell(b, i, other, true, now);
	before = b->tenant[i].arrears.ns;
	charged = arbiter_read(b, other, now).charged_ns;
	lag = rights_lag(b, other);
	arbiter_began(b, other, from);
	rights_settle(b, now);
	tap_ok(arbiter_read(b, other, now).charged_ns - charged == 500 * MS && rights_lag(b, other) < lag,
	       "work that was in flight is charged with its part of the time before");
	/* It has ended; its edges lie in the time of this arbiter. */
	arbiter_begins(b, other, now);
	arbiter_ends(b, other, now + MS);
	b->tenant[i].terms.frozen = true;
	for (uint64_t end = now + 3 * SECOND; now < end; now += MS) {
		arbiter_demands(b, i, &(struct arbiter_demand){ 0 }, now);
		arbiter_demands(b, other, &(struct arbiter_demand){ 0 }, now);
		arbiter_step(b, now);
	}
	tap_ok(off > 200 * (double)MS && b->tenant[i].handed.ns + b->tenant[i].handed.free_ns == 0 &&
		       b->tenant[i].arrears.ns > before - 60 * (double)MS,
	       "and what another had beside it is not spent: of %.0f ms behind %.0f are left", ms(before),
	       ms(b->tenant[i].arrears.ns));
	arbiter_free(a);
	arbiter_free(b);
}

/* Debts stay: of a limit, of a long kernel, by the clock. */
static void test_debts(void)
{
	uint64_t now = SECOND;
	int i, other;
	struct arbiter *a = one_more(&i, &other, now), *b;
	const struct arbiter_rights owes = { .arrears_ns = -(int64_t)(700 * MS),
					     .by_clock_ns = -(int64_t)(1500 * MS),
					     .tokens_ns = -(int64_t)(900 * MS) };
	struct arbiter_rights r;

	arbiter_resume(a, i, SECOND, -(int64_t)(800 * MS));
	arbiter_resume_rights(a, i, &owes, now);
	arbiter_step(a, now);
	b = successor(a, i, other, now);
	arbiter_step(b, now);
	arbiter_rights(b, i, &r);
	tap_ok(r.arrears_ns == owes.arrears_ns && r.by_clock_ns == owes.by_clock_ns && r.tokens_ns == owes.tokens_ns &&
		       arbiter_read(b, i, now).lag_ns < -(int64_t)(700 * MS),
	       "debts go from arbiter to arbiter: %lld, %lld, %lld and %lld ms",
	       (long long)r.arrears_ns / (long long)MS, (long long)r.by_clock_ns / (long long)MS,
	       (long long)r.tokens_ns / (long long)MS, (long long)arbiter_read(b, i, now).lag_ns / (long long)MS);
	arbiter_free(a);
	arbiter_free(b);
}

/* Whatever a page says, no more is owed than can be, and nothing to whom nothing is guaranteed. */
static void test_made_up(void)
{
	static const struct arbiter_rights all[] = {
		{ INT64_MAX, INT64_MAX, INT64_MAX, 0, 0, 0 },
		{ INT64_MIN, INT64_MIN, INT64_MIN, UINT64_MAX, UINT64_MAX, UINT64_MAX },
		{ INT64_MAX, INT64_MIN, -1, UINT64_MAX, 0, UINT64_MAX },
		{ 0, INT64_MAX, 1, 1, UINT64_MAX, 1 },
	};
	double most = 2.0 * (double)SECOND;
	bool good = true;

	for (unsigned int n = 0; n < sizeof(all) / sizeof(*all); n++) {
		uint64_t now = 100 * SECOND;
		int i, other;
		struct arbiter *a = one_more(&i, &other, now);

		arbiter_resume(a, i, 0, n % 2 ? INT64_MIN : INT64_MAX);
		arbiter_resume_rights(a, i, &all[n], now);
		arbiter_resume_rights(a, other, &all[n], now);
		arbiter_began(a, other, 0);
		for (const struct tenant *t = &a->tenant[other]; t <= &a->tenant[i]; t++)
			good &= t->arrears.ns <= (t->terms.guarantee_ppm ? most : 0) &&
				t->by_clock_ns <= (t->terms.guarantee_ppm ? most : 0) && t->handed.ns >= 0 &&
				t->handed.free_ns >= 0 && t->handed.ns + t->handed.free_ns <= most &&
				t->bucket.tokens_ns <= (double)a->params.burst_ns &&
				t->bucket.tokens_ns >= -2.0 * (double)GONE_NS;
		pass(a, i, other, n % 2, now, 4 * SECOND);
		good &= rights_lag(a, other) < 3.0 * (double)GONE_NS && a->tenant[i].arrears.ns <= most;
		arbiter_free(a);
	}
	tap_ok(good, "numbers that are made up are held to what there can be");
}

int main(void)
{
	tap_begin();
	test_pretence();
	test_real();
	test_debts();
	test_made_up();
	return tap_end();
}
