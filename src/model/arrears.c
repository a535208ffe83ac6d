/* arrears.c: see arrears.h. */
#include "model/arrears.h"

static double most(double rate)
{
	return rate * (double)ARREARS_WINDOW_NS;
}

void arrears_earn(struct arrears *a, double rate, uint64_t asked_ns)
{
	double to = a->ns + rate * (double)asked_ns;

	a->ns = to < most(rate) ? to : most(rate);
}

void arrears_spend(struct arrears *a, double rate, double ns, double slack_ns, bool claimed)
{
	double least = claimed ? -most(rate) : -slack_ns, to = a->ns - ns;

	/* A debt that is there already stays. */
	if (least > a->ns)
		least = a->ns;
	if (to < least)
		to = least;
	a->ns = to < most(rate) ? to : most(rate);
}
