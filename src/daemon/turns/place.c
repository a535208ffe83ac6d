/*
 * place.c: a tenant's share of an engine: its clients' wants as one, and its turn as one of theirs.
 */
#include "daemon/turns/state.h"

#include "base/clock.h"
#include "daemon/turns/log.h"

#include <stdlib.h>

#define SECOND_SAMPLES 32  /* 1 s in steps of SAMPLE_NS, and some */
#define MINUTE_SAMPLES 68  /* 60 s in steps of 1 s, and some */
#define CROWD 32u	   /* so many clients of a tenant are looked at whenever something happens */
#define CLIENT_NS 10000ull /* each further one lets some time pass until the next look at them */
#define PAUSES 1024u
#define PAUSE_NS 150000ull /* a client that has its tenant's turn and nothing to do passes it on */
#define PAUSE_PART 8u	   /* of the time since it was given the turn: a pause of the program's, not the machine's */
#define TOGETHER_NS 1000000000ull
#define SIT_NS 50000000ull	      /* a client has its tenant's turn so long at most while others of it wait */
#define PASS_DOUBLINGS 10u	      /* of how long a launch waits that would pass the closed gate beside others */
#define PASS_MOST_NS 3600000000000ull /* is paid for by them */
#define ASLEEP_NS 1000000ull	      /* one that waits and does not move: stopped, perhaps */

struct gang_member place_member(const struct place *p)
{
	return (struct gang_member){ p->engine->arbiter, p->at };
}

struct engine *engine_of(const struct place *p)
{
	return p->engine;
}

void place_sample(struct place *p, uint64_t now_ns, bool force)
{
	struct arbiter_reading r = arbiter_read(p->engine->arbiter, p->at, now_ns);
	struct window_sample s = { .at_ns = now_ns, .total = { r.charged_ns, r.wanted_ns, r.waited_ns } };

	window_add(p->second, &s, force);
	window_add(p->minute, &s, false); /* many short processes would fill it */
}

void place_learn(struct place *p, uint64_t from_ns, uint64_t to_ns, int64_t charged_ns)
{
	window_learn(p->second, WINDOW_CHARGED, from_ns, to_ns, charged_ns);
	window_learn(p->minute, WINDOW_CHARGED, from_ns, to_ns, charged_ns);
}

struct place *engine_join(struct engine *e, const struct arbiter_terms *terms, uint64_t now_ns)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->engine = e;
	p->terms = *terms;
	p->second = window_new(SECOND_SAMPLES, SAMPLE_NS - SAMPLE_SLACK_NS);
	p->minute = window_new(MINUTE_SAMPLES, 10 * SAMPLE_NS - SAMPLE_SLACK_NS);
	p->at = p->second && p->minute ? arbiter_join(e->arbiter, terms, now_ns) : -1;
	if (p->at < 0) {
		window_free(p->second);
		window_free(p->minute);
		free(p);
		return NULL;
	}
	p->next = e->places;
	e->places = p;
	return p;
}

void engine_user(struct place *p, uint32_t user)
{
	arbiter_user(p->engine->arbiter, p->at, user);
}

void engine_change(struct place *p, const struct arbiter_terms *terms, uint64_t now_ns)
{
	p->terms = *terms;
	arbiter_change(p->engine->arbiter, p->at, terms, now_ns);
	for (struct seat *s = p->seats; s; s = s->next)
		seat_write_shares(p, s);
}

void engine_leave(struct place *p, uint64_t now_ns)
{
	struct place **at = &p->engine->places;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->engine->last == p)
		p->engine->last = NULL;
	arbiter_leave(p->engine->arbiter, p->at, now_ns);
	window_free(p->second);
	window_free(p->minute);
	free(p);
}

bool place_due(struct place *p, uint64_t now_ns)
{
	if (now_ns < p->look_ns)
		return false;
	p->look_ns = p->crowd > CROWD ? now_ns + (p->crowd - CROWD) * CLIENT_NS : 0;
	return true;
}

/* What clients say. */

bool place_take_edges(struct place *p, unsigned int most, uint64_t now_ns)
{
	struct seat *s = p->hears ? p->hears : p->seats, *first = s;

	while (s && most) {
		most -= seat_take_edges(s, most, now_ns);
		if (!most)
			break;
		s = s->next ? s->next : p->seats;
		if (s == first)
			break;
	}
	p->hears = s;
	return most;
}

/* Value: true when it has begun to want or to do something that the arbiter does not know of. */
bool place_take_demand(struct place *p, uint64_t now_ns)
{
	struct arbiter_demand d = { 0 }, old = p->told;

	p->active = 0;
	p->begun = false;
	for (struct seat *s = p->seats; s; s = s->next) {
		seat_add_demand(s, now_ns, &d);
		p->active += s->active;
		p->begun |= s->begun;
	}
	p->told = d;
	arbiter_demands(p->engine->arbiter, p->at, &d, now_ns);
	return (d.waiting && !old.waiting) || (d.busy && !old.busy);
}

/* What the arbiter says. */

static void write_rights(struct wire_turn *t, const struct arbiter_rights *r)
{
	atomic_store_explicit(&t->arrears_ns, r->arrears_ns, memory_order_relaxed);
	atomic_store_explicit(&t->by_clock_ns, r->by_clock_ns, memory_order_relaxed);
	atomic_store_explicit(&t->tokens_ns, r->tokens_ns, memory_order_relaxed);
	atomic_store_explicit(&t->put_off_ns, r->put_off_ns, memory_order_relaxed);
	atomic_store_explicit(&t->put_off_free_ns, r->put_off_free_ns, memory_order_relaxed);
	atomic_store_explicit(&t->put_off_from_ns, r->put_off_from_ns, memory_order_relaxed);
}

void place_write_account(const struct place *p, const struct arbiter_reading *r, uint64_t now_ns)
{
	struct arbiter_rights rights;

	arbiter_rights(p->engine->arbiter, p->at, &rights);
	for (struct seat *s = p->seats; s; s = s->next) {
		atomic_store_explicit(&s->turn->charged_at_ns, now_ns, memory_order_relaxed);
		atomic_store_explicit(&s->turn->charged_busy_ns,
				      atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed),
				      memory_order_relaxed);
		write_rights(s->turn, &rights);
		if (s->charged_ns == r->charged_ns && s->lag_ns == r->lag_ns)
			continue;
		s->charged_ns = r->charged_ns;
		s->lag_ns = r->lag_ns;
		atomic_store_explicit(&s->turn->charged_ns, r->charged_ns, memory_order_relaxed);
		atomic_store_explicit(&s->turn->lag_ns, r->lag_ns, memory_order_relaxed);
	}
}

/* For traces. The turn that was before should have lasted until planned_ns. */
static void note_turn(const struct place *p, const struct arbiter_turn *turn, uint64_t planned_ns)
{
	if (turn_log_on() && p->seats)
		turn_log_turn(p->seats->turn, turn, planned_ns, p->terms.frozen, p->told.busy || p->told.waiting,
			      arbiter_read(p->engine->arbiter, p->at, clock_now_ns()).lag_ns);
}

/* Who waits, and has waited since it was last given the turn, the longest; NULL: nobody. */
static struct seat *longest_waiting(const struct place *p)
{
	struct seat *best = NULL;
	uint64_t since = UINT64_MAX;

	for (struct seat *s = p->seats; s; s = s->next) {
		uint64_t at_ns = max_u64(s->since_ns, s->sat_ns);

		if (s->waiting && at_ns < since) {
			since = at_ns;
			best = s;
		}
	}
	return best;
}

/* It passes the turn on because it has nothing to do, for no small part of the time. */
static bool pauses(const struct seat *s, uint64_t now_ns)
{
	return s->idle_ns && !s->waiting && (now_ns - s->edge_ns) * PAUSE_PART > now_ns - s->sat_ns;
}

/*
 * Until when the one who has the turn keeps it from others that wait. One that ran dry behind the closed gate goes on
 * in the next turn if no other tenant had one between: another client would cost a change of context.
 */
static uint64_t sits_until(const struct seat *s)
{
	uint64_t idle_ns = max_u64(s->idle_ns, s->sat_ns), most_ns = s->sat_ns + SIT_NS;

	if (!s->idle_ns)
		return most_ns;
	if (!s->waiting)
		return idle_ns + PAUSE_NS;
	if (!s->place->follows_own)
		return idle_ns + ASLEEP_NS;
	idle_ns = max_u64(idle_ns, s->place->opened_ns) + ASLEEP_NS;
	return idle_ns < most_ns ? idle_ns : most_ns;
}

static void note_opening(struct place *p, bool open, uint64_t now_ns)
{
	if (open && !p->opened_ns) {
		p->follows_own = p->engine->last == p;
		p->engine->last = p;
		if (p->follows_own && p->sits && p->sits->waiting)
			p->pauses -= p->pauses / 8; /* it goes on, and has not paused */
	}
	p->opened_ns = open ? (p->opened_ns ? p->opened_ns : now_ns) : 0;
}

/*
 * A tenant's clients take its turns one after the other, as long as these have an end: side by side each slice of time
 * would cost a change of context, and each client would fill what is left of the turn as if it had it for itself. But
 * clients that pause for a good part of their time fill each other's pauses: when most of their turns end by that, all
 * of them have the tenant's turns together for a second. Value: when to look again; UINT64_MAX: not necessary.
 */
uint64_t place_choose_seat(struct place *p, const struct arbiter_turn *turn, uint64_t now_ns)
{
	struct seat *s = p->sits, *next;

	note_opening(p, turn->open, now_ns);
	/* What it has in flight is its alone, also behind a closed gate: that is what lengths are learnt from. */
	if (!turn->open)
		return UINT64_MAX;
	if (!turn->until_ns || !p->seats || !p->seats->next || now_ns < p->together_ns) {
		p->sits = NULL;
		return UINT64_MAX;
	}
	next = longest_waiting(p);
	if (!next)
		return UINT64_MAX;
	if (s && now_ns < sits_until(s))
		return sits_until(s);
	if (s)
		p->pauses = p->pauses - p->pauses / 8 + (pauses(s, now_ns) ? PAUSES / 8 : 0);
	p->sits = next;
	next->sat_ns = now_ns;
	if (p->pauses > PAUSES * 5 / 8) {
		p->together_ns = now_ns + TOGETHER_NS;
		p->pauses = PAUSES / 2;
		p->sits = NULL;
	}
	return now_ns + ASLEEP_NS;
}

void place_note_passed(struct place *p, uint64_t took_ns)
{
	p->pass_took_ns += took_ns;
	if (p->pass_took_ns > PASS_MOST_NS)
		p->pass_took_ns = PASS_MOST_NS;
}

/* Of those that ask who has waited for longest; *ret_open: so many that were let pass have not been measured yet. */
static struct seat *asks_first(struct place *p, unsigned int *ret_open, uint64_t now_ns)
{
	struct seat *first = NULL;

	*ret_open = 0;
	for (struct seat *s = p->seats; s; s = s->next) {
		place_note_passed(p, seat_take_passed(s, false, now_ns));
		*ret_open += s->let_ns != 0;
		if (s->asks && !(s->gate & WIRE_OPEN) && (!first || s->since_ns < first->since_ns))
			first = s;
	}
	return first;
}

/* When the share has earned what those that passed have taken. A frozen tenant has none. */
static uint64_t earned_at(const struct place *p)
{
	uint32_t ppm =
		p->terms.guarantee_ppm > WIRE_LEAST_PPM && !p->terms.frozen ? p->terms.guarantee_ppm : WIRE_LEAST_PPM;

	return p->pass_since_ns + (uint64_t)((double)p->pass_took_ns * ARBITER_WHOLE / ppm);
}

/*
 * What is in flight may wait for the launch that asks, in the same process or in another one of the tenant. So one goes
 * at once, and each further one when the share has earned the time of those before. One that has passed may itself wait
 * for the next one: that does not wait for its end, but twice as long for each that has not ended.
 */
uint64_t place_let_pass(struct place *p, uint64_t now_ns)
{
	unsigned int open;
	struct seat *s = asks_first(p, &open, now_ns);
	uint64_t at_ns = earned_at(p);

	if (!s && !p->active && now_ns >= at_ns)
		p->pass_since_ns = p->pass_took_ns = 0;
	if (!s)
		return UINT64_MAX;
	if (open)
		at_ns = max_u64(at_ns,
				p->pass_at_ns + (WIRE_STUCK_NS << (open < PASS_DOUBLINGS ? open : PASS_DOUBLINGS)));
	if (p->pass_since_ns && now_ns < at_ns)
		return at_ns;
	if (!p->pass_since_ns) {
		p->pass_since_ns = now_ns;
		p->pass_took_ns = 0;
	}
	p->pass_at_ns = now_ns;
	seat_let_pass(s, now_ns);
	return now_ns + WIRE_STUCK_NS;
}

static struct arbiter_turn turn_of(const struct seat *s, const struct arbiter_turn *turn)
{
	const struct place *p = s->place;
	struct arbiter_turn t = *turn;

	if (!p->sits)
		return t;
	if (p->sits == s)
		t.listen |= WIRE_ON_PAUSE; /* somebody else may use the rest of the turn */
	else
		t = (struct arbiter_turn){ .listen = turn->listen | WIRE_ON_DEMAND };
	return t;
}

/* Writes turns: those that close and what to listen for, or those that open. Value: somebody has to be looked at. */
bool place_write(struct place *p, bool opening)
{
	const struct arbiter_turn *turn = arbiter_turn(p->engine->arbiter, p->at);
	uint64_t bound_ns = turn->bound_ns / (p->active && !p->sits ? p->active : 1);
	uint64_t planned_ns = p->seats ? p->seats->until_ns : 0;
	bool look = false, changed = false;

	for (struct seat *s = p->seats; s; s = s->next) {
		struct arbiter_turn t = turn_of(s, turn);

		seat_write_beside(s, (p->sits ? 1 : p->active) + turn->beside);
		look |= seat_write_listen(s, t.listen);
		if (t.open == opening) {
			look |= !opening && (s->gate & WIRE_OPEN);
			changed |= seat_write_turn(s, &t, t.open ? bound_ns : 0);
		}
	}
	if (changed)
		note_turn(p, turn, planned_ns);
	return look;
}

/* Counting. */

static void read_totals(const struct place *p, uint64_t now_ns, uint64_t total[WINDOW_TOTALS])
{
	struct arbiter_reading r = arbiter_read(p->engine->arbiter, p->at, now_ns);

	total[WINDOW_CHARGED] = r.charged_ns;
	total[WINDOW_WANTED] = r.wanted_ns;
	total[WINDOW_WAITED] = r.waited_ns;
}

void place_count(struct place *p, uint64_t now_ns, uint64_t since_ns[WINDOW_TOTALS])
{
	uint64_t total[WINDOW_TOTALS];

	read_totals(p, now_ns, total);
	for (unsigned int i = 0; i < WINDOW_TOTALS; i++) {
		if (total[i] <= p->counted_ns[i])
			continue;
		since_ns[i] += total[i] - p->counted_ns[i];
		p->counted_ns[i] = total[i];
	}
}

uint64_t place_counted(const struct place *p, enum window_total total)
{
	return p->counted_ns[total];
}

void place_count_skip(struct place *p, uint64_t charged_before_ns, uint64_t now_ns)
{
	uint64_t total[WINDOW_TOTALS];

	read_totals(p, now_ns, total);
	if (total[WINDOW_CHARGED] > charged_before_ns)
		p->counted_ns[WINDOW_CHARGED] += total[WINDOW_CHARGED] - charged_before_ns;
}

void place_count_known(struct place *p, uint64_t now_ns)
{
	uint64_t total[WINDOW_TOTALS];

	read_totals(p, now_ns, total);
	for (unsigned int i = 0; i < WINDOW_TOTALS; i++) {
		uint64_t known = p->known_ns[i] < total[i] ? p->known_ns[i] : total[i];

		p->counted_ns[i] = max_u64(p->counted_ns[i], known);
	}
}

/*
 * What a place's clients have measured while there was no meted was not shared out: where several were at work at once
 * each has the whole time. All together they had no more than the time that passed. Value: what the place has too much.
 */
static uint64_t away_too_much(const struct place *p)
{
	uint64_t sum = 0, absent = 0;

	for (const struct place *q = p->engine->places; q; q = q->next) {
		sum += q->away_ns;
		absent = max_u64(absent, q->absent_ns);
	}
	return sum > absent ? p->away_ns - (uint64_t)((double)p->away_ns * (double)absent / (double)sum) : 0;
}

/* It was not had, though it stays charged: neither counters nor rates show it. */
static void forgo(struct place *p, uint64_t ns)
{
	p->counted_ns[WINDOW_CHARGED] += ns;
	place_learn(p, 0, 0, (int64_t)ns);
	place_learn(p, p->found_ns - p->absent_ns, p->found_ns, -(int64_t)ns);
}

void place_count_from(struct place *p, const uint64_t at_ns[WINDOW_TOTALS], uint64_t now_ns)
{
	for (unsigned int i = 0; i < WINDOW_TOTALS; i++)
		p->known_ns[i] = at_ns ? at_ns[i] : UINT64_MAX;
	place_count_known(p, now_ns);
	forgo(p, away_too_much(p));
	/* Those who come to a tenant that nothing is known of begin at 0. */
	for (unsigned int i = 0; i < WINDOW_TOTALS; i++)
		p->known_ns[i] = at_ns ? at_ns[i] : 0;
}

/* Reading. */

static double rate(const struct place *p, const struct window_sample *now, enum window_total total, uint64_t seconds)
{
	double r;

	return window_rate(seconds > 1 ? p->minute : p->second, now, total, seconds * 1000000000ull, &r) ? r : -1;
}

struct arbiter_reading engine_totals(const struct place *p, uint64_t now_ns)
{
	return arbiter_read(p->engine->arbiter, p->at, now_ns);
}

void engine_read(const struct place *p, uint64_t now_ns, struct engine_reading *ret)
{
	struct arbiter_reading r = arbiter_read(p->engine->arbiter, p->at, now_ns);
	struct window_sample now = { .at_ns = now_ns, .total = { r.charged_ns, r.wanted_ns, r.waited_ns } };

	*ret = (struct engine_reading){ .total = r, .longest_ns = p->longest_ns, .bypassed = p->bypassed };
	ret->share_1s = rate(p, &now, WINDOW_CHARGED, 1);
	ret->share_10s = rate(p, &now, WINDOW_CHARGED, 10);
	ret->share_60s = rate(p, &now, WINDOW_CHARGED, 60);
	ret->wanted_10s = rate(p, &now, WINDOW_WANTED, 10);
	ret->waited_10s = rate(p, &now, WINDOW_WAITED, 10);
	for (const struct seat *s = p->seats; s; s = s->next) {
		uint32_t flags = atomic_load_explicit(&s->turn->flags, memory_order_relaxed);

		ret->longest_ns =
			max_u64(ret->longest_ns, atomic_load_explicit(&s->turn->longest_ns, memory_order_relaxed));
		ret->bypassed += atomic_load_explicit(&s->turn->bypassed, memory_order_relaxed);
		ret->is_long |= flags & WIRE_TURN_LONG;
		ret->sliced += !!(flags & WIRE_TURN_SLICED);
		ret->seats++;
	}
}
