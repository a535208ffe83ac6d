/*
 * arrears.h: how far a tenant is behind its guarantee, in nanoseconds of the engine.
 *
 * While the tenant asks for the engine beside others it earns its guarantee's part of the time; what it has had is
 * spent. Unlike a lag (lags.h) this is the tenant's own account: who comes and goes beside it does not change it, and
 * it counts against the clock, not against what others have had. Above 0 the tenant is behind.
 *
 * What a tenant has beyond its guarantee without a claim was nobody's, and is held against it only within `slack_ns`.
 * What it takes by a claim counts in full: after a kernel that was longer than what it was owed it has none for so
 * long.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARREARS_WINDOW_NS UINT64_C(4000000000) /* what was missed in it is made good */

struct arrears {
	double ns;
};

/* It has asked for so long, with `rate` of the engine guaranteed (ns per ns). */
void arrears_earn(struct arrears *a, double rate, uint64_t asked_ns);
/* Below 0: it was charged too much before. `claimed`: by its claim. */
void arrears_spend(struct arrears *a, double rate, double ns, double slack_ns, bool claimed);
