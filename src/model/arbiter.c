/*
 * arbiter.c: see arbiter.h.
 *
 * One tenant at a time holds the turn. Its gate is open until its quantum is used up and somebody else waits; then it
 * is closed, what it has in flight ends, and the next one is opened so long before that end as its process takes to
 * wake up. Who is next: of those to whom the engine owes time (lags.h) the one whose quantum would be due first,
 * which is earliest eligible virtual deadline first. A limit is a token bucket beside it (bucket.h): a tenant without
 * tokens does not compete, but what it is owed meanwhile is not lost.
 *
 * Two pools: high and normal class compete by their shares, high going first as long as it is owed time; low class has
 * turns only while nobody of the others wants the engine, and its gate is closed at once when one does. While there is
 * high class about, low has only so much in flight that high hardly notices, and a guard watches how much of high's
 * time was shared with low.
 *
 * What a turn costs its holder is the time of the engine that was measured, and the time that it let the engine idle
 * while others stood waiting: a program that pauses after each kernel pays for its pauses itself. A limit counts what
 * was measured alone.
 *
 * Limits: work in flight cannot be taken back. A kernel longer than a quantum is let in at the beginning of a turn and
 * paid for afterwards, however long that takes. Whoever is stopped with work in flight is waited for until that work
 * should have ended and BOUND_NS more, and then counts as having ended (busy_suspect).
 */
#include "model/arbiter.h"

#include "model/bucket.h"
#include "model/busy.h"
#include "model/gaps.h"
#include "model/lags.h"
#include "model/shares.h"

#include <stdlib.h>
#include <string.h>
#include "wire/turn.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

/*
 * In one cycle of CYCLE_NS each of those who want the engine has had its quantum. A change of hands costs some 75 us of
 * the device's time (facts of hardware and of the software device alike), so cycles of a few ms would cost percents of
 * it; long ones show in windows of 1 s. Both errors together are least at about 25 ms for 2 to 8 tenants: sqrt(n * 75
 * us
 * * 1 s / (1 - share)).
 */
#define CYCLE_NS (25 * MS)
#define QUANTUM_MIN_NS (2 * MS)
#define QUANTUM_MAX_NS (20 * MS)
#define BOUND_NS (4 * MS)
#define LOW_BOUND_NS (500 * US)
#define LAG_BOUND_NS (50 * MS)
#define BURST_NS (4 * MS)
#define DRAIN_NS (250 * MS)
#define IDLE_NS (300 * US)
#define EARLY_NS (60 * US)
#define READMIT_NS (100 * US)  /* low class comes back after a pause of high so long at least */
#define SHORT_GAP_NS (2 * MS)  /* a longer pause is the end of something */
#define PRESENT_NS (2000 * MS) /* high class that has done nothing for so long is not about */
#define GUARD_NS (100 * MS)
#define EPSILON_NS (1.0 * US)
#define HEARTBEAT_NS (1000 * MS)
#define WORK_NS (10 * MS)  /* edges are taken so often while there is work: a client keeps WIRE_EDGES of them */
#define ABSENT_NS (1 * MS) /* who is opened and does nothing for so long is asleep, for all we know */
#define ABSENT_MOST 2u	   /* and is given twice as long each time, so many times */
#define ABSENT_REST 25u	   /* and left alone for so many times as long */
#define INBOX 4096u
#define NOBODY -1

enum pool {
	MAIN, /* high and normal class */
	REST, /* low */
	POOLS,
};

struct tenant {
	bool used;
	uint64_t left_ns; /* when the place became free */
	struct arbiter_terms terms;
	struct arbiter_demand demand;
	uint64_t heard_ns;     /* the demand is from then */
	uint64_t busy_from_ns; /* something has been in flight since */
	uint64_t idle_from_ns; /* nothing has */
	struct arbiter_turn turn;
	bool changed;
	uint64_t opened_ns, closed_ns;
	uint64_t quantum_from_ns; /* the present quantum began */
	uint64_t least_until_ns;  /* the launch that the turn was made for must find room */
	bool fresh;		  /* came back after an absence, and has not had a turn since */
	uint64_t seen_charged_ns, seen_idled_ns;
	int64_t turn_cost_ns;  /* of the present turn */
	int64_t turn_idled_ns; /* of these idled away */
	uint64_t longest_ns;   /* the costliest turn of late */
	struct bucket bucket;
	struct gaps gaps;
	uint64_t last_end_ns;  /* its last work ended */
	unsigned int absences; /* turns in a row that it did not take up */
	uint64_t absent_until_ns;
	uint64_t base_ns; /* charged by a predecessor */
	uint64_t wanted_ns, waited_ns, turns;
};

struct note {
	uint64_t at_ns;
	uint16_t tenant;
	bool begins;
};

struct arbiter {
	struct arbiter_params params;
	struct tenant tenant[ARBITER_TENANTS];
	uint16_t list[ARBITER_TENANTS]; /* places in use */
	unsigned int count;
	struct busy *busy;
	struct lags lags[POOLS];
	int holder[POOLS];
	int last[POOLS]; /* who held the turn before; pays while it drains */
	uint64_t now_ns;
	bool started;
	uint64_t next_ns;	/* when to be called again */
	uint64_t quiet_from_ns; /* nobody of the main pool has wanted anything since; 0: somebody does */
	uint64_t readmit_ns;	/* low class comes after so long a quiet */
	uint64_t high_seen_ns;	/* high class was about */
	uint64_t longest_ns;	/* the costliest turn of all, of late */
	uint64_t guard_from_ns, guard_high_ns, guard_overlap_ns;
	double low_scale; /* of low_bound_ns, as the guard has it */
	struct note inbox[INBOX];
	unsigned int notes;
};

/* ---- who comes and goes ---- */

struct arbiter *arbiter_new(const struct arbiter_params *params)
{
	struct arbiter *a = calloc(1, sizeof(*a));
	struct arbiter_params *p;

	if (!a)
		return NULL;
	p = &a->params;
	if (params)
		*p = *params;
	p->quantum_min_ns = p->quantum_min_ns ? p->quantum_min_ns : QUANTUM_MIN_NS;
	p->quantum_max_ns = p->quantum_max_ns ? p->quantum_max_ns : QUANTUM_MAX_NS;
	p->bound_ns = p->bound_ns ? p->bound_ns : BOUND_NS;
	p->low_bound_ns = p->low_bound_ns ? p->low_bound_ns : LOW_BOUND_NS;
	p->lag_bound_ns = p->lag_bound_ns ? p->lag_bound_ns : LAG_BOUND_NS;
	p->burst_ns = p->burst_ns ? p->burst_ns : BURST_NS;
	p->idle_ns = p->idle_ns ? p->idle_ns : IDLE_NS;
	p->early_ns = p->early_ns ? p->early_ns : EARLY_NS;
	a->holder[MAIN] = a->holder[REST] = NOBODY;
	a->last[MAIN] = a->last[REST] = NOBODY;
	a->low_scale = 1;
	a->busy = busy_new(0);
	if (a->busy)
		return a;
	free(a);
	return NULL;
}

void arbiter_free(struct arbiter *a)
{
	if (!a)
		return;
	busy_free(a->busy);
	free(a);
}

static enum pool pool_of(const struct tenant *t)
{
	return t->terms.class == ARBITER_LOW ? REST : MAIN;
}

static void take_terms(struct arbiter *a, int i, const struct arbiter_terms *terms)
{
	struct tenant *t = &a->tenant[i];

	t->terms = *terms;
	if (!t->terms.limit_ppm || t->terms.limit_ppm > ARBITER_WHOLE)
		t->terms.limit_ppm = ARBITER_WHOLE;
	if (t->terms.guarantee_ppm > t->terms.limit_ppm)
		t->terms.guarantee_ppm = t->terms.limit_ppm;
	t->bucket.rate = (double)t->terms.limit_ppm / ARBITER_WHOLE;
	if (t->bucket.tokens_ns > (double)a->params.burst_ns)
		t->bucket.tokens_ns = (double)a->params.burst_ns;
	busy_class(a->busy, (unsigned int)i, terms->class);
}

/* The one that has been free the longest: late edges of its last tenant are the least likely. */
static int free_place(const struct arbiter *a)
{
	int best = NOBODY;

	for (int i = 0; i < (int)ARBITER_TENANTS; i++)
		if (!a->tenant[i].used && (best < 0 || a->tenant[i].left_ns < a->tenant[best].left_ns))
			best = i;
	return best;
}

int arbiter_join(struct arbiter *a, const struct arbiter_terms *terms, uint64_t now_ns)
{
	int i = free_place(a);
	struct tenant *t;

	if (i < 0)
		return -1;
	t = &a->tenant[i];
	memset(t, 0, sizeof(*t));
	busy_clear(a->busy, (unsigned int)i, now_ns);
	memset(&a->lags[MAIN].of[i], 0, sizeof(struct lag));
	memset(&a->lags[REST].of[i], 0, sizeof(struct lag));
	t->used = true;
	t->heard_ns = t->idle_from_ns = now_ns;
	t->bucket.tokens_ns = (double)a->params.burst_ns;
	take_terms(a, i, terms);
	a->list[a->count++] = (uint16_t)i;
	return i;
}

static void lose_turn(struct arbiter *a, int i)
{
	for (int p = 0; p < POOLS; p++) {
		if (a->holder[p] == i)
			a->holder[p] = NOBODY;
		if (a->last[p] == i)
			a->last[p] = NOBODY;
	}
}

static void take_inbox(struct arbiter *a, uint64_t now_ns);

void arbiter_leave(struct arbiter *a, int i, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];

	take_inbox(a, now_ns);
	lose_turn(a, i);
	lags_leave(&a->lags[MAIN], (unsigned int)i, now_ns);
	lags_leave(&a->lags[REST], (unsigned int)i, now_ns);
	busy_clear(a->busy, (unsigned int)i, now_ns);
	t->used = false;
	t->left_ns = now_ns;
	memset(&t->turn, 0, sizeof(t->turn));
	for (unsigned int n = 0; n < a->count; n++)
		if (a->list[n] == i)
			a->list[n] = a->list[--a->count];
}

void arbiter_change(struct arbiter *a, int i, const struct arbiter_terms *terms, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];
	enum pool before = pool_of(t);

	take_terms(a, i, terms);
	if (pool_of(t) == before)
		return;
	/* What it is owed and owes goes with it to the other pool. */
	lose_turn(a, i);
	lags_leave(&a->lags[before], (unsigned int)i, now_ns);
	a->lags[!before].of[i] = a->lags[before].of[i];
	memset(&a->lags[before].of[i], 0, sizeof(struct lag));
}

void arbiter_resume(struct arbiter *a, int i, uint64_t charged_ns, int64_t lag_ns)
{
	struct tenant *t = &a->tenant[i];
	double bound = (double)a->params.lag_bound_ns;
	double ns = lag_ns > bound ? bound : lag_ns < -bound ? -bound : (double)lag_ns;

	t->base_ns = charged_ns;
	a->lags[pool_of(t)].of[i].ns = ns;
	a->lags[pool_of(t)].of[i].left_ns = t->heard_ns;
}

/* ---- what is reported ---- */

static void take_note(struct arbiter *a, const struct note *n, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[n->tenant];
	uint64_t at = n->at_ns < now_ns ? n->at_ns : now_ns;

	if (!t->used)
		return;
	if (!n->begins) {
		busy_end(a->busy, n->tenant, at);
		t->last_end_ns = at > t->last_end_ns ? at : t->last_end_ns;
		return;
	}
	/* A pause of its own is one with the gate open all the time. */
	if (!busy_count(a->busy, n->tenant) && t->last_end_ns && at > t->last_end_ns && t->turn.open &&
	    t->opened_ns < t->last_end_ns)
		gaps_add(&t->gaps, at - t->last_end_ns, SHORT_GAP_NS);
	busy_begin(a->busy, n->tenant, at);
}

static void take_inbox(struct arbiter *a, uint64_t now_ns)
{
	for (unsigned int i = 0; i < a->notes; i++)
		take_note(a, &a->inbox[i], now_ns);
	a->notes = 0;
}

static void add_note(struct arbiter *a, int i, uint64_t at_ns, bool begins)
{
	/* A full inbox is taken as it is; only who dates its work ahead of time gains nothing by that. */
	if (a->notes == INBOX)
		take_inbox(a, a->now_ns);
	a->inbox[a->notes++] = (struct note){ at_ns, (uint16_t)i, begins };
}

void arbiter_begins(struct arbiter *a, int i, uint64_t at_ns)
{
	add_note(a, i, at_ns, true);
}

void arbiter_ends(struct arbiter *a, int i, uint64_t at_ns)
{
	add_note(a, i, at_ns, false);
}

static void tell_time(struct tenant *t, uint64_t now_ns)
{
	uint64_t ns = now_ns > t->heard_ns ? now_ns - t->heard_ns : 0;

	if (t->demand.waiting || t->demand.busy)
		t->wanted_ns += ns;
	if (t->demand.waiting && !t->turn.open)
		t->waited_ns += ns;
	t->heard_ns = now_ns;
}

void arbiter_demands(struct arbiter *a, int i, const struct arbiter_demand *demand, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];

	tell_time(t, now_ns);
	if (demand->busy && !t->demand.busy)
		t->busy_from_ns = now_ns;
	if (demand->busy || !demand->waiting || demand->since_ns != t->demand.since_ns)
		t->absences = 0;
	if (!demand->busy && t->demand.busy)
		t->idle_from_ns = now_ns;
	t->demand = *demand;
}

/* ---- accounts ---- */

static bool competes(const struct tenant *t)
{
	return t->terms.gated && !t->terms.frozen;
}

static bool is_holder(const struct arbiter *a, int i)
{
	return a->holder[MAIN] == i || a->holder[REST] == i;
}

/* It did not take up its turn: stopped, perhaps. It gets another one now and then, because nothing tells when it wakes.
 */
static bool absent(const struct arbiter *a, const struct tenant *t)
{
	return t->absences && a->now_ns < t->absent_until_ns;
}

/* It wants the engine, and so do others. */
static bool contended(const struct arbiter *a, const struct tenant *t)
{
	return (t->demand.waiting || t->demand.busy) && a->lags[MAIN].count + a->lags[REST].count > 1;
}

/* Who is kept waiting by others keeps what its limit lets it have in a cycle, and while a long kernel lasts. */
static double tokens_cap(const struct arbiter *a, const struct tenant *t)
{
	double cap = (double)a->params.burst_ns, most = (double)a->params.lag_bound_ns, more = (double)CYCLE_NS / 2;

	if (!contended(a, t))
		return cap;
	if (a->longest_ns > a->params.quantum_max_ns)
		more += 2.0 * (double)(a->longest_ns - a->params.quantum_max_ns);
	more *= t->bucket.rate;
	return cap + (more < most ? more : most);
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

static void settle_tenant(struct arbiter *a, int i, uint64_t passed_ns, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];
	uint64_t charged = busy_charged_ns(a->busy, (unsigned int)i, now_ns);
	uint64_t idled = busy_idled_ns(a->busy, (unsigned int)i, now_ns);
	int64_t cost = (int64_t)(charged - t->seen_charged_ns);

	/* In this order: what came in while it ran was not beyond the cap. */
	bucket_spend(&t->bucket, cost);
	bucket_refill(&t->bucket, passed_ns, tokens_cap(a, t) + unseen_ns(a, i, now_ns));
	cost += (int64_t)(idled - t->seen_idled_ns);
	t->turn_idled_ns += (int64_t)(idled - t->seen_idled_ns);
	t->seen_charged_ns = charged;
	t->seen_idled_ns = idled;
	t->turn_cost_ns += cost;
	if (cost)
		lags_spend(&a->lags[pool_of(t)], (unsigned int)i, (double)cost);
	tell_time(t, now_ns);
}

/* What nobody may be owed or owe more than: no debt is forgiven that a single long kernel makes. */
static double lag_bound(const struct arbiter *a)
{
	uint64_t longest = 2 * a->longest_ns;

	return (double)(longest > a->params.lag_bound_ns ? longest : a->params.lag_bound_ns);
}

static void settle(struct arbiter *a, uint64_t now_ns)
{
	uint64_t passed = a->started && now_ns > a->now_ns ? now_ns - a->now_ns : 0;
	double bound;

	for (unsigned int n = 0; n < a->count; n++)
		settle_tenant(a, a->list[n], passed, now_ns);
	lags_settle(&a->lags[MAIN]);
	lags_settle(&a->lags[REST]);
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

	for (unsigned int n = 0; n < l->count; n++) {
		const struct arbiter_terms *terms = &a->tenant[l->list[n]].terms;

		claims[n] = (struct shares_claim){ .guarantee = (double)terms->guarantee_ppm / ARBITER_WHOLE,
						   .limit = (double)terms->limit_ppm / ARBITER_WHOLE,
						   .weight = terms->weight };
	}
	shares_divide(claims, l->count);
	for (unsigned int n = 0; n < l->count; n++)
		lags_share(l, l->list[n], claims[n].share);
}

/* Who wants the engine now. */
static void take_wants(struct arbiter *a)
{
	bool moved[POOLS] = { false, false };

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];
		struct lags *l = &a->lags[pool_of(t)];
		bool active = t->demand.waiting || (t->demand.busy && !busy_suspected(a->busy, (unsigned int)i));
		bool wants = competes(t) && !absent(a, t) && (active || is_holder(a, i));

		if (wants == l->of[i].wants)
			continue;
		if (wants) {
			t->fresh = a->now_ns - l->of[i].left_ns > CYCLE_NS / 4;
			lags_enter(l, (unsigned int)i, a->now_ns);
		} else {
			lags_leave(l, (unsigned int)i, a->now_ns);
		}
		moved[pool_of(t)] = true;
	}
	for (int p = 0; p < POOLS; p++)
		if (moved[p])
			divide(a, p);
}

/* ---- who is next ---- */

static double lag_of(const struct arbiter *a, int i)
{
	return a->lags[pool_of(&a->tenant[i])].of[i].ns;
}

static double share_of(const struct arbiter *a, int i)
{
	double share = a->lags[pool_of(&a->tenant[i])].of[i].share;

	return share > 1e-4 ? share : 1e-4;
}

static uint64_t quantum_of(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	uint64_t ns = (uint64_t)(share_of(a, i) * (double)CYCLE_NS);

	if (t->terms.turn_ns)
		return t->terms.turn_ns;
	if (ns < a->params.quantum_min_ns)
		return a->params.quantum_min_ns;
	return ns > a->params.quantum_max_ns ? a->params.quantum_max_ns : ns;
}

/* Tokens that are left when what is in flight has been paid for. */
static double tokens_of(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	double tokens = t->bucket.tokens_ns;

	if (!t->demand.busy)
		return tokens;
	tokens -= unseen_ns(a, i, a->now_ns);
	if (t->demand.done_by_ns > a->now_ns)
		tokens -= (double)(t->demand.done_by_ns - a->now_ns);
	return tokens;
}

static bool limited(const struct tenant *t)
{
	return t->bucket.rate < 1;
}

/* A closed gate opens at half a bucket, so that it is not opened for every kernel, and delays do not let it run over.
 */
static double tokens_to_open(const struct arbiter *a)
{
	return (double)a->params.burst_ns / 2;
}

static bool has_tokens(const struct arbiter *a, int i)
{
	return !limited(&a->tenant[i]) || tokens_of(a, i) >= tokens_to_open(a);
}

static bool candidate(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	return competes(t) && t->demand.waiting && !t->turn.open && !absent(a, t) && has_tokens(a, i);
}

static bool eligible(const struct arbiter *a, int i)
{
	return lag_of(a, i) >= -EPSILON_NS;
}

static double deadline(const struct arbiter *a, int i)
{
	return ((double)quantum_of(a, i) - lag_of(a, i)) / share_of(a, i);
}

/* Does i go before j? */
static bool before(const struct arbiter *a, int i, int j)
{
	const struct tenant *t = &a->tenant[i], *u = &a->tenant[j];
	bool may = eligible(a, i), other = eligible(a, j);

	if (may != other)
		return may;
	if (may && t->terms.class != u->terms.class)
		return t->terms.class < u->terms.class;
	/* Who was away and has a guarantee finds it at once. */
	if (may && (t->fresh && t->terms.guarantee_ppm) != (u->fresh && u->terms.guarantee_ppm))
		return t->fresh && t->terms.guarantee_ppm;
	return deadline(a, i) < deadline(a, j);
}

static int pick(const struct arbiter *a, enum pool p)
{
	int best = NOBODY;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];

		if (pool_of(&a->tenant[i]) == p && candidate(a, i) && (best < 0 || before(a, i, best)))
			best = i;
	}
	return best;
}

/* When the next of those whose tokens are out will have some again; UINT64_MAX: never. */
static uint64_t next_refill(const struct arbiter *a, enum pool p)
{
	uint64_t best = UINT64_MAX;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant t = a->tenant[i];
		uint64_t at;

		if (pool_of(&t) != p || !competes(&t) || !t.demand.waiting || t.turn.open || has_tokens(a, i))
			continue;
		t.bucket.tokens_ns = tokens_of(a, i);
		at = a->now_ns + bucket_wait_ns(&t.bucket, tokens_to_open(a));
		best = at < best ? at : best;
	}
	return best;
}

/* ---- turns ---- */

static void wake_at(struct arbiter *a, uint64_t at_ns)
{
	if (at_ns < a->now_ns)
		at_ns = a->now_ns;
	if (at_ns < a->next_ns)
		a->next_ns = at_ns;
}

static bool high_about(const struct arbiter *a)
{
	return a->high_seen_ns && a->now_ns - a->high_seen_ns < PRESENT_NS;
}

static uint64_t bound_of(const struct arbiter *a, const struct tenant *t)
{
	if (t->terms.class == ARBITER_LOW && high_about(a))
		return (uint64_t)((double)a->params.low_bound_ns * a->low_scale);
	return a->params.bound_ns;
}

static void set_turn(struct tenant *t, bool open, uint64_t until_ns, uint64_t bound_ns)
{
	uint64_t was = t->turn.until_ns;

	/* A client takes each change for a new turn: what is later by less than a long launch is left as it is. */
	if (t->turn.open == open && t->turn.bound_ns == bound_ns && !until_ns == !was && until_ns + 20 * US >= was &&
	    until_ns < was + 500 * US)
		return;
	t->turn.open = open;
	t->turn.until_ns = until_ns;
	t->turn.bound_ns = bound_ns;
	t->changed = true;
}

static void note_longest(struct arbiter *a, struct tenant *t)
{
	uint64_t cost = t->turn_cost_ns > 0 ? (uint64_t)t->turn_cost_ns : 0;

	t->longest_ns -= t->longest_ns / 64;
	t->longest_ns = cost > t->longest_ns ? cost : t->longest_ns;
	t->turn_cost_ns = 0;
	t->turn_idled_ns = 0;
	a->longest_ns = 0;
	for (unsigned int n = 0; n < a->count; n++)
		if (a->tenant[a->list[n]].longest_ns > a->longest_ns)
			a->longest_ns = a->tenant[a->list[n]].longest_ns;
}

/* How long one that waits may take to make use of its open gate. */
static uint64_t patience(const struct tenant *t)
{
	return ABSENT_NS << (t->absences < ABSENT_MOST ? t->absences : ABSENT_MOST);
}

static void note_absence(struct arbiter *a, struct tenant *t)
{
	bool nothing = t->demand.waiting && !t->demand.busy && t->turn_cost_ns - t->turn_idled_ns < (int64_t)(10 * US);

	if (!nothing || a->now_ns + a->params.early_ns < t->quantum_from_ns + patience(t))
		return;
	t->absent_until_ns = a->now_ns + ABSENT_REST * patience(t);
	t->absences++;
}

static void close_turn(struct arbiter *a, int i)
{
	struct tenant *t = &a->tenant[i];

	for (int p = 0; p < POOLS; p++) {
		if (a->holder[p] != i)
			continue;
		a->holder[p] = NOBODY;
		a->last[p] = i;
	}
	if (!t->turn.open)
		return;
	note_absence(a, t);
	note_longest(a, t);
	t->closed_ns = a->now_ns;
	set_turn(t, false, 0, 0);
}

static uint64_t room_for(const struct tenant *t)
{
	return t->demand.needs_ns + t->demand.needs_ns / 16;
}

static void begin_quantum(struct arbiter *a, int i, uint64_t from_ns)
{
	struct tenant *t = &a->tenant[i];

	t->quantum_from_ns = from_ns;
	t->least_until_ns = from_ns + room_for(t);
	t->fresh = false;
	if (t->turn_cost_ns)
		note_longest(a, t);
}

static void open_turn(struct arbiter *a, int i, uint64_t from_ns)
{
	struct tenant *t = &a->tenant[i];

	t->opened_ns = a->now_ns;
	t->turns++;
	t->turn_cost_ns = 0;
	t->turn_idled_ns = 0;
	begin_quantum(a, i, from_ns);
	a->holder[pool_of(t)] = i;
	set_turn(t, true, 0, bound_of(a, t));
}

/* How long the holder may have nothing in flight while others wait. */
static uint64_t grace(const struct arbiter *a, const struct tenant *t)
{
	uint64_t ns = 2 * gaps_p90_ns(&t->gaps);

	if (t->terms.turn_ns)
		return t->terms.turn_ns / 100 > a->params.idle_ns ? t->terms.turn_ns / 100 : a->params.idle_ns;
	if (t->gaps.seen < 8)
		return a->params.idle_ns;
	return ns < 100 * US ? 100 * US : ns > a->params.idle_ns ? a->params.idle_ns : ns;
}

/* When its tokens are used up; the launch that it was opened for passes in any case. */
static uint64_t tokens_end(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	struct bucket b = t->bucket;
	uint64_t end, in_flight = 0;

	if (!limited(t))
		return UINT64_MAX;
	b.tokens_ns = tokens_of(a, i);
	if (t->demand.busy && t->demand.done_by_ns > a->now_ns)
		in_flight = t->demand.done_by_ns - a->now_ns;
	/* Tokens come in while what is in flight runs. */
	b.tokens_ns += b.rate * (double)in_flight;
	end = a->now_ns + in_flight + bucket_lasts_ns(&b);
	return end > t->least_until_ns ? end : t->least_until_ns;
}

/* How far the holder may plan, given that c waits. */
static uint64_t planned_end(const struct arbiter *a, int h, int c)
{
	const struct tenant *t = &a->tenant[h], *u = &a->tenant[c];
	uint64_t end = t->quantum_from_ns + quantum_of(a, h), tokens = tokens_end(a, h);

	if (u->fresh && eligible(a, c) && !t->terms.turn_ns)
		end = t->quantum_from_ns + a->params.quantum_min_ns;
	if (t->least_until_ns > end)
		end = t->least_until_ns;
	return tokens < end ? tokens : end;
}

/* When its turn is over: at the planned end, or before, because it makes no use of the rest. */
static uint64_t turn_end(const struct arbiter *a, int h, int c, uint64_t end)
{
	const struct tenant *t = &a->tenant[h], *u = &a->tenant[c];
	uint64_t flight = a->now_ns, idle;

	if (u->terms.class < t->terms.class && eligible(a, c))
		return a->now_ns;
	if (t->demand.busy && t->demand.done_by_ns && a->now_ns > t->demand.done_by_ns + a->params.bound_ns)
		return a->now_ns;
	if (!t->demand.busy && !t->demand.waiting) {
		idle = (t->idle_from_ns > t->opened_ns ? t->idle_from_ns : t->opened_ns) + grace(a, t);
		return idle < end ? idle : end;
	}
	if (!t->demand.busy && t->turn_cost_ns - t->turn_idled_ns < (int64_t)(10 * US)) {
		idle = t->quantum_from_ns + patience(t);
		return idle < end ? idle : end;
	}
	/* What it has waiting needs more than is left. */
	if (t->demand.busy && t->demand.done_by_ns > flight)
		flight = t->demand.done_by_ns;
	if (t->demand.waiting && t->demand.needs_ns && flight < end && flight + t->demand.needs_ns > end)
		return flight;
	return end;
}

/*
 * When what closed tenants have in flight should have ended, so that c's work does not run beside it: side by side each
 * costs the other time slices. Nobody is waited for longer than was predicted, and never longer than DRAIN_NS; one that
 * comes back to its guarantee waits for BOUND_NS at most.
 */
static uint64_t drained_at(const struct arbiter *a, int c)
{
	const struct tenant *u = &a->tenant[c];
	uint64_t at = a->now_ns, patient = u->fresh && u->terms.guarantee_ppm ? a->params.bound_ns : DRAIN_NS;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		const struct tenant *t = &a->tenant[i];
		uint64_t most = t->closed_ns + patient, done = t->demand.done_by_ns;

		if (i == c || !competes(t) || !t->demand.busy || t->turn.open)
			continue;
		if (!done)
			most = t->closed_ns + a->params.bound_ns;
		done = done && done < most ? done : most;
		at = done > at ? done : at;
	}
	return at;
}

/* When somebody whose tokens are out will want the turn; UINT64_MAX: nobody will. */
static uint64_t next_rival(const struct arbiter *a, enum pool p)
{
	uint64_t rest, refill = next_refill(a, MAIN);

	if (p == MAIN)
		return refill;
	rest = next_refill(a, REST);
	return rest < refill ? rest : refill;
}

/* A holder that nobody waits for goes on, unless its tokens are out. */
static void go_on_alone(struct arbiter *a, enum pool p)
{
	int h = a->holder[p];
	struct tenant *t = &a->tenant[h];
	uint64_t tokens = tokens_end(a, h), end = tokens, rival = next_rival(a, p), least = a->now_ns;

	if (t->demand.busy && t->demand.done_by_ns > least)
		least = t->demand.done_by_ns;
	if (limited(t) && (tokens <= a->now_ns + 10 * US ||
			   (t->demand.waiting && t->demand.needs_ns && least + t->demand.needs_ns > tokens))) {
		close_turn(a, h);
		return;
	}
	if (rival != UINT64_MAX) {
		/* Nobody has a better right to the time until then; a launch that is longer than that has it as well.
		 */
		least += t->demand.waiting ? room_for(t) : a->params.quantum_min_ns;
		least = least > t->least_until_ns ? least : t->least_until_ns;
		if (p == MAIN && least < t->quantum_from_ns + quantum_of(a, h))
			least = t->quantum_from_ns + quantum_of(a, h);
		rival = rival > least ? rival : least;
		end = rival < end ? rival : end;
	}
	set_turn(t, true, end == UINT64_MAX ? 0 : end, bound_of(a, t));
	if (end != UINT64_MAX)
		wake_at(a, end > a->now_ns + a->params.early_ns ? end - a->params.early_ns : a->now_ns + 10 * US);
}

/* The holder's turn beside somebody who waits: closed, begun anew, or given an end. */
static void go_on_beside(struct arbiter *a, enum pool p, int c)
{
	int h = a->holder[p];
	struct tenant *t = &a->tenant[h];
	uint64_t planned = planned_end(a, h, c), end = turn_end(a, h, c, planned);

	if (a->now_ns + a->params.early_ns >= end) {
		bool more = (t->demand.waiting || t->demand.busy) && (!limited(t) || tokens_of(a, h) > 0);

		if (!more || !before(a, h, c)) {
			close_turn(a, h);
			return;
		}
		begin_quantum(a, h, a->now_ns);
		planned = planned_end(a, h, c);
		end = turn_end(a, h, c, planned);
	}
	set_turn(t, true, planned, bound_of(a, t));
	wake_at(a, end > a->now_ns + a->params.early_ns ? end - a->params.early_ns : a->now_ns + 10 * US);
}

static void serve(struct arbiter *a, enum pool p)
{
	int c = pick(a, p);
	uint64_t at, refill;

	if (a->holder[p] >= 0) {
		if (c >= 0)
			go_on_beside(a, p, c);
		else
			go_on_alone(a, p);
	}
	if (a->holder[p] < 0 && c >= 0) {
		/* Who goes first may have changed by the closing. */
		c = pick(a, p);
		at = a->tenant[c].terms.class == ARBITER_HIGH ? a->now_ns : drained_at(a, c);
		if (a->now_ns + a->params.early_ns >= at) {
			open_turn(a, c, at);
			c = pick(a, p);
			if (c >= 0)
				go_on_beside(a, p, c);
			else
				go_on_alone(a, p);
		} else {
			wake_at(a, at - a->params.early_ns);
		}
	}
	refill = next_refill(a, p);
	if (refill != UINT64_MAX)
		wake_at(a, refill);
	for (unsigned int n = 0; n < a->count; n++)
		if (absent(a, &a->tenant[a->list[n]]))
			wake_at(a, a->tenant[a->list[n]].absent_until_ns);
}

/* ---- classes ---- */

static bool at_work(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	if (!competes(t))
		return false;
	if (t->demand.busy && t->turn.open && !busy_suspected(a->busy, (unsigned int)i))
		return true;
	return t->demand.waiting && (t->turn.open || has_tokens(a, i));
}

/* Is anybody of the main pool at work? Notes since when not. */
static bool main_at_work(struct arbiter *a)
{
	bool work = false;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (pool_of(t) != MAIN || !at_work(a, i))
			continue;
		work = true;
		if (t->terms.class == ARBITER_HIGH)
			a->high_seen_ns = a->now_ns;
		a->readmit_ns = 2 * gaps_p90_ns(&t->gaps);
	}
	if (work)
		a->quiet_from_ns = 0;
	else if (!a->quiet_from_ns)
		a->quiet_from_ns = a->now_ns;
	return work;
}

/*
 * The gate of high class stays open while nobody else of the main pool is at work: what it submits then goes to the
 * device at once, and the ring that it causes closes low's gate.
 */
static void stand_open(struct arbiter *a, bool work)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (!t->used || !competes(t) || t->terms.class != ARBITER_HIGH || a->holder[MAIN] == i)
			continue;
		if (!t->turn.open && !work && has_tokens(a, i)) {
			t->opened_ns = a->now_ns;
			t->quantum_from_ns = a->now_ns;
			set_turn(t, true, 0, bound_of(a, t));
		} else if (t->turn.open && work) {
			close_turn(a, i);
		}
	}
}

/* One whose gate stood open has submitted something: the turn is its, unless another one's at work. */
static void promote(struct arbiter *a)
{
	int h = a->holder[MAIN];

	if (h >= 0 && at_work(a, h))
		return;
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (i == h || !t->turn.open || pool_of(t) != MAIN || !at_work(a, i))
			continue;
		if (h >= 0)
			close_turn(a, h);
		a->holder[MAIN] = i;
		t->turns++;
		begin_quantum(a, i, a->now_ns);
		return;
	}
}

static void serve_low(struct arbiter *a, bool work)
{
	uint64_t after = a->readmit_ns > READMIT_NS ? a->readmit_ns : READMIT_NS;
	int h = a->holder[MAIN];

	if (work) {
		if (a->holder[REST] >= 0)
			close_turn(a, a->holder[REST]);
		return;
	}
	/* A pause is expected only of one that could go on. */
	if (h < 0 && !high_about(a))
		after = 0;
	if (a->holder[REST] < 0 && a->now_ns < a->quiet_from_ns + after) {
		wake_at(a, a->quiet_from_ns + after);
		return;
	}
	serve(a, REST);
}

/* Low's work in flight follows how much of high's time it shared: less than 5 % may grow, more than 15 % is halved. */
static void guard(struct arbiter *a)
{
	struct busy_totals totals;
	uint64_t high, overlap;

	if (!high_about(a) || a->now_ns < a->guard_from_ns + GUARD_NS)
		return;
	totals = busy_totals(a->busy, a->now_ns);
	high = totals.high_ns - a->guard_high_ns;
	overlap = totals.overlap_ns - a->guard_overlap_ns;
	a->guard_from_ns = a->now_ns;
	a->guard_high_ns = totals.high_ns;
	a->guard_overlap_ns = totals.overlap_ns;
	if (!high || overlap > high)
		return;
	if (overlap * 100 < high * 5)
		a->low_scale = a->low_scale < 1 ? a->low_scale + 0.01 : 1;
	else if (overlap * 100 > high * 15)
		a->low_scale = a->low_scale > 0.125 ? a->low_scale / 2 : 0.0625;
}

/* ---- the step ---- */

static bool anybody_waits(const struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++)
		if (candidate(a, a->list[n]))
			return true;
	return false;
}

/* Of one whose gate is open. */
static uint32_t listen_open(const struct arbiter *a, int i, bool waits)
{
	const struct tenant *t = &a->tenant[i];
	uint32_t listen = waits ? WIRE_ON_IDLE : 0;

	/* Its edges have to be taken from now and then, from then on. */
	if (!t->demand.busy && a->now_ns > t->last_end_ns + WORK_NS)
		listen |= WIRE_ON_DEMAND;
	/* What it has next is longer than what is left of its turn. */
	if (t->turn.until_ns)
		listen |= WIRE_ON_DEMAND;
	/* Low class has to be stopped when it begins, and may begin when it has ended. */
	if (pool_of(t) == MAIN && (a->holder[MAIN] != i || a->holder[REST] >= 0))
		listen |= WIRE_ON_DEMAND;
	return listen;
}

static void set_listen(struct arbiter *a)
{
	bool waits = anybody_waits(a);

	for (unsigned int n = 0; n < a->count; n++) {
		struct tenant *t = &a->tenant[a->list[n]];
		uint32_t listen = 0;

		if (competes(t) && !t->turn.open)
			listen = WIRE_ON_DEMAND | (t->demand.busy && waits ? WIRE_ON_IDLE : 0);
		else if (competes(t))
			listen = listen_open(a, a->list[n], waits);
		if (t->turn.listen != listen) {
			t->turn.listen = listen;
			t->changed = true;
		}
	}
}

/* Idle time is the holder's while others wait for it. */
static void set_payer(struct arbiter *a)
{
	int payer = NOBODY;

	for (int p = 0; p < POOLS && payer < 0; p++)
		if (pick(a, p) >= 0)
			payer = a->holder[p] >= 0 ? a->holder[p] : a->last[p];
	busy_hold(a->busy, payer, a->now_ns);
}

/* Tenants outside of the competition: native ones pass, frozen ones do not. */
static void set_outsiders(struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (t->terms.gated && t->terms.frozen)
			close_turn(a, i);
		else if (!t->terms.gated) {
			lose_turn(a, i);
			set_turn(t, true, 0, 0);
		}
	}
}

/* Closed, and silent for far longer than its work was to last. */
static void set_suspects(struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];
		uint64_t done = t->demand.done_by_ns ? t->demand.done_by_ns : t->closed_ns;
		uint64_t length = done > t->busy_from_ns ? done - t->busy_from_ns : 0;

		if (t->turn.open || !t->demand.busy || busy_suspected(a->busy, (unsigned int)i) ||
		    !busy_count(a->busy, (unsigned int)i))
			continue;
		done += 4 * a->params.bound_ns + length;
		if (a->now_ns >= done)
			busy_suspect(a->busy, (unsigned int)i, a->now_ns);
		else
			wake_at(a, done);
	}
}

static bool anything_on(const struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];

		if (competes(t) && (t->demand.busy || t->demand.waiting || a->now_ns < t->last_end_ns + 2 * WORK_NS))
			return true;
	}
	return false;
}

uint64_t arbiter_step(struct arbiter *a, uint64_t now_ns)
{
	bool work;

	if (a->started && now_ns < a->now_ns)
		now_ns = a->now_ns;
	for (unsigned int n = 0; n < a->count; n++)
		a->tenant[a->list[n]].changed = false;
	take_inbox(a, now_ns);
	settle(a, now_ns);
	a->next_ns = now_ns + (anything_on(a) ? WORK_NS : HEARTBEAT_NS);
	set_outsiders(a);
	set_suspects(a);
	take_wants(a);
	promote(a);
	serve(a, MAIN);
	work = main_at_work(a);
	stand_open(a, work);
	serve_low(a, work);
	guard(a);
	set_payer(a);
	set_listen(a);
	return a->next_ns;
}

bool arbiter_changed(const struct arbiter *a, int i)
{
	return a->tenant[i].changed;
}

const struct arbiter_turn *arbiter_turn(const struct arbiter *a, int i)
{
	return &a->tenant[i].turn;
}

struct arbiter_reading arbiter_read(const struct arbiter *a, int i, uint64_t now_ns)
{
	const struct tenant *t = &a->tenant[i];
	uint64_t since = now_ns > t->heard_ns ? now_ns - t->heard_ns : 0;

	return (struct arbiter_reading){
		.charged_ns = t->base_ns + busy_charged_ns(a->busy, (unsigned int)i, now_ns),
		.wanted_ns = t->wanted_ns + (t->demand.waiting || t->demand.busy ? since : 0),
		.waited_ns = t->waited_ns + (t->demand.waiting && !t->turn.open ? since : 0),
		.lag_ns = (int64_t)lag_of(a, i),
		.turns = t->turns,
	};
}
