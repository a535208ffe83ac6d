/* quarantine_test.c: faults at given times, and who is shut out for how long. */
#include "base/tap.h"
#include "model/quarantine.h"

#define S UINT64_C(1000000000)

static const struct quarantine_rule rule = { 3, 600 * S, 300 * S, 3600 * S };

static void test_count(void)
{
	struct quarantine q = { 0 };

	ok(!quarantine_fault(&q, &rule, 1000 * S));
	ok(!quarantine_fault(&q, &rule, 1100 * S));
	is(quarantine_left_ns(&q, 1100 * S), 0);
	ok(quarantine_fault(&q, &rule, 1200 * S));
	is(quarantine_left_ns(&q, 1200 * S), 300 * S);
	is(quarantine_left_ns(&q, 1499 * S), 1 * S);
	is(quarantine_left_ns(&q, 1500 * S), 0);
	ok(!quarantine_fault(&q, &rule, 1300 * S)); /* of a program that runs on */
	is(quarantine_left_ns(&q, 1300 * S), 200 * S);
}

static void test_window(void)
{
	struct quarantine q = { 0 };

	for (uint64_t t = 1; t < 100; t++)
		ok(!quarantine_fault(&q, &rule, t * 301 * S));
	is(q.level, 0);
}

static void test_longer(void)
{
	struct quarantine q = { 0 };
	uint64_t now = 1000 * S, expected = 300 * S;

	for (int i = 0; i < 8; i++) {
		quarantine_fault(&q, &rule, now);
		quarantine_fault(&q, &rule, now);
		ok(quarantine_fault(&q, &rule, now));
		is(quarantine_left_ns(&q, now), expected);
		now += expected + 1 * S;
		expected = expected * 2 < 3600 * S ? expected * 2 : 3600 * S;
	}
	now += 3600 * S; /* forgotten */
	quarantine_fault(&q, &rule, now);
	quarantine_fault(&q, &rule, now);
	ok(quarantine_fault(&q, &rule, now));
	is(quarantine_left_ns(&q, now), 300 * S);
}

static void test_release(void)
{
	struct quarantine q = { 0 };

	for (int i = 0; i < 3; i++)
		quarantine_fault(&q, &rule, 1000 * S);
	quarantine_release(&q);
	is(quarantine_left_ns(&q, 1000 * S), 0);
	is(q.level, 0);
}

static void test_rules(void)
{
	struct quarantine_rule never = { 0, 600 * S, 300 * S, 3600 * S }, once = { 1, 600 * S, 300 * S, 100 * S },
			       many = { QUARANTINE_FAULTS, 600 * S, 300 * S, 3600 * S };
	struct quarantine q = { 0 };

	for (int i = 0; i < 100; i++)
		ok(!quarantine_fault(&q, &never, 1000 * S));
	ok(quarantine_fault(&q, &once, 1000 * S));
	is(quarantine_left_ns(&q, 1000 * S), 100 * S); /* the most is the most */
	q = (struct quarantine){ 0 };
	for (unsigned int i = 0; i + 1 < QUARANTINE_FAULTS; i++)
		ok(!quarantine_fault(&q, &many, 1000 * S));
	ok(quarantine_fault(&q, &many, 1000 * S));
}

int main(void)
{
	tap_begin();
	test_count();
	test_window();
	test_longer();
	test_release();
	test_rules();
	return tap_end();
}
