/* leads_test.c: the lead of a turn settles where its process needs it, whatever a change of context takes. */
#include "model/leads.h"

#include "base/tap.h"

/* What a process needs to wake up: between 60 and 140 us. */
static uint64_t needs_ns(unsigned int n)
{
	return 60000 + n * 7919 % 81 * 1000;
}

/* Value: how many of the last 1000 of 3000 turns began more than 20 us after they could have. */
static unsigned int late_of(struct lead *l, uint64_t switch_ns)
{
	struct lead_floor floor = { 0 };
	unsigned int late = 0;

	for (unsigned int n = 0; n < 3000; n++) {
		uint64_t needs = needs_ns(n), gap = needs > l->ns ? needs - l->ns : 0;

		late += n >= 2000 && gap > 20000;
		lead_learn(l, &floor, gap ? gap + switch_ns : 0);
	}
	return late;
}

int main(void)
{
	static const uint64_t from[] = { 20000, 60000, 250000 };
	struct lead_floor hidden = { 0 };
	struct lead_floor floor = { 0 };
	struct lead l = { 60000 };

	tap_begin();
	for (unsigned int i = 0; i < 3; i++) {
		unsigned int late;

		l.ns = from[i];
		late = late_of(&l, 0);
		tap_ok(l.ns >= 80000 && l.ns <= 130000 && late < 500,
		       "from %lu us it settles at %lu us: %u of 1000 late", (unsigned long)from[i] / 1000,
		       (unsigned long)l.ns / 1000, late);
		l.ns = from[i];
		late = late_of(&l, 75000);
		tap_ok(l.ns >= 60000 && l.ns <= 140000, "and at %lu us where a change of context is seen: %u late",
		       (unsigned long)l.ns / 1000, late);
	}
	l.ns = 200000;
	lead_learn(&l, &floor, 75000);
	for (int n = 0; n < 5; n++)
		lead_learn(&l, &floor, 0);
	tap_ok(l.ns <= 100000, "where changes take time, who came before the others' end comes later soon: %lu us",
	       (unsigned long)l.ns / 1000);
	l.ns = 200000;
	lead_interrupted(&l, &floor);
	tap_ok(l.ns == 200000, "and is not told so twice");
	lead_learn(&l, &hidden, 5000);
	lead_interrupted(&l, &hidden);
	tap_ok(l.ns <= 180000, "where they do not show, who has interrupted others comes later too: %lu us",
	       (unsigned long)l.ns / 1000);
	for (int n = 0; n < 1000; n++)
		lead_learn(&l, &floor, n % 2 ? 5000000 : 10000);
	tap_ok(l.ns <= LEAD_MOST_NS, "a process that is late by milliseconds has no more than %lu us",
	       (unsigned long)l.ns / 1000);
	for (int n = 0; n < 1000; n++)
		lead_learn(&l, &floor, 0);
	tap_ok(l.ns == 20000, "one that is never late has %lu us", (unsigned long)l.ns / 1000);
	return tap_end();
}
