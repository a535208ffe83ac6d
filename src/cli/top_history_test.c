/* top_history_test.c: what is remembered for how long, and how it is drawn. */
#include "cli/top_history.h"
#include "base/tap.h"

#include <math.h>

#define SLOT TOP_HISTORY_SLOT_NS

static struct top_history history;

static void add(const char *key, double pct, uint64_t now_ns, uint64_t interval_ns)
{
	top_history_begin(&history);
	top_history_add(&history, key, pct, now_ns, interval_ns);
	top_history_end(&history);
}

static double back(unsigned int slots)
{
	return top_history_find(&history, "a")->value[TOP_HISTORY_SLOTS - 1 - slots];
}

static void draws(unsigned int columns, const char *want, const char *what)
{
	char text[TOP_HISTORY_BYTES];

	top_history_draw(top_history_find(&history, "a"), columns, false, text);
	tap_ok(!strcmp(text, want), "%s: \"%s\", wanted \"%s\"", what, text, want);
}

static void remembers(void)
{
	uint64_t now = 100 * SLOT;

	tap_ok(!top_history_find(&history, "a"), "nothing is known in the beginning");
	add("a", 20, now, SLOT / 2);
	add("a", 40, now + SLOT / 2, SLOT / 2);
	tap_ok(back(0) == 30 && isnan(back(1)), "a slot is the mean of its readings");
	add("a", NAN, now + SLOT / 2 + 1, SLOT / 2);
	tap_ok(back(0) == 30, "a reading that is not known changes nothing");
	add("a", 100, now + SLOT, SLOT / 2);
	tap_ok(back(0) == 100 && back(1) == 30, "the next slot");
	add("a", 50, now + 4 * SLOT, 3 * SLOT);
	tap_ok(back(0) == 50 && back(1) == 50 && back(2) == 50 && back(3) == 100, "a long interval is filled");
	add("a", 10, now + 14 * SLOT, SLOT);
	tap_ok(back(0) == 10 && isnan(back(1)) && isnan(back(9)) && back(10) == 50, "a gap stays empty");
	add("a", 10, now + 13 * SLOT, SLOT);
	tap_ok(back(0) == 10 && back(10) == 50, "a clock that goes back moves nothing");
	add("a", 70, now + 1000 * SLOT, SLOT);
	tap_ok(back(0) == 70 && isnan(back(1)) && isnan(back(TOP_HISTORY_SLOTS - 1)), "after long all is new");
	add("b", 1, now, SLOT);
	tap_ok(!top_history_find(&history, "a") && history.count == 1, "who is not there any more is forgotten");
	top_history_free(&history);
}

static void draws_marks(void)
{
	static const double reading[] = { 0, 0.4, 1, 25, 50, 75, 100, 140 };
	char text[TOP_HISTORY_BYTES];

	for (unsigned int i = 0; i < sizeof(reading) / sizeof(*reading); i++)
		add("a", reading[i], (100 + i) * SLOT, SLOT);
	draws(30, "                        .:=*@@", "a column a slot");
	draws(15, "            .+@", "two slots a column");
	top_history_draw(top_history_find(&history, "a"), 30, true, text);
	tap_ok(!strcmp(text + 24, "\u2581\u2582\u2584\u2586\u2588\u2588"), "blocks: \"%s\"", text + 24);
	top_history_draw(NULL, 30, true, text);
	tap_ok(!*text, "no series is no text");
	top_bar_draw(45, 10, false, text);
	tap_ok(!strcmp(text, "#####....."), "a bar: \"%s\"", text);
	top_bar_draw(0.6, 10, false, text);
	tap_ok(!strcmp(text, "#........."), "a little is seen: \"%s\"", text);
	top_bar_draw(NAN, 4, true, text);
	tap_ok(!strcmp(text, "\u00b7\u00b7\u00b7\u00b7"), "what is not known is empty: \"%s\"", text);
	top_bar_draw(300, 4, true, text);
	tap_ok(!strcmp(text, "\u2588\u2588\u2588\u2588"), "no bar is longer than its place");
	top_history_free(&history);
}

int main(void)
{
	tap_begin();
	remembers();
	draws_marks();
	return tap_end();
}
