/* shares.c: see shares.h. Filling by weight goes in rounds: in each, those that reach their limit are settled. */
#include "model/shares.h"

#include <stdbool.h>

/* Value: what is left of the engine. */
static double guarantee(struct shares_claim *claims, unsigned int count)
{
	double sum = 0;

	for (unsigned int i = 0; i < count; i++)
		sum += claims[i].guarantee;
	for (unsigned int i = 0; i < count; i++)
		claims[i].share = sum > 1 ? claims[i].guarantee / sum : claims[i].guarantee;
	return sum > 1 ? 0 : 1 - sum;
}

/* One round: nobody goes above its limit. Value: what is left of `left`. */
static double fill(struct shares_claim *claims, unsigned int count, double left, bool *ret_again)
{
	double weights = 0, given = 0;

	for (unsigned int i = 0; i < count; i++)
		if (claims[i].share < claims[i].limit)
			weights += claims[i].weight;
	*ret_again = false;
	if (weights <= 0)
		return left;
	for (unsigned int i = 0; i < count; i++) {
		double room = claims[i].limit - claims[i].share, part = left * claims[i].weight / weights;

		if (room <= 0 || part <= 0)
			continue;
		if (part >= room) {
			part = room;
			*ret_again = true;
		}
		claims[i].share += part;
		given += part;
	}
	return left - given;
}

static void lift(struct shares_claim *claims, unsigned int count)
{
	double part, scale;
	unsigned int poor = 0;

	for (unsigned int i = 0; i < count; i++)
		poor += claims[i].share < SHARES_FLOOR / count;
	if (!poor)
		return;
	part = SHARES_FLOOR / poor;
	scale = 1 - SHARES_FLOOR;
	for (unsigned int i = 0; i < count; i++)
		claims[i].share = claims[i].share < SHARES_FLOOR / count ? part : claims[i].share * scale;
}

void shares_divide(struct shares_claim *claims, unsigned int count)
{
	double left = guarantee(claims, count);
	bool again = true;

	while (again && left > 1e-9)
		left = fill(claims, count, left, &again);
	lift(claims, count);
}
