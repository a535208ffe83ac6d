/* webhook_fresh_test.c: the bounds of new templates: of a namespace, of all, and what an hour and a known one give
 * back. */
#include "base/tap.h"
#include "connect/kubernetes/webhook_fresh.h"

#include <stdio.h>

#define START UINT64_C(5000000000)

static unsigned int take_all(struct webhook_fresh *fresh, const char *name_space, uint64_t now_ns)
{
	unsigned int n = 0;

	while (n <= WEBHOOK_FRESH_OF_ALL && webhook_fresh_take(fresh, name_space, now_ns))
		n++;
	return n;
}

static unsigned int take_of_many(struct webhook_fresh *fresh, unsigned int spaces, uint64_t now_ns)
{
	unsigned int sum = 0;
	char name[32];

	for (unsigned int i = 0; i < spaces; i++) {
		snprintf(name, sizeof(name), "space-%u", i);
		sum += take_all(fresh, name, now_ns);
	}
	return sum;
}

static void test_namespace(void)
{
	struct webhook_fresh fresh;
	unsigned int n;

	webhook_fresh_init(&fresh);
	n = take_all(&fresh, "one", START);
	tap_ok(n == 64, "a namespace has 64 (%u)", n);
	tap_ok(webhook_fresh_take(&fresh, "other", START), "another one has its own");
	webhook_fresh_give(&fresh, "one");
	n = take_all(&fresh, "one", START);
	tap_ok(n == 1, "one that was not new is not counted (%u)", n);
	webhook_fresh_give(&fresh, "nobody");
	tap_ok(fresh.all == 65, "nothing is given back that was not taken (%u)", fresh.all);
	n = take_all(&fresh, "one", START + WEBHOOK_FRESH_NS);
	tap_ok(!n, "within the hour there are no more (%u)", n);
	n = take_all(&fresh, "one", START + WEBHOOK_FRESH_NS + 1);
	tap_ok(n == 64, "after it there are 64 again (%u)", n);
	webhook_fresh_deinit(&fresh);
}

static void test_all(void)
{
	struct webhook_fresh fresh;
	unsigned int n;

	webhook_fresh_init(&fresh);
	n = take_of_many(&fresh, 100, START);
	tap_ok(n == 2048, "all namespaces together have 2048 (%u)", n);
	tap_ok(!webhook_fresh_take(&fresh, "late", START), "one that comes then has none");
	webhook_fresh_give(&fresh, "space-3");
	tap_ok(webhook_fresh_take(&fresh, "late", START), "but one that is given back");
	webhook_fresh_deinit(&fresh);
}

int main(void)
{
	tap_begin();
	test_namespace();
	test_all();
	return tap_end();
}
