/* limits_test.c: which figure holds for whom. */
#include "base/tap.h"
#include "model/limits.h"

static void say(struct limits *l, bool group, const char *name, uint32_t id, enum limit what, uint64_t most)
{
	struct limits_entry *e = limits_add(l, group, name);

	e->known = true;
	e->id = id;
	e->given |= 1u << what;
	e->most[what] = most;
}

static uint64_t most(const struct limits *l, enum limit what, uint32_t uid, uint32_t group, uint32_t other)
{
	const uint32_t groups[] = { group, other };
	const struct limits_entry *entry;
	uint64_t n = limits_most(l, what, uid, groups, 2, &entry);

	ok(n == (entry ? entry->most[what] : l->most[what]));
	return n;
}

static void test_most(void)
{
	struct limits l = LIMITS_DEFAULT, same = LIMITS_DEFAULT;

	is(most(&l, LIMIT_GRANTS, 1000, 1000, 50), 64);
	say(&l, true, "many", 50, LIMIT_GRANTS, 200);
	say(&l, true, "few", 51, LIMIT_GRANTS, 2);
	say(&l, false, "alice", 1000, LIMIT_GRANTS, 5);
	say(&l, false, "alice", 1000, LIMIT_MEM, 30);
	is(l.count, 3);
	is(most(&l, LIMIT_GRANTS, 1000, 50, 51), 5);   /* her own word before her groups' */
	is(most(&l, LIMIT_GRANTS, 1001, 50, 51), 200); /* the most generous group */
	is(most(&l, LIMIT_GRANTS, 1001, 51, 9), 2);
	is(most(&l, LIMIT_GRANTS, 50, 9, 9), 64); /* a uid is no group */
	is(most(&l, LIMIT_MEM, 1000, 9, 9), 30);
	is(most(&l, LIMIT_CORES, 1000, 9, 9), 100);
	l.entry[2].known = false;
	is(most(&l, LIMIT_GRANTS, 1000, 9, 9), 64); /* there is no such user */
	ok(!limits_same_entries(&l, &same));
	say(&same, true, "many", 50, LIMIT_GRANTS, 200);
	say(&same, true, "few", 51, LIMIT_GRANTS, 2);
	l.count = 2;
	ok(limits_same_entries(&l, &same));
	limits_deinit(&l);
	limits_deinit(&same);
}

static void test_names(void)
{
	struct limits l = LIMITS_DEFAULT;
	char name[LIMITS_NAME_BYTES + 2] = "", number[16];

	ok(!limits_add(&l, false, "") && !limits_add(&l, false, "a b") && !limits_add(&l, false, "a:"));
	memset(name, 'a', LIMITS_NAME_BYTES);
	ok(!limits_add(&l, false, name));
	for (unsigned int i = 0; i < LIMITS_ENTRIES; i++) {
		snprintf(number, sizeof(number), "u%u", i);
		limits_add(&l, false, number);
	}
	is(l.count, LIMITS_ENTRIES);
	ok(!limits_add(&l, false, "more") && limits_add(&l, false, "u7"));
	limits_deinit(&l);
}

int main(void)
{
	tap_begin();
	test_most();
	test_names();
	return tap_end();
}
