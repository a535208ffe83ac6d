/*
 * lags.h: what an engine owes each of its tenants, in nanoseconds of it.
 *
 * Whatever is spent by one is earned by all that want the engine at the time, each in proportion to its share; so the
 * lags of those who want it add up to 0. Above 0 the engine owes the tenant time, below the tenant has had more than
 * its share. Whoever ceases to want takes its lag along, and the others divide it among them, as if the rest of them
 * had been alone (EEVDF, Stoica and Abdel-Wahab 1995); it comes back when the tenant does. Meanwhile it fades at the
 * tenant's share: who keeps away for as long as it had too much is even again, and old credit is not hoarded.
 */
#pragma once

#include "model/arbiter.h"

#include <stdbool.h>
#include <stdint.h>

struct lag {
	double ns;
	double share; /* of the engine, while it wants it */
	bool wants;
	uint64_t left_ns; /* when it ceased to want */
};

struct lags {
	struct lag of[ARBITER_TENANTS];
	uint16_t list[ARBITER_TENANTS]; /* those that want */
	unsigned int count;
	double spent_ns; /* by all, since the last settlement */
};

void lags_enter(struct lags *l, unsigned int tenant, uint64_t now_ns);
void lags_leave(struct lags *l, unsigned int tenant, uint64_t now_ns);
void lags_share(struct lags *l, unsigned int tenant, double share);
/* The tenant was given time (below 0: an earlier charge turned out too high). */
void lags_spend(struct lags *l, unsigned int tenant, double ns);
/* All that was spent is earned by those who want. */
void lags_settle(struct lags *l);
/* What is above or below goes to the others. */
void lags_clamp(struct lags *l, unsigned int tenant, double low_ns, double high_ns);
