/*
 * rights.c: what the tenants of an arbiter have had, what they are owed, and who of them may have the next turn.
 */
#include "model/arbiter_state.h"

#include "model/shares.h"

#include <math.h>

void rights_tell_time(struct tenant *t, uint64_t now_ns)
{
	uint64_t ns = now_ns > t->heard_ns ? now_ns - t->heard_ns : 0;

	if (t->demand.waiting || t->demand.busy)
		t->wanted_ns += ns;
	if (t->demand.waiting && !t->turn.open)
		t->waited_ns += ns;
	if (t->demand.waiting && !t->turn.open && !t->demand.busy)
		t->stood_ns += ns;
	t->heard_ns = now_ns;
}

/* ---- accounts ---- */

bool rights_competes(const struct tenant *t)
{
	return t->terms.gated && !t->terms.frozen;
}

static bool is_holder(const struct arbiter *a, int i)
{
	return a->holder[MAIN] == i || a->holder[REST] == i;
}

/* It did not take up its turn: stopped, perhaps. It gets another one now and then, because nothing tells when it wakes.
 */
bool rights_absent(const struct arbiter *a, const struct tenant *t)
{
	return t->absences && a->now_ns < t->absent_until_ns;
}

/* It wants the engine, and so do others. */
static bool contended(const struct arbiter *a, const struct tenant *t)
{
	return (t->demand.waiting || t->demand.busy) && a->lags[MAIN].count + a->lags[REST].count > 1;
}

/* Others want the engine. What it asked for itself was before now: it may have nothing to do by now. */
static bool beside_others(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	unsigned int own = a->lags[pool_of(t)].of[i].wants;

	return rights_competes(t) && !rights_absent(a, t) && a->lags[MAIN].count + a->lags[REST].count > own;
}

/*
 * Who is kept waiting by others keeps what its limit lets it have in a cycle, and while a long kernel lasts; and what
 * it is owed, for others' turns may be longer than any of their kernels: those of several processes run side by side.
 */
static double tokens_cap(const struct arbiter *a, const struct tenant *t)
{
	double owed = rights_lag(a, (int)(t - a->tenant));
	double cap = (double)a->params.burst_ns, most = (double)a->params.lag_bound_ns,
	       more = (double)places_cycle_ns(a, pool_of(t)) / (a->placed[pool_of(t)] ? 1 : 2);

	if (!contended(a, t))
		return cap;
	if (a->longest_ns > a->params.quantum_max_ns)
		more += 2.0 * (double)(a->longest_ns - a->params.quantum_max_ns);
	more *= t->bucket.rate;
	more = more < most ? more : most;
	return cap + (more > owed ? more : owed);
}

/* It has work in flight that has begun, but when is not known yet. */
static double unseen_ns(const struct arbiter *a, int i, uint64_t now_ns)
{
	const struct tenant *t = &a->tenant[i];
	uint64_t from = t->busy_from_ns > t->last_end_ns ? t->busy_from_ns : t->last_end_ns;

	if (!t->demand.busy || busy_count(a->busy, (unsigned int)i) || busy_suspected(a->busy, (unsigned int)i))
		return 0;
	return now_ns > from ? (double)(now_ns - from) : 0;
}

/* A closed gate opens at half a bucket, so that it is not opened for every kernel, and delays do not let it run over.
 */
static double tokens_to_open(const struct arbiter *a)
{
	return (double)a->params.burst_ns / 2;
}

/* A window of mete ps may hold so much of it, and half a kernel: the last one is rounded as it comes. */
static double ceiling_most(const struct tenant *t)
{
	return t->bucket.rate * (double)CEILING_WINDOW_NS + (double)t->next_ns / 2;
}

/*
 * The bucket alone does not keep it below its limit beside turns that are longer than a quantum. Where turns have
 * places it does; and long kernels of its own keep their mean.
 */
static bool has_ceiling(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return t->ceiling && !places_has(a, i) && a->longest_ns > a->params.quantum_max_ns &&
	       t->next_ns <= a->params.quantum_max_ns / 2;
}

uint64_t rights_foretold_ns(const struct arbiter *a, const struct tenant *t)
{
	return t->demand.busy && t->demand.done_by_ns > a->now_ns ? t->demand.done_by_ns - a->now_ns : 0;
}

/* What it has had that is not charged yet, and has yet to have, of what is in flight. */
static double in_flight_ns(const struct arbiter *a, int i)
{
	return unseen_ns(a, i, a->now_ns) + (double)rights_foretold_ns(a, &a->tenant[i]);
}

/* For how long it may go on after what it has in flight. */
uint64_t rights_ceiling_ns(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	if (!has_ceiling(a, i))
		return UINT64_MAX;
	return ceiling_lasts_ns(t->ceiling, ceiling_most(t), rights_foretold_ns(a, t), in_flight_ns(a, i));
}

static bool below_ceiling(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return !has_ceiling(a, i) ||
	       ceiling_left_ns(t->ceiling, ceiling_most(t)) - in_flight_ns(a, i) >= tokens_to_open(a);
}

/*
 * A limit is all that holds a tenant back: it is alone, or the limits of all who want the engine leave some of it to
 * nobody. Beside turns that are longer than a quantum it is the waiting for those that decides.
 */
static bool limits_alone_bind(const struct arbiter *a)
{
	unsigned int wanting = a->lags[MAIN].count + a->lags[REST].count;
	double sum = 0;

	if (wanting > 1 && a->longest_ns > a->params.quantum_max_ns)
		return false;
	for (int p = 0; p < POOLS; p++)
		for (unsigned int n = 0; n < a->lags[p].count; n++)
			sum += a->tenant[a->lags[p].list[n]].bucket.rate;
	return wanting <= 1 || sum < 0.99;
}

/*
 * What of the engine it is guaranteed while it wants it. All guarantees together are made good up to CLAIMED_MOST:
 * changes of hands take a part of the engine, and who has no guarantee is not to starve.
 */
double rights_guaranteed(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	double promised = a->promised[pool_of(t)], part = (double)t->terms.guarantee_ppm / ARBITER_WHOLE;

	return promised > CLAIMED_MOST ? part * CLAIMED_MOST / promised : part;
}

double rights_slack(const struct arbiter *a, int i)
{
	enum pool p = pool_of(&a->tenant[i]);
	double cycle = (double)places_base_ns(a, p);

	/* Between two of its turns a tenant is behind by as much as the others have in a cycle, however long that is.
	 */
	if (a->placed[p])
		cycle = fmax(cycle, 0.8 * (double)places_cycle_ns(a, p));
	return rights_guaranteed(a, i) * ARREARS_CYCLES * cycle;
}

/* What it has not used yet of the engine, of as much as the longest kernel of late, `most_ns` at most. */
static double unproven_ns(const struct arbiter *a, int i, double most_ns)
{
	const struct tenant *t = &a->tenant[i];
	double longest = (double)a->longest_ns > a->gone_ns ? (double)a->longest_ns : a->gone_ns;
	double left = (longest < most_ns ? longest : most_ns) - (double)(t->base_ns + t->seen_charged_ns);

	return left > 0 ? left : 0;
}

/*
 * Behind by more than this a tenant has a claim. One that has just come may bring a kernel as long as others have, and
 * leave without paying for it: until it has used as much of the engine, it has a claim when what it is owed pays for
 * it.
 */
static double claim_ns(const struct arbiter *a, int i)
{
	double slack = rights_slack(a, i), most = rights_guaranteed(a, i) * (double)ARREARS_WINDOW_NS / 2;
	double left = unproven_ns(a, i, most);

	return left > slack ? left : slack;
}

/* What seems to be idle may be somebody's kernel, of which nothing has been measured yet. */
static bool others_in_flight(const struct arbiter *a, int except)
{
	for (unsigned int n = 0; n < a->count; n++)
		if (a->list[n] != except && a->tenant[a->list[n]].demand.busy)
			return true;
	return false;
}

/*
 * It lets the engine idle though it asks for it, and for longer than it works: a pause costs it less than it earns
 * meanwhile, so that it would have a claim for ever. Who does not use what it is given is not behind.
 */
static bool wastes(struct arbiter *a, int i, int64_t charged_ns, int64_t idled_ns)
{
	struct tenant *t = &a->tenant[i];

	if (idled_ns > 0 && (!t->turn.open || (!t->demand.waiting && !t->demand.busy) || others_in_flight(a, i)))
		idled_ns = 0;
	/* What is taken back, because others were at work beside it, it has worked nevertheless. */
	t->wasted_ns += idled_ns - (charged_ns > 0 ? charged_ns : 0);
	if (t->wasted_ns > WASTED_NS) {
		t->wasted_ns = 0;
		return true;
	}
	t->wasted_ns = t->wasted_ns < 0 ? 0 : t->wasted_ns;
	return false;
}

/* So many others have work of unknown length in flight, of which nothing has been measured yet. */
unsigned int rights_unmeasured(const struct arbiter *a, int except)
{
	unsigned int n = 0;

	for (unsigned int k = 0; k < a->count; k++) {
		const struct tenant *t = &a->tenant[a->list[k]];

		n += a->list[k] != except && rights_competes(t) && t->demand.busy && t->demand.unknown && !t->lied &&
		     !busy_count(a->busy, a->list[k]) && !busy_suspected(a->busy, a->list[k]);
	}
	return n;
}

/*
 * What it has had beside work of which nothing has been measured yet will be found to be the part of one of them: the
 * rest is not spent until that work has ended. Else it would seem to have had all of it, and would not be behind. It is
 * no more than a guarantee can be behind by: that work may last, or be nothing but somebody's word for it. Value: what
 * is spent now.
 */
static double put_off(struct arbiter *a, int i, double ns, bool claimed)
{
	struct tenant *t = &a->tenant[i];
	unsigned int others = rights_unmeasured(a, i);
	double later = others && ns > 0 ? ns * others / (others + 1) : 0;
	double room = rights_guaranteed(a, i) * (double)ARREARS_WINDOW_NS - t->unspent_ns - t->unspent_free_ns -
		      t->handed.ns - t->handed.free_ns;

	later = later < room ? later : room > 0 ? room : 0;
	if (!t->unspent_ns && !t->unspent_free_ns)
		t->unspent_from_ns = a->now_ns;
	*(claimed ? &t->unspent_ns : &t->unspent_free_ns) += later;
	return ns - later;
}

/* That work has ended: what was put off is spent as it would have been, for all that it has been charged since. */
static void spend_put_off(struct arbiter *a, int i, double ns, bool claimed)
{
	struct tenant *t = &a->tenant[i];
	double rate = rights_guaranteed(a, i), slack = rights_slack(a, i), back = ns < 0 ? -ns : 0, free;

	free = t->unspent_free_ns < back ? t->unspent_free_ns : back;
	arrears_spend(&t->arrears, rate, t->unspent_ns - (back - free), slack, true);
	arrears_spend(&t->arrears, rate, t->unspent_free_ns - free, slack, claimed);
	arrears_spend(&t->arrears, rate, ns + back, slack, claimed);
	t->unspent_ns = t->unspent_free_ns = 0;
}

/*
 * It has had `charged_ns` and the pauses in its turn, in which it has the engine as well. Either may be below 0: that
 * it was at work is known late, and until then it seems to pause.
 */
static void settle_arrears(struct arbiter *a, int i, uint64_t asked_ns, int64_t charged_ns, int64_t idled_ns)
{
	struct tenant *t = &a->tenant[i];
	double rate = rights_guaranteed(a, i), ns = (double)charged_ns + (double)idled_ns;
	bool claimed;

	if (!t->terms.guarantee_ppm)
		return;
	/* Beside somebody who is behind it takes nothing that was nobody's. */
	claimed = t->claimed || a->behind > t->behind;
	if (rights_unmeasured(a, i))
		arrears_spend(&t->arrears, rate, put_off(a, i, ns, claimed), rights_slack(a, i), claimed);
	else
		spend_put_off(a, i, ns, claimed);
	handed_spend(a, i);
	if (beside_others(a, i))
		arrears_earn(&t->arrears, rate, asked_ns);
	/* What its limit leaves out of a window is not missed: it could not be made good. */
	if (has_ceiling(a, i))
		t->arrears.ns = fmin(t->arrears.ns, fmax(0, ceiling_left_ns(t->ceiling, ceiling_most(t))));
	if (!wastes(a, i, charged_ns, idled_ns))
		return;
	t->arrears.ns = t->arrears.ns > 0 ? 0 : t->arrears.ns;
	t->by_clock_ns = t->by_clock_ns > 0 ? 0 : t->by_clock_ns;
}

/*
 * What it brings next takes so long, as far as can be known: of work of unknown length, as long as its longest turn, of
 * which the last one may have been measured after its end.
 */
static double brings_ns(const struct tenant *t)
{
	uint64_t last = t->turn_cost_ns > 0 ? (uint64_t)t->turn_cost_ns : 0;

	return (double)(!rights_brings_unknown(t) ? t->next_ns : last > t->longest_ns ? last : t->longest_ns);
}

/*
 * Owed so much by the clock, it has paid for what it brings next. One that has just come may bring as much as others
 * have.
 */
static double price_by_clock(const struct arbiter *a, int i)
{
	double brings = brings_ns(&a->tenant[i]), unproven = unproven_ns(a, i, (double)ARREARS_WINDOW_NS);
	double slack = rights_slack(a, i);

	brings = brings > unproven ? brings : unproven;
	return brings > slack ? brings : slack;
}

/*
 * Its gate was open, or it had work in flight: whatever is measured of others, it had the engine no longer than that.
 * For what it took by a claim it has to wait in full.
 */
static void settle_by_clock(struct arbiter *a, int i, uint64_t asked_ns, uint64_t passed_ns)
{
	struct tenant *t = &a->tenant[i];
	bool had = is_holder(a, i) || (t->demand.busy && !busy_suspected(a->busy, (unsigned int)i));
	double rate = rights_guaranteed(a, i), least = t->claimed ? -(double)GONE_NS : -rights_slack(a, i);
	double most = rate * (double)ARREARS_WINDOW_NS, price = price_by_clock(a, i), to = t->by_clock_ns;

	if (!t->terms.guarantee_ppm)
		return;
	least = least < to ? least : to;
	to -= had ? (double)passed_ns : 0;
	to = to < least ? least : to;
	if (beside_others(a, i))
		to += rate * (double)(asked_ns < passed_ns ? asked_ns : passed_ns);
	most = most > price ? most : price;
	t->by_clock_ns = to < most ? to : most;
}

static double within(double ns, double least, double most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/*
 * For how long it has asked for the engine; `had_ns`: its charge and the pauses in its turn, which it pays for. The
 * arbiter may hear of work that is short, and of what it waited for, only when it has been measured: that was asked for
 * in time in which it seemed to ask for nothing, and there was no more of that.
 */
static uint64_t take_asked(struct tenant *t, int64_t had_ns, uint64_t passed_ns)
{
	double asked = (double)(t->wanted_ns - t->seen_wanted_ns), late;

	t->silent_ns = within(t->silent_ns + (double)passed_ns - asked, 0, UNHEARD_NS);
	t->unheard_ns += (double)t->stood_ns + (double)had_ns - asked;
	t->seen_wanted_ns = t->wanted_ns;
	t->stood_ns = 0;
	late = within(t->unheard_ns, 0, t->silent_ns);
	t->silent_ns -= late;
	t->unheard_ns = within(t->unheard_ns - late, -UNHEARD_NS, UNHEARD_NS);
	return (uint64_t)(asked + late);
}

/*
 * What of the pauses in its turn counts for its arrears. While others have work in flight the engine may not have been
 * idle: such a pause does not count, and neither does what is taken back of it when that work has been measured.
 */
static int64_t counted_pauses(struct arbiter *a, int i, int64_t idled_ns)
{
	struct tenant *t = &a->tenant[i];
	int64_t back = idled_ns < 0 ? -idled_ns : 0;

	if (idled_ns > 0 && others_in_flight(a, i)) {
		t->doubtful_ns = t->doubtful_ns + idled_ns < DOUBT_NS ? t->doubtful_ns + idled_ns : DOUBT_NS;
		return 0;
	}
	back = back < t->doubtful_ns ? back : t->doubtful_ns;
	t->doubtful_ns -= back;
	return idled_ns + back;
}

static void settle_tenant(struct arbiter *a, int i, uint64_t passed_ns, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];
	uint64_t charged = busy_charged_ns(a->busy, (unsigned int)i, now_ns);
	uint64_t idled = busy_idled_ns(a->busy, (unsigned int)i, now_ns);
	int64_t cost = (int64_t)(charged - t->seen_charged_ns), pauses;
	uint64_t asked;
	double unseen = unseen_ns(a, i, now_ns);

	/* In this order: what came in while it ran was not beyond the cap. */
	bucket_spend(&t->bucket, cost);
	bucket_refill(&t->bucket, passed_ns, tokens_cap(a, t) + unseen);
	bucket_note(&t->bucket, t->bucket.tokens_ns - unseen);
	pauses = (int64_t)(idled - t->seen_idled_ns);
	t->turn_idled_ns += pauses;
	t->seen_charged_ns = charged;
	if (t->ceiling)
		ceiling_note(t->ceiling, now_ns, charged);
	t->seen_idled_ns = idled;
	t->turn_cost_ns += cost + pauses;
	if (cost + pauses)
		lags_spend(&a->lags[pool_of(t)], (unsigned int)i, (double)(cost + pauses));
	rights_tell_time(t, now_ns);
	pauses = counted_pauses(a, i, pauses);
	asked = take_asked(t, cost + pauses, passed_ns);
	settle_by_clock(a, i, asked, passed_ns);
	settle_arrears(a, i, asked, cost, pauses);
}

/* What nobody may be owed or owe more than: no debt is forgiven that a single long kernel makes. */
static double lag_bound(const struct arbiter *a)
{
	uint64_t longest = 2 * a->longest_ns;

	return (double)(longest > a->params.lag_bound_ns ? longest : a->params.lag_bound_ns);
}

static void note_behind(struct arbiter *a)
{
	a->behind = 0;
	for (unsigned int n = 0; n < a->count; n++) {
		struct tenant *t = &a->tenant[a->list[n]];

		t->behind =
			(t->demand.waiting || t->demand.busy) && !rights_absent(a, t) && rights_claims(a, a->list[n]);
		a->behind += t->behind;
	}
}

/*
 * So much has to be owed to those without a guarantee before this one goes before a claim: what it brings next. One
 * that has just come may bring as much as others have.
 */
static double unclaimed_price(const struct arbiter *a, int i)
{
	double due = (double)UNCLAIMED_DUE_NS, most = (double)UNCLAIMED_PRICE_NS;
	double brings = brings_ns(&a->tenant[i]), unproven = 0;

	if (rights_brings_unknown(&a->tenant[i]))
		unproven = unproven_ns(a, i, most);
	brings = brings > unproven ? brings : unproven;
	return brings < due ? due : brings < most ? brings : most;
}

/* The most that one of the main pool waits for to whom nothing is guaranteed; 0: none waits. */
static double unclaimed_waits(const struct arbiter *a)
{
	double most = 0;

	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];
		double price;

		if (pool_of(t) != MAIN || t->terms.guarantee_ppm || !rights_candidate(a, a->list[n]))
			continue;
		price = unclaimed_price(a, a->list[n]);
		most = price > most ? price : most;
	}
	return most;
}

static void spend_unclaimed(struct arbiter *a, double ns)
{
	double most = (double)UNCLAIMED_MOST_NS;

	a->unclaimed_ns -= ns;
	a->unclaimed_ns = a->unclaimed_ns < -most ? -most : a->unclaimed_ns;
}

/*
 * It has its turn before one that has a claim, and pays at once for what it brings: what of that runs beside others'
 * turns later, by the device's time slices, is not seen by the clock.
 */
void rights_pay_unclaimed(struct arbiter *a, int i)
{
	struct tenant *t = &a->tenant[i];
	double price = t->terms.guarantee_ppm || !a->behind ? 0 : unclaimed_price(a, i);

	t->paid_ns = price > (double)UNCLAIMED_DUE_NS ? price : 0;
	spend_unclaimed(a, t->paid_ns);
}

/*
 * A claim lasts for as long as its holder is behind, and what that has had is measured beside others' work: one whose
 * accomplice pretends to have had half of it is behind for ever. So all to whom nothing is guaranteed are owed together
 * a part of the time, by the clock, in which they wait and others hold the engine by claims.
 */
static void settle_unclaimed(struct arbiter *a, uint64_t passed_ns)
{
	int h = a->holder[MAIN] >= 0 ? a->holder[MAIN] : a->last[MAIN];
	double ns = (double)passed_ns, price, paid, most;

	if (h >= 0 && !a->tenant[h].terms.guarantee_ppm) {
		ns *= 1 - UNCLAIMED_LEAST;
		paid = a->tenant[h].paid_ns < ns ? a->tenant[h].paid_ns : ns;
		a->tenant[h].paid_ns -= paid;
		spend_unclaimed(a, ns - paid);
	} else if (h >= 0 && a->tenant[h].claimed && (price = unclaimed_waits(a)) > a->unclaimed_ns) {
		a->unclaimed_ns += UNCLAIMED_LEAST * ns;
		/* Of the time in which no step was taken they had no more. */
		most = price + (double)UNCLAIMED_DUE_NS;
		a->unclaimed_ns = a->unclaimed_ns < most ? a->unclaimed_ns : most;
	}
}

void rights_settle(struct arbiter *a, uint64_t now_ns)
{
	uint64_t passed = a->started && now_ns > a->now_ns ? now_ns - a->now_ns : 0;
	bool lone = limits_alone_bind(a);
	double bound;

	settle_unclaimed(a, passed);
	belief_pass(&a->belief, passed, a->believes);
	a->gone_ns *= passed < GONE_NS ? 1 - (double)passed / (double)GONE_NS : 0;
	for (unsigned int n = 0; n < a->count; n++)
		a->tenant[a->list[n]].bucket.lone = lone;
	for (unsigned int n = 0; n < a->count; n++)
		settle_tenant(a, a->list[n], passed, now_ns);
	lags_settle(&a->lags[MAIN]);
	lags_settle(&a->lags[REST]);
	note_behind(a);
	bound = lag_bound(a);
	for (unsigned int n = 0; n < a->count; n++)
		lags_clamp(&a->lags[pool_of(&a->tenant[a->list[n]])], a->list[n], -bound, bound);
	a->now_ns = now_ns;
	a->started = true;
}

static void divide(struct arbiter *a, enum pool p)
{
	struct lags *l = &a->lags[p];
	struct shares_claim claims[ARBITER_TENANTS];

	a->promised[p] = 0;
	for (unsigned int n = 0; n < l->count; n++) {
		const struct arbiter_terms *terms = &a->tenant[l->list[n]].terms;

		claims[n] = (struct shares_claim){ .guarantee = (double)terms->guarantee_ppm / ARBITER_WHOLE,
						   .limit = (double)terms->limit_ppm / ARBITER_WHOLE,
						   .weight = terms->weight };
		a->promised[p] += claims[n].guarantee;
	}
	shares_divide(claims, l->count);
	for (unsigned int n = 0; n < l->count; n++)
		lags_share(l, l->list[n], claims[n].share);
	places_lay_out(a, p);
}

/*
 * Its work has ended, and its thread has not come to the gate again yet: where turns have places, it keeps its place
 * for a moment. Else the others' places would be laid out anew, and it would come back as somebody who was away.
 */
static bool lingers(struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	enum pool p = pool_of(t);
	uint64_t until = t->idle_from_ns + LINGER_NS;

	if (!a->lags[p].of[i].wants || !a->placed[p] || !a->rounded[p] || a->now_ns >= until)
		return false;
	turns_wake_at(a, until);
	return true;
}

/* Who wants the engine now. */
void rights_take_wants(struct arbiter *a)
{
	bool moved[POOLS] = { false, false };

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];
		struct lags *l = &a->lags[pool_of(t)];
		bool active = t->demand.waiting || t->gang.wants ||
			      (t->demand.busy && !busy_suspected(a->busy, (unsigned int)i));
		bool wants = rights_competes(t) && !rights_absent(a, t) && (active || is_holder(a, i) || lingers(a, i));

		if (wants == l->of[i].wants)
			continue;
		if (wants) {
			t->fresh = a->now_ns - l->of[i].left_ns > CYCLE_NS / 4;
			/* Turns are rounded for those who stay, and may pause. */
			if (a->now_ns - l->of[i].left_ns > WINDOW_NS)
				t->alike = 0;
			lags_enter(l, (unsigned int)i, a->now_ns);
		} else {
			lags_leave(l, (unsigned int)i, a->now_ns);
		}
		moved[pool_of(t)] = true;
	}
	for (enum pool p = 0; p < POOLS; p++) {
		if (moved[p] || a->changed[p])
			divide(a, p);
		if (moved[p] || a->changed[p] || a->units_changed[p])
			places_fit(a, p);
		a->changed[p] = false;
		a->placed[p] = places_kept(a, p);
	}
}

/* ---- who is next ---- */

double rights_lag(const struct arbiter *a, int i)
{
	return a->lags[pool_of(&a->tenant[i])].of[i].ns;
}

/*
 * Tokens that are left when what is in flight has been paid for. Where turns have places, a turn is paid for by the
 * rest of the cycle, which others have: together they want all of the engine, so it is not the limit that holds them.
 */
double rights_tokens(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	double tokens = t->bucket.tokens_ns, share = places_share(a, i);

	if (places_has(a, i))
		tokens += share * (1 - share) * (double)places_cycle_ns(a, pool_of(t));
	if (!t->demand.busy)
		return tokens;
	return tokens - in_flight_ns(a, i);
}

bool rights_limited(const struct tenant *t)
{
	return t->bucket.rate < 1;
}

bool rights_has_tokens(const struct arbiter *a, int i)
{
	return !rights_limited(&a->tenant[i]) || (rights_tokens(a, i) >= tokens_to_open(a) && below_ceiling(a, i));
}

/* Of one that has a turn. */
bool rights_tokens_out(const struct arbiter *a, int i)
{
	return rights_limited(&a->tenant[i]) && (rights_tokens(a, i) <= 0 || !rights_ceiling_ns(a, i));
}

bool rights_candidate(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return rights_competes(t) && (t->demand.waiting || t->gang.called) && !t->turn.open && !t->gang.held &&
	       !rights_absent(a, t) && rights_has_tokens(a, i);
}

/* It leaves: how long its turns were. */
void rights_remember(struct arbiter *a, const struct tenant *t)
{
	uint64_t last = t->turn_cost_ns > 0 ? (uint64_t)t->turn_cost_ns : 0;
	uint64_t longest = last > t->longest_ns ? last : t->longest_ns;

	a->gone_ns = (double)longest > a->gone_ns ? (double)longest : a->gone_ns;
}

/* It is so far behind its guarantee that it goes before all that are not. */
bool rights_claims(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return t->terms.guarantee_ppm && rights_competes(t) && t->arrears.ns > claim_ns(a, i);
}

/* Turns of late were longer than any quantum: what it foretold was wrong then, and may be again. */
static double may_bring_ns(const struct arbiter *a, const struct tenant *t)
{
	double brings = brings_ns(t), longest = (double)t->longest_ns;

	return t->longest_ns > 2 * a->params.quantum_max_ns && longest > brings ? longest : brings;
}

/*
 * For how long it has been without what is guaranteed to it, when what it may bring has been paid for. Beside others
 * with a guarantee what was put off has been had: the doubt is between it and the work that is not measured.
 */
static double behind_for(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	double unproven = unproven_ns(a, i, INFINITY), next = may_bring_ns(a, t);
	double most = rights_guaranteed(a, i) * (double)ARREARS_WINDOW_NS, had = t->unspent_ns + t->unspent_free_ns;

	next = next < most ? next : most;
	return (t->arrears.ns - had - (next > unproven ? next : unproven)) / rights_guaranteed(a, i);
}

/*
 * It has had less than its guarantee by the time of its turns as well, and what it brings next has been paid for. Pages
 * of others can make measured work seem less, but not this.
 */
static bool behind_by_clock(const struct arbiter *a, int i)
{
	return a->tenant[i].by_clock_ns >= price_by_clock(a, i);
}

/*
 * By its claim i goes before j, which has none, or is not behind by the clock as i is, or has been behind for a shorter
 * time.
 */
bool rights_precedes(const struct arbiter *a, int i, int j)
{
	if (a->tenant[i].terms.class != a->tenant[j].terms.class || !rights_claims(a, i))
		return false;
	if (!a->tenant[j].terms.guarantee_ppm)
		return a->unclaimed_ns < unclaimed_price(a, j);
	if (!rights_claims(a, j))
		return true;
	if (behind_by_clock(a, i) != behind_by_clock(a, j))
		return behind_by_clock(a, i);
	return behind_for(a, i) > behind_for(a, j);
}

bool rights_eligible(const struct arbiter *a, int i)
{
	double most = a->tenant[i].gang.called ? (double)a->params.lag_bound_ns / 4 : EPSILON_NS;

	return rights_lag(a, i) >= -most || places_due(a, i);
}

/* Since when it waits: not before it came, whatever its page says. */
static uint64_t waits_from(const struct tenant *t)
{
	return t->demand.since_ns > t->joined_ns ? t->demand.since_ns : t->joined_ns;
}

/* It has never had a turn, and has waited for its first one for too long: debts of those who left are not its own. */
static bool starves(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return !t->turns && t->demand.waiting && a->now_ns > waits_from(t) + STARVED_NS;
}

/*
 * When its quantum is due, from now on. It follows from the lag, which a single kernel puts off by more than turns lie
 * apart: where it is near the end of its place in a cycle, it is there.
 */
static double deadline(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	double share = places_share(a, i), cycle = (double)places_cycle_ns(a, pool_of(t)),
	       quantum = (double)places_quantum_ns(a, i);
	double due = (quantum - rights_lag(a, i)) / share, off;

	if (!places_has(a, i) || quantum < share * cycle * 0.9)
		return due;
	off = due - cycle / 2 - share * cycle / 2 + places_after_ns(a, i, a->now_ns);
	off -= cycle * floor(off / cycle + 0.5);
	return fabs(off) < cycle / 4 ? due - off : due;
}

/* Of those who are kept, or the oldest of them. */
void rights_note_brought(struct arbiter *a, uint32_t user)
{
	struct brought *oldest = a->brought;

	for (struct brought *b = a->brought; b < a->brought + USERS_KEPT; b++) {
		if (b->at_ns && b->user == user)
			b->at_ns = 0;
		oldest = b->at_ns < oldest->at_ns ? b : oldest;
	}
	*oldest = (struct brought){ user, a->now_ns };
}

static uint64_t brought_at(const struct arbiter *a, uint32_t user)
{
	for (unsigned int n = 0; n < USERS_KEPT; n++)
		if (a->brought[n].at_ns && a->brought[n].user == user)
			return a->brought[n].at_ns;
	return 0;
}

/* Both bring work of unknown length, of which each may have to wait for the one before: their users take turns. */
static bool users_take_turns(const struct arbiter *a, const struct tenant *t, const struct tenant *u)
{
	return t->user != u->user && t->terms.class == u->terms.class && rights_brings_unknown(t) &&
	       rights_brings_unknown(u) && brought_at(a, t->user) != brought_at(a, u->user);
}

/* Does i go before j? */
bool rights_before(const struct arbiter *a, int i, int j)
{
	const struct tenant *t = &a->tenant[i], *u = &a->tenant[j];
	bool may = rights_eligible(a, i), other = rights_eligible(a, j);

	if (rights_precedes(a, i, j) || rights_precedes(a, j, i))
		return rights_precedes(a, i, j);
	if (users_take_turns(a, t, u))
		return brought_at(a, t->user) < brought_at(a, u->user);
	if (t->terms.class == u->terms.class && starves(a, i) != starves(a, j))
		return starves(a, i);
	if (t->terms.class == u->terms.class && starves(a, i))
		return waits_from(t) < waits_from(u);
	if (may != other)
		return may;
	if (may && t->terms.class != u->terms.class)
		return t->terms.class < u->terms.class;
	if (t->gang.called != u->gang.called)
		return t->gang.called;
	/* Who was away and has a guarantee finds it at once. */
	if (may && (t->fresh && t->terms.guarantee_ppm) != (u->fresh && u->terms.guarantee_ppm))
		return t->fresh && t->terms.guarantee_ppm;
	/* Places follow one another, also where turns have come to be off by more than a kernel: of those who stay. */
	if (may && a->rounded[pool_of(t)] && places_has(a, i) && places_has(a, j))
		return places_behind_last(a, i) < places_behind_last(a, j);
	return deadline(a, i) < deadline(a, j);
}

/* Of what it waits with nobody knows how long it takes. */
bool rights_brings_unknown(const struct tenant *t)
{
	return t->demand.waiting && !t->demand.needs_ns;
}

static int pick(const struct arbiter *a, enum pool p, bool known)
{
	int best = NOBODY;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];

		if (pool_of(&a->tenant[i]) != p || !rights_candidate(a, i) ||
		    (known && rights_brings_unknown(&a->tenant[i])))
			continue;
		if (best < 0 || rights_before(a, i, best))
			best = i;
	}
	return best;
}

int rights_pick(const struct arbiter *a, enum pool p)
{
	return pick(a, p, false);
}

int rights_pick_known(const struct arbiter *a, enum pool p)
{
	return pick(a, p, true);
}

static uint64_t later_ns(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the next of those whose tokens are out will have some again; UINT64_MAX: never. */
uint64_t rights_next_refill(const struct arbiter *a, enum pool p)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		const struct tenant *t = &a->tenant[i];
		struct bucket b = t->bucket;
		uint64_t at;

		if (pool_of(t) != p || !rights_competes(t) || !t->demand.waiting || t->turn.open ||
		    rights_has_tokens(a, i))
			continue;
		b.tokens_ns = rights_tokens(a, i);
		at = a->now_ns + bucket_wait_ns(&b, tokens_to_open(a));
		if (!below_ceiling(a, i))
			at = later_ns(at, a->now_ns + ceiling_wait_ns(t->ceiling, ceiling_most(t),
								      in_flight_ns(a, i) + tokens_to_open(a)));
		best = at < best ? at : best;
	}
	return best;
}
