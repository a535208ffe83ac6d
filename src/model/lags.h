/*
 * lags.h: the lag of each tenant behind its share of an engine, in nanoseconds of the engine.
 *
 * Time spent by one tenant is earned by all that want the engine at that time, in proportion to their shares. The lags
 * of the tenants that want the engine therefore add up to 0. Above 0 the tenant is behind its share, below 0 ahead of
 * it. A tenant that ceases to want the engine takes its lag with it, and the others divide it among them as if they had
 * been alone (EEVDF, Stoica and Abdel-Wahab 1995); it is restored when the tenant returns. Meanwhile it fades at the
 * rate of the tenant's share: a tenant that stays away for as long as it was ahead is even again, and old credit does
 * not accumulate.
 */
#pragma once

#include "model/arbiter.h"

#include <stdbool.h>
#include <stdint.h>

struct lag {
	double ns;
	double share; /* of the engine, while the tenant wants it */
	bool wants;
	uint64_t left_ns; /* when it ceased to want */
};

struct lags {
	struct lag of[ARBITER_TENANTS];
	uint16_t list[ARBITER_TENANTS]; /* tenants that want the engine */
	unsigned int count;
	double spent_ns; /* by all, since the last settlement */
};

void lags_enter(struct lags *l, unsigned int tenant, uint64_t now_ns);
void lags_leave(struct lags *l, unsigned int tenant, uint64_t now_ns);
void lags_share(struct lags *l, unsigned int tenant, double share);
/* Charges time to the tenant (below 0: an earlier charge was too high). */
void lags_spend(struct lags *l, unsigned int tenant, double ns);
/* Distributes the spent time among the tenants that want the engine. */
void lags_settle(struct lags *l);
/* Limits a lag; the excess is distributed among the others. */
void lags_clamp(struct lags *l, unsigned int tenant, double low_ns, double high_ns);
