/* spent_test.c: who has had more than his part waits; what is left is others'. */
#include "base/tap.h"
#include "model/spent.h"

#define MS UINT64_C(1000000)

static const struct spent_rule rule = { .part = 4, .at_once_ns = 100 * MS };

/* Users who ask without an end, each request 5 ms, for 20 s. Value: what they have had together, in percent. */
static unsigned int ask_all(struct spent *spent, unsigned int users)
{
	uint64_t now = 1, end = 20000 * MS, had = 0;

	while (now < end) {
		uint64_t before = now;

		for (uint32_t uid = 1; uid <= users; uid++) {
			if (spent_wait_ns(spent, &rule, uid, now))
				continue;
			now += 5 * MS;
			had += 5 * MS;
			spent_add(spent, &rule, uid, 5 * MS, now);
		}
		if (now == before)
			now += MS; /* the thread has nothing to do */
	}
	return (unsigned int)(had * 100 / end);
}

static void single(void)
{
	struct spent spent = { 0 };
	uint64_t now = 1;

	is(spent_wait_ns(&spent, &rule, 7, now), 0);
	spent_add(&spent, &rule, 7, 100 * MS, now);
	is(spent_wait_ns(&spent, &rule, 7, now), 0); /* as much as may be had at once */
	spent_add(&spent, &rule, 7, 10 * MS, now);
	is(spent_wait_ns(&spent, &rule, 7, now), 40 * MS);
	is(spent_wait_ns(&spent, &rule, 7, now + 39 * MS), MS);
	is(spent_wait_ns(&spent, &rule, 7, now + 40 * MS), 0);
	is(spent_wait_ns(&spent, &rule, 8, now), 0); /* who has had nothing does not wait */
	is(spent_wait_ns(&spent, &rule, 7, now + 10000 * MS), 0);
}

int main(void)
{
	struct spent one = { 0 }, two = { 0 }, many = { 0 };
	unsigned int had;

	tap_begin();
	single();
	had = ask_all(&one, 1);
	ok(had >= 24 && had <= 27);
	had = ask_all(&two, 2);
	ok(had >= 48 && had <= 52);
	had = ask_all(&many, 50);
	ok(had >= 40 && had <= 60);
	is(spent_wait_ns(&many, &rule, 1000, 20000 * MS), 0);
	return tap_end();
}
