/* round_test.c: who has had his part of a round waits for the next one. */
#include "base/tap.h"
#include "model/round.h"

int main(void)
{
	struct round round = { 0 };

	tap_begin();
	ok(round_admits(&round, 5, 100));
	round_add(&round, 5, 60);
	ok(round_admits(&round, 5, 100));
	round_add(&round, 5, 60);
	ok(!round_admits(&round, 5, 100));
	ok(round_admits(&round, 6, 100));
	round_begin(&round);
	ok(round_admits(&round, 5, 100));
	for (uint32_t uid = 0; uid < ROUND_USERS; uid++)
		round_add(&round, uid, 1);
	ok(round_admits(&round, 7, 100));
	ok(!round_admits(&round, ROUND_USERS, 100));
	round_add(&round, ROUND_USERS, 1);
	is(round.count, ROUND_USERS);
	return tap_end();
}
