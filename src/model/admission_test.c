/* admission_test.c: the rule by cases, and greedy users beside honest ones at random. */
#include "base/tap.h"
#include "model/admission.h"

#include <stdlib.h>

#define MOST 256u

static const struct admission_rule rule = { .most = MOST, .kept = 64, .per_uid = 64 };

static struct admission there[MOST];
static unsigned int count;
static uint64_t now;

static unsigned int places_of(uint32_t uid)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < count; i++)
		n += there[i].uid == uid;
	return n;
}

/* Value: the time at which the one that yields became idle; 0: a free place; UINT64_MAX: refused. */
static uint64_t come(uint32_t uid, bool busy)
{
	const struct admission *gone = NULL;
	unsigned int at = count;
	uint64_t since = 0;

	switch (admission_ask(&rule, there, count, uid, !uid, &gone)) {
	case ADMISSION_NONE:
		return UINT64_MAX;
	case ADMISSION_YIELDS:
		at = (unsigned int)(gone - there);
		since = gone->idle_since_ns;
		break;
	case ADMISSION_FREE:
		count++;
		break;
	}
	there[at] = (struct admission){ uid, !uid, busy, ++now, NULL };
	return since;
}

static void begin(void)
{
	count = 0;
	now = 100;
}

static void test_one_greedy(void)
{
	begin();
	for (unsigned int i = 0; i < 64; i++)
		ok(!come(1000, false));
	is(come(1000, false), 101); /* its own oldest */
	is(places_of(1000), 64);
	begin();
	for (unsigned int i = 0; i < 64; i++)
		come(1000, true);
	is(come(1000, false), UINT64_MAX); /* all at work */
	is(come(1001, false), 0);
	is(come(0, false), 0);
}

static void test_many(void)
{
	begin();
	for (unsigned int i = 0; i < 192; i++)
		is(come(1000 + i, false), 0);
	is(come(5000, false), 101);		    /* each has one: the oldest of all */
	is(come(5000, false), UINT64_C(102) + 191); /* has as many as anybody: its own */
	for (unsigned int i = 0; i < 64; i++)
		is(come(0, false), 0); /* root's places are there */
	is(come(0, false), 102);       /* and root gets others' */
	is(come(1001, false), 103);
	is(places_of(0), 65);
}

static void test_most_yields(void)
{
	begin();
	for (unsigned int i = 0; i < 64; i++)
		come(1000, false);
	for (unsigned int i = 0; i < 60; i++)
		come(1001, true);
	for (unsigned int i = 0; i < 50; i++)
		come(1002, false);
	for (unsigned int i = 0; i < 18; i++)
		come(1003 + i, false);
	is(come(2000, false), 101); /* of the one with most */
	for (unsigned int i = 0; i < count; i++)
		there[i].busy |= there[i].uid == 1000;
	is(come(2001, false), 101 + 124); /* who has most that can yield: 1002 */
	is(places_of(1002), 49);
}

static void test_all_busy(void)
{
	begin();
	for (unsigned int i = 0; i < 192; i++)
		come(1000 + i, true);
	is(come(9, false), UINT64_MAX);
	for (unsigned int i = 0; i < 64; i++)
		is(come(0, true), 0);
	is(come(0, false), UINT64_MAX); /* root has what is kept, and takes nobody's request away */
}

static void leave(unsigned int at)
{
	there[at] = there[--count];
}

/* What must hold whoever comes: root has its places, nobody has more than his, who has few is served. */
static void test_random(void)
{
	bool good = true;

	begin();
	srand(7);
	for (unsigned int step = 0; step < 20000 && good; step++) {
		uint32_t uid = rand() % 3 ? 1000u + (unsigned int)rand() % 4 : (uint32_t)rand() % 300;
		bool refused;

		if (count && rand() % 5 == 0)
			leave((unsigned int)rand() % count);
		refused = come(uid, rand() % 8 == 0) == UINT64_MAX;
		good = count <= MOST && (!uid || places_of(uid) <= 64) && count - places_of(0) <= 192 &&
		       !(refused && !uid && places_of(0) < 64);
	}
	ok(good);
}

int main(void)
{
	tap_begin();
	test_one_greedy();
	test_many();
	test_most_yields();
	test_all_busy();
	test_random();
	return tap_end();
}
