/* cut_test.c: when channels are switched, by a table; and how long slices are. */
#include "base/tap.h"
#include "shim/rm/cut.h"
#include "shim/rm/slice.h"
#include "wire/turn.h"

#define MS 1000000ull
#define NOW (1000 * MS)
#define SHUT WIRE_GATED
#define OPEN (WIRE_GATED | WIRE_OPEN)

/* One look at time NOW: the state before, what is seen, and what comes of it. */
static const struct row {
	const char *name;
	struct cut before;
	struct cut_view view; /* news_ns 0: just now */
	enum cut_action action;
	uint64_t look_ns; /* after NOW; 0: not looked at */
} rows[] = {
	{ "no limit", { 0 }, { .gate = WIRE_OPEN, .busy_since_ns = 1 }, CUT_NOTHING, CUT_FREE_NS },
	{ "no limit any more", { .off = true }, { .gate = 0 }, CUT_ON, CUT_FREE_NS },
	{ "open and idle", { 0 }, { .gate = OPEN }, CUT_NOTHING, CUT_IDLE_NS },
	{ "open and busy, no end", { 0 }, { .gate = OPEN, .busy_since_ns = 1 }, CUT_NOTHING, CUT_LOOK_NS },
	{ "open and busy, its end near",
	  { 0 },
	  { .gate = OPEN, .busy_since_ns = 1, .until_ns = NOW + MS },
	  CUT_NOTHING,
	  MS },
	{ "open and busy, its end far",
	  { 0 },
	  { .gate = OPEN, .busy_since_ns = 1, .until_ns = NOW + 900 * MS },
	  CUT_NOTHING,
	  CUT_IDLE_NS },
	{ "open again", { .off = true, .closed_ns = 5 }, { .gate = OPEN, .busy_since_ns = 1 }, CUT_ON, CUT_LOOK_NS },
	{ "just closed", { 0 }, { .gate = SHUT, .busy_since_ns = 1 }, CUT_NOTHING, CUT_SPARE_NS },
	{ "closed, not long enough",
	  { .closed_ns = NOW - CUT_SPARE_NS + 1 },
	  { .gate = SHUT, .busy_since_ns = 1 },
	  CUT_NOTHING,
	  1 },
	{ "closed, long enough",
	  { .closed_ns = NOW - CUT_SPARE_NS },
	  { .gate = SHUT, .busy_since_ns = 1 },
	  CUT_OFF,
	  0 },
	{ "closed, nothing in flight", { .closed_ns = NOW - 50 * MS }, { .gate = SHUT }, CUT_NOTHING, CUT_OFF_NS },
	{ "closed, work that has just begun",
	  { .closed_ns = NOW - 50 * MS },
	  { .gate = SHUT, .busy_since_ns = NOW - 1 },
	  CUT_NOTHING,
	  CUT_SPARE_NS - 1 },
	{ "closed, work of tomorrow",
	  { .closed_ns = NOW - 50 * MS },
	  { .gate = SHUT, .busy_since_ns = UINT64_MAX },
	  CUT_NOTHING,
	  CUT_SPARE_NS },
	{ "off, and meted lives",
	  { .off = true, .closed_ns = 5 },
	  { .gate = SHUT, .busy_since_ns = 1 },
	  CUT_NOTHING,
	  CUT_OFF_NS },
	{ "off, and meted is gone",
	  { .off = true, .closed_ns = 5 },
	  { .gate = SHUT, .busy_since_ns = 1, .lost = true },
	  CUT_ON,
	  CUT_OFF_NS },
	{ "off, and meted is silent",
	  { .off = true, .closed_ns = 5 },
	  { .gate = SHUT, .busy_since_ns = 1, .bound_ns = 4 * MS, .news_ns = NOW - CUT_SILENCE_NS - 4 * MS - 1 },
	  CUT_ON,
	  CUT_OFF_NS },
	{ "off, and meted is silent, but not long enough",
	  { .off = true, .closed_ns = 5 },
	  { .gate = SHUT, .busy_since_ns = 1, .bound_ns = 4 * MS, .news_ns = NOW - CUT_SILENCE_NS - 4 * MS },
	  CUT_NOTHING,
	  CUT_OFF_NS },
	{ "closed long, and meted is gone",
	  { .closed_ns = 5 },
	  { .gate = SHUT, .busy_since_ns = 1, .lost = true },
	  CUT_NOTHING,
	  CUT_OFF_NS },
};

int main(void)
{
	tap_begin();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cut_view view = rows[i].view;
		struct cut cut = rows[i].before;
		uint64_t look_ns = 0;
		enum cut_action action;

		if (!view.news_ns)
			view.news_ns = NOW;
		action = cut_decide(&cut, &view, NOW, &look_ns);
		tap_ok(action == rows[i].action && look_ns >= NOW && look_ns <= NOW + CUT_FREE_NS &&
			       (!rows[i].look_ns || look_ns == NOW + rows[i].look_ns),
		       "%s", rows[i].name);
	}
	is(slice_us(SLICE_CLASS_NORMAL, 300000, 0), 3000);
	is(slice_us(SLICE_CLASS_NORMAL, 1, 0), SLICE_LEAST_US);
	is(slice_us(SLICE_CLASS_NORMAL, 2000000, 0), SLICE_MOST_US);
	is(slice_us(SLICE_CLASS_NORMAL, 0, 0), 0);
	is(slice_us(SLICE_CLASS_UNSAID, 0, 200), 2048);
	is(slice_us(SLICE_CLASS_NORMAL, 0, UINT32_MAX), SLICE_MOST_US);
	is(slice_us(SLICE_CLASS_LOW, 900000, 0), SLICE_LOW_US);
	is(slice_us(SLICE_CLASS_HIGH, 1000, 0), SLICE_HIGH_US);
	/* Every look has an end ahead of it, whatever the page says. */
	for (uint32_t gate = 0; gate < 8; gate++)
		for (int n = 0; n < 4; n++) {
			struct cut_view view = { .gate = gate, .until_ns = n & 1 ? UINT64_MAX : 1, .news_ns = NOW };
			struct cut cut = { 0 };
			uint64_t look_ns = 0;

			view.busy_since_ns = n & 2 ? NOW - CUT_SPARE_NS / 2 : 0;
			cut_decide(&cut, &view, NOW, &look_ns);
			ok(look_ns > NOW && look_ns <= NOW + CUT_FREE_NS);
		}
	return tap_end();
}
