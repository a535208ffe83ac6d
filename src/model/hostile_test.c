/*
 * hostile_test.c: an arbiter beside pages on which anything may stand. Whoever is honest has the turns of its
 * guarantee, or some without one, and what only grows does not fall. In virtual time, by the turns that were given.
 */
#include "model/arbiter_state.h"

#include "base/tap.h"

#include <stdlib.h>

#define SECOND (1000 * MS)
#define HOSTILE 6
#define SECONDS 90

static uint64_t state;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % n;
}

/* Near now, or far from it in either direction, or nothing at all. */
static uint64_t any_time(uint64_t now)
{
	switch (random_below(6)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX >> random_below(16);
	case 2:
		return now + random_below(10 * SECOND);
	default:
		return now - random_below(now < 4 * SECOND ? now : 4 * SECOND);
	}
}

/* What the daemon lets through of a page: times of waiting and edges are not ahead, predictions no more than a minute.
 */
static void write_page(struct arbiter *a, int i, uint64_t now)
{
	struct arbiter_demand d = { .waiting = random_below(4), .busy = random_below(3), .unknown = random_below(2) };
	uint64_t at = any_time(now);

	d.since_ns = any_time(now);
	d.since_ns = d.since_ns && d.since_ns < now ? d.since_ns : now;
	d.needs_ns = random_below(3) ? random_below(20 * MS) : random_below(60 * SECOND);
	d.began_ns = any_time(now);
	d.done_by_ns = any_time(now);
	d.done_by_ns = d.done_by_ns < now + 60 * SECOND ? d.done_by_ns : now + 60 * SECOND;
	at = at < now ? at : now;
	if (random_below(2))
		(random_below(2) ? arbiter_begins : arbiter_ends)(a, i, at);
	arbiter_demands(a, i, &d, now);
}

/* It always has work, of 1 ms each, in its turns. */
static void work(struct arbiter *a, int i, uint64_t now)
{
	bool open = arbiter_turn(a, i)->open;
	struct arbiter_demand d = a->tenant[i].demand;

	if (open != d.busy)
		(open ? arbiter_begins : arbiter_ends)(a, i, now);
	d = (struct arbiter_demand){ .waiting = true, .since_ns = now, .needs_ns = MS, .busy = open, .began_ns = now };
	d.done_by_ns = open ? now + MS : 0;
	arbiter_demands(a, i, &d, now);
}

struct seen {
	uint64_t open, closed_ns, longest_ns;
	struct arbiter_reading last;
	bool fell;
};

static void see(const struct arbiter *a, int i, struct seen *s, uint64_t now)
{
	struct arbiter_reading r = arbiter_read(a, i, now);

	s->fell |= r.wanted_ns < s->last.wanted_ns || r.waited_ns < s->last.waited_ns || r.turns < s->last.turns;
	s->last = r;
	if (arbiter_turn(a, i)->open) {
		s->open++;
		s->closed_ns = now;
	}
	s->longest_ns = now - s->closed_ns > s->longest_ns ? now - s->closed_ns : s->longest_ns;
}

static struct arbiter_terms any_terms(unsigned int guarantee_pct)
{
	return (struct arbiter_terms){ .gated = true,
				       .class = ARBITER_NORMAL,
				       .guarantee_ppm = guarantee_pct * 10000,
				       .limit_ppm = ARBITER_WHOLE,
				       .weight = 100 };
}

struct world {
	struct arbiter *a;
	int honest[2], hostile[HOSTILE];
	unsigned int pct[HOSTILE];
	uint64_t each_ns; /* a page changes as often */
	bool come_and_go;
};

static void be_hostile(struct world *w, uint64_t now)
{
	for (unsigned int k = 0; k < HOSTILE; k++) {
		struct arbiter_terms terms = any_terms(w->pct[k]);

		if (w->come_and_go && !random_below(200)) {
			arbiter_leave(w->a, w->hostile[k], now);
			w->hostile[k] = arbiter_join(w->a, &terms, now);
		}
		if (!random_below(1 + w->each_ns / MS))
			write_page(w->a, w->hostile[k], now);
	}
}

/* What the honest two had of the turns, how long one of them waited at most, and whether a counter fell. */
struct result {
	double half, other;
	uint64_t longest_ns;
	bool fell;
};

/* Half is guaranteed to one that is honest, nothing to another; up to 36 % to those that are not, together. */
static struct result run_world(uint64_t seed, double seconds)
{
	struct arbiter_terms half = any_terms(50), rest = any_terms(0);
	uint64_t now = 100 * SECOND, end = now + (uint64_t)(seconds * 1e9);
	struct seen seen[2] = { { .closed_ns = now }, { .closed_ns = now } };
	struct world w = { .a = arbiter_new(NULL) };

	state = seed * 0x9e3779b97f4a7c15u + 1;
	for (int i = 0; i < 20; i++)
		random_below(2);
	w.honest[0] = arbiter_join(w.a, &half, now);
	w.honest[1] = arbiter_join(w.a, &rest, now);
	w.each_ns = (random_below(3) ? 1 + random_below(20) : 100 + random_below(4000)) * MS;
	w.come_and_go = random_below(2);
	for (unsigned int k = 0; k < HOSTILE; k++) {
		struct arbiter_terms terms;

		w.pct[k] = random_below(2) ? 0 : (unsigned int)(random_below(7));
		terms = any_terms(w.pct[k]);
		w.hostile[k] = arbiter_join(w.a, &terms, now);
	}
	for (; now < end; now += MS) {
		be_hostile(&w, now);
		for (int h = 0; h < 2; h++)
			work(w.a, w.honest[h], now);
		arbiter_step(w.a, now);
		for (int h = 0; h < 2; h++)
			see(w.a, w.honest[h], &seen[h], now);
	}
	arbiter_free(w.a);
	return (struct result){ .half = (double)seen[0].open * 1e6 / (seconds * 1e9),
				.other = (double)seen[1].open * 1e6 / (seconds * 1e9),
				.longest_ns = seen[1].longest_ns,
				.fell = seen[0].fell || seen[1].fell };
}

/* hostile_test N: the first N worlds. */
int main(int argc, char **argv)
{
	static const uint64_t worst[] = { 9, 13, 17 }; /* of the first 24 */
	unsigned int worlds = argc > 1 ? (unsigned int)atoi(argv[1]) : sizeof(worst) / sizeof(*worst);
	struct result least = { .half = 1, .other = 1 };

	tap_begin();
	for (unsigned int i = 0; i < worlds; i++) {
		struct result r = run_world(argc > 1 ? i + 1 : worst[i], SECONDS);

		least.half = r.half < least.half ? r.half : least.half;
		least.other = r.other < least.other ? r.other : least.other;
		least.longest_ns = r.longest_ns > least.longest_ns ? r.longest_ns : least.longest_ns;
		least.fell |= r.fell;
	}
	tap_ok(least.half >= 0.5, "beside any pages one with 50 %% has the turn for %.3f of the time at least",
	       least.half);
	tap_ok(least.other > 0 && least.longest_ns < 60 * SECOND,
	       "one without a guarantee for %.4f at least, and it waits for %llu ms at most", least.other,
	       (unsigned long long)(least.longest_ns / MS));
	tap_ok(!least.fell, "no counter falls");
	return tap_end();
}
