/*
 * handover_times_test.c: what turns have come to is read as it was written; what an older meted writes as well; and of
 * what is damaged nothing is taken.
 */
#include "daemon/upgrade/handover_times.h"

#include "base/tap.h"

#include <string.h>

static const struct place_totals totals = {
	.charged_ns = 1,
	.wanted_ns = 2,
	.waited_ns = 3,
	.lag_ns = -4,
	.rights = { .arrears_ns = -5,
		    .by_clock_ns = -6,
		    .tokens_ns = -7,
		    .put_off_ns = 8,
		    .put_off_free_ns = 9,
		    .put_off_from_ns = 10 },
	.longest_ns = 11,
	.bypassed = 12,
};

/* Value: true when it is taken; as what. */
static bool take(const char *text, struct place_totals *ret)
{
	json_t *one = json_loads(text, 0, NULL);
	enum wire_engine engine;
	unsigned int share;
	bool good;

	memset(ret, 0, sizeof(*ret));
	good = handover_times_read(one, 2, &share, &engine, ret);
	json_decref(one);
	return good;
}

static void test_same(void)
{
	json_t *one = handover_times_write(1, WIRE_COPY, &totals);
	struct place_totals got;
	enum wire_engine engine = WIRE_COMPUTE;
	unsigned int share = 0;
	bool good;

	memset(&got, 0, sizeof(got));
	good = handover_times_read(one, 2, &share, &engine, &got);
	tap_ok(good && share == 1 && engine == WIRE_COPY && !memcmp(&got, &totals, sizeof(got)),
	       "what is written is read");
	tap_ok(!handover_times_read(one, 1, &share, &engine, &got), "but not of a share that there is none of");
	json_decref(one);
}

static void test_older(void)
{
	struct place_totals got;
	bool good = take("[0, 0, 100, -20, 30, 40, 50, 60, 70]", &got);

	tap_ok(good && got.charged_ns == 100 && got.lag_ns == -20 && got.rights.arrears_ns == 70 &&
		       !got.rights.by_clock_ns && !got.rights.put_off_ns,
	       "what an older meted does not say is 0");
}

static void test_damaged(void)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"null",
		"[0, 0]",
		"[0, 2, 100, -20, 30, 40, 50, 60, 70]",
		"[2, 0, 100, -20, 30, 40, 50, 60, 70]",
		"[-1, 0, 100, -20, 30, 40, 50, 60, 70]",
		"[0, 0, -100, -20, 30, 40, 50, 60, 70]",
		"[0, 0, 100, \"20\", 30, 40, 50, 60, 70]",
		"[0, 0, 100, -20, 30, 40, 50, 60, 7.5]",
		"[0, 0, 100, -20, 30, 40, 50, 60, 70, 80, 90, -1]",
		"[0, 0, 100, -20, 30, 40, 50, 60, 70, 80, 90, 1, [], 1]",
	};
	struct place_totals got;
	unsigned int taken = 0;

	for (unsigned int i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		taken += take(texts[i], &got);
	tap_ok(!taken, "nothing is taken of what is damaged");
}

int main(void)
{
	tap_begin();
	test_same();
	test_older();
	test_damaged();
	return tap_end();
}
