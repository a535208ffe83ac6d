/* placement_test.c: most room, then fewest tenants, then the first. */
#include "base/tap.h"
#include "model/placement.h"

int main(void)
{
	static const struct placement c[] = { { 10, 0 }, { 30, 5 }, { 30, 2 }, { 0, 0 }, { 30, 2 }, { 20, 0 } };
	unsigned int order[6];

	tap_begin();
	placement_order(c, 6, order);
	is(order[0], 2);
	is(order[1], 4);
	is(order[2], 1);
	is(order[3], 5);
	is(order[4], 0);
	is(order[5], 3);
	placement_order(c, 1, order);
	is(order[0], 0);
	return tap_end();
}
