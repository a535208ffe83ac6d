/*
 * shares.h: how an engine is divided among those who want it now: guarantees first, what is left by weight, nobody
 * above its limit.
 */
#pragma once

struct shares_claim {
	double guarantee, limit; /* fractions of the engine */
	double weight;
	double share; /* the outcome */
};

/*
 * Guarantees that add up to more than the whole are scaled down in proportion. What nobody may take is left out: the
 * sum is below 1 when all have reached their limits. Whoever would get nothing, because others are promised all, gets
 * a part of SHARES_FLOOR, which all of those divide: it is to be slow, not to hang.
 */
void shares_divide(struct shares_claim *claims, unsigned int count);

#define SHARES_FLOOR 0.005
