/*
 * turns.c: the turns of one pool of an arbiter: who holds it, until when, and when the next one is opened.
 */
#include "model/arbiter_state.h"

void turns_wake_at(struct arbiter *a, uint64_t at_ns)
{
	if (at_ns < a->now_ns)
		at_ns = a->now_ns;
	if (at_ns < a->next_ns)
		a->next_ns = at_ns;
}

bool turns_high_about(const struct arbiter *a)
{
	return a->high_seen_ns && a->now_ns - a->high_seen_ns < PRESENT_NS;
}

uint64_t turns_bound(const struct arbiter *a, const struct tenant *t)
{
	if (t->terms.class == ARBITER_LOW && turns_high_about(a))
		return (uint64_t)((double)a->params.low_bound_ns * a->low_scale);
	return a->params.bound_ns;
}

/* Nobody else is about, and what waits at its open gate fits when the turn ends at until_ns, but not as it was. */
static bool makes_room(const struct arbiter *a, const struct tenant *t, uint64_t until_ns)
{
	uint64_t end_ns = a->now_ns + rights_foretold_ns(a, t) + t->demand.needs_ns;

	if (!t->demand.waiting || !t->turn.until_ns || a->lags[MAIN].count + a->lags[REST].count > 1)
		return false;
	return end_ns > t->turn.until_ns && end_ns <= until_ns;
}

void turns_set(const struct arbiter *a, struct tenant *t, bool open, uint64_t until_ns, uint64_t bound_ns)
{
	uint64_t was = t->turn.until_ns;

	/*
	 * A client takes each change for a new turn: what is later by less than a long launch is left as it is, but not
	 * where it is just what the launch needs that waits.
	 */
	if (t->turn.open == open && t->turn.bound_ns == bound_ns && !until_ns == !was && until_ns + 20 * US >= was &&
	    until_ns < was + 500 * US && !makes_room(a, t, until_ns))
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

/* It has waited for its turn, and makes no use of it: perhaps it is stopped, and what it had in flight is silent too.
 */
static bool does_nothing(const struct arbiter *a, const struct tenant *t)
{
	bool busy = t->demand.busy && !busy_suspected(a->busy, (unsigned int)(t - a->tenant));

	return !busy && t->turn_cost_ns - t->turn_idled_ns < (int64_t)(10 * US);
}

/*
 * Since when it has had nothing in flight, by what was measured. That is heard of later; and of short work since then
 * nothing else is heard.
 */
static uint64_t idle_from(const struct tenant *t)
{
	uint64_t at = t->last_end_ns > t->busy_from_ns ? t->last_end_ns : t->idle_from_ns;

	return at > t->opened_ns ? at : t->opened_ns;
}

/* It has done nothing for so long that it does not go on by a claim: it would get its quantum anew for ever. */
static bool sleeps(const struct arbiter *a, const struct tenant *t)
{
	return does_nothing(a, t) && a->now_ns + LEAD_MOST_NS >= idle_from(t) + CLAIM_IDLE_NS;
}

static void note_absence(struct arbiter *a, struct tenant *t)
{
	bool nothing = t->demand.waiting && does_nothing(a, t);

	/* It was closed early, for the next one's sake. */
	if (!nothing || (a->now_ns + LEAD_MOST_NS < t->quantum_from_ns + patience(t) && !sleeps(a, t)))
		return;
	t->absent_until_ns = a->now_ns + (t->absences ? ABSENT_REST * patience(t) : ABSENT_FIRST_NS);
	t->absences++;
}

/*
 * Its turn is closed in a pause. One that is behind its guarantee is given time to go on; where it does not, again and
 * again, its pauses are longer than that, and the engine would be idle for nothing.
 */
static void note_pause(const struct arbiter *a, struct tenant *t)
{
	if (t->demand.waiting || t->demand.busy)
		return;
	if (t->hasty) {
		t->hasty--;
	} else if (a->now_ns + LEAD_MOST_NS >= idle_from(t) + CLAIM_IDLE_NS) {
		t->hasty = 1u << t->vain;
		t->vain += t->vain < VAIN_MOST;
	}
}

/* What it has in flight is waited for once: of one that is stopped it is the same at each of its turns. */
static void note_flight(const struct arbiter *a, struct tenant *t)
{
	if (t->drain_ns && t->demand.busy && t->drain_began_ns == t->busy_from_ns &&
	    t->drain_done_ns == t->demand.done_by_ns)
		return;
	t->drain_ns = a->now_ns;
	t->drain_began_ns = t->busy_from_ns;
	t->drain_done_ns = t->demand.done_by_ns;
}

void turns_close(struct arbiter *a, int i)
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
	note_pause(a, t);
	note_longest(a, t);
	note_flight(a, t);
	t->closed_ns = a->now_ns;
	turns_set(a, t, false, 0, 0);
}

static uint64_t room_for(const struct tenant *t)
{
	return t->demand.needs_ns + t->demand.needs_ns / 16;
}

void turns_begin_quantum(struct arbiter *a, int i, uint64_t from_ns)
{
	struct tenant *t = &a->tenant[i];

	t->quantum_from_ns = from_ns;
	places_note(a, i, from_ns);
	t->quantum_ns = places_turn_ns(a, i, from_ns);
	t->least_until_ns = from_ns + room_for(t);
	t->fresh = false;
	t->claimed = rights_claims(a, i);
	if (t->turn_cost_ns)
		note_longest(a, t);
}

/* The one who had the turn before, and still has work in flight, which this turn is to follow without a gap. */
static int handed_by(const struct arbiter *a, int i)
{
	int before = a->last[pool_of(&a->tenant[i])];

	return before >= 0 && before != i && a->tenant[before].demand.busy ? before : NOBODY;
}

/* One of those that bring work of unknown length has its turn: what the others wait for is another one's work now. */
static void note_queue_moves(struct arbiter *a)
{
	for (unsigned int n = 0; n < a->count; n++)
		if (a->tenant[a->list[n]].passed_ns)
			a->tenant[a->list[n]].passed_ns = a->now_ns;
}

static void open_turn(struct arbiter *a, int i, uint64_t from_ns)
{
	struct tenant *t = &a->tenant[i];

	if (rights_brings_unknown(t)) {
		note_queue_moves(a);
		rights_note_brought(a, t->user);
	}
	t->after = handed_by(a, i);
	t->beside = NOBODY;
	t->opened_ns = a->now_ns;
	t->passed_ns = 0;
	t->turns++;
	/* What the turn before had in flight at its end was measured after that, and is a long kernel, perhaps. */
	note_longest(a, t);
	turns_begin_quantum(a, i, from_ns);
	rights_pay_unclaimed(a, i);
	a->holder[pool_of(t)] = i;
	turns_set(a, t, true, 0, turns_bound(a, t));
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
	uint64_t end, in_flight = rights_foretold_ns(a, t), ceiling = rights_ceiling_ns(a, i);

	if (!rights_limited(t))
		return UINT64_MAX;
	b.tokens_ns = rights_tokens(a, i);
	/* Tokens come in while what is in flight runs. */
	b.tokens_ns += b.rate * (double)in_flight;
	end = bucket_lasts_ns(&b);
	end = a->now_ns + in_flight + (ceiling < end ? ceiling : end);
	return end > t->least_until_ns ? end : t->least_until_ns;
}

/* How far the holder may plan, given that c waits. */
static uint64_t planned_end(const struct arbiter *a, int h, int c)
{
	const struct tenant *t = &a->tenant[h], *u = &a->tenant[c];
	uint64_t end = t->quantum_from_ns + t->quantum_ns, tokens = tokens_end(a, h);

	if (u->fresh && rights_eligible(a, c) && !t->terms.turn_ns && !rights_precedes(a, h, c))
		end = t->quantum_from_ns + a->params.quantum_min_ns;
	/* Nobody waits for the end of a long turn who is behind a guarantee meanwhile. */
	if (t->terms.turn_ns && rights_precedes(a, c, h) && t->quantum_from_ns + a->params.quantum_max_ns < end)
		end = t->quantum_from_ns + a->params.quantum_max_ns;
	if (u->gang.called && !t->gang.stays && rights_eligible(a, c) && u->gang.from_ns < end)
		end = u->gang.from_ns > a->now_ns ? u->gang.from_ns : a->now_ns;
	else if (t->gang.until_ns)
		end = t->gang.until_ns > a->now_ns ? t->gang.until_ns : a->now_ns;
	else if (t->least_until_ns > end)
		end = t->least_until_ns;
	return tokens < end ? tokens : end;
}

/*
 * After what it has in flight: what it has waiting needs more than is left, by the end that its clients know of. Of one
 * that waits for each of its kernels nothing stands at the gate yet, but what comes next is as long as what came
 * before.
 */
static bool nothing_fits(const struct tenant *t, uint64_t flight_ns, uint64_t end_ns)
{
	uint64_t told = t->turn.until_ns, next = t->demand.needs_ns, gap = gaps_p90_ns(&t->gaps);

	if (told && told < end_ns)
		end_ns = told;
	if (!t->demand.waiting) {
		next = gap && t->demand.busy ? t->next_ns : 0;
		flight_ns += gap / 2;
	}
	return next && flight_ns < end_ns && flight_ns + next > end_ns;
}

/* The engine is not idle meanwhile. */
static bool unknown_in_flight(const struct arbiter *a, int except)
{
	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];

		if (a->list[n] != except && rights_competes(t) && t->demand.busy && t->demand.unknown)
			return true;
	}
	return false;
}

/* Of a holder that is behind its guarantee: a long kernel would be let in for a short pause. */
static uint64_t claim_pause(const struct arbiter *a, int h)
{
	return unknown_in_flight(a, h) ? CLAIM_BUSY_NS : CLAIM_IDLE_NS;
}

/* When its turn is over: at the planned end, or before, because it makes no use of the rest. */
static uint64_t turn_end(const struct arbiter *a, int h, int c, uint64_t end)
{
	const struct tenant *t = &a->tenant[h], *u = &a->tenant[c];
	uint64_t flight = a->now_ns, idle;

	if (u->terms.class < t->terms.class && rights_eligible(a, c))
		return a->now_ns;
	if (!t->demand.busy && !t->demand.waiting) {
		if (t->gang.stays)
			return end;
		/* One that goes on after short pauses may do so until then: the next turn does not open before. */
		idle = idle_from(t) + grace(a, t) + (gaps_p90_ns(&t->gaps) ? u->lead.ns : 0);
		if (rights_precedes(a, h, c) && !t->hasty)
			return idle_from(t) + claim_pause(a, h);
		return idle < end ? idle : end;
	}
	if (does_nothing(a, t) && !t->gang.stays) {
		idle = t->quantum_from_ns + patience(t);
		return idle < end ? idle : end;
	}
	if (t->demand.busy && t->demand.done_by_ns && a->now_ns > t->demand.done_by_ns + a->params.bound_ns)
		return a->now_ns;
	if (t->demand.busy && t->demand.done_by_ns > flight)
		flight = t->demand.done_by_ns;
	return nothing_fits(t, flight, end) ? flight : end;
}

/* Somebody else to whom something is guaranteed uses the engine meanwhile, and would have a smaller slice of it. */
static bool others_guaranteed(const struct arbiter *a, int c)
{
	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];
		bool uses = t->demand.waiting || (t->demand.busy && !t->demand.unknown);

		if (a->list[n] != c && t->terms.guarantee_ppm && rights_competes(t) && !rights_absent(a, t) && uses &&
		    !rights_brings_unknown(t))
			return true;
	}
	return false;
}

/*
 * Until when work of unknown length that has been in flight since then is waited for by more of it, beside a guarantee.
 * What is believed is used up while somebody waits: the end does not come nearer meanwhile.
 */
static uint64_t believed_until(const struct arbiter *a, uint64_t from_ns, bool believe)
{
	uint64_t at = from_ns + UNKNOWN_BESIDE_NS;

	if (!believe)
		return at;
	at = (at > a->now_ns ? at : a->now_ns) + (uint64_t)a->belief.ns;
	return at < from_ns + UNKNOWN_MOST_NS ? at : from_ns + UNKNOWN_MOST_NS;
}

/*
 * When what closed tenants have in flight should have ended, so that c's work does not run beside it: side by side each
 * costs the other time slices. Nobody is waited for longer than was predicted, and never longer than DRAIN_NS; of work
 * of unknown length the end is waited for, UNKNOWN_NS at most. One that comes back to its guarantee waits for BOUND_NS
 * at most.
 */
static uint64_t drained_at(const struct arbiter *a, int c, bool believe)
{
	const struct tenant *u = &a->tenant[c];
	uint64_t at = a->now_ns, patient = u->fresh && u->terms.guarantee_ppm ? a->params.bound_ns : DRAIN_NS;
	uint64_t unknown = patient < DRAIN_NS ? patient : UNKNOWN_NS;
	bool beside = rights_brings_unknown(u) && others_guaranteed(a, c);

	if (u->gang.called && u->gang.from_ns > at)
		at = u->gang.from_ns;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		const struct tenant *t = &a->tenant[i];
		uint64_t most = t->drain_ns + (t->demand.unknown ? unknown : patient), done = t->demand.done_by_ns;

		if (i == c || !rights_competes(t) || !t->demand.busy || t->turn.open)
			continue;
		if (beside && t->demand.unknown)
			most = believed_until(a, t->drain_ns, believe);
		else if (!done && !t->demand.unknown)
			most = t->drain_ns + a->params.bound_ns;
		done = done && done < most && !t->demand.unknown ? done : most;
		at = done > at ? done : at;
	}
	return at;
}

/* The same of what is its own user's: that is waited for without belief, for whoever waits harms himself alone. */
static uint64_t own_drained_at(const struct arbiter *a, int c)
{
	const struct tenant *u = &a->tenant[c];
	uint64_t at = a->now_ns;

	if (!u->user || !rights_brings_unknown(u) || !others_guaranteed(a, c))
		return at;
	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];

		if (a->list[n] != c && t->user == u->user && rights_competes(t) && t->demand.busy &&
		    t->demand.unknown && !t->turn.open && t->drain_ns + UNKNOWN_MOST_NS > at)
			at = t->drain_ns + UNKNOWN_MOST_NS;
	}
	return at;
}

/* The same of all that others have in flight, whoever's gate is open. */
uint64_t turns_drained_at(const struct arbiter *a, int c, uint64_t patient_ns)
{
	uint64_t at = a->now_ns;

	for (unsigned int n = 0; n < a->count; n++) {
		const struct tenant *t = &a->tenant[a->list[n]];
		uint64_t done = t->demand.busy && a->list[n] != c && rights_competes(t) ? t->demand.done_by_ns : 0;

		if (done > at && done < a->now_ns + patient_ns)
			at = done;
	}
	return at;
}

/* When somebody whose tokens are out will want the turn; UINT64_MAX: nobody will. */
static uint64_t next_rival(const struct arbiter *a, enum pool p)
{
	uint64_t rest, refill = rights_next_refill(a, MAIN);

	if (p == MAIN)
		return refill;
	rest = rights_next_refill(a, REST);
	return rest < refill ? rest : refill;
}

/* What it has in flight has been silent by then for far longer than it was to last. */
uint64_t turns_overdue_at(const struct arbiter *a, const struct tenant *t)
{
	uint64_t done = t->demand.done_by_ns ? t->demand.done_by_ns : t->closed_ns;
	uint64_t length = done > t->busy_from_ns ? done - t->busy_from_ns : 0;

	/* Of one alone nothing is measured, and it seems to be busy since its turn began. */
	if (t->turn.open && length > UNKNOWN_NS)
		length = UNKNOWN_NS;
	return done + 4 * a->params.bound_ns + length;
}

/* When a holder that nobody of its pool waits for is held to be stopped, if it does not go on; UINT64_MAX: never. */
static uint64_t stopped_at(const struct arbiter *a, const struct tenant *t)
{
	uint64_t idle = idle_from(t);

	if (t->gang.stays || t->gang.until_ns)
		return UINT64_MAX;
	if (t->demand.busy && !busy_suspected(a->busy, (unsigned int)(t - a->tenant)))
		return t->demand.done_by_ns ? turns_overdue_at(a, t) : UINT64_MAX;
	if (!t->demand.waiting)
		return UINT64_MAX;
	return (t->demand.since_ns > idle ? t->demand.since_ns : idle) + patience(t);
}

/* It keeps low class from an idle engine, and its turn is over. */
static bool stands_in_the_way(struct arbiter *a, enum pool p, const struct tenant *t)
{
	uint64_t at = p == MAIN && rights_pick(a, REST) >= 0 ? stopped_at(a, t) : UINT64_MAX;

	if (at != UINT64_MAX && a->now_ns < at)
		turns_wake_at(a, at);
	return a->now_ns >= at;
}

/* A holder that nobody waits for goes on, unless its tokens are out. */
static void go_on_alone(struct arbiter *a, enum pool p)
{
	int h = a->holder[p];
	struct tenant *t = &a->tenant[h];
	uint64_t tokens = tokens_end(a, h), end = tokens, rival = next_rival(a, p), least = a->now_ns;

	if (stands_in_the_way(a, p, t)) {
		turns_close(a, h);
		return;
	}
	if (t->demand.busy && t->demand.done_by_ns > least)
		least = t->demand.done_by_ns;
	if (rights_limited(t) && (tokens <= a->now_ns + 10 * US ||
				  (t->demand.waiting && t->demand.needs_ns && least + t->demand.needs_ns > tokens))) {
		turns_close(a, h);
		return;
	}
	if (rival != UINT64_MAX) {
		/* Nobody has a better right to the time until then; a launch that is longer than that has it as well.
		 */
		least += t->demand.waiting ? room_for(t) : a->params.quantum_min_ns;
		least = least > t->least_until_ns ? least : t->least_until_ns;
		if (p == MAIN && least < t->quantum_from_ns + places_quantum_ns(a, h))
			least = t->quantum_from_ns + places_quantum_ns(a, h);
		rival = rival > least ? rival : least;
		end = rival < end ? rival : end;
	}
	turns_set(a, t, true, end == UINT64_MAX ? 0 : end, turns_bound(a, t));
	if (end != UINT64_MAX)
		turns_wake_at(a, end > a->now_ns + a->params.early_ns ? end - a->params.early_ns : a->now_ns + 10 * US);
}

/* The next look at the holder, whose turn ends then: so early that c's launch comes when the engine is free. */
static void look_again(struct arbiter *a, const struct tenant *t, uint64_t end_ns, uint64_t lead_ns)
{
	uint64_t at_ns = end_ns > a->now_ns + lead_ns ? end_ns - lead_ns : a->now_ns + 10 * US;
	uint64_t gap = gaps_p90_ns(&t->gaps), last;

	turns_wake_at(a, at_ns);
	if (!gap || t->demand.waiting || !t->next_ns)
		return;
	/* It waits for each of its kernels: the last one is looked for while it is in flight. */
	last = end_ns - lead_ns - t->next_ns;
	if (last > a->now_ns + 10 * US)
		turns_wake_at(a, last);
	else if (t->demand.busy && t->demand.done_by_ns > a->now_ns)
		turns_wake_at(a, t->demand.done_by_ns + gap);
}

/* The holder's turn beside somebody who waits: closed, begun anew, or given an end. */
static void go_on_beside(struct arbiter *a, enum pool p, int c)
{
	int h = a->holder[p];
	struct tenant *t = &a->tenant[h];
	uint64_t planned = planned_end(a, h, c), end = turn_end(a, h, c, planned), lead = a->tenant[c].lead.ns;

	if (a->now_ns + lead >= end) {
		bool more = (t->demand.waiting || t->demand.busy) && !rights_tokens_out(a, h);

		/* A lag is used up by a pause, a claim may last. */
		if (!t->gang.stays && sleeps(a, t))
			more = false;
		if (!more || t->gang.until_ns || !rights_before(a, h, c)) {
			turns_close(a, h);
			return;
		}
		turns_begin_quantum(a, h, a->now_ns);
		planned = planned_end(a, h, c);
		turns_set(a, t, true, planned, turns_bound(a, t));
		end = turn_end(a, h, c, planned);
		if (end <= a->now_ns + lead)
			end = a->now_ns + lead + OUTLASTS_NS;
	}
	turns_set(a, t, true, planned, turns_bound(a, t));
	look_again(a, t, end, lead);
}

/* When c's turn may begin: others go before it for so long at most, however often they bring work of unknown length. */
static uint64_t opens_at(const struct arbiter *a, int c, bool believe)
{
	const struct tenant *u = &a->tenant[c];
	uint64_t at, most = believed_until(a, u->passed_ns, believe), own;

	if (u->terms.class == ARBITER_HIGH)
		return a->now_ns;
	at = drained_at(a, c, believe);
	if (u->passed_ns && most < at)
		at = most > a->now_ns ? most : a->now_ns;
	own = own_drained_at(a, c);
	return own > at ? own : at;
}

/* The engine is free: c's turn, or that of one who need not wait for work of unknown length while c does. */
static void open_next(struct arbiter *a, enum pool p, int c)
{
	uint64_t at = opens_at(a, c, true);
	int known = at > a->now_ns + a->tenant[c].lead.ns && rights_brings_unknown(&a->tenant[c])
			    ? rights_pick_known(a, p)
			    : NOBODY;

	a->believes = a->now_ns + a->tenant[c].lead.ns < at && a->now_ns >= opens_at(a, c, false);
	if (known >= 0) {
		if (!a->tenant[c].passed_ns)
			a->tenant[c].passed_ns = a->now_ns;
		turns_wake_at(a, at - a->tenant[c].lead.ns);
		c = known;
		at = opens_at(a, c, true);
	}
	if (a->now_ns + a->tenant[c].lead.ns < at) {
		turns_wake_at(a, at - a->tenant[c].lead.ns);
		return;
	}
	open_turn(a, c, at);
	c = rights_pick(a, p);
	if (c >= 0)
		go_on_beside(a, p, c);
	else
		go_on_alone(a, p);
}

void turns_serve(struct arbiter *a, enum pool p)
{
	int c = rights_pick(a, p);
	uint64_t refill;

	if (c < 0)
		a->believes = false;
	if (a->holder[p] >= 0) {
		if (c >= 0)
			go_on_beside(a, p, c);
		else
			go_on_alone(a, p);
	}
	/* Who goes first may have changed by the closing. */
	if (a->holder[p] < 0 && c >= 0)
		open_next(a, p, rights_pick(a, p));
	refill = rights_next_refill(a, p);
	if (refill != UINT64_MAX)
		turns_wake_at(a, refill);
	for (unsigned int n = 0; n < a->count; n++)
		if (rights_absent(a, &a->tenant[a->list[n]]))
			turns_wake_at(a, a->tenant[a->list[n]].absent_until_ns);
}
