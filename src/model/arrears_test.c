/* arrears_test.c: what a guarantee earns and spends, and how far either may go. */
#include "model/arrears.h"

#include "base/tap.h"

#include <math.h>

#define MS 1e6

static bool near(double a, double b)
{
	return fabs(a - b) < 1;
}

/* Half of what was asked for, less what was had. */
static void test_account(void)
{
	struct arrears a = { 0 };

	arrears_earn(&a, 0.5, (uint64_t)(300 * MS));
	ok(near(a.ns, 150 * MS));
	arrears_spend(&a, 0.5, 100 * MS, 25 * MS, false);
	ok(near(a.ns, 50 * MS));
	/* It was charged too much. */
	arrears_spend(&a, 0.5, -20 * MS, 25 * MS, false);
	ok(near(a.ns, 70 * MS));
}

/* What it has beyond its guarantee is held against it within the slack, what it takes by a claim in full. */
static void test_beyond(void)
{
	struct arrears a = { 0 };

	arrears_spend(&a, 0.5, 5000 * MS, 25 * MS, false);
	ok(near(a.ns, -25 * MS));
	arrears_spend(&a, 0.5, 300 * MS, 25 * MS, true);
	ok(near(a.ns, -325 * MS));
	/* That is not forgiven by time that was nobody's. */
	arrears_spend(&a, 0.5, 10 * MS, 25 * MS, false);
	ok(near(a.ns, -325 * MS));
	arrears_earn(&a, 0.5, (uint64_t)(600 * MS));
	ok(near(a.ns, -25 * MS));
}

/* Neither is owed for longer than the window. */
static void test_bounds(void)
{
	struct arrears a = { 0 };

	arrears_earn(&a, 0.1, 3600ull * 1000000000);
	ok(near(a.ns, 0.1 * ARREARS_WINDOW_NS));
	arrears_spend(&a, 0.1, -10, 0, false);
	ok(near(a.ns, 0.1 * ARREARS_WINDOW_NS));
	arrears_spend(&a, 0.1, 3600e9, 10 * MS, true);
	ok(near(a.ns, -0.1 * ARREARS_WINDOW_NS));
	/* Nothing guaranteed is nothing owed. */
	a.ns = 0;
	arrears_earn(&a, 0, 1000000000);
	ok(near(a.ns, 0));
}

int main(void)
{
	tap_begin();
	test_account();
	test_beyond();
	test_bounds();
	return tap_end();
}
