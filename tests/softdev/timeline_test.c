/*
 * timeline_test.c: how contexts share a device's time, in virtual time: against closed forms, and against the identity
 * served + switch + idle = wall under random coming, going, dying and stalling.
 */
#include "base/tap.h"
#include "softdev/overlap.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define START (77 * MS)

static struct timeline t, copy;
static uint64_t seed = 88172645463325252u;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static void begin(enum timeline_sharing sharing, uint64_t slice, uint64_t cost)
{
	timeline_init(&t, sharing, slice, cost);
	timeline_advance(&t, START);
}

/* A context with work for ever. */
static uint32_t flood(void)
{
	uint32_t i = timeline_add(&t, 1);

	timeline_set(&t, i, TIMELINE_NEVER, false, TIMELINE_WHOLE);
	return i;
}

static uint64_t served(uint32_t i)
{
	return t.context[i].served_ns;
}

static bool adds_up(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t.count; i++)
		sum += t.context[i].served_ns;
	return sum <= t.served_ns && t.served_ns + t.switch_ns + timeline_idle_ns(&t) == t.now_ns - t.began_ns &&
	       timeline_idle_ns(&t) <= t.now_ns - t.began_ns;
}

static bool near(double a, double b, double within)
{
	return a - b < within && b - a < within;
}

/* ---- slices ---- */

/* n contexts that always have work: each gets q / (n (q + c)) of the time. */
static void equals(uint32_t n, uint64_t q, uint64_t c)
{
	const uint64_t wall = 2000 * MS;
	const double share = (double)q / (double)(n * (q + c));
	bool good = true;

	begin(TIMELINE_SLICES, q, c);
	for (uint32_t i = 0; i < n; i++)
		flood();
	timeline_advance(&t, START + wall);
	for (uint32_t i = 0; i < n; i++)
		good &= near((double)served(i) / (double)wall, share, 0.02 * share + 2.0 * (double)q / (double)wall);
	tap_ok(good, "%u contexts, slice %llu us, switch %llu us: %.4f each", n, (unsigned long long)(q / US),
	       (unsigned long long)(c / US), share);
	tap_ok(near((double)t.served_ns / (double)wall, (double)q / (double)(q + c), 0.003), "efficiency q/(q+c)");
	is(timeline_idle_ns(&t), 0);
	ok(adds_up());
}

static void alone(void)
{
	begin(TIMELINE_SLICES, 2 * MS, 75 * US);
	flood();
	timeline_advance(&t, START + 12345 * US);
	is(served(0), 12345 * US); /* no switches */
	is(t.switch_ns, 0);
}

static void known_work_ends(void)
{
	begin(TIMELINE_SLICES, 2 * MS, 75 * US);
	timeline_add(&t, 1);
	timeline_set(&t, 0, 500 * US, false, TIMELINE_WHOLE);
	copy = t;
	is(timeline_predict(&copy, 0, 500 * US), START + 500 * US);
	timeline_advance(&t, START + 3 * MS);
	is(served(0), 500 * US);
	is(timeline_idle_ns(&t), 2500 * US);
	is(timeline_when(&t, 0, 500 * US), START + 500 * US);
	is(timeline_when(&t, 0, 200 * US), START + 200 * US);
}

/* Who comes while another has the device waits for the end of its slice; a slice that is not used up ends early. */
static void coming(void)
{
	uint32_t a, b;

	begin(TIMELINE_SLICES, 2 * MS, 75 * US);
	a = flood();
	timeline_advance(&t, START + 500 * US);
	b = timeline_add(&t, 2);
	timeline_set(&t, b, 300 * US, false, TIMELINE_WHOLE);
	copy = t;
	is(timeline_predict(&copy, b, 300 * US), START + 2375 * US);
	timeline_advance(&t, START + 4 * MS);
	is(timeline_when(&t, b, 300 * US), START + 2375 * US);
	is(timeline_when(&t, a, 2 * MS), START + 2 * MS); /* the end of its first run, not the beginning of its next */
	is(served(b), 300 * US);
	is(served(a), 4 * MS - 300 * US - 150 * US);
	/* long after its slice would have ended, had anybody waited: at the end of the slice that has begun anew */
	timeline_remove(&t, b);
	timeline_advance(&t, START + 100 * MS + 30 * US);
	b = timeline_add(&t, 2);
	timeline_set(&t, b, 1, false, TIMELINE_WHOLE);
	copy = t;
	ok(timeline_predict(&copy, b, 1) <= t.now_ns + 2 * MS + 75 * US + 1);
	ok(adds_up());
}

static void own_slices(void)
{
	begin(TIMELINE_SLICES, 2 * MS, 0);
	flood();
	flood();
	t.context[1].slice_ns = 6 * MS;
	timeline_advance(&t, START + 8000 * MS);
	is(served(0), 2000 * MS);
	is(served(1), 6000 * MS);
}

static void stalling(void)
{
	uint32_t a, b;

	begin(TIMELINE_SLICES, 2 * MS, 0);
	a = timeline_add(&t, 1);
	b = flood();
	t.context[a].beat_ns = START;
	timeline_set(&t, a, 0, true, TIMELINE_WHOLE);
	timeline_advance(&t, START + 100 * MS);
	tap_ok(served(a) <= TIMELINE_STALL_NS && served(a) >= TIMELINE_STALL_NS / 2 - 2 * MS,
	       "open work that shows no progress loses its turn: %llu us", (unsigned long long)(served(a) / US));
	is(served(a) + served(b), 100 * MS);
	t.context[a].beat_ns = t.now_ns;
	timeline_advance(&t, START + 105 * MS);
	ok(served(a) > TIMELINE_STALL_NS / 2); /* it goes on */
	/* known work needs nobody */
	timeline_set(&t, a, t.context[a].clock_ns + 50 * MS, false, TIMELINE_WHOLE);
	timeline_advance(&t, START + 500 * MS);
	is(t.context[a].clock_ns, t.context[a].known_ns);
}

static void dying(void)
{
	begin(TIMELINE_SLICES, 2 * MS, 75 * US);
	flood();
	flood();
	timeline_advance(&t, START + 7 * MS);
	timeline_remove(&t, t.resident);
	is(t.count + t.switches > 1, 1);
	timeline_advance(&t, START + 20 * MS);
	ok(adds_up());
	for (uint32_t i = 0; i < TIMELINE_CONTEXTS + 5; i++)
		timeline_add(&t, 9);
	is(timeline_add(&t, 9), TIMELINE_NOBODY);
	for (uint32_t i = 0; i < TIMELINE_CONTEXTS; i++)
		timeline_remove(&t, i);
	is(t.count, 0);
	timeline_advance(&t, START + 50 * MS);
	is(t.now_ns, START + 50 * MS);
}

/* ---- together ---- */

static void together(void)
{
	begin(TIMELINE_TOGETHER, 2 * MS, 75 * US);
	for (int i = 0; i < 3; i++)
		flood();
	timeline_set(&t, 0, TIMELINE_NEVER, false, TIMELINE_WHOLE / 8);
	timeline_advance(&t, START + 1024 * MS);
	/* the small one gets all it asks for, the others share the rest */
	tap_ok(near((double)served(0) / (double)(128 * MS), 1, 0.001), "%llu", (unsigned long long)served(0));
	tap_ok(near((double)served(1) / (double)(448 * MS), 1, 0.001), "%llu", (unsigned long long)served(1));
	is(served(1), served(2));
	is(t.switch_ns, 0);
	is(t.context[0].clock_ns, 1024 * MS); /* as if alone */
	tap_ok(near((double)t.context[1].clock_ns / (double)(448 * MS), 1, 0.001), "at its rate");
	begin(TIMELINE_APART, 2 * MS, 75 * US);
	flood();
	flood();
	timeline_advance(&t, START + 100 * MS);
	is(served(0), 100 * MS);
	is(served(1), 100 * MS);
}

/* ---- at random ---- */

static void random_life(enum timeline_sharing sharing)
{
	/* a clock that runs slowly shows whole nanoseconds of its own only */
	const uint64_t grain = sharing == TIMELINE_TOGETHER ? 2 * US : 1;
	uint64_t now = START, wrong_sum = 0, backwards = 0, wrong_end = 0, before[TIMELINE_CONTEXTS] = { 0 };

	begin(sharing, 1 + rnd(5 * MS), rnd(300 * US));
	for (int round = 0; round < 20000; round++) {
		uint32_t i = (uint32_t)rnd(8);
		struct timeline_context *c = &t.context[i];

		now += rnd(8) ? rnd(500 * US) : rnd(20 * MS);
		copy = t;
		timeline_advance(&t, now);
		/* in many small steps it is the same */
		for (uint64_t at = copy.now_ns; at < now; at += 1 + (now - at) / 3)
			timeline_advance(&copy, at);
		timeline_advance(&copy, now);
		if (sharing == TIMELINE_SLICES)
			wrong_sum += copy.served_ns != t.served_ns || copy.switch_ns != t.switch_ns;
		for (uint32_t k = 0; k < t.count; k++) {
			backwards += t.context[k].clock_ns < before[k];
			before[k] = t.context[k].clock_ns;
		}
		wrong_sum += sharing == TIMELINE_SLICES ? !adds_up() : 0;
		if (i >= t.count || !c->owner) {
			i = timeline_add(&t, 1 + rnd(100));
			before[i] = 0;
			continue;
		}
		c->beat_ns = now;
		if (rnd(50) == 0) {
			timeline_remove(&t, i);
			before[i] = 0;
		} else if (c->clock_ns >= c->known_ns) {
			uint64_t wanted = c->clock_ns + 1 + rnd(3 * MS), end;

			timeline_set(&t, i, wanted, rnd(4) == 0, (uint32_t)rnd(1500));
			copy = t;
			end = timeline_predict(&copy, i, wanted);
			if (copy.context[i].clock_ns < wanted)
				continue; /* after more steps than it looks ahead */
			copy = t;
			if (end > t.now_ns + grain) {
				timeline_advance(&copy, end - grain);
				wrong_end += copy.context[i].clock_ns >= wanted;
			}
			timeline_advance(&copy, end + grain);
			wrong_end += copy.context[i].clock_ns < wanted;
			if (copy.context[i].run_count <= TIMELINE_RUNS)
				wrong_end += timeline_when(&copy, i, wanted) > end + grain;
		}
	}
	is(wrong_sum, 0);
	is(backwards, 0);
	is(wrong_end, 0);
}

/* ---- kernels of one context ---- */

static void one_after_the_other(void)
{
	struct overlap o = { .clock_ns = 100 };
	struct overlap_kernel k[4];
	struct overlap_plan plan;

	overlap_add(&o, &k[0], NULL, TIMELINE_WHOLE, 1000);
	overlap_add(&o, &k[1], &k[0], TIMELINE_WHOLE, 500);
	overlap_add(&o, &k[2], &k[1], TIMELINE_WHOLE, OVERLAP_OPEN);
	plan = overlap_plan(&o);
	is(plan.known_ns, 1600);
	ok(plan.open);
	is(k[1].plan_clock_ns, 1600);
	ok(k[2].plan_clock_ns == OVERLAP_OPEN);
	overlap_known(&o, &k[2], 50);
	plan = overlap_plan(&o);
	is(plan.known_ns, 1650);
	ok(!plan.open);
	overlap_advance(&o, 1620);
	is(k[0].end_clock_ns, 1100);
	is(k[1].end_clock_ns, 1600);
	is(k[2].state, OVERLAP_RUNS);
	is(k[2].served_ns, 20);
	overlap_add(&o, &k[3], &k[0], TIMELINE_WHOLE, 0); /* behind one that has ended: at once */
	is(k[3].state, OVERLAP_ENDED);
	overlap_known(&o, &k[2], 10);
	is(k[2].end_clock_ns, 1620); /* it has had more than that */
}

static void side_by_side(void)
{
	struct overlap o = { 0 };
	struct overlap_kernel k[3];

	/* a quarter and a half of the device: neither feels the other */
	overlap_add(&o, &k[0], NULL, TIMELINE_WHOLE / 4, 1000);
	overlap_add(&o, &k[1], NULL, TIMELINE_WHOLE / 2, 1000);
	is(overlap_plan(&o).known_ns, 1000);
	is(overlap_plan(&o).demand, TIMELINE_WHOLE * 3 / 4);
	overlap_advance(&o, 400);
	/* a third one that fills it: all at 1 / 1.75 until two have ended */
	overlap_add(&o, &k[2], NULL, TIMELINE_WHOLE, 1000);
	overlap_plan(&o);
	is(k[0].plan_clock_ns, 400 + 1050);
	is(k[2].plan_clock_ns, 400 + 1050 + 400);
	overlap_advance(&o, 5000);
	is(k[0].end_clock_ns, 1450);
	is(k[1].end_clock_ns, 1450);
	is(k[2].end_clock_ns, 1850);
	ok(!o.first);
}

static void removed(void)
{
	struct overlap o = { 0 };
	struct overlap_kernel k[2];

	overlap_add(&o, &k[0], NULL, TIMELINE_WHOLE, OVERLAP_OPEN);
	overlap_add(&o, &k[1], &k[0], TIMELINE_WHOLE, 100);
	overlap_advance(&o, 30);
	overlap_remove(&o, &k[0]);
	is(k[0].end_clock_ns, 30);
	is(overlap_plan(&o).known_ns, 130);
	is(k[1].plan_clock_ns, 130);
}

int main(void)
{
	static const uint64_t q[] = { 1 * MS, 2 * MS, 5 * MS }, c[] = { 0, 75 * US, 300 * US };

	tap_begin();
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 3; k++) {
			equals(2, q[i], c[k]);
			equals(7, q[i], c[k]);
		}
	alone();
	known_work_ends();
	coming();
	own_slices();
	stalling();
	dying();
	together();
	random_life(TIMELINE_SLICES);
	random_life(TIMELINE_TOGETHER);
	random_life(TIMELINE_APART);
	one_after_the_other();
	side_by_side();
	removed();
	return tap_end();
}
