/*
 * handed.c: what an arbiter gets from the one before it, through the pages of clients or from meted to meted. Whoever
 * can write such a page may write anything there: no more is owed to a tenant than could be, and a debt is its own.
 */
#include "model/arbiter_state.h"

static double within(double ns, double least, double most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/* What a guarantee can be behind. */
static double most_behind(const struct tenant *t)
{
	return (double)t->terms.guarantee_ppm / ARBITER_WHOLE * (double)ARREARS_WINDOW_NS;
}

void arbiter_rights(const struct arbiter *a, int i, struct arbiter_rights *ret)
{
	const struct tenant *t = &a->tenant[i];
	bool handed = t->handed.ns > 0 || t->handed.free_ns > 0;

	*ret = (struct arbiter_rights){
		.arrears_ns = (int64_t)t->arrears.ns,
		.by_clock_ns = (int64_t)t->by_clock_ns,
		.tokens_ns = (int64_t)t->bucket.tokens_ns,
		.put_off_ns = (uint64_t)(t->unspent_ns + t->handed.ns),
		.put_off_free_ns = (uint64_t)(t->unspent_free_ns + t->handed.free_ns),
		.put_off_from_ns = handed ? t->handed.from_ns : t->unspent_from_ns,
	};
}

/* A debt may be that of a single long kernel: it is paid off by as long turns of others. */
static void take_debt(struct arbiter *a, struct tenant *t, double ns)
{
	uint64_t longest = (uint64_t)(ns / 2);

	t->longest_ns = longest > t->longest_ns ? longest : t->longest_ns;
	a->longest_ns = longest > a->longest_ns ? longest : a->longest_ns;
}

void arbiter_resume(struct arbiter *a, int i, uint64_t charged_ns, int64_t lag_ns)
{
	struct tenant *t = &a->tenant[i];
	double ns = within((double)lag_ns, -(double)GONE_NS, (double)a->params.lag_bound_ns);

	t->base_ns = charged_ns;
	if (-ns > (double)a->params.lag_bound_ns)
		take_debt(a, t, -ns);
	a->lags[pool_of(t)].of[i].ns = ns;
	a->lags[pool_of(t)].of[i].left_ns = t->heard_ns;
}

void arbiter_resume_rights(struct arbiter *a, int i, const struct arbiter_rights *r, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];
	double most = most_behind(t), ns = within((double)r->put_off_ns, 0, most);

	t->resumed_ns = now_ns;
	t->arrears.ns = within((double)r->arrears_ns, -most, most);
	t->by_clock_ns = within((double)r->by_clock_ns, most > 0 ? -(double)GONE_NS : 0, most);
	if (r->tokens_ns)
		t->bucket.tokens_ns = within((double)r->tokens_ns, -(double)GONE_NS, (double)a->params.burst_ns);
	t->handed = (struct handed){ .ns = ns,
				     .free_ns = within((double)r->put_off_free_ns, 0, most - ns),
				     .from_ns = r->put_off_from_ns < now_ns ? r->put_off_from_ns : now_ns,
				     .at_ns = now_ns };
}

/*
 * It has been at work since then, and others, of whom a part was put off for that, were charged for all of it. What it
 * had itself, beside one of them, is charged now.
 */
uint64_t arbiter_began(struct arbiter *a, int i, uint64_t at_ns)
{
	struct tenant *t = &a->tenant[i];
	uint64_t ns;

	if (!t->resumed_ns || at_ns >= t->resumed_ns)
		return 0;
	ns = t->resumed_ns - at_ns < GONE_NS ? (t->resumed_ns - at_ns) / 2 : GONE_NS / 2;
	t->base_ns += ns;
	bucket_spend(&t->bucket, (int64_t)ns);
	lags_spend(&a->lags[pool_of(t)], (unsigned int)i, (double)ns);
	if (t->terms.guarantee_ppm)
		arrears_spend(&t->arrears, rights_guaranteed(a, i), (double)ns, rights_slack(a, i), true);
	for (unsigned int n = 0; n < a->count; n++) {
		struct handed *h = &a->tenant[a->list[n]].handed;
		uint64_t from = at_ns > h->from_ns ? at_ns : h->from_ns;

		if (a->list[n] != i && h->at_ns > from && h->at_ns - from > h->covered_ns)
			h->covered_ns = h->at_ns - from;
	}
	return ns;
}

/*
 * All work beside which it was put off has ended, or did not come along: what of the time was not measured to be
 * others' is spent.
 */
void handed_spend(struct arbiter *a, int i)
{
	struct tenant *t = &a->tenant[i];
	struct handed *h = &t->handed;
	double part;

	if ((h->ns <= 0 && h->free_ns <= 0) || a->now_ns < h->at_ns + HANDED_NS || rights_unmeasured(a, i))
		return;
	part = h->at_ns > h->from_ns ? 1 - (double)h->covered_ns / (double)(h->at_ns - h->from_ns) : 1;
	arrears_spend(&t->arrears, rights_guaranteed(a, i), h->ns * part, rights_slack(a, i), true);
	arrears_spend(&t->arrears, rights_guaranteed(a, i), h->free_ns * part, rights_slack(a, i), false);
	*h = (struct handed){ 0 };
}

void arbiter_resume_wants(struct arbiter *a, int i, uint64_t wanted_ns, uint64_t waited_ns)
{
	/* What the one before it wanted is no claim of today's. */
	a->tenant[i].wanted_ns = a->tenant[i].seen_wanted_ns = wanted_ns;
	a->tenant[i].waited_ns = waited_ns;
}
