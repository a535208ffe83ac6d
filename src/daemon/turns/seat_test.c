/*
 * seat_test.c: what a tenant's account begins with under the next meted: what stands on its clients' pages, or what the
 * meted before has handed over, against which a page, where a client may write what it likes, counts for nothing. And
 * what it ends with: the work of a client that has gone before it noted an edge of it. And how often a tenant's clients
 * are looked at: the less often, the more there are; and how many of them pass its closed gate.
 */
#include "daemon/tenants/tenant.h"
#include "daemon/turns/resume.h"
#include "daemon/turns/state.h"

#include "base/tap.h"

#include <stdlib.h>

#define MS UINT64_C(1000000)
#define NOW (1000000 * MS)

static const struct arbiter_terms half = {
	.gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = 500000, .limit_ppm = 1000000, .weight = 100
};

/* One tenant's share of an engine, with one client's page that was found. */
struct found {
	struct engine *engine;
	struct place *place;
	struct wire_turn *turn;
};

static struct found prepare(uint64_t charged_ns, int64_t arrears_ns)
{
	static const uint8_t uuid[DEVICE_UUID_BYTES];
	struct found f = { .engine = engine_new(uuid, WIRE_COMPUTE), .turn = aligned_alloc(64, sizeof(*f.turn)) };

	memset(f.turn, 0, sizeof(*f.turn));
	f.place = engine_join(f.engine, &half, NOW);
	atomic_store(&f.turn->charged_ns, charged_ns);
	atomic_store(&f.turn->arrears_ns, arrears_ns);
	atomic_store(&f.turn->charged_at_ns, NOW);
	return f;
}

static struct arbiter_reading sit(struct found *f)
{
	struct seat *s = engine_sit(f->place, f->turn, true, NOW);
	struct arbiter_reading r = engine_totals(f->place, NOW);

	engine_rise(s, NOW, false);
	engine_leave(f->place, NOW);
	engine_free(f->engine);
	free(f->turn);
	return r;
}

static void test_pages(void)
{
	struct found f = prepare(700 * MS, 300 * (int64_t)MS);
	struct arbiter_reading r = sit(&f);

	tap_ok(r.charged_ns == 700 * MS && r.arrears_ns == 300 * (int64_t)MS, "what stands on the page goes on");
	f = prepare(0, 300 * (int64_t)MS);
	r = sit(&f);
	tap_ok(r.arrears_ns == 300 * (int64_t)MS, "of one that has never had a turn as well: it is behind by %lld ms",
	       (long long)r.arrears_ns / (long long)MS);
}

/* What the meted before had put off, and the same by the clock; work in flight is charged when it is measured. */
static void test_rights(void)
{
	struct found f = prepare(700 * MS, 300 * (int64_t)MS);
	struct engine_reading shown;
	struct arbiter_rights r;
	struct seat *s;
	uint64_t charged;

	atomic_store(&f.turn->by_clock_ns, -200 * (int64_t)MS);
	atomic_store(&f.turn->tokens_ns, -90 * (int64_t)MS);
	atomic_store(&f.turn->put_off_ns, 80 * MS);
	atomic_store(&f.turn->put_off_free_ns, 70 * MS);
	atomic_store(&f.turn->put_off_from_ns, NOW - 500 * MS);
	atomic_store(&f.turn->busy_since_ns, NOW - 400 * MS);
	atomic_store(&f.turn->flags, WIRE_TURN_UNKNOWN);
	s = engine_sit(f.place, f.turn, true, NOW);
	arbiter_rights(f.engine->arbiter, f.place->at, &r);
	tap_ok(r.arrears_ns == 300 * (int64_t)MS && r.by_clock_ns == -200 * (int64_t)MS &&
		       r.tokens_ns == -90 * (int64_t)MS && r.put_off_ns == 80 * MS && r.put_off_free_ns == 70 * MS &&
		       r.put_off_from_ns == NOW - 500 * MS,
	       "and what was put off, and the account by the clock, and a debt of the limit");
	memset(&f.turn->by_clock_ns, 0, sizeof(f.turn->by_clock_ns));
	engine_run(f.engine, NOW + 200 * MS);
	tap_ok(atomic_load(&f.turn->put_off_ns) == 80 * MS && atomic_load(&f.turn->by_clock_ns) <= -200 * (int64_t)MS,
	       "which are written on the page again");
	charged = engine_totals(f.place, NOW).charged_ns;
	wire_edge_put(f.turn, NOW - 400 * MS, true);
	wire_edge_put(f.turn, NOW + 100 * MS, false);
	seat_take_edges(s, WIRE_EDGES, NOW + 200 * MS);
	arbiter_step(f.engine->arbiter, NOW + 201 * MS);
	charged = engine_totals(f.place, NOW + 201 * MS).charged_ns - charged;
	tap_ok(charged == 300 * MS,
	       "of work that was in flight half of the time before is charged, and all since: %llu ms",
	       (unsigned long long)(charged / MS));
	engine_read(f.place, NOW + 200 * MS, &shown);
	tap_ok(shown.share_1s > 0.499 && shown.share_1s < 0.501 && shown.share_60s < 0.501,
	       "of which the shares of the time since show what was had since: %.3f, %.3f", shown.share_1s,
	       shown.share_60s);
	engine_rise(s, NOW + 202 * MS, false);
	engine_leave(f.place, NOW + 202 * MS);
	engine_free(f.engine);
	free(f.turn);
}

static void test_handed_over(void)
{
	struct tenant *t = calloc(1, sizeof(*t));
	const struct place_totals totals = { .charged_ns = 700 * MS,
					     .rights = { .arrears_ns = -300 * (int64_t)MS,
							 .by_clock_ns = -200 * (int64_t)MS } };
	struct found f = prepare(UINT64_C(1) << 60, INT64_MAX);
	struct arbiter_reading r;

	t->places.at[0][WIRE_COMPUTE] = f.place;
	resume_totals_set(t, 0, WIRE_COMPUTE, &totals);
	r = sit(&f);
	tap_ok(r.charged_ns == 700 * MS && r.arrears_ns == -300 * (int64_t)MS,
	       "what was handed over holds, whatever the page says: behind by %lld ms",
	       (long long)r.arrears_ns / (long long)MS);
	free(t);
}

/* A page of a client that was at work for used_ms of the 400 ms without a meted. */
static void away(struct wire_turn *turn, uint64_t used_ms)
{
	memset(turn, 0, sizeof(*turn));
	atomic_store(&turn->charged_at_ns, NOW - 400 * MS);
	atomic_store(&turn->busy_ns, used_ms * MS);
}

/* Two clients of one tenant come back one after the other: the shares begin where the time without a meted ends. */
static void test_shown(void)
{
	struct found f = prepare(0, 0);
	struct wire_turn *turn = aligned_alloc(64, sizeof(*turn));
	struct engine_reading shown;
	struct seat *s[2];

	away(f.turn, 300);
	away(turn, 400);
	s[0] = engine_sit(f.place, f.turn, true, NOW);
	s[1] = engine_sit(f.place, turn, true, NOW + MS);
	engine_read(f.place, NOW + 2 * MS, &shown);
	tap_ok(shown.total.charged_ns == 700 * MS && shown.share_1s <= 1 && shown.share_60s <= 1,
	       "two clients come back: what they had is charged, the tenant has had %.3f of the time since",
	       shown.share_1s);
	engine_rise(s[0], NOW + 2 * MS, false);
	engine_rise(s[1], NOW + 2 * MS, false);
	engine_leave(f.place, NOW + 2 * MS);
	engine_free(f.engine);
	free(f.turn);
	free(turn);
}

/* Over an upgrade the shares go on. Two tenants that measured all of the time for themselves had it together. */
static void test_shown_together(void)
{
	const struct window_sample before = { .at_ns = NOW - 600 * MS };
	struct found f = prepare(0, 0);
	struct wire_turn *turn = aligned_alloc(64, sizeof(*turn));
	struct place *other = engine_join(f.engine, &half, NOW);
	struct engine_reading shown[2];
	struct seat *s[2];

	away(f.turn, 400);
	away(turn, 400);
	s[0] = engine_sit(f.place, f.turn, true, NOW);
	s[1] = engine_sit(other, turn, true, NOW);
	window_load(f.place->second, &before, 1);
	window_load(other->second, &before, 1);
	place_count_from(f.place, NULL, NOW);
	place_count_from(other, NULL, NOW);
	engine_read(f.place, NOW, &shown[0]);
	engine_read(other, NOW, &shown[1]);
	tap_ok(shown[0].share_1s > 0.33 && shown[0].share_1s < 0.34 && shown[1].share_1s > 0.33 &&
		       shown[1].share_1s < 0.34,
	       "two tenants that were at work all the while had 400 of 600 ms together: %.3f and %.3f",
	       shown[0].share_1s, shown[1].share_1s);
	engine_rise(s[0], NOW, false);
	engine_rise(s[1], NOW, false);
	engine_leave(f.place, NOW);
	engine_leave(other, NOW);
	engine_free(f.engine);
	free(f.turn);
	free(turn);
}

/*
 * A client has had work in flight from NOW on, and goes `ms` later; another tenant's edge is known, of work that lasts
 * as long. Value: what each is charged, in ms.
 */
struct charges {
	uint64_t gone, other;
};

static struct charges go_after(uint64_t ms, uint64_t predicted_ms, bool noted, bool becomes)
{
	struct found f = prepare(0, 0);
	struct arbiter *a = f.engine->arbiter;
	int other = arbiter_join(a, &half, NOW);
	struct seat *s = engine_sit(f.place, f.turn, false, NOW);
	struct charges c;

	atomic_store(&f.turn->busy_since_ns, NOW);
	atomic_store(&f.turn->done_by_ns, NOW + predicted_ms * MS);
	atomic_store(&f.turn->flags, predicted_ms ? 0 : WIRE_TURN_UNKNOWN);
	if (noted)
		wire_edge_put(f.turn, NOW, true);
	arbiter_begins(a, other, NOW);
	if (becomes)
		engine_renew(s, NOW + ms * MS);
	else
		engine_rise(s, NOW + ms * MS, false);
	arbiter_ends(a, other, NOW + ms * MS);
	arbiter_step(a, NOW + ms * MS);
	c.gone = engine_totals(f.place, NOW + ms * MS).charged_ns / MS;
	c.other = arbiter_read(a, other, NOW + ms * MS).charged_ns / MS;
	if (becomes)
		engine_rise(s, NOW + ms * MS, false);
	engine_leave(f.place, NOW + ms * MS);
	engine_free(f.engine);
	free(f.turn);
	return c;
}

static void test_gone(void)
{
	static const struct {
		const char *what;
		uint64_t ms, predicted_ms;
		bool noted, becomes;
		uint64_t gone, other;
	} cases[] = {
		{ "a client that goes with work of unknown length of which it noted nothing", 1000, 0, false, false,
		  500, 500 },
		{ "the same of work that has a length", 20, 18, false, false, 10, 10 },
		{ "one that has noted when it began", 1000, 0, true, false, 500, 500 },
		{ "one that becomes another program", 1000, 0, false, true, 500, 500 },
		{ "one that was stopped long before is charged as far as it foretold", 1000, 10, false, false, 5, 995 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct charges c = go_after(cases[i].ms, cases[i].predicted_ms, cases[i].noted, cases[i].becomes);

		tap_ok(c.gone == cases[i].gone && c.other == cases[i].other,
		       "%s: it is charged %llu ms, another one %llu", cases[i].what, (unsigned long long)c.gone,
		       (unsigned long long)c.other);
	}
}

/*
 * Clients of one tenant, or each of a new one, that are killed after 2 s, each, of which they foretold 10 ms. Value:
 * what is charged, in s.
 */
static uint64_t stopped_s(unsigned int clients, bool of_new)
{
	struct found f = prepare(0, 0);
	uint64_t at = NOW, charged = 0;

	for (unsigned int i = 0; i < clients; i++) {
		struct place *p = of_new ? engine_join(f.engine, &half, at) : f.place;
		struct seat *s = engine_sit(p, f.turn, false, at);

		atomic_store(&f.turn->busy_since_ns, at);
		atomic_store(&f.turn->done_by_ns, at + 10 * MS);
		at += 2000 * MS;
		engine_rise(s, at, false);
		if (!of_new)
			continue;
		arbiter_step(f.engine->arbiter, at);
		charged += engine_totals(p, at).charged_ns;
		engine_leave(p, at);
	}
	arbiter_step(f.engine->arbiter, at);
	charged = (charged + engine_totals(f.place, at).charged_ns) / (1000 * MS);
	engine_leave(f.place, at);
	engine_free(f.engine);
	free(f.turn);
	return charged;
}

static void test_stopped(void)
{
	uint64_t few = stopped_s(5, false), many = stopped_s(200, false), new = stopped_s(200, true);

	tap_ok(few <= 1, "a few clients that were stopped are believed what they foretold: %llu s of 10 are charged",
	       (unsigned long long)few);
	tap_ok(many >= 400 - 10 - 4, "many are not: %llu s of 400", (unsigned long long)many);
	tap_ok(new >= 400 - 10 - 4, "nor where each is of a tenant of its own: %llu s of 400", (unsigned long long)new);
}

/*
 * A client whose clock is ahead by so many seconds works for a second, 9 of 10 ms, while its gate is open. Value: what
 * it is charged, in ms.
 */
static uint64_t charged_ahead(int64_t seconds)
{
	struct found f = prepare(0, 0);
	struct seat *s = engine_sit(f.place, f.turn, false, NOW);
	uint64_t ahead_ns = (uint64_t)(seconds * 1000 * (int64_t)MS), at = NOW, charged;

	engine_run(f.engine, at);
	for (int i = 0; i < 100; i++) {
		wire_edge_put(f.turn, at + ahead_ns, true);
		at += 9 * MS;
		wire_edge_put(f.turn, at + ahead_ns, false);
		at += 1 * MS;
		seat_take_edges(s, WIRE_EDGES, at);
	}
	engine_rise(s, at, false);
	arbiter_step(f.engine->arbiter, at);
	charged = engine_totals(f.place, at).charged_ns / MS;
	engine_leave(f.place, at);
	engine_free(f.engine);
	free(f.turn);
	return charged;
}

static void test_clocks(void)
{
	static const int64_t ahead[] = { 0, 500, -500 };

	for (unsigned int i = 0; i < sizeof(ahead) / sizeof(*ahead); i++) {
		uint64_t ms = charged_ahead(ahead[i]);

		tap_ok(ms >= 899 && (ahead[i] || ms <= 901),
		       "a client whose clock is %d s ahead is charged for 900 ms: %llu ms", (int)ahead[i],
		       (unsigned long long)ms);
	}
}

/* For how long nobody looks at a tenant with so many clients after a look, in us. */
static uint64_t quiet_us(unsigned int clients)
{
	struct found f = prepare(0, 0);
	struct seat **seat = calloc(clients, sizeof(*seat));
	uint64_t us = 0;

	for (unsigned int i = 0; i < clients; i++)
		seat[i] = engine_sit(f.place, f.turn, false, NOW);
	place_due(f.place, NOW);
	while (us < 100000 && !place_due(f.place, NOW + us * 1000))
		us++;
	for (unsigned int i = 0; i < clients; i++)
		engine_rise(seat[i], NOW, false);
	engine_leave(f.place, NOW);
	engine_free(f.engine);
	free(f.turn);
	free(seat);
	return us;
}

static void test_crowd(void)
{
	static const struct {
		unsigned int clients;
		uint64_t us;
	} cases[] = { { 1, 0 }, { 32, 0 }, { 33, 10 }, { 132, 1000 }, { 500, 4680 } };

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t us = quiet_us(cases[i].clients);

		tap_ok(us == cases[i].us, "%u clients of a tenant are looked at every %llu us at most",
		       cases[i].clients, (unsigned long long)us);
	}
}

#define ASKERS 3u

/* Clients of which each holds a launch back, and has another one that asks to pass the closed gate. */
struct askers {
	struct found f;
	struct wire_turn *turn[ASKERS];
	struct seat *seat[ASKERS];
};

static struct askers ask_all(void)
{
	struct askers a = { .f = prepare(0, 0) };

	for (unsigned int i = 0; i < ASKERS; i++) {
		a.turn[i] = aligned_alloc(64, sizeof(*a.turn[i]));
		memset(a.turn[i], 0, sizeof(*a.turn[i]));
		a.seat[i] = engine_sit(a.f.place, a.turn[i], false, NOW);
		atomic_store(&a.turn[i]->busy_since_ns, NOW);
		atomic_store(&a.turn[i]->waiting, 1);
		atomic_store(&a.turn[i]->waiting_since_ns, NOW - (ASKERS - i) * MS);
		atomic_store(&a.turn[i]->asks, 1);
	}
	return a;
}

/* Value: how many have been let pass by then. */
static unsigned int let_by(struct askers *a, uint64_t ms)
{
	unsigned int n = 0;

	place_take_demand(a->f.place, NOW + ms * MS);
	place_let_pass(a->f.place, NOW + ms * MS);
	for (unsigned int i = 0; i < ASKERS; i++)
		n += a->turn[i] && atomic_load(&a->turn[i]->passes) == (WIRE_PASSES | 1);
	return n;
}

static void end_asker(struct askers *a, unsigned int i, uint64_t ms)
{
	engine_rise(a->seat[i], NOW + ms * MS, false);
	free(a->turn[i]);
	a->turn[i] = NULL;
}

static void end_all(struct askers *a)
{
	for (unsigned int i = 0; i < ASKERS; i++)
		if (a->turn[i])
			end_asker(a, i, 2000);
	engine_leave(a->f.place, NOW + 2000 * MS);
	engine_free(a->f.engine);
	free(a->f.turn);
}

/* A program that keeps a launch waiting does not go on at its guarantee while it is frozen. */
static void test_passes_frozen(void)
{
	struct askers a = ask_all();
	struct arbiter_terms frozen = half;

	frozen.frozen = true;
	engine_change(a.f.place, &frozen, NOW);
	let_by(&a, 0);
	atomic_store(&a.turn[0]->passed_ns, 10 * MS);
	tap_ok(let_by(&a, 990) == 1 && let_by(&a, 1010) == 2,
	       "those of a frozen tenant pass at a hundredth of the time");
	end_all(&a);
}

static void test_passes(void)
{
	struct askers a = ask_all();
	bool first = let_by(&a, 0) == 1 && let_by(&a, 150) == 1;

	tap_ok(first, "of clients that ask to pass the tenant's closed gate one does");
	atomic_store(&a.turn[0]->passed_ns, 100 * MS);
	tap_ok(let_by(&a, 190) == 1 && let_by(&a, 201) == 2,
	       "and the next one when half of the time has made up for the 100 ms that it took");
	tap_ok(let_by(&a, 390) == 2 && let_by(&a, 410) == 3,
	       "or, where it is not known yet what that takes, after twice as long as one waits");
	end_all(&a);
	a = ask_all();
	let_by(&a, 0);
	end_asker(&a, 0, 500);
	tap_ok(let_by(&a, 990) == 0 && let_by(&a, 1010) == 1,
	       "one that is killed after 500 ms has taken them, for all that is known");
	end_all(&a);
	a = ask_all();
	let_by(&a, 0);
	engine_renew(a.seat[0], NOW + MS);
	tap_ok(atomic_load(&a.turn[0]->passes) == WIRE_PASSES,
	       "what it was let do is not for the program that follows");
	end_all(&a);
}

int main(void)
{
	tap_begin();
	test_passes();
	test_passes_frozen();
	test_crowd();
	test_gone();
	test_stopped();
	test_clocks();
	test_pages();
	test_rights();
	test_handed_over();
	test_shown();
	test_shown_together();
	return tap_end();
}
