/* ceiling_test.c: what a window of ten seconds leaves, for how long, and when. */
#include "model/ceiling.h"

#include "base/tap.h"

#include <math.h>
#include <stdbool.h>

#define MS 1000000.0
#define MOST (3000 * MS)

/* But for where a turn ends between two points. */
static bool near(double a, double b)
{
	return fabs(a - b) < 25 * MS;
}

/* Turns of on_ms, off_ms apart, noted every 5 ms. */
static void take_turns(struct ceiling *c, double *now_ns, double *had_ns, unsigned int turns, double on_ms,
		       double off_ms)
{
	for (unsigned int n = 0; n < turns; n++)
		for (double at = 0; at < on_ms + off_ms; at += 5) {
			*now_ns += 5 * MS;
			*had_ns += at < on_ms ? 5 * MS : 0;
			ceiling_note(c, (uint64_t)*now_ns, (uint64_t)*had_ns);
		}
}

static void test_empty(void)
{
	struct ceiling c = { 0 };

	ok(ceiling_left_ns(&c, MOST) == MOST);
	ok(ceiling_wait_ns(&c, MOST, 2 * MS) == 0);
	ok(near((double)ceiling_lasts_ns(&c, MOST, 0, 0), MOST));
	ceiling_note(&c, 7, 0);
	ok(near(ceiling_left_ns(&c, MOST), MOST));
	ok(near((double)ceiling_lasts_ns(&c, MOST, 0, 10 * MS), MOST - 10 * MS));
}

/* One turn of a second, nine seconds ago: it leaves the window for as long as another turn lasts. */
static void test_one(void)
{
	struct ceiling c = { 0 };
	double now = 0, had = 0;

	ceiling_note(&c, 0, 0);
	take_turns(&c, &now, &had, 1, 1000, 8000);
	ok(near(ceiling_left_ns(&c, MOST), 2000 * MS));
	ok(ceiling_left_ns(&c, 900 * MS) < 0);
	/* In a second the turn begins to leave, and gives back what is spent meanwhile. */
	ok(near((double)ceiling_lasts_ns(&c, 1500 * MS, 0, 0), 500 * MS));
	ok(near((double)ceiling_lasts_ns(&c, 2500 * MS, 0, 0), 2500 * MS));
	ok(near((double)ceiling_lasts_ns(&c, 1500 * MS, 1200 * (uint64_t)MS, 200 * MS), 1300 * MS));
	ok(near((double)ceiling_wait_ns(&c, 1000 * MS, 2 * MS), 1002 * MS));
	ok(near((double)ceiling_wait_ns(&c, 800 * MS, 2 * MS), 1202 * MS));
	ok(!ceiling_lasts_ns(&c, 800 * MS, 0, 0));
}

/* However long it goes on, and beyond what 32 bits of microseconds count: the window is what was had in it. */
static void test_many(void)
{
	struct ceiling c = { 0 };
	double now = 4290e9, had = 4292e9, least = MOST, most = 0, left;

	take_turns(&c, &now, &had, 20, 150, 350);
	for (unsigned int n = 0; n < 100; n++) {
		take_turns(&c, &now, &had, 1, 15, 35);
		left = ceiling_left_ns(&c, MOST);
		least = fmin(least, left);
		most = fmax(most, left);
	}
	/* Shorter turns at the same rate: what is left is more while a long one leaves the window. */
	ok(least >= -25 * MS && most <= 130 * MS);
	/* A long silence. */
	now += 60e9;
	ceiling_note(&c, (uint64_t)now, (uint64_t)had + 123);
	ok(near(ceiling_left_ns(&c, MOST), MOST));
}

int main(void)
{
	tap_begin();
	test_empty();
	test_one();
	test_many();
	return tap_end();
}
