/* history_test.c: means at three resolutions, gaps, the ring's end, and keeping in chunks. */
#include "model/history.h"

#include "base/tap.h"

#include <stdlib.h>

#define T0 1700000040ll /* a multiple of 60 */

static void test_codes(void)
{
	int bad = 0;
	uint64_t x = 1;

	is(history_encode(HISTORY_NONE), 0);
	ok(history_decode(0) == HISTORY_NONE);
	for (uint64_t i = 0; i < 2048; i++)
		bad += history_decode(history_encode(i)) != i;
	is(bad, 0);
	for (int i = 0; i < 100000; i++) {
		uint64_t got, value;

		x = x * 6364136223846793005ull + 1442695040888963407ull;
		value = x >> (i % 50 + 2);
		got = history_decode(history_encode(value));
		bad += (got > value ? got - value : value - got) > got / 2000;
	}
	is(bad, 0);
	for (unsigned int code = 1; code < 56000; code++)
		bad += history_encode(history_decode((uint16_t)code)) != code;
	is(bad, 0);
}

static uint64_t at(const struct history *h, unsigned int figure, unsigned int level, int64_t time)
{
	uint64_t value;

	history_read(h, figure, level, time / history_step(level), 1, &value);
	return value;
}

static void test_means(void)
{
	struct history *h = history_new(2);
	uint64_t value[2] = { 0, HISTORY_NONE };

	ok(at(h, 0, 0, T0) == HISTORY_NONE);
	for (int64_t t = 0; t < 120; t++) {
		value[0] = (uint64_t)t;
		value[1] = t % 2 ? HISTORY_NONE : 10;
		history_add(h, T0 + t, value);
	}
	is(at(h, 0, 0, T0 + 7), 7);
	ok(at(h, 0, 0, T0 + 119) == HISTORY_NONE); /* not over yet */
	is(at(h, 0, 1, T0 + 15), 15); /* 14.5 */
	is(at(h, 0, 2, T0), 30);      /* 29.5 */
	is(at(h, 1, 1, T0), 10);      /* the mean of what there was */
	ok(at(h, 1, 0, T0 + 1) == HISTORY_NONE);
	history_add(h, T0 + 50, value); /* the past is left alone */
	is(at(h, 0, 0, T0 + 50), 50);
	history_free(h);
}

static void test_gaps(void)
{
	struct history *h = history_new(1);
	uint64_t value = 5;

	history_add(h, T0, &value);
	history_add(h, T0 + 100, &value);
	is(at(h, 0, 0, T0), 5);
	ok(at(h, 0, 0, T0 + 50) == HISTORY_NONE);
	ok(at(h, 0, 1, T0 + 50) == HISTORY_NONE);
	history_add(h, T0 + 1000000, &value); /* longer than any ring */
	ok(at(h, 0, 0, T0) == HISTORY_NONE);
	ok(at(h, 0, 2, T0 + 100) == HISTORY_NONE);
	history_add(h, T0 + 1000060, &value);
	is(at(h, 0, 2, T0 + 1000000), 5);
	ok(at(h, 0, 0, -5) == HISTORY_NONE);
	history_free(h);
}

static void test_span(void)
{
	struct history *h = history_new(1);
	uint64_t value = 7, got[5];

	history_add(h, T0, &value);
	value = 9;
	history_add_span(h, T0 + 1, T0 + 3, &value);
	history_add_span(h, T0 + 4, T0 + 4, &value);
	history_read(h, 0, 0, T0, 5, got);
	tap_ok(got[0] == 7 && got[1] == 9 && got[2] == 9 && got[3] == 9 && got[4] == HISTORY_NONE, "a span has no gap");
	history_free(h);
}

static void test_levels(void)
{
	is(history_level(60), 0);
	is(history_level(600), 0);
	is(history_level(601), 1);
	is(history_level(10800), 1);
	is(history_level(86400), 2);
	is(history_level(UINT64_MAX), 2);
}

static void test_keeping(void)
{
	struct history *h = history_new(3), *again = history_new(3);
	uint8_t *chunk = malloc(history_chunk_bytes(h));
	uint64_t value[3];
	int bad = 0;

	for (int64_t t = 0; t < 7200; t++) {
		value[0] = (uint64_t)t * 4096;
		value[1] = t / 600 % 2 ? HISTORY_NONE : 1;
		value[2] = 0;
		if (t < 3000 || t > 3700)
			history_add(h, T0 + t, value);
	}
	for (unsigned int level = 1; level < HISTORY_LEVELS; level++) {
		int64_t last = history_now(h, level) / HISTORY_CHUNK;

		for (int64_t c = T0 / history_step(level) / HISTORY_CHUNK; c <= last; c++) {
			history_save(h, level, c, chunk);
			history_load(again, level, c, chunk);
		}
		for (int64_t t = 0; t < 7100; t += history_step(level))
			for (unsigned int k = 0; k < 3; k++)
				bad += at(h, k, level, T0 + t) != at(again, k, level, T0 + t);
	}
	is(bad, 0);
	is(at(again, 2, 2, T0 + 60), 0);
	history_add(again, T0 + 7260, value);
	is(at(again, 0, 1, T0 + 7000), at(h, 0, 1, T0 + 7000));
	free(chunk);
	history_free(h);
	history_free(again);
}

/* What stays the same is kept in less, and is the same when it is read; a value that changes late is seen. */
static void test_same(void)
{
	struct history *h = history_new(2);
	uint64_t value[2] = { 77, 0 };
	int bad = 0;

	for (int64_t t = 0; t < 600; t++) {
		value[1] = t == 299 ? 5 : 0;
		history_add(h, T0 + t, value);
	}
	for (int64_t t = 1; t < 599; t++)
		bad += at(h, 0, 0, T0 + t) != 77 || at(h, 1, 0, T0 + t) != (t == 299 ? 5 : 0);
	is(bad, 0);
	ok(at(h, 0, 0, T0 - 1) == HISTORY_NONE);
	for (int64_t t = 600; t < 1210; t++)
		history_add(h, T0 + t, value);
	ok(at(h, 1, 0, T0 + 299) == HISTORY_NONE); /* the ring has come round */
	is(at(h, 0, 0, T0 + 700), 77);
	is(at(h, 0, 1, T0 + 290), 77);
	is(at(h, 1, 1, T0 + 290), 1); /* 0.5 */
	history_free(h);
}

/* A clock that is set moves what is kept along, by years and back, and what comes then follows on it. */
static void test_shift(void)
{
	const int64_t end = T0 + 3000, to[] = { end + 10ll * 365 * 86400 + 7, end - 86400 * 3 - 1, end };
	struct history *h = history_new(2), *never = history_new(2);
	uint64_t value[2];
	int64_t now = end;
	int bad = 0;

	for (int64_t t = 0; t <= 3000; t++) {
		value[0] = (uint64_t)t;
		value[1] = t < 1000 ? 3 : HISTORY_NONE;
		history_add(h, T0 + t, value);
		history_add(never, T0 + t, value);
	}
	for (unsigned int i = 0; i < 3; i++) {
		history_shift(h, now, to[i]);
		now = to[i];
		for (int64_t ago = 1; ago < 599; ago++)
			bad += at(h, 0, 0, now - ago) != history_decode(history_encode((uint64_t)(3000 - ago)));
		/* The coarser ones: to a step. */
		for (int64_t ago = 120; ago < 2900; ago += 10) {
			uint64_t v = at(h, 0, 1, now - ago);

			bad += v < (uint64_t)(3000 - ago - 20) || v > (uint64_t)(3000 - ago + 20);
		}
		is(bad, 0);
		is(at(h, 1, 2, now - 2500), 3);
		ok(at(h, 1, 2, now - 1000) == HISTORY_NONE);
	}
	for (int64_t ago = 0; ago < 2900; ago += 60)
		bad += at(h, 0, 2, now - ago) != at(never, 0, 2, now - ago);
	is(bad, 0);
	value[0] = 42;
	history_add(h, now + 1, value);
	history_add(h, now + 2, value);
	is(at(h, 0, 0, now + 1), 42);
	is(at(h, 1, 2, now - 2500), 3);
	history_shift(h, now + 2, 100); /* into the first minutes of 1970: what is older than the clock is lost */
	is(at(h, 0, 0, 99), 42);
	is(at(h, 0, 0, 50), 2952); /* 3000 - 48 */
	history_shift(h, 100, -5);
	ok(at(h, 0, 0, 0) == HISTORY_NONE && history_now(h, 0) < 0);
	history_add(h, T0, value);
	history_add(h, T0 + 1, value);
	is(at(h, 0, 0, T0), 42);
	history_free(h);
	history_free(never);
}

int main(void)
{
	tap_begin();
	test_codes();
	test_means();
	test_gaps();
	test_span();
	test_levels();
	test_keeping();
	test_same();
	test_shift();
	return tap_end();
}
