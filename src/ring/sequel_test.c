/* sequel_test.c: what follows soon, late, at all times; how much of the time is looked; in virtual time. */
#include "ring/sequel.h"

#include "base/tap.h"

#define US 1000u

static uint32_t state = 1;

static uint64_t random_below(uint64_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

struct seen {
	uint64_t late_ns, looked_ns, woken; /* sums */
};

/* A cause at *now, what follows it `lag_ns` later; a sleeper is late by `late_ns`. */
static void once(struct sequel *s, uint64_t *now, uint64_t lag_ns, uint64_t late_ns, struct seen *seen)
{
	uint64_t comes = *now + lag_ns, at = *now + late_ns, began;
	bool woken = sequel_cause(s, *now), asleep = true;
	struct forecast_window w = { 0 };

	seen->woken += woken;
	if (woken)
		w = sequel_window(s, at);
	if (w.until_ns && at < w.from_ns)
		at = w.from_ns + late_ns;
	began = at;
	if (w.until_ns && at < w.until_ns && (comes > at || at == *now + late_ns)) {
		asleep = comes > w.until_ns;
		at = asleep ? w.until_ns : comes > at ? comes : at;
		sequel_looked(s, at - began);
		seen->looked_ns += at - began;
	}
	if (asleep)
		at = comes + late_ns;
	seen->late_ns += at - comes;
	sequel_follows(s, at, asleep);
	*now = at;
}

/* Of the second half of many: a cause every `cycle` and up to `more`, what follows after `lag` and up to `spread`. */
static struct seen play(uint64_t cycle, uint64_t more, uint64_t lag, uint64_t spread, uint64_t *ret_took)
{
	struct sequel s = { 0 };
	struct seen seen = { 0 };
	uint64_t now = 1000 * US, since = 0, n = 2000;

	for (uint64_t i = 0; i < n; i++) {
		if (i == n / 2) {
			seen = (struct seen){ 0 };
			since = now;
		}
		now += cycle + (more ? random_below(more) : 0);
		once(&s, &now, lag + (spread ? random_below(spread) : 0), 15 * US, &seen);
	}
	*ret_took = now - since;
	seen.late_ns /= n / 2;
	return seen;
}

/* Whatever the length of the kernels between. */
static void test_soon(void)
{
	static const uint64_t lags[] = { 5 * US, 40 * US, 80 * US, 1000 * US, 30000 * US };
	struct seen seen;
	uint64_t took;

	for (unsigned int i = 0; i < 5; i++) {
		seen = play(900 * US, 3000 * US, lags[i], 10 * US, &took);
		printf("# %d us after its cause: %d us late, %.1f %% of the time is looked\n", (int)(lags[i] / US),
		       (int)(seen.late_ns / US), 100.0 * (double)seen.looked_ns / (double)took);
		is(seen.woken, 1000);
		ok(seen.late_ns < (lags[i] < 10 * US ? 15 : 4) * US);
		ok(seen.looked_ns < took / SEQUEL_SHARE);
	}
}

/* Little time in between: it is looked for a part of it, and never for more. */
static void test_bound(void)
{
	uint64_t took;
	struct seen seen = play(20 * US, 0, 80 * US, 5 * US, &took);

	ok(seen.looked_ns <= took / SEQUEL_SHARE + SEQUEL_SPARE_NS);
	ok(seen.looked_ns > 0);
}

static void test_irregular(void)
{
	uint64_t took;
	struct seen seen = play(1000 * US, 0, 100 * US, 3000 * US, &took);

	ok(seen.looked_ns < took / SEQUEL_SHARE);
	seen = play(1000 * US, 0, 60000 * US, 40000 * US, &took);
	ok(seen.looked_ns < took / 100);
}

static void test_crowded(void)
{
	struct sequel s = { 0 };
	struct seen seen = { 0 };
	uint64_t now = 1000 * US, since;

	for (unsigned int i = 0; i < 50; i++) {
		now += 1000 * US;
		once(&s, &now, 40 * US, 15 * US, &seen);
	}
	ok(seen.looked_ns > 0);
	sequel_crowded(&s, now);
	for (since = now, seen.looked_ns = 0; now < since + SEQUEL_REST_NS / 2;) {
		now += 1000 * US;
		once(&s, &now, 40 * US, 15 * US, &seen);
	}
	is(seen.looked_ns, 0);
	while (now < since + 2 * SEQUEL_REST_NS) {
		now += 1000 * US;
		once(&s, &now, 40 * US, 15 * US, &seen);
	}
	ok(seen.looked_ns > 0);
	/* again and again: ever less of the time */
	for (since = now; now < since + 20000000 * US; sequel_crowded(&s, now))
		for (seen.looked_ns = 0; !seen.looked_ns;) {
			now += 1000 * US;
			once(&s, &now, 40 * US, 15 * US, &seen);
		}
	is(s.rest_ns, SEQUEL_REST_MOST_NS);
	/* and after a calm time as at first */
	now += 10 * (uint64_t)SEQUEL_REST_MOST_NS;
	sequel_crowded(&s, now);
	is(s.rest_ns, SEQUEL_REST_NS);
}

/* Nothing follows: what does not belong to a cause is not learnt from, and nobody looks. */
static void test_nothing(void)
{
	struct sequel s = { 0 };

	sequel_follows(&s, 1000 * US, false);
	ok(!sequel_open(&s));
	is(sequel_window(&s, 2000 * US).until_ns, 0);
	ok(!sequel_cause(&s, 3000 * US));
	ok(sequel_open(&s));
	is(sequel_window(&s, 3001 * US).until_ns, 0);
}

int main(void)
{
	tap_begin();
	test_soon();
	test_bound();
	test_irregular();
	test_crowded();
	test_nothing();
	return tap_end();
}
