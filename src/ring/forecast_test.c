/* forecast_test.c: waits of one length, of many, of a new one, and a processor that others want; in virtual time. */
#include "ring/forecast.h"

#include "base/tap.h"

#define US 1000u

static uint32_t state = 1;

static uint64_t random_below(uint64_t n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

/* A wait that ends after `comes_ns`, of someone whose sleep is ended `late_ns` too late. Value: how long it took. */
static uint64_t wait_once(struct forecast *f, uint64_t comes_ns, uint64_t late_ns, uint64_t *looked_ns)
{
	struct forecast_window w = forecast_begin(f);
	uint64_t woke = w.from_ns + late_ns;
	bool looks = w.until_ns && comes_ns > w.from_ns && woke < w.until_ns;
	uint64_t until = comes_ns < w.until_ns ? comes_ns : w.until_ns;

	if (w.until_ns && comes_ns > w.from_ns)
		forecast_woke(f, late_ns);
	if (looks && until > woke)
		*looked_ns += until - woke;
	if (looks && comes_ns <= w.until_ns) {
		forecast_end(f, comes_ns > woke ? comes_ns : woke, false);
		return comes_ns > woke ? comes_ns : woke;
	}
	forecast_end(f, comes_ns + late_ns, true);
	return comes_ns + late_ns;
}

/* The mean lateness of the second half of many waits of `base` and up to `spread` more; *ret_share: of them looked. */
static uint64_t lateness(uint64_t base, uint64_t spread, uint64_t late_ns, double *ret_share)
{
	struct forecast f = { 0 };
	uint64_t late = 0, all = 0, looked = 0, comes, took;
	unsigned int n = 2000;

	for (unsigned int i = 0; i < n; i++) {
		if (i == n / 2)
			looked = late = all = 0;
		comes = base + (spread ? random_below(spread) : 0);
		took = wait_once(&f, comes, late_ns, &looked);
		late += took - comes;
		all += took;
	}
	*ret_share = (double)looked / (double)all;
	return late / (n / 2);
}

static void test_steady(void)
{
	static const uint64_t lengths[] = { 300 * US, 500 * US, 1000 * US, 3000 * US, 10000 * US };
	double share;

	for (unsigned int i = 0; i < 5; i++)
		for (uint64_t late = 3 * US; late <= 27 * US; late += 8 * US) {
			uint64_t left = lateness(lengths[i], 6 * US, late, &share);

			printf("# waits of %d us: a sleeper is %d us late, who looks %d us; %.1f %% of the time is "
			       "looked\n",
			       (int)(lengths[i] / US), (int)(late / US), (int)(left / US), share * 100);
			ok(left < late / 3);
			ok(share < 0.125 && share * (double)lengths[i] < 60e3);
		}
}

static void test_irregular(void)
{
	double share;

	/* of all lengths; so short that it would take too much; so long that it does not matter */
	lateness(100 * US, 2000 * US, 20 * US, &share);
	ok(share == 0);
	lateness(60 * US, 0, 20 * US, &share);
	ok(share == 0);
	lateness(60000 * US, 0, 20 * US, &share);
	ok(share == 0);
}

static void test_change(void)
{
	struct forecast f = { 0 };
	uint64_t looked = 0, took = 0;

	for (unsigned int i = 0; i < 50; i++)
		wait_once(&f, 1000 * US, 20 * US, &looked);
	took = wait_once(&f, 1000 * US, 20 * US, &looked);
	is(took, 1000 * US);
	wait_once(&f, 5000 * US, 20 * US, &looked);
	took = wait_once(&f, 1000 * US, 20 * US, &looked);
	is(took, 1000 * US);
	for (unsigned int i = 0; i < 12; i++)
		took = wait_once(&f, 5000 * US, 20 * US, &looked);
	is(took, 5000 * US);
}

static void test_crowded(void)
{
	struct forecast f = { 0 };
	uint64_t looked = 0;
	unsigned int slept = 0, again;

	for (unsigned int i = 0; i < 50; i++)
		wait_once(&f, 1000 * US, 20 * US, &looked);
	forecast_crowded(&f);
	while (!forecast_begin(&f).until_ns && slept < 5000)
		slept++;
	ok(slept > 0 && slept < 100);
	forecast_crowded(&f);
	for (again = 0; !forecast_begin(&f).until_ns && again < 5000; again++)
		;
	ok(again >= 2 * slept - 1);
	for (unsigned int i = 0; i < 20; i++)
		forecast_crowded(&f);
	for (again = 0; !forecast_begin(&f).until_ns && again < 5000; again++)
		;
	ok(again < 5000);
}

static void test_soon(void)
{
	struct forecast f = { 0 };

	is(forecast_soon(&f), 0);
	for (unsigned int i = 0; i < 50; i++)
		forecast_end(&f, 8 * US, false);
	ok(forecast_soon(&f) >= 8 * US && forecast_soon(&f) < 40 * US);
	/* a round trip through two relays that cipher */
	for (unsigned int i = 0; i < 50; i++)
		forecast_end(&f, 30 * US, false);
	ok(forecast_soon(&f) >= 30 * US && forecast_soon(&f) < 100 * US);
	for (unsigned int i = 0; i < 50; i++)
		forecast_end(&f, 400 * US, false);
	is(forecast_soon(&f), 0);
}

/* What is to be done before makes a window begin earlier, unless the waits are too short for that. */
static void test_earlier(void)
{
	struct forecast f = { 0 }, brief = { 0 };
	uint64_t looked = 0;
	struct forecast_window w, e;

	is(forecast_earlier(&f, forecast_begin(&f), 60 * US).until_ns, 0);
	for (unsigned int i = 0; i < 50; i++) {
		wait_once(&f, 1000 * US, 10 * US, &looked);
		wait_once(&brief, 300 * US, 10 * US, &looked);
	}
	w = forecast_begin(&f);
	e = forecast_earlier(&f, w, 60 * US);
	ok(w.until_ns);
	is(e.from_ns, w.from_ns - 60 * US);
	is(e.until_ns, w.until_ns);
	w = forecast_begin(&brief);
	ok(w.until_ns);
	is(forecast_earlier(&brief, w, 60 * US).from_ns, w.from_ns);
}

/* Waits that differ by more than all can be looked for: most are, and no more time is taken than may be. */
static void test_wide(void)
{
	double share;
	uint64_t left = lateness(1000 * US, 150 * US, 20 * US, &share);

	ok(left < 20 * US);
	ok(share > 0 && share < 0.125);
}

int main(void)
{
	tap_begin();
	test_steady();
	test_irregular();
	test_change();
	test_crowded();
	test_soon();
	test_earlier();
	test_wide();
	return tap_end();
}
