/* chatter_test.c: sources that talk too much, at given times: which lines are written, and that none is lost uncounted.
 */
#include "base/tap.h"
#include "model/chatter.h"

#define S UINT64_C(1000000000)

static const struct chatter_rule rule = { .lines = 5, .all = 100, .window_ns = 60 * S };

static struct unproven_source source(unsigned int n)
{
	const uint8_t address[4] = { 10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };

	return unproven_source_of(address, 4);
}

static bool says(struct chatter *c, unsigned int n, uint64_t now)
{
	struct unproven_source s = source(n);
	char name[CHATTER_NAME_BYTES];

	snprintf(name, sizeof(name), "source %u", n);
	return chatter_may(c, &rule, &s, name, now);
}

static void test_one(void)
{
	static struct chatter c;
	char name[CHATTER_NAME_BYTES];
	uint64_t hidden;

	for (unsigned int i = 0; i < 20; i++)
		is(says(&c, 1, S + i), i < 5);
	ok(says(&c, 2, 2 * S)); /* another has its own */
	ok(!chatter_held(&c, &rule, 60 * S, name, &hidden));
	ok(!says(&c, 1, 60 * S));
	ok(chatter_held(&c, &rule, 61 * S, name, &hidden));
	is_str(name, "source 1");
	is(hidden, 16);
	ok(!chatter_held(&c, &rule, 61 * S, name, &hidden));
	for (unsigned int i = 0; i < 6; i++)
		is(says(&c, 1, 62 * S + i), i < 5);
}

/* A window that ends without anything held back begins anew. */
static void test_slow(void)
{
	static struct chatter c;

	for (unsigned int i = 0; i < 100; i++)
		ok(says(&c, 1, (1 + i) * 13 * S));
}

/* Each line is written or counted, and of no window more than all may. */
static void test_many(unsigned int sources, unsigned int rate)
{
	static struct chatter c;
	char name[CHATTER_NAME_BYTES];
	uint64_t lines = 0, written = 0, counted = 0, told = 0, hidden;

	memset(&c, 0, sizeof(c));
	for (uint64_t now = S; now < 601 * S; now += S / rate) {
		lines++;
		written += says(&c, (unsigned int)(lines % sources), now);
		while (chatter_held(&c, &rule, now, name, &hidden)) {
			counted += hidden;
			told++;
		}
	}
	while (chatter_held(&c, &rule, 800 * S, name, &hidden))
		counted += hidden;
	is(written + counted, lines);
	tap_ok(written <= 11 * rule.all, "%u sources: %llu lines of %llu in ten minutes", sources,
	       (unsigned long long)written, (unsigned long long)lines);
	tap_ok(told <= 11 * (rule.all / rule.lines + 1), "and %llu about the others", (unsigned long long)told);
}

int main(void)
{
	tap_begin();
	test_one();
	test_slow();
	test_many(1, 100);
	test_many(10, 100);
	test_many(300, 100);
	test_many(5000, 1000);
	return tap_end();
}
