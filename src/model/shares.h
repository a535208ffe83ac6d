/*
 * shares.h: divides an engine among the tenants that want it: guarantees first, the rest by weight, none above its
 * limit.
 */
#pragma once

struct shares_claim {
	double guarantee, limit; /* fractions of the engine */
	double weight;
	double share; /* the result */
};

/*
 * Guarantees that add up to more than the whole are scaled down in proportion. Time that no tenant may take is not
 * divided: the sum is below 1 when all have reached their limits. Tenants that would get nothing, because the whole is
 * promised to others, divide SHARES_FLOOR, so that they are slow but do not hang.
 */
void shares_divide(struct shares_claim *claims, unsigned int count);

#define SHARES_FLOOR 0.005
