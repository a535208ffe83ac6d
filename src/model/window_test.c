/* window_test.c: rates of running totals over windows. */
#include "model/window.h"

#include "base/tap.h"

#include <math.h>

#define S 1000000000ull
#define MS 1000000ull

static struct window_sample at(uint64_t ns, uint64_t total)
{
	return (struct window_sample){ .at_ns = ns, .total = { total, 2 * total, 0 } };
}

static bool rate_is(const struct window *w, struct window_sample now, uint64_t length_ns, double expected)
{
	double rate = -1;

	if (!window_rate(w, &now, WINDOW_CHARGED, length_ns, &rate))
		return isnan(expected);
	return fabs(rate - expected) < 1e-9;
}

static void test_rates(void)
{
	struct window *w = window_new(601, 100 * MS);
	struct window_sample s;
	double rate;

	ok(rate_is(w, at(10 * S, 5 * S), S, NAN)); /* without a sample nothing is known */
	s = at(10 * S, 5 * S);
	window_add(w, &s, false);
	ok(rate_is(w, at(10 * S, 5 * S), S, NAN)); /* nor at the moment of the first */
	ok(rate_is(w, at(10 * S + 500 * MS, 5 * S + 250 * MS), S, 0.5)); /* as long as what is known */
	/* 30 % for 20 s, then 60 % */
	for (uint64_t t = 1; t <= 400; t++) {
		s = at(10 * S + t * 100 * MS, 5 * S + (t < 200 ? t * 30 * MS : 200 * 30 * MS + (t - 200) * 60 * MS));
		window_add(w, &s, false);
	}
	s = at(50 * S, 5 * S + 6 * S + 12 * S);
	ok(rate_is(w, s, S, 0.6)); /* over 1 s */
	ok(rate_is(w, s, 10 * S, 0.6)); /* over 10 s */
	ok(rate_is(w, s, 30 * S, 0.5)); /* over both rates */
	ok(window_rate(w, &s, WINDOW_WANTED, 30 * S, &rate) && fabs(rate - 1.0) < 1e-9); /* another total */
	ok(rate_is(w, at(50 * S + 50 * MS, 23 * S + 50 * MS), 50 * MS, 1.0)); /* between samples */
	window_free(w);
}

/* From one meted to the next: what was and what has come meanwhile. */
static void test_handed_over(void)
{
	struct window *a = window_new(16, S), *b = window_new(16, S);
	struct window_sample s, all[20];

	for (uint64_t t = 1; t <= 20; t++) {
		s = at(t * S, t * 300 * MS);
		window_add(a, &s, false);
	}
	ok(window_save(a, all, 20) == 16 && all[0].at_ns == 5 * S && all[15].at_ns == 20 * S); /* oldest first */
	ok(window_save(a, all, 4) == 4 && all[0].at_ns == 17 * S);			       /* the newest */
	window_save(a, all, 20);
	s = at(21 * S, 6300 * MS);
	window_add(b, &s, true);
	window_load(b, all, 16);
	ok(rate_is(b, at(22 * S, 6600 * MS), 10 * S, 0.3)); /* as if nothing had been */
	s = at(30 * S, 6300 * MS);
	window_add(b, &s, false);
	ok(rate_is(b, at(30 * S, 6300 * MS), 9 * S, 0)); /* and on it goes, the oldest ones first to leave */
	ok(window_save(b, all, 20) == 16 && all[0].at_ns == 7 * S && all[15].at_ns == 30 * S);
	window_free(b);
	/* What makes no sense: later than what there is, and back and forth. */
	b = window_new(16, S);
	s = at(10 * S, 0);
	window_add(b, &s, false);
	all[0] = at(9 * S, 0), all[1] = at(20 * S, 7), all[2] = at(8 * S, 0), all[3] = at(UINT64_MAX, 9);
	window_load(b, all, 4);
	ok(window_save(b, all, 20) == 2 && all[0].at_ns == 8 * S && all[1].at_ns == 10 * S);
	window_free(a);
	window_free(b);
}

/* What is learnt of too late for the samples. */
static void test_learn(void)
{
	struct window *w = window_new(16, S);
	struct window_sample s;

	for (uint64_t t = 10; t <= 14; t++) {
		s = at(t * S, 0);
		window_add(w, &s, false);
	}
	window_learn(w, WINDOW_CHARGED, 11 * S, 13 * S, 800 * MS);
	ok(rate_is(w, at(14 * S, 800 * MS), S, 0)); /* after it */
	ok(rate_is(w, at(14 * S, 800 * MS), 2 * S, 0.2)); /* in its second half, and after it */
	ok(rate_is(w, at(14 * S, 800 * MS), 4 * S, 0.2)); /* all */
	window_learn(w, WINDOW_CHARGED, 0, 0, 100 * MS);
	ok(rate_is(w, at(14 * S, 900 * MS), 4 * S, 0.2)); /* before all samples */
	window_learn(w, WINDOW_CHARGED, 11 * S, 13 * S, -800 * (int64_t)MS);
	ok(rate_is(w, at(14 * S, 100 * MS), 4 * S, 0)); /* and taken back */
	window_free(w);
}

static void test_ring(void)
{
	struct window *w = window_new(11, 100 * MS);
	struct window_sample s;

	for (uint64_t t = 0; t < 1000; t++) {
		s = at(S + t * 10 * MS, t < 900 ? 0 : (t - 900) * 10 * MS);
		window_add(w, &s, false);
	}
	s = at(S + 1000 * 10 * MS, 100 * 10 * MS);
	ok(rate_is(w, s, S, 1.0)); /* samples that come too soon do not push others out */
	ok(rate_is(w, s, 60 * S, 1.0 / 1.1)); /* a window is no longer than what is remembered */
	window_free(w);
}

static void test_gap(void)
{
	struct window *w = window_new(64, 100 * MS);
	struct window_sample s;

	for (uint64_t t = 0; t <= 10; t++) {
		s = at(S + t * 100 * MS, t * 100 * MS);
		window_add(w, &s, false);
	}
	/* Nobody was there for 20 s: a sample when it ended, one when it began again. */
	s = at(22 * S, S);
	window_add(w, &s, true);
	ok(rate_is(w, at(22 * S + 500 * MS, S + 500 * MS), S, 0.5)); /* a gap counts as idle */
	ok(rate_is(w, at(22 * S, S), 60 * S, 1.0 / 21)); /* and in the whole */
	window_free(w);
}

int main(void)
{
	tap_begin();
	test_rates();
	test_ring();
	test_handed_over();
	test_gap();
	test_learn();
	return tap_end();
}
