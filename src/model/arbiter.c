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
 * A guarantee has an account beside that (arrears.h): lags are shared by all, and who comes for one long kernel and
 * leaves takes its debt along. Who is far behind its guarantee goes before those to whom nothing is guaranteed.
 *
 * What a turn costs its holder is the time of the engine that was measured, and the time that it let the engine idle
 * while others stood waiting: a program that pauses after each kernel pays for its pauses itself. A limit counts what
 * was measured alone.
 *
 * Limits: work in flight cannot be taken back. A kernel longer than a quantum is let in at the beginning of a turn and
 * paid for afterwards, however long that takes. Whoever is stopped with work in flight is waited for until that work
 * should have ended and BOUND_NS more, and then counts as having ended (busy_suspect).
 */
#include "model/arbiter_state.h"

#include "wire/turn.h"

#include <stdlib.h>
#include <string.h>

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
	belief_init(&a->belief);
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
	for (unsigned int n = 0; n < a->count; n++)
		free(a->tenant[a->list[n]].ceiling);
	busy_free(a->busy);
	free(a);
}

/* What it had by another limit does not count. Few have a limit, and a ceiling is larger than all else of a tenant. */
static void take_limit(struct tenant *t, double rate)
{
	if (t->bucket.rate == rate)
		return;
	t->bucket.rate = rate;
	free(t->ceiling);
	t->ceiling = rights_limited(t) ? calloc(1, sizeof(*t->ceiling)) : NULL;
}

static void take_terms(struct arbiter *a, int i, const struct arbiter_terms *terms)
{
	struct tenant *t = &a->tenant[i];

	t->terms = *terms;
	if (!t->terms.limit_ppm || t->terms.limit_ppm > ARBITER_WHOLE)
		t->terms.limit_ppm = ARBITER_WHOLE;
	if (t->terms.guarantee_ppm > t->terms.limit_ppm)
		t->terms.guarantee_ppm = t->terms.limit_ppm;
	take_limit(t, (double)t->terms.limit_ppm / ARBITER_WHOLE);
	if (t->bucket.tokens_ns > (double)a->params.burst_ns)
		t->bucket.tokens_ns = (double)a->params.burst_ns;
	busy_class(a->busy, (unsigned int)i, terms->class);
}

/*
 * One that was used before, and has been free for so long that no edge of its last tenant is to come any more: so a
 * device with few tenants keeps to a few places, and the memory of the others is never touched. Else one that nobody
 * has had, or which has been free the longest.
 */
static int free_place(const struct arbiter *a, uint64_t now_ns)
{
	int best = NOBODY;

	for (int i = 0; i < (int)ARBITER_TENANTS; i++) {
		const struct tenant *t = &a->tenant[i];

		if (t->used)
			continue;
		if (t->left_ns && t->left_ns + LATE_NS < now_ns)
			return i;
		if (best < 0 || t->left_ns < a->tenant[best].left_ns)
			best = i;
	}
	return best;
}

int arbiter_join(struct arbiter *a, const struct arbiter_terms *terms, uint64_t now_ns)
{
	int i = free_place(a, now_ns);
	struct tenant *t;

	if (i < 0)
		return -1;
	t = &a->tenant[i];
	memset(t, 0, sizeof(*t));
	busy_clear(a->busy, (unsigned int)i, now_ns);
	memset(&a->lags[MAIN].of[i], 0, sizeof(struct lag));
	memset(&a->lags[REST].of[i], 0, sizeof(struct lag));
	t->used = true;
	t->joined_ns = t->heard_ns = t->idle_from_ns = now_ns;
	t->bucket.tokens_ns = (double)a->params.burst_ns;
	t->lead.ns = a->params.early_ns;
	t->after = t->beside = NOBODY;
	take_terms(a, i, terms);
	a->list[a->count++] = (uint16_t)i;
	return i;
}

void arbiter_user(struct arbiter *a, int i, uint32_t user)
{
	a->tenant[i].user = user;
}

static void lose_turn(struct arbiter *a, int i)
{
	for (int p = 0; p < POOLS; p++) {
		if (a->holder[p] == i)
			a->holder[p] = NOBODY;
		if (a->last[p] == i)
			a->last[p] = NOBODY;
	}
	for (unsigned int n = 0; n < a->count; n++)
		if (a->tenant[a->list[n]].after == i)
			a->tenant[a->list[n]].after = NOBODY;
}

static void take_inbox(struct arbiter *a, uint64_t now_ns);

void arbiter_leave(struct arbiter *a, int i, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];

	take_inbox(a, now_ns);
	/* Until now it was there, and others were kept waiting by it. */
	rights_settle(a, now_ns > a->now_ns ? now_ns : a->now_ns);
	rights_remember(a, t);
	lose_turn(a, i);
	lags_leave(&a->lags[MAIN], (unsigned int)i, now_ns);
	lags_leave(&a->lags[REST], (unsigned int)i, now_ns);
	busy_clear(a->busy, (unsigned int)i, now_ns);
	free(t->ceiling);
	t->ceiling = NULL;
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

	/* By another class its turn would be nobody's to end, and by shorter turns it would be as long as it was. */
	t->over |= terms->class != t->terms.class || terms->turn_ns != t->terms.turn_ns;
	take_terms(a, i, terms);
	a->changed[pool_of(t)] = true;
	if (pool_of(t) == before)
		return;
	/* What it is owed and owes goes with it to the other pool. */
	lose_turn(a, i);
	lags_leave(&a->lags[before], (unsigned int)i, now_ns);
	a->lags[!before].of[i] = a->lags[before].of[i];
	memset(&a->lags[before].of[i], 0, sizeof(struct lag));
}

/* ---- what is reported ---- */

/* What no lead shortens is the device's own. It is taken anew when it is another one: cycles keep their length. */
static void note_change(struct arbiter *a)
{
	uint64_t ns = a->floor.least_ns[0] < CHANGE_MOST_NS ? a->floor.least_ns[0] : CHANGE_MOST_NS;

	if (!a->floor.rounds || (ns <= a->change_ns + a->change_ns / 4 && ns >= a->change_ns - a->change_ns / 4))
		return;
	a->change_ns = ns;
	a->units_changed[MAIN] = a->units_changed[REST] = true;
}

/* Its turn has begun: how long after the work of the one before? */
static void learn_lead(struct arbiter *a, struct tenant *t, uint64_t begin_ns)
{
	const struct tenant *before = t->after >= 0 ? &a->tenant[t->after] : NULL;
	uint64_t gap = 0;

	t->after = NOBODY;
	if (!before || !before->used)
		return;
	if (busy_count(a->busy, (unsigned int)(before - a->tenant))) {
		t->beside = (int)(before - a->tenant);
		t->beside_ns = begin_ns;
	} else if (begin_ns > before->last_end_ns) {
		gap = begin_ns - before->last_end_ns;
	}
	lead_learn(&t->lead, &a->floor, gap);
	note_change(a);
}

/* What was at work when the turn of another one began has ended: long after that, because of it? */
static void note_interrupted(struct arbiter *a, int i, uint64_t end_ns)
{
	for (int p = 0; p < POOLS; p++) {
		struct tenant *t = a->holder[p] >= 0 ? &a->tenant[a->holder[p]] : NULL;

		if (!t || t->beside != i)
			continue;
		t->beside = NOBODY;
		if (end_ns > t->beside_ns + LEAD_INTERRUPTED_NS)
			lead_interrupted(&t->lead, &a->floor);
	}
}

/* Work of unknown length has ended. It began with the turn, or when it was told of, whatever its page says later. */
static void learn_unknown(struct arbiter *a, const struct tenant *t, uint64_t end_ns)
{
	uint64_t from = t->work_from_ns > t->opened_ns ? t->work_from_ns : t->opened_ns;

	from = from > t->unknown_from_ns ? from : t->unknown_from_ns;
	if (t->unknown_from_ns && end_ns > from)
		belief_prove(&a->belief, end_ns - from);
}

static void take_note(struct arbiter *a, const struct note *n, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[n->tenant];
	uint64_t at = n->at_ns < now_ns ? n->at_ns : now_ns;

	if (!t->used)
		return;
	if (!n->begins) {
		busy_end(a->busy, n->tenant, at);
		if (!busy_count(a->busy, n->tenant))
			learn_unknown(a, t, at);
		t->last_end_ns = at > t->last_end_ns ? at : t->last_end_ns;
		note_interrupted(a, n->tenant, at);
		return;
	}
	/* A pause of its own is one with the gate open all the time. */
	if (!busy_count(a->busy, n->tenant) && t->last_end_ns && at > t->last_end_ns && t->turn.open &&
	    t->opened_ns < t->last_end_ns) {
		gaps_add(&t->gaps, at - t->last_end_ns, SHORT_GAP_NS);
		/* Its turn was left open for this. */
		if (at - t->last_end_ns > a->params.idle_ns)
			t->vain = t->hasty = 0;
	}
	if (t->turn.open && at >= t->opened_ns)
		learn_lead(a, t, at);
	if (!busy_count(a->busy, n->tenant))
		t->work_from_ns = at;
	busy_begin(a->busy, n->tenant, at);
}

static int compare_notes(const void *a, const void *b)
{
	const struct note *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (int)x->number - (int)y->number;
}

/* In the order of time: those of many processes lie behind each other, and each that is late costs. */
static void sort_inbox(struct arbiter *a)
{
	unsigned int i = 1;

	while (i < a->notes && a->inbox[i - 1].at_ns <= a->inbox[i].at_ns)
		i++;
	if (i < a->notes)
		qsort(a->inbox, a->notes, sizeof(*a->inbox), compare_notes);
}

static void take_inbox(struct arbiter *a, uint64_t now_ns)
{
	sort_inbox(a);
	for (unsigned int i = 0; i < a->notes; i++)
		take_note(a, &a->inbox[i], now_ns);
	a->notes = 0;
}

static void add_note(struct arbiter *a, int i, uint64_t at_ns, bool begins)
{
	/* A full inbox is taken as it is; only who dates its work ahead of time gains nothing by that. */
	if (a->notes == INBOX)
		take_inbox(a, a->now_ns);
	if (begins) {
		a->tenant[i].noted = true;
		a->tenant[i].lied = false;
	}
	a->inbox[a->notes] = (struct note){ at_ns, (uint16_t)i, (uint16_t)a->notes, begins };
	a->notes++;
}

void arbiter_begins(struct arbiter *a, int i, uint64_t at_ns)
{
	add_note(a, i, at_ns, true);
}

void arbiter_ends(struct arbiter *a, int i, uint64_t at_ns)
{
	add_note(a, i, at_ns, false);
}

/* Whether its launches are all alike, and how long. Predictions vary a little where kernels do not. */
static void note_unit(struct arbiter *a, struct tenant *t, uint64_t ns)
{
	uint64_t off = ns > t->unit_ns ? ns - t->unit_ns : t->unit_ns - ns;
	bool were = t->alike >= ALIKE;

	if (off <= t->unit_ns / ALIKE_PART) {
		t->unit_ns = (7 * t->unit_ns + ns) / 8;
		t->alike += t->alike < ALIKE;
		t->unlike = 0;
	} else if (!were || ++t->unlike >= ALIKE) {
		/* A few that seemed longer were interrupted, perhaps: the cycle stays as it is. */
		t->unit_ns = ns;
		t->alike = t->unlike = 0;
	}
	a->units_changed[pool_of(t)] |= were != (t->alike >= ALIKE);
}

void arbiter_demands(struct arbiter *a, int i, const struct arbiter_demand *demand, uint64_t now_ns)
{
	struct tenant *t = &a->tenant[i];

	rights_tell_time(t, now_ns);
	/* It may be told long after: what came into its bucket meanwhile was not beyond the cap. */
	if (demand->busy && !t->demand.busy) {
		t->noted = false;
		t->busy_from_ns = demand->began_ns && demand->began_ns < now_ns ? demand->began_ns : now_ns;
		if (t->busy_from_ns < t->opened_ns)
			t->busy_from_ns = t->opened_ns < now_ns ? t->opened_ns : now_ns;
	}
	if (demand->busy && !demand->unknown)
		t->unknown_from_ns = 0;
	else if (demand->busy && (!t->unknown_from_ns || !t->demand.busy))
		t->unknown_from_ns = now_ns;
	/* Only a process that runs foretells another end. */
	if (demand->busy && demand->done_by_ns != t->demand.done_by_ns)
		busy_trust(a->busy, (unsigned int)i);
	if ((demand->busy && !busy_suspected(a->busy, (unsigned int)i)) || !demand->waiting ||
	    demand->since_ns != t->demand.since_ns)
		t->absences = 0;
	if (!demand->busy && t->demand.busy) {
		t->idle_from_ns = now_ns;
		/* An edge that comes later says that it is not so. */
		t->lied |= t->demand.unknown && !t->noted && !busy_count(a->busy, (unsigned int)i);
	}
	if (!demand->waiting)
		t->passed_ns = 0;
	if (demand->waiting) {
		t->next_ns = demand->needs_ns;
		/* One that pauses after each kernel waits with nothing in flight: its turns end elsewhere. */
		if (demand->busy)
			note_unit(a, t, demand->needs_ns);
	}
	t->demand = *demand;
}

bool arbiter_gang(struct arbiter *a, int i, const struct arbiter_gang *gang)
{
	struct arbiter_gang *now = &a->tenant[i].gang;
	bool other = now->held != gang->held || now->called != gang->called || now->stays != gang->stays ||
		     now->wants != gang->wants || !now->until_ns != !gang->until_ns || now->from_ns != gang->from_ns;

	if (gang->held || gang->called || gang->stays || gang->wants || gang->until_ns)
		a->ganged_ns = a->now_ns;
	*now = *gang;
	return other;
}

struct arbiter_view arbiter_view(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];
	int h = a->holder[pool_of(t)];

	return (struct arbiter_view){
		.wants = rights_competes(t) && (t->demand.waiting || t->demand.busy),
		.holds = a->holder[pool_of(t)] == i,
		.may = rights_eligible(a, i) && rights_has_tokens(a, i),
		.beside = a->lags[MAIN].count + a->lags[REST].count > 1,
		.waits = rights_competes(t) && t->demand.waiting,
		.soon = rights_lag(a, i) >= -(double)a->params.lag_bound_ns / 4 && rights_has_tokens(a, i),
		.free = h < 0 && turns_drained_at(a, i, DRAIN_NS) <= a->now_ns + a->params.early_ns,
		.next = rights_pick(a, pool_of(t)) == i,
		.from_ns = h >= 0 ? a->tenant[h].turn.until_ns : 0,
		.flight_ns = turns_drained_at(a, i, DRAIN_NS)
	};
}

/* ---- the step ---- */

static bool anybody_waits(const struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++)
		if (rights_candidate(a, a->list[n]))
			return true;
	return false;
}

/* Of one whose gate is open. */
static uint32_t listen_open(const struct arbiter *a, int i, bool waits)
{
	const struct tenant *t = &a->tenant[i];
	bool alone = a->lags[MAIN].count + a->lags[REST].count <= 1;
	/* What it has waiting did not fit beside what is in flight: at the end of that it may, or the turn is over. */
	uint32_t listen = waits ? WIRE_ON_PAUSE : t->demand.waiting && alone ? WIRE_ON_IDLE : 0;

	/* Its edges have to be taken from now and then, from then on. */
	if (!t->demand.busy && a->now_ns > t->last_end_ns + WORK_NS)
		listen |= WIRE_ON_DEMAND;
	/* What it has next is longer than what is left of its turn; with nobody waiting its limit is found anew. */
	if (t->turn.until_ns)
		listen |= waits ? WIRE_ON_WAIT : alone ? WIRE_ON_WAIT | WIRE_ON_LATE : WIRE_ON_DEMAND;
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

		if (rights_competes(t) && !t->turn.open)
			listen = WIRE_ON_DEMAND | (t->demand.busy && waits ? WIRE_ON_IDLE : 0);
		else if (rights_competes(t))
			listen = listen_open(a, a->list[n], waits);
		if (t->turn.listen != listen) {
			t->turn.listen = listen;
			t->changed = true;
		}
	}
}

/* Work of unknown length, on the engine as far as can be known. */
static bool is_unknown(const struct arbiter *a, const struct tenant *t)
{
	return rights_competes(t) && t->demand.busy && t->demand.unknown && a->now_ns < t->busy_from_ns + GONE_NS;
}

/* What is measured beside such work takes twice as long, about, and what is foretold. */
static void set_beside(struct arbiter *a)
{
	unsigned int unknown = 0;

	for (unsigned int n = 0; n < a->count; n++)
		unknown += is_unknown(a, &a->tenant[a->list[n]]);
	for (unsigned int n = 0; n < a->count; n++) {
		struct tenant *t = &a->tenant[a->list[n]];
		bool beside = unknown > is_unknown(a, t);

		t->changed |= t->turn.beside != beside;
		t->turn.beside = beside;
	}
}

/* Idle time is the holder's while others wait for it. */
static void set_payer(struct arbiter *a)
{
	int payer = NOBODY;

	for (int p = 0; p < POOLS && payer < 0; p++)
		if (rights_pick(a, p) >= 0)
			payer = a->holder[p] >= 0 ? a->holder[p] : a->last[p];
	busy_hold(a->busy, payer, a->now_ns);
}

/* Tenants outside of the competition: native ones pass, frozen ones do not. And those whose turn was by other terms. */
static void set_outsiders(struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (t->over || (t->terms.gated && t->terms.frozen))
			turns_close(a, i);
		t->over = false;
		if (t->terms.gated && t->terms.frozen)
			continue;
		if (!t->terms.gated) {
			lose_turn(a, i);
			turns_set(a, t, true, 0, 0);
		}
	}
}

/* Closed, and silent for far longer than its work was to last. */
static void set_suspects(struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];
		uint64_t overdue = turns_overdue_at(a, t);

		if (t->turn.open || !t->demand.busy || busy_suspected(a->busy, (unsigned int)i) ||
		    !busy_count(a->busy, (unsigned int)i))
			continue;
		if (a->now_ns >= overdue)
			busy_suspect(a->busy, (unsigned int)i, a->now_ns);
		else
			turns_wake_at(a, overdue);
	}
}

static bool anything_on(const struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];

		if (rights_competes(t) &&
		    (t->demand.busy || t->demand.waiting || a->now_ns < t->last_end_ns + 2 * WORK_NS))
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
	busy_round(a->busy);
	take_inbox(a, now_ns);
	rights_settle(a, now_ns);
	a->next_ns = now_ns + (anything_on(a) ? WORK_NS : HEARTBEAT_NS);
	set_outsiders(a);
	set_suspects(a);
	rights_take_wants(a);
	classes_promote(a);
	turns_serve(a, MAIN);
	work = classes_main_at_work(a);
	classes_stand_open(a, work);
	classes_serve_low(a, work);
	classes_guard(a);
	set_payer(a);
	set_beside(a);
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
		.lag_ns = (int64_t)rights_lag(a, i),
		.arrears_ns = (int64_t)t->arrears.ns,
		.turns = t->turns,
	};
}
