/* unproven_test.c: the rule by a table, and floods of strangers beside honest ones in virtual time. */
#include "base/tap.h"
#include "model/unproven.h"

static const struct unproven_rule rule = { .most = 64, .per_source = 32, .kept = 16 };

static struct unproven there[UNPROVEN_MOST];
static unsigned int count;
static struct unproven_known known;

static struct unproven_source source(unsigned int n)
{
	const uint8_t address[4] = { 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

	return unproven_source_of(address, 4);
}

/* Value: who had to yield, by its `since_ns`; 0: nobody. */
static uint64_t come(unsigned int n, uint64_t now)
{
	struct unproven_source s = source(n);
	bool is_known = unproven_knows(&known, &s);
	const struct unproven *gone = unproven_yields(&rule, there, count, &s, is_known);
	uint64_t since = gone ? gone->since_ns : 0;
	unsigned int at = gone ? (unsigned int)(gone - there) : count++;

	there[at] = (struct unproven){ .source = s, .since_ns = now, .known = is_known };
	return since;
}

static void leave(uint64_t since)
{
	for (unsigned int i = 0; i < count; i++)
		if (there[i].since_ns == since) {
			there[i] = there[--count];
			return;
		}
}

static bool has_place(uint64_t since)
{
	for (unsigned int i = 0; i < count; i++)
		if (there[i].since_ns == since)
			return true;
	return false;
}

static void test_sources(void)
{
	static const uint8_t v4[4] = { 192, 0, 2, 1 }, other[4] = { 192, 0, 2, 2 };
	static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 };
	uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8, 1, 2, 3, 4, 5 }, same[16];
	struct unproven_source a = unproven_source_of(v4, 4), b = unproven_source_of(mapped, 16);

	ok(unproven_same(&a, &b));
	b = unproven_source_of(other, 4);
	ok(!unproven_same(&a, &b));
	memcpy(same, v6, 16);
	same[15] = 77;
	a = unproven_source_of(v6, 16);
	b = unproven_source_of(same, 16);
	ok(unproven_same(&a, &b));
	same[7]++;
	b = unproven_source_of(same, 16);
	ok(!unproven_same(&a, &b));
}

static void test_rule(void)
{
	struct unproven_source s = source(1000);

	count = 0;
	for (unsigned int i = 0; i < 32; i++)
		is(come(1, 100 + i), 0);
	is(come(1, 200), 100); /* its own oldest */
	for (unsigned int i = 0; i < 16; i++)
		is(come(2 + i, 300 + i), 0);
	is(count, 48);
	is(come(50, 400), 101); /* strangers have 48: of the one with most the oldest */
	unproven_remember(&known, &s, 1);
	ok(unproven_knows(&known, &s));
	for (unsigned int i = 0; i < 16; i++)
		is(come(1000, 500 + i), 0); /* kept for those who are known */
	is(count, 64);
	is(come(1000, 600),
	   102);		/* a known one more than is kept for them: strangers have more than is kept for these */
	is(come(51, 700), 103); /* and a stranger takes a stranger's */
	is(count, 64);
	memset(&known, 0, sizeof(known));
}

/* Known ones that hold everything they may leave strangers their places. */
static void test_known_floods(void)
{
	unsigned int strangers = 0;

	count = 0;
	for (unsigned int i = 0; i < 4; i++) {
		struct unproven_source s = source(i);

		unproven_remember(&known, &s, 1);
	}
	for (unsigned int i = 0; i < 1000; i++)
		come(i % 4, 1 + i);
	is(count, 48);
	for (unsigned int i = 0; i < 16; i++)
		is(come(100 + i, 2000 + i), 0);
	for (unsigned int i = 0; i < 1000; i++)
		come(i % 4, 3000 + i);
	for (unsigned int i = 0; i < count; i++)
		strangers += !there[i].known;
	is(strangers, 16);
	memset(&known, 0, sizeof(known));
}

/*
 * `attackers` sources with `rate` newcomers a second in all, each staying as long as it may; every 250 ms an honest
 * stranger, which needs 100 ms. Value: how many of 40 such lost their place.
 */
static unsigned int flood(unsigned int attackers, unsigned int rate)
{
	const uint64_t ms = 1000000, patience = 2000 * ms;
	unsigned int lost = 0, began = 0;
	uint64_t honest = 0, next_honest = 3000 * ms;

	count = 0;
	for (uint64_t now = 1, n = 0; began < 40; now += 1000 * ms / rate, n++) {
		for (unsigned int i = 0; i < count; i++)
			if (now - there[i].since_ns > patience)
				leave(there[i--].since_ns);
		come(100 + (unsigned int)(n % attackers), now);
		if (honest && now - honest > 100 * ms) {
			lost += !has_place(honest);
			leave(honest);
			honest = 0;
		}
		if (!honest && now > next_honest) {
			honest = now + 1;
			come(1, honest);
			next_honest = now + 250 * ms;
			began++;
		}
	}
	return lost;
}

static void test_floods(void)
{
	is(flood(1, 40), 0);
	is(flood(1, 5000), 0);
	is(flood(8, 5000), 0);
	is(flood(40, 5000), 0);
	/* As many sources as there are places, each as good as the honest one: who came first goes first. */
	is(flood(1000, 40), 0);
	is(flood(1000, 400), 0);
}

static struct unproven_tries tries;

/* As come(), where attempts are counted. */
static void come_counted(unsigned int n, uint64_t now, unsigned int *begun)
{
	struct unproven_source s = source(n);
	const struct unproven *gone;
	unsigned int at;

	unproven_tried(&tries, &s, now);
	for (unsigned int i = 0; i < count; i++)
		there[i].tries = unproven_tries(&tries, &there[i].source, now);
	gone = unproven_yields(&rule, there, count, &s, false);
	if (unproven_drops(gone, unproven_tries(&tries, &s, now), now))
		return;
	at = gone ? (unsigned int)(gone - there) : count++;
	there[at] = (struct unproven){ .source = s, .since_ns = now };
	(*begun)++;
}

/*
 * Eight sources hold six places each, and come again and again; twelve honest ones of one source, on a machine that is
 * busy, need a second. Value: how many of them lost their place. *ret_begun: places given in that second.
 */
static unsigned int burst(unsigned int rate, unsigned int *ret_begun)
{
	const struct unproven_source honest = source(1);
	const uint64_t ms = 1000000;
	unsigned int unused = 0, kept = 0;
	bool came = false;

	count = *ret_begun = 0;
	memset(&tries, 0, sizeof(tries));
	for (uint64_t now = 1, n = 0; now < 4000 * ms; now += 1000 * ms / rate, n++) {
		for (unsigned int i = 0; i < 12 && now > 3000 * ms && !came; i++)
			come_counted(1, now + i, &unused);
		came = now > 3000 * ms;
		come_counted(100 + (unsigned int)(n % 8), now, came ? ret_begun : &unused);
	}
	for (unsigned int i = 0; i < count; i++)
		kept += unproven_same(&there[i].source, &honest);
	return 12 - kept;
}

static void test_burst(void)
{
	struct unproven_source s = source(7);
	unsigned int begun;

	is(burst(100, &begun), 0);
	is(burst(1000, &begun), 0);
	ok(begun <= 48 * 5); /* not as many processes as connections */
	memset(&tries, 0, sizeof(tries));
	for (unsigned int i = 0; i < 8; i++)
		unproven_tried(&tries, &s, 1000);
	is(unproven_tries(&tries, &s, 1000), 8);
	unproven_proved(&tries, &s, 1000);
	is(unproven_tries(&tries, &s, 1000), 7);
	is(unproven_tries(&tries, &s, 1000 + UINT64_C(5000000000)), 3);
	is(unproven_tries(&tries, &s, 1000 + UINT64_C(50000000000)), 0);
	/* Others push out those that count least. */
	for (unsigned int i = 0; i < 20; i++)
		unproven_tried(&tries, &s, 2000);
	for (unsigned int i = 0; i < 100000; i++) {
		struct unproven_source other = source(1000 + i);

		unproven_tried(&tries, &other, 3000);
	}
	ok(unproven_tries(&tries, &s, 3000) > 20);
}

static void test_memory(void)
{
	struct unproven_source s;

	for (unsigned int i = 0; i < 5000; i++) {
		s = source(i);
		unproven_remember(&known, &s, 1 + i);
	}
	s = source(4999);
	ok(unproven_knows(&known, &s));
	s = source(5000 - UNPROVEN_KNOWN);
	ok(unproven_knows(&known, &s));
	s = source(4999 - UNPROVEN_KNOWN);
	ok(!unproven_knows(&known, &s));
	memset(&known, 0, sizeof(known));
}

int main(void)
{
	tap_begin();
	test_sources();
	test_rule();
	test_known_floods();
	test_floods();
	test_burst();
	test_memory();
	return tap_end();
}
