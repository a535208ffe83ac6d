/* engine.c: turns of one engine of one device, see engine.h. */
#include "daemon/engine.h"

#include "base/clock.h"
#include "daemon/turn_log.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAMPLE_NS 100000000ull
#define SAMPLES 608 /* 60 s and some */
#define SEAT_SAMPLE_NS 1000000000ull
#define SEAT_SAMPLES 12
#define DEAF_NS 1000000ull    /* how often clients are looked at that cannot ring */
#define HOLD_NS 50000000ull   /* of a turn that an earlier meted opened, at most */
#define AWAY_NS 1000000000ull /* of the time without meted so much is charged at most */
#define FAR_NS 60000000000ull /* no prediction reaches further */
#define LONGER_NS 500000ull   /* a turn's end that moves by less can be found later */
#define ROUNDS 4
#define PAUSES 1024u
#define PAUSE_NS 150000ull /* a client that has its tenant's turn and nothing to do passes it on */
#define TOGETHER_NS 1000000000ull
#define SIT_NS 50000000ull   /* a client has its tenant's turn so long at most while others of it wait */
#define ASLEEP_NS 1000000ull /* one that waits and does not move: stopped, perhaps */

struct seat {
	struct seat *next; /* in its place */
	struct place *place;
	struct wire_turn *turn;
	uint32_t gate; /* as it stands on the page, and so the others */
	uint32_t listen;
	uint64_t until_ns, bound_ns, charged_ns;
	uint32_t beside;
	uint64_t told_until_ns, told_bound_ns; /* when the gate last changed */
	int64_t lag_ns;
	bool begun;   /* the last edge was a begin */
	bool waiting; /* somebody stands at the gate */
	bool active;  /* that, or something is in flight */
	bool deaf;
	uint64_t edge_ns;  /* the last edge */
	uint64_t since_ns; /* it waits */
	uint64_t idle_ns;  /* it has had nothing in flight */
	uint64_t sat_ns;   /* it was given its tenant's turn */
	struct window *window;
};

struct place {
	struct engine *engine;
	struct place *next;
	int at; /* the arbiter's number */
	struct arbiter_terms terms;
	struct seat *seats;
	struct seat *sits;	    /* who has the tenant's turn; NULL: all of them */
	uint64_t together_ns;	    /* all of them until then */
	bool paused;		    /* who has it has had nothing in flight meanwhile */
	unsigned int pauses;	    /* of PAUSES turns, lately */
	unsigned int active;	    /* seats */
	struct arbiter_demand told; /* what the arbiter knows */
	struct window *window;
	uint64_t longest_ns, bypassed; /* of clients that have gone */
};

struct engine {
	uint8_t uuid[DEVICE_UUID_BYTES];
	enum wire_engine kind;
	struct arbiter *arbiter;
	struct place *places;
	unsigned int seats, deaf;
	uint64_t hold_ns; /* turns of an earlier meted last until then */
	uint64_t sampled_ns;
};

/* Who comes and goes. */

struct engine *engine_new(const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	memcpy(e->uuid, uuid, DEVICE_UUID_BYTES);
	e->kind = kind;
	e->arbiter = arbiter_new(NULL);
	if (e->arbiter)
		return e;
	free(e);
	return NULL;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	arbiter_free(e->arbiter);
	free(e);
}

bool engine_is(const struct engine *e, const uint8_t uuid[DEVICE_UUID_BYTES], enum wire_engine kind)
{
	return e->kind == kind && !memcmp(e->uuid, uuid, DEVICE_UUID_BYTES);
}

bool engine_empty(const struct engine *e)
{
	return !e->places;
}

struct engine *engine_of(const struct place *p)
{
	return p->engine;
}

static void write_shares(const struct place *p, struct seat *s)
{
	atomic_store_explicit(&s->turn->guarantee_ppm, p->terms.guarantee_ppm, memory_order_relaxed);
	atomic_store_explicit(&s->turn->limit_ppm, p->terms.limit_ppm, memory_order_relaxed);
	atomic_store_explicit(&s->turn->weight, p->terms.weight, memory_order_relaxed);
	atomic_store_explicit(&s->turn->class_1, 1 + (uint32_t)p->terms.class, memory_order_relaxed);
}

struct place *engine_join(struct engine *e, const struct arbiter_terms *terms, uint64_t now_ns)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->engine = e;
	p->terms = *terms;
	p->window = window_new(SAMPLES, SAMPLE_NS);
	/* Work from before a restart of meted is charged to its tenants, and they join before their clients are found.
	 */
	if (!e->seats && now_ns > AWAY_NS)
		now_ns -= AWAY_NS;
	p->at = p->window ? arbiter_join(e->arbiter, terms, now_ns) : -1;
	if (p->at < 0) {
		window_free(p->window);
		free(p);
		return NULL;
	}
	p->next = e->places;
	e->places = p;
	return p;
}

void engine_change(struct place *p, const struct arbiter_terms *terms, uint64_t now_ns)
{
	p->terms = *terms;
	arbiter_change(p->engine->arbiter, p->at, terms, now_ns);
	for (struct seat *s = p->seats; s; s = s->next)
		write_shares(p, s);
}

void engine_leave(struct place *p, uint64_t now_ns)
{
	struct place **at = &p->engine->places;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	arbiter_leave(p->engine->arbiter, p->at, now_ns);
	window_free(p->window);
	free(p);
}

/* Pages. */

static void wake(struct wire_turn *turn)
{
	syscall(SYS_futex, &turn->gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void sample(struct place *p, uint64_t now_ns, bool force)
{
	struct arbiter_reading r = arbiter_read(p->engine->arbiter, p->at, now_ns);
	struct window_sample s = { .at_ns = now_ns, .total = { r.charged_ns, r.wanted_ns, r.waited_ns } };

	window_add(p->window, &s, force);
}

static void sample_seat(struct seat *s, uint64_t now_ns)
{
	struct window_sample now = { .at_ns = now_ns };

	now.total[WINDOW_CHARGED] = atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed);
	window_add(s->window, &now, false);
}

/*
 * What was written down for the tenant, by a predecessor (`found`) or before it was native for a while; the latest of
 * its clients' pages has it.
 */
static void resume(struct place *p, struct seat *s, bool found, uint64_t now_ns)
{
	uint64_t charged = atomic_load_explicit(&s->turn->charged_ns, memory_order_relaxed);
	uint64_t until = atomic_load_explicit(&s->turn->until_ns, memory_order_relaxed);

	if (charged > arbiter_read(p->engine->arbiter, p->at, now_ns).charged_ns)
		arbiter_resume(p->engine->arbiter, p->at, charged,
			       found ? atomic_load_explicit(&s->turn->lag_ns, memory_order_relaxed) : 0);
	if (!found || !(s->gate & WIRE_OPEN) || until <= now_ns)
		return;
	until = until < now_ns + HOLD_NS ? until : now_ns + HOLD_NS;
	if (until > p->engine->hold_ns)
		p->engine->hold_ns = until;
}

/*
 * What a predecessor had read of the edges: a client whose last one was a begin has been busy since, and what it did
 * after the predecessor last wrote its account is charged now. Nobody is in debt for minutes because meted was away.
 */
static void resume_edges(struct seat *s, uint64_t now_ns)
{
	uint32_t tail = atomic_load_explicit(&s->turn->edge_tail, memory_order_relaxed);
	uint64_t last = atomic_load_explicit(&s->turn->edge[(tail - 1) % WIRE_EDGES], memory_order_relaxed);
	uint64_t from_ns = atomic_load_explicit(&s->turn->charged_at_ns, memory_order_relaxed);

	if (now_ns > AWAY_NS && from_ns < now_ns - AWAY_NS)
		from_ns = now_ns - AWAY_NS;
	s->edge_ns = from_ns < now_ns ? from_ns : now_ns;
	s->begun = tail && (last & 1);
	if (s->begun)
		arbiter_begins(s->place->engine->arbiter, s->place->at, s->edge_ns);
}

struct seat *engine_sit(struct place *p, struct wire_turn *turn, bool found, uint64_t now_ns)
{
	struct seat *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->window = window_new(SEAT_SAMPLES, SEAT_SAMPLE_NS);
	if (!s->window) {
		free(s);
		return NULL;
	}
	s->place = p;
	s->turn = turn;
	s->gate = atomic_load_explicit(&turn->gate, memory_order_relaxed);
	s->listen = ~0u;
	s->until_ns = atomic_load_explicit(&turn->until_ns, memory_order_relaxed);
	s->bound_ns = atomic_load_explicit(&turn->bound_ns, memory_order_relaxed);
	resume(p, s, found, now_ns);
	if (found)
		resume_edges(s, now_ns);
	sample(p, found ? s->edge_ns : now_ns, true);
	sample_seat(s, now_ns);
	write_shares(p, s);
	s->next = p->seats;
	p->seats = s;
	p->engine->seats++;
	return s;
}

static void end_edges(struct seat *s, uint64_t now_ns)
{
	if (s->begun)
		arbiter_ends(s->place->engine->arbiter, s->place->at, now_ns);
	if (s->begun)
		turn_log_edge(s->turn, now_ns, false);
	s->begun = false;
	s->edge_ns = now_ns;
}

void engine_renew(struct seat *s, uint64_t now_ns)
{
	struct wire_turn *t = s->turn;

	end_edges(s, now_ns);
	atomic_store(&t->busy_since_ns, 0);
	atomic_store(&t->done_by_ns, 0);
	atomic_store(&t->waiting, 0);
	atomic_store(&t->flags, 0);
	atomic_store(&t->edge_tail, atomic_load(&t->edge_head));
}

void engine_deaf(struct seat *s, bool deaf)
{
	struct engine *e = s->place->engine;

	if (s->deaf != deaf)
		e->deaf += deaf ? 1u : -1u;
	s->deaf = deaf;
}

void engine_pass(struct wire_turn *turn)
{
	uint32_t gate = atomic_load_explicit(&turn->gate, memory_order_relaxed);

	if (!(gate & WIRE_GATED))
		return;
	gate = (gate & ~(uint32_t)(WIRE_GATED | WIRE_OPEN)) + WIRE_GATE_SERIAL;
	atomic_store(&turn->gate, gate);
	wake(turn);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void engine_rise(struct seat *s, uint64_t now_ns, bool lives)
{
	struct place *p = s->place;
	struct seat **at = &p->seats;

	end_edges(s, now_ns);
	if (p->seats == s && !s->next && s->gate & WIRE_OPEN)
		turn_log_turn(s->turn, &(struct arbiter_turn){ .open = false }, 0, false, false, 0);
	engine_deaf(s, false);
	p->longest_ns = max_u64(p->longest_ns, atomic_load_explicit(&s->turn->longest_ns, memory_order_relaxed));
	p->bypassed += atomic_load_explicit(&s->turn->bypassed, memory_order_relaxed);
	if (lives)
		engine_pass(s->turn);
	sample(p, now_ns, true);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (p->sits == s)
		p->sits = NULL;
	p->engine->seats--;
	window_free(s->window);
	free(s);
}

/* What clients say. */

static void take_edges(struct seat *s, uint64_t now_ns)
{
	struct arbiter *a = s->place->engine->arbiter;
	uint64_t at_ns;
	bool begins;

	/* No more than the ring holds: whoever writes faster than that is not waited for. */
	for (unsigned int i = 0; i < WIRE_EDGES && wire_edge_get(s->turn, &at_ns, &begins); i++) {
		if (begins == s->begun)
			continue;
		at_ns = at_ns > now_ns ? now_ns : at_ns < s->edge_ns ? s->edge_ns : at_ns;
		s->edge_ns = at_ns;
		s->begun = begins;
		turn_log_edge(s->turn, at_ns, begins);
		if (begins)
			arbiter_begins(a, s->place->at, at_ns);
		else
			arbiter_ends(a, s->place->at, at_ns);
	}
}

static void add_demand(struct seat *s, uint64_t now_ns, struct arbiter_demand *d)
{
	struct wire_turn *t = s->turn;
	bool waiting = atomic_load(&t->waiting), busy = atomic_load(&t->busy_since_ns);
	uint64_t since = atomic_load_explicit(&t->waiting_since_ns, memory_order_relaxed);
	uint64_t needs = atomic_load_explicit(&t->needs_ns, memory_order_relaxed);
	uint64_t done = atomic_load_explicit(&t->done_by_ns, memory_order_relaxed);

	if (busy)
		s->idle_ns = 0;
	else if (!s->idle_ns)
		s->idle_ns = now_ns;
	s->waiting = waiting;
	s->active = waiting || busy;
	if (waiting) {
		since = since && since < now_ns ? since : now_ns;
		s->since_ns = since;
		d->since_ns = d->waiting && d->since_ns < since ? d->since_ns : since;
		d->needs_ns = max_u64(d->needs_ns, needs < FAR_NS ? needs : FAR_NS);
		d->waiting = true;
	}
	if (busy) {
		d->done_by_ns = max_u64(d->done_by_ns, done < now_ns + FAR_NS ? done : now_ns + FAR_NS);
		d->busy = true;
	}
}

/* Value: true when it has begun to want or to do something that the arbiter does not know of. */
static bool take_demand(struct place *p, uint64_t now_ns)
{
	struct arbiter_demand d = { 0 }, old = p->told;

	p->active = 0;
	for (struct seat *s = p->seats; s; s = s->next) {
		add_demand(s, now_ns, &d);
		p->active += s->active;
	}
	p->told = d;
	arbiter_demands(p->engine->arbiter, p->at, &d, now_ns);
	return (d.waiting && !old.waiting) || (d.busy && !old.busy);
}

/* What the arbiter says. */

static void write_account(const struct place *p, const struct arbiter_reading *r, uint64_t now_ns)
{
	for (struct seat *s = p->seats; s; s = s->next) {
		atomic_store_explicit(&s->turn->charged_at_ns, now_ns, memory_order_relaxed);
		if (s->charged_ns == r->charged_ns && s->lag_ns == r->lag_ns)
			continue;
		s->charged_ns = r->charged_ns;
		s->lag_ns = r->lag_ns;
		atomic_store_explicit(&s->turn->charged_ns, r->charged_ns, memory_order_relaxed);
		atomic_store_explicit(&s->turn->lag_ns, r->lag_ns, memory_order_relaxed);
	}
}

/* Does the change have to be seen at once? */
static bool concerns(const struct seat *s, const struct arbiter_turn *turn, uint64_t bound_ns)
{
	if (!(s->gate & WIRE_GATED) || turn->open != !!(s->gate & WIRE_OPEN))
		return true;
	if (!turn->open)
		return false;
	if (s->waiting)
		return turn->until_ns != s->told_until_ns || bound_ns != s->told_bound_ns;
	return s->told_until_ns && (!turn->until_ns || turn->until_ns > s->told_until_ns + LONGER_NS);
}

/*
 * The gate takes another serial, and clients look at all of it again, when it opens or closes, when the turn goes on
 * for longer, which is as good as another turn, and when somebody who waits may find a change. Ends that come nearer
 * and bounds are found by whoever looks; what a client has let through before it looks again is a part of the bound.
 * Value: it has taken another serial.
 */
static bool write_turn(struct seat *s, const struct arbiter_turn *turn, uint64_t bound_ns)
{
	uint32_t bits = WIRE_GATED | (turn->open ? WIRE_OPEN : 0u);

	if (s->until_ns != turn->until_ns)
		atomic_store_explicit(&s->turn->until_ns, turn->until_ns, memory_order_relaxed);
	if (s->bound_ns != bound_ns)
		atomic_store_explicit(&s->turn->bound_ns, bound_ns, memory_order_relaxed);
	s->until_ns = turn->until_ns;
	s->bound_ns = bound_ns;
	if (!concerns(s, turn, bound_ns))
		return false;
	s->told_until_ns = turn->until_ns;
	s->told_bound_ns = bound_ns;
	s->gate = ((s->gate & ~(uint32_t)(WIRE_GATED | WIRE_OPEN)) + WIRE_GATE_SERIAL) | bits;
	atomic_store(&s->turn->gate, s->gate);
	if (turn->open)
		wake(s->turn);
	return true;
}

static void write_beside(struct seat *s, uint32_t beside)
{
	if (s->beside == beside)
		return;
	s->beside = beside;
	atomic_store_explicit(&s->turn->beside, beside, memory_order_relaxed);
}

static bool write_listen(struct seat *s, uint32_t listen)
{
	bool more = listen & ~s->listen;

	if (s->listen == listen)
		return false;
	more |= s->listen == ~0u;
	s->listen = listen;
	atomic_store(&s->turn->listen, listen);
	return more;
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

/* Until when the one who has the turn keeps it from others that wait. */
static uint64_t sits_until(const struct seat *s)
{
	if (!s->idle_ns)
		return s->sat_ns + SIT_NS;
	return max_u64(s->idle_ns, s->sat_ns) + (s->waiting ? ASLEEP_NS : PAUSE_NS);
}

/*
 * A tenant's clients take its turns one after the other, as long as these have an end: side by side each slice of time
 * would cost a change of context, and each client would fill what is left of the turn as if it had it for itself. But
 * clients that wait for each of their launches fill each other's pauses: when they pause in most of their turns, all of
 * them have the tenant's turns together for a second. Value: when to look again; UINT64_MAX: that is not necessary.
 */
static uint64_t choose_seat(struct place *p, const struct arbiter_turn *turn, uint64_t now_ns)
{
	struct seat *s = p->sits, *next;

	if (!turn->open || !turn->until_ns || !p->seats || !p->seats->next || now_ns < p->together_ns) {
		if (s && s->idle_ns && !s->waiting && turn->open)
			p->paused = true;
		p->sits = NULL;
		return UINT64_MAX;
	}
	next = longest_waiting(p);
	if (!next)
		return UINT64_MAX;
	if (s && s->idle_ns && !s->waiting)
		p->paused = true;
	if (s && now_ns < sits_until(s))
		return sits_until(s);
	p->pauses = p->pauses - p->pauses / 8 + (p->paused ? PAUSES / 8 : 0);
	p->paused = false;
	p->sits = next;
	next->sat_ns = now_ns;
	if (p->pauses > PAUSES * 5 / 8) {
		p->together_ns = now_ns + TOGETHER_NS;
		p->pauses = PAUSES / 2;
		p->sits = NULL;
	}
	return now_ns + ASLEEP_NS;
}

static struct arbiter_turn turn_of(const struct seat *s, const struct arbiter_turn *turn)
{
	const struct place *p = s->place;
	struct arbiter_turn t = *turn;

	if (!p->sits)
		return t;
	if (p->sits == s)
		t.listen |= WIRE_ON_IDLE; /* somebody else may use the rest of the turn */
	else
		t = (struct arbiter_turn){ .listen = turn->listen | WIRE_ON_DEMAND };
	return t;
}

/* Writes turns: those that close and what to listen for, or those that open. Value: somebody has to be looked at. */
static bool write_place(struct place *p, bool opening)
{
	const struct arbiter_turn *turn = arbiter_turn(p->engine->arbiter, p->at);
	uint64_t bound_ns = turn->bound_ns / (p->active && !p->sits ? p->active : 1);
	uint64_t planned_ns = p->seats ? p->seats->until_ns : 0;
	bool look = false, changed = false;

	for (struct seat *s = p->seats; s; s = s->next) {
		struct arbiter_turn t = turn_of(s, turn);

		write_beside(s, p->sits ? 1 : p->active);
		look |= write_listen(s, t.listen);
		if (t.open == opening) {
			look |= !opening && (s->gate & WIRE_OPEN);
			changed |= write_turn(s, &t, t.open ? bound_ns : 0);
		}
	}
	if (changed)
		note_turn(p, turn, planned_ns);
	return look;
}

/*
 * A turn ends and nobody has submitted anything in that instant, as both sides see it (turn.h); only then does another
 * one begin. Who has done something meanwhile is taken into account first.
 */
static uint64_t decide(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = arbiter_step(e->arbiter, now_ns), look_ns;

	for (struct place *p = e->places; p; p = p->next) {
		look_ns = choose_seat(p, arbiter_turn(e->arbiter, p->at), now_ns);
		next_ns = look_ns < next_ns ? look_ns : next_ns;
	}

	for (int round = 0; round < ROUNDS; round++) {
		bool again = false;

		for (struct place *p = e->places; p; p = p->next)
			if (write_place(p, false))
				again |= take_demand(p, now_ns);
		if (!again)
			break;
		look_ns = next_ns;
		next_ns = arbiter_step(e->arbiter, now_ns);
		next_ns = look_ns < next_ns ? look_ns : next_ns;
	}
	for (struct place *p = e->places; p; p = p->next)
		write_place(p, true);
	return next_ns;
}

static void account(struct engine *e, uint64_t now_ns)
{
	bool due = now_ns - e->sampled_ns >= SAMPLE_NS;

	for (struct place *p = e->places; p; p = p->next) {
		struct arbiter_reading r;

		if (!p->seats)
			continue;
		r = arbiter_read(e->arbiter, p->at, now_ns);
		write_account(p, &r, now_ns);
		if (!due)
			continue;
		sample(p, now_ns, false);
		for (struct seat *s = p->seats; s; s = s->next)
			sample_seat(s, now_ns);
	}
	if (due)
		e->sampled_ns = now_ns;
}

uint64_t engine_run(struct engine *e, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	if (!e->seats)
		return next_ns;
	if (now_ns < e->hold_ns)
		return e->hold_ns;
	for (struct place *p = e->places; p; p = p->next) {
		for (struct seat *s = p->seats; s; s = s->next)
			take_edges(s, now_ns);
		take_demand(p, now_ns);
	}
	next_ns = decide(e, now_ns);
	account(e, now_ns);
	if (next_ns > e->sampled_ns + SAMPLE_NS)
		next_ns = e->sampled_ns + SAMPLE_NS;
	if (e->deaf && next_ns > now_ns + DEAF_NS)
		next_ns = now_ns + DEAF_NS;
	return next_ns;
}

/* Reading. */

static double rate(const struct place *p, const struct window_sample *now, enum window_total total, uint64_t seconds)
{
	double r;

	return window_rate(p->window, now, total, seconds * 1000000000ull, &r) ? r : -1;
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

double engine_seat_share(const struct seat *s, uint64_t now_ns)
{
	struct window_sample now = { .at_ns = now_ns };
	double r;

	now.total[WINDOW_CHARGED] = atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed);
	return window_rate(s->window, &now, WINDOW_CHARGED, 10000000000ull, &r) && r >= 0 ? r : -1;
}
