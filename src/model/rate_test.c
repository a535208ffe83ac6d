/* rate_test.c: who asks too often waits, and nobody else. */
#include "base/tap.h"
#include "model/rate.h"

#define SECOND UINT64_C(1000000000)

static const struct rate_rule rule = { .each_second = 10, .at_once = 20 };
static struct rate rate;

static struct unproven_source source(unsigned int n)
{
	const uint8_t address[4] = { 10, 0, (uint8_t)(n >> 8), (uint8_t)n };

	return unproven_source_of(address, 4);
}

static unsigned int ask(unsigned int n, unsigned int times, uint64_t now_ns)
{
	struct unproven_source s = source(n);
	unsigned int admitted = 0;

	while (times--)
		admitted += rate_admits(&rate, &rule, &s, now_ns);
	return admitted;
}

int main(void)
{
	unsigned int n = 0;

	tap_begin();
	is(ask(1, 100, 5 * SECOND), 20);
	is(ask(2, 5, 5 * SECOND), 5);
	is(ask(1, 100, 6 * SECOND), 10);
	is(ask(1, 100, 60 * SECOND), 20);
	for (unsigned int i = 0; i < 100; i++)
		n += ask(3, 10, 100 * SECOND + i * SECOND / 10); /* 100 a second for 10 s */
	ok(n >= 118 && n <= 120);
	for (unsigned int i = 10; i < 10 + RATE_SOURCES; i++)
		is(ask(i, 1, 200 * SECOND + i), 1);
	is(ask(10 + RATE_SOURCES - 1, 100, 200 * SECOND + 1000), 19); /* it is remembered */
	return tap_end();
}
