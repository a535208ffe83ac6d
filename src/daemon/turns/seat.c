/*
 * seat.c: a client's turn of an engine, on its page: what it says there, and what is written there for it.
 */
#include "daemon/turns/state.h"

#include "daemon/turns/log.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEAT_SAMPLE_NS 1000000000ull
#define SEAT_SAMPLES 12
#define HOLD_NS 50000000ull   /* of a turn that an earlier meted opened, at most */
#define AWAY_NS 1000000000ull /* of the time without meted so much is charged at most for one launch */
#define FAR_NS 60000000000ull /* no prediction reaches further */
#define EXCUSED_MOST_NS 10000000000ull
#define EXCUSED_PART 128u    /* of the time passes until as much may be excused again */
#define ODD_NS 1000000000ull /* by so much an honest client's time is never wrong */
#define ODD_MOST 4u	     /* nor so often */
#define LONGER_NS 500000ull  /* a turn's end that moves by less can be found later */

static void wake(struct wire_turn *turn)
{
	syscall(SYS_futex, &turn->gate, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void seat_write_shares(const struct place *p, struct seat *s)
{
	atomic_store_explicit(&s->turn->guarantee_ppm, p->terms.guarantee_ppm, memory_order_relaxed);
	atomic_store_explicit(&s->turn->limit_ppm, p->terms.limit_ppm, memory_order_relaxed);
	atomic_store_explicit(&s->turn->weight, p->terms.weight, memory_order_relaxed);
	atomic_store_explicit(&s->turn->class_1, 1 + (uint32_t)p->terms.class, memory_order_relaxed);
}

void seat_sample(struct seat *s, uint64_t now_ns)
{
	struct window_sample now = { .at_ns = now_ns };

	now.total[WINDOW_CHARGED] = atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed);
	window_add(s->window, &now, false);
}

/* Who comes and goes. */

/*
 * What a client that was found has used since its account was written: what it has measured itself, or, of a launch
 * that has run all the while, the time. It was without a meted then and kept to its guarantee: that goes to the account
 * and is no debt.
 */
static uint64_t used_since(const struct seat *s, uint64_t most)
{
	uint64_t busy = atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed);
	uint64_t before = atomic_load_explicit(&s->turn->charged_busy_ns, memory_order_relaxed);

	if (busy > before)
		return busy - before < most ? busy - before : most;
	return !s->begun ? 0 : most < AWAY_NS ? most : AWAY_NS;
}

static struct arbiter_rights rights_on_page(const struct wire_turn *t)
{
	return (struct arbiter_rights){
		.arrears_ns = atomic_load_explicit(&t->arrears_ns, memory_order_relaxed),
		.by_clock_ns = atomic_load_explicit(&t->by_clock_ns, memory_order_relaxed),
		.tokens_ns = atomic_load_explicit(&t->tokens_ns, memory_order_relaxed),
		.put_off_ns = atomic_load_explicit(&t->put_off_ns, memory_order_relaxed),
		.put_off_free_ns = atomic_load_explicit(&t->put_off_free_ns, memory_order_relaxed),
		.put_off_from_ns = atomic_load_explicit(&t->put_off_from_ns, memory_order_relaxed),
	};
}

/*
 * What was written down for the tenant, by a predecessor (`found`) or before it was native for a while; the latest of
 * its clients' pages has it. A client may write what it likes there: what a predecessor has handed over goes before it.
 */
static void resume(struct place *p, struct seat *s, bool found, uint64_t now_ns)
{
	uint64_t before = engine_totals(p, now_ns).charged_ns;
	uint64_t charged = atomic_load_explicit(&s->turn->charged_ns, memory_order_relaxed);
	uint64_t until = atomic_load_explicit(&s->turn->until_ns, memory_order_relaxed);
	uint64_t at_ns = atomic_load_explicit(&s->turn->charged_at_ns, memory_order_relaxed);
	uint64_t absent = at_ns && at_ns < now_ns ? now_ns - at_ns : 0;

	if (found) {
		p->away_ns += used_since(s, absent);
		p->absent_ns = max_u64(p->absent_ns, absent);
		p->found_ns = now_ns;
	}
	if (!p->handed_over && charged >= p->resumed_ns) {
		p->resumed_ns = charged;
		p->resumed_lag_ns = found ? atomic_load_explicit(&s->turn->lag_ns, memory_order_relaxed) : 0;
		if (found)
			p->resumed = rights_on_page(s->turn);
	}
	charged = p->resumed_ns + p->away_ns;
	if (found ? charged >= before : charged > before) {
		arbiter_resume(p->engine->arbiter, p->at, charged, p->resumed_lag_ns);
		if (found)
			arbiter_resume_rights(p->engine->arbiter, p->at, &p->resumed, now_ns);
		if (found)
			place_count_known(p, now_ns);
		else
			place_count_skip(p, before, now_ns);
		/* Had before: windows that have begun with other seats begin with it. */
		place_learn(p, found ? now_ns - absent : 0, found ? now_ns : 0,
			    (int64_t)(engine_totals(p, now_ns).charged_ns - before));
	}
	if (!found || !(s->gate & WIRE_OPEN) || until <= now_ns)
		return;
	until = until < now_ns + HOLD_NS ? until : now_ns + HOLD_NS;
	if (until > p->engine->hold_ns)
		p->engine->hold_ns = until;
}

/* A client notes its end before it says that nothing of it is in flight. */
static bool in_flight(const struct seat *s)
{
	return atomic_load(&s->turn->busy_since_ns);
}

/* The edges that a client has noted meanwhile are a part of what it has used; it may be busy now. */
static void resume_edges(struct seat *s)
{
	uint32_t head = atomic_load_explicit(&s->turn->edge_head, memory_order_relaxed);

	atomic_store_explicit(&s->turn->edge_tail, head, memory_order_release);
	s->begun = head && atomic_load_explicit(&s->turn->edge[(head - 1) % WIRE_EDGES], memory_order_relaxed) & 1 &&
		   in_flight(s);
}

struct seat *engine_sit(struct place *p, struct wire_turn *turn, bool found, uint64_t now_ns)
{
	struct seat *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->window = window_new(SEAT_SAMPLES, SEAT_SAMPLE_NS - SAMPLE_SLACK_NS);
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
	s->edge_ns = now_ns;
	s->passed_ns = atomic_load_explicit(&turn->passed_ns, memory_order_relaxed);
	if (found)
		resume_edges(s);
	/* What an earlier meted has answered stays so, unless it knew nothing of this. */
	if (!found || !(atomic_load(&turn->passes) & WIRE_PASSES))
		atomic_store(&turn->passes, WIRE_PASSES | atomic_load(&turn->asks));
	s->found = found;
	resume(p, s, found, now_ns);
	if (s->begun)
		arbiter_begins(p->engine->arbiter, p->at, now_ns);
	place_sample(p, now_ns, true);
	seat_sample(s, now_ns);
	seat_write_shares(p, s);
	s->next = p->seats;
	p->seats = s;
	p->engine->seats++;
	p->crowd++;
	p->look_ns = 0;
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

/*
 * Clients that are stopped and then killed are believed what they foretold, but not again and again: one could bring a
 * kernel that takes far longer than the ones before it, and end, or be killed, when that has ended. Those of all
 * tenants together: a tenant can be a new one for each such kernel.
 */
static uint64_t excuse(struct engine *e, uint64_t ns, uint64_t now_ns)
{
	uint64_t over_ns = (now_ns - e->excused_at_ns) / EXCUSED_PART;

	e->excused_ns -= e->excused_ns < over_ns ? e->excused_ns : over_ns;
	e->excused_at_ns = now_ns;
	if (ns > EXCUSED_MOST_NS - e->excused_ns)
		ns = EXCUSED_MOST_NS - e->excused_ns;
	e->excused_ns += ns;
	return ns;
}

/*
 * Work of which no edge was noted: a program may end with its last kernel, before it has measured that, or be killed.
 * It was in flight until now; of a program that was stopped long before, until its predicted end.
 */
static void end_unnoted(struct seat *s, uint64_t now_ns)
{
	uint64_t from = atomic_load(&s->turn->busy_since_ns), end = now_ns;
	uint64_t done = atomic_load_explicit(&s->turn->done_by_ns, memory_order_relaxed);
	bool unknown = atomic_load_explicit(&s->turn->flags, memory_order_relaxed) & WIRE_TURN_UNKNOWN;

	if (s->begun || !from)
		return;
	from = max_u64(from, s->edge_ns);
	from = max_u64(from, now_ns > FAR_NS ? now_ns - FAR_NS : 0);
	if (from < end && !unknown && end > WIRE_STUCK_NS && end - WIRE_STUCK_NS > done)
		end -= excuse(s->place->engine, end - max_u64(done, from), now_ns);
	if (from >= end)
		return;
	arbiter_begins(s->place->engine->arbiter, s->place->at, from);
	turn_log_edge(s->turn, from, true);
	s->begun = true;
	end_edges(s, end);
}

/* It has nothing in flight any more. */
static void end_work(struct seat *s, uint64_t now_ns)
{
	end_unnoted(s, now_ns);
	end_edges(s, now_ns);
}

void engine_renew(struct seat *s, uint64_t now_ns)
{
	struct wire_turn *t = s->turn;

	seat_take_edges(s, WIRE_EDGES, now_ns);
	end_work(s, now_ns);
	atomic_store(&t->busy_since_ns, 0);
	atomic_store(&t->done_by_ns, 0);
	atomic_store(&t->waiting, 0);
	atomic_store(&t->flags, 0);
	atomic_store(&t->asks, 0);
	atomic_store(&t->passes, WIRE_PASSES);
	place_note_passed(s->place, seat_take_passed(s, true, now_ns));
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

void engine_rise(struct seat *s, uint64_t now_ns, bool lives)
{
	struct place *p = s->place;
	struct seat **at = &p->seats;

	/* Its last kernel, perhaps, of which nothing has been taken yet. */
	seat_take_edges(s, WIRE_EDGES, now_ns);
	end_work(s, now_ns);
	place_note_passed(p, seat_take_passed(s, true, now_ns));
	if (p->seats == s && !s->next && s->gate & WIRE_OPEN)
		turn_log_turn(s->turn, &(struct arbiter_turn){ .open = false }, 0, false, false, 0);
	engine_deaf(s, false);
	p->longest_ns = max_u64(p->longest_ns, atomic_load_explicit(&s->turn->longest_ns, memory_order_relaxed));
	p->bypassed += atomic_load_explicit(&s->turn->bypassed, memory_order_relaxed);
	if (lives)
		engine_pass(s->turn);
	place_sample(p, now_ns, true);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (p->sits == s)
		p->sits = NULL;
	if (p->hears == s)
		p->hears = s->next;
	p->engine->seats--;
	p->crowd--;
	p->look_ns = 0;
	window_free(s->window);
	free(s);
}

/* What clients say. */

/* Times that lie in the future, or before those that came earlier. */
static void note_odd(struct seat *s, uint64_t at_ns, uint64_t now_ns)
{
	if (at_ns <= now_ns + ODD_NS && at_ns + ODD_NS >= s->edge_ns) {
		s->odd = 0;
		return;
	}
	if (!s->odd++)
		s->odd_from_ns = s->edge_ns;
	s->skewed |= s->odd >= ODD_MOST;
}

/*
 * A client with another clock (a program in a time namespace) can tell nobody when it was busy: it is charged for all
 * the time in which it may submit work, or has some in flight, and since the last look if it was busy meanwhile.
 */
static unsigned int take_skewed(struct seat *s, unsigned int most, uint64_t now_ns)
{
	bool busy = in_flight(s) || s->gate & WIRE_OPEN, begins;
	unsigned int i = 0;
	uint64_t at_ns;

	while (i < most && wire_edge_get(s->turn, &at_ns, &begins))
		i++;
	at_ns = s->odd_from_ns ? s->odd_from_ns : i ? s->edge_ns : now_ns;
	if ((busy || at_ns < now_ns) && !s->begun) {
		arbiter_begins(s->place->engine->arbiter, s->place->at, at_ns);
		turn_log_edge(s->turn, at_ns, true);
		s->begun = true;
	}
	s->odd_from_ns = 0;
	s->edge_ns = now_ns;
	if (!busy)
		end_edges(s, now_ns);
	return i;
}

unsigned int seat_take_edges(struct seat *s, unsigned int most, uint64_t now_ns)
{
	struct arbiter *a = s->place->engine->arbiter;
	unsigned int i = 0;
	uint64_t at_ns;
	bool begins;

	if (s->skewed)
		return take_skewed(s, most < WIRE_EDGES ? most : WIRE_EDGES, now_ns);
	/* Before its edges are read: what is then in flight may have begun with one of them. */
	bool idle = !in_flight(s);

	/* No more than the ring holds: whoever writes faster than that is not waited for. */
	for (most = most < WIRE_EDGES ? most : WIRE_EDGES; i < most && wire_edge_get(s->turn, &at_ns, &begins); i++) {
		if (begins == s->begun)
			continue;
		/* In flight since before this meted, and measured now. */
		if (s->found && begins && at_ns < s->edge_ns)
			place_learn(s->place, at_ns, s->edge_ns, (int64_t)arbiter_began(a, s->place->at, at_ns));
		s->found = false;
		note_odd(s, at_ns, now_ns);
		at_ns = at_ns > now_ns ? now_ns : at_ns < s->edge_ns ? s->edge_ns : at_ns;
		s->edge_ns = at_ns;
		s->begun = begins;
		turn_log_edge(s->turn, at_ns, begins);
		if (begins)
			arbiter_begins(a, s->place->at, at_ns);
		else
			arbiter_ends(a, s->place->at, at_ns);
	}
	/* The ring was full, and the end did not find a place there. */
	if ((i < most || most == WIRE_EDGES) && s->begun && idle && !in_flight(s))
		end_edges(s, now_ns);
	return i;
}

void seat_add_demand(struct seat *s, uint64_t now_ns, struct arbiter_demand *d)
{
	struct wire_turn *t = s->turn;
	uint64_t began = atomic_load(&t->busy_since_ns);
	bool waiting = atomic_load(&t->waiting), busy = began;
	uint64_t since = atomic_load_explicit(&t->waiting_since_ns, memory_order_relaxed);
	uint64_t needs = atomic_load_explicit(&t->needs_ns, memory_order_relaxed);
	uint64_t done = atomic_load_explicit(&t->done_by_ns, memory_order_relaxed);

	if (busy)
		s->idle_ns = 0;
	else if (!s->idle_ns)
		s->idle_ns = now_ns;
	s->waiting = waiting;
	s->active = waiting || busy;
	s->asks = waiting && (atomic_load(&t->asks) & ~WIRE_PASSES) != (atomic_load(&t->passes) & ~WIRE_PASSES);
	if (waiting) {
		since = since && since < now_ns ? since : now_ns;
		s->since_ns = since;
		d->since_ns = d->waiting && d->since_ns < since ? d->since_ns : since;
		d->needs_ns = max_u64(d->needs_ns, needs < FAR_NS ? needs : FAR_NS);
		d->waiting = true;
	}
	if (busy) {
		d->began_ns = d->busy && d->began_ns < began ? d->began_ns : began;
		d->done_by_ns = max_u64(d->done_by_ns, done < now_ns + FAR_NS ? done : now_ns + FAR_NS);
		d->unknown |= atomic_load_explicit(&t->flags, memory_order_relaxed) & WIRE_TURN_UNKNOWN;
		d->busy = true;
	}
}

/* What the arbiter says. */

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
bool seat_write_turn(struct seat *s, const struct arbiter_turn *turn, uint64_t bound_ns)
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

void seat_write_beside(struct seat *s, uint32_t beside)
{
	if (s->beside == beside)
		return;
	s->beside = beside;
	atomic_store_explicit(&s->turn->beside, beside, memory_order_relaxed);
}

void seat_let_pass(struct seat *s, uint64_t now_ns)
{
	s->asks = false;
	s->let_ns = now_ns;
	atomic_store(&s->turn->passes, WIRE_PASSES | atomic_load(&s->turn->asks));
	wake(s->turn);
}

/* Of one that has not been measured when its process goes: the time since it was let pass. */
uint64_t seat_take_passed(struct seat *s, bool gone, uint64_t now_ns)
{
	uint64_t passed = atomic_load_explicit(&s->turn->passed_ns, memory_order_relaxed), took = 0;

	if (passed > s->passed_ns)
		took = passed - s->passed_ns < FAR_NS ? passed - s->passed_ns : FAR_NS;
	else if (gone && s->let_ns)
		took = now_ns - s->let_ns;
	if (passed != s->passed_ns || gone || !in_flight(s))
		s->let_ns = 0;
	s->passed_ns = passed;
	return took;
}

bool seat_write_listen(struct seat *s, uint32_t listen)
{
	bool more = listen & ~s->listen;

	if (s->listen == listen)
		return false;
	more |= s->listen == ~0u;
	s->listen = listen;
	atomic_store(&s->turn->listen, listen);
	return more;
}

/* Reading. */

double engine_seat_share(const struct seat *s, uint64_t now_ns)
{
	struct window_sample now = { .at_ns = now_ns };
	double r;

	now.total[WINDOW_CHARGED] = atomic_load_explicit(&s->turn->busy_ns, memory_order_relaxed);
	return window_rate(s->window, &now, WINDOW_CHARGED, 10000000000ull, &r) && r >= 0 ? r : -1;
}
