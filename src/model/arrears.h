/*
 * arrears.h: how far a tenant is behind its guarantee, in nanoseconds of the engine.
 *
 * While the tenant asks for the engine beside others, it earns its guaranteed part of the time. The time that it uses
 * is spent. Unlike a lag (lags.h) this is the tenant's own account: other tenants that come and go do not change it,
 * and it is measured by the clock, not by the time of others. Above 0 the tenant is behind.
 *
 * Time beyond the guarantee that a tenant used without a claim was not needed by others, so it counts only within
 * `slack_ns`. Time that it takes by a claim counts in full: after a kernel that was longer than its arrears the tenant
 * has no claim until the excess is earned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ARREARS_WINDOW_NS UINT64_C(4000000000) /* time that was missed within this window is made good */

struct arrears {
	double ns;
};

/* The tenant has asked for `asked_ns`; `rate` of the engine is guaranteed (ns per ns). */
void arrears_earn(struct arrears *a, double rate, uint64_t asked_ns);
/* The tenant has used `ns`; below 0: an earlier charge was too high. `claimed`: by its claim. */
void arrears_spend(struct arrears *a, double rate, double ns, double slack_ns, bool claimed);
