/* reuse_test.c: what of a loop's memory stays at hand, what is asked for beforehand, and how much is held by that. */
#include "base/tap.h"
#include "model/reuse.h"

#include <stdlib.h>

#define KIB UINT64_C(1024)

static uint64_t next_at;

static struct reuse_kind kind(uint64_t bytes)
{
	return (struct reuse_kind){ .device = 1, .context = 2, .stream = 3, .bytes = bytes };
}

/* A pool far away that has all there is; what the caller of reuse.h does. */
static struct far {
	struct reuse reuse;
	uint64_t held, high;	       /* bytes that the pool has given out */
	uint64_t live, live_high;      /* of these, the program's */
	unsigned int questions, asked; /* round trips; blocks */
	unsigned int refused;	       /* what had to be taken */
} far;

static void far_begin(void)
{
	memset(&far, 0, sizeof(far));
}

static void give(uint64_t bytes)
{
	far.held += bytes;
	far.asked++;
	if (far.high < far.held)
		far.high = far.held;
}

static uint64_t want(struct reuse_kind k)
{
	struct reuse_kind more[16];
	struct reuse_block b;
	uint64_t at = reuse_take(&far.reuse, &k);
	unsigned int count;

	far.live += k.bytes;
	if (far.live_high < far.live)
		far.live_high = far.live;
	if (at)
		return at;
	far.questions++;
	far.refused += !reuse_ask(&far.reuse, &k);
	count = reuse_foresee(&far.reuse, &k, more, 16);
	while (reuse_excess(&far.reuse, &k, &b))
		far.held -= b.kind.bytes;
	give(k.bytes);
	for (unsigned int i = 0; i < count; i++)
		give(more[i].bytes);
	reuse_answered(&far.reuse, &k, true);
	for (unsigned int i = 0; i < count; i++)
		far.refused += !reuse_arrived(&far.reuse, &more[i], ++next_at);
	return ++next_at;
}

static void release(struct reuse_kind k, uint64_t at)
{
	far.live -= k.bytes;
	if (!reuse_free(&far.reuse, &k, at))
		far.held -= k.bytes;
}

/* The program waits, or looks at memory: everything is the pool's. */
static void wait_for(bool looks)
{
	struct reuse_block b;

	while (reuse_pop(&far.reuse, looks, &b))
		far.held -= b.kind.bytes;
	is(far.held, far.live);
}

/* Ten pieces at once in each step. */
static void together(void)
{
	uint64_t at[10];

	far_begin();
	for (unsigned int step = 0; step < 10; step++) {
		unsigned int before = far.questions;

		for (unsigned int i = 0; i < 10; i++)
			at[i] = want(kind((1 + i / 2) * KIB));
		for (unsigned int i = 0; i < 10; i++)
			for (unsigned int j = 0; j < i; j++)
				if (at[i] == at[j])
					ok(!"each piece once");
		for (unsigned int i = 0; i < 10; i++)
			release(kind((1 + i / 2) * KIB), at[i]);
		wait_for(false);
		is(far.questions - before, step < 2 ? 10 : 1);
	}
	is(far.high, far.live_high);
	is(far.refused, 0);
}

/* One after the other: what was freed is not held beside what is asked for, unless as much was held before. */
static void in_turn(bool much)
{
	uint64_t at, big = 0;
	unsigned int before = 0;

	far_begin();
	for (unsigned int step = 0; step < 10; step++) {
		before = far.questions;
		if (much)
			big = want(kind(1024 * KIB));
		if (much)
			release(kind(1024 * KIB), big);
		for (unsigned int i = 1; i <= 6; i++) {
			at = want(kind(i * KIB));
			release(kind(i * KIB), at);
		}
		/* Again, as soon as it was freed. */
		for (unsigned int i = 0; i < 100; i++) {
			at = want(kind(6 * KIB));
			release(kind(6 * KIB), at);
		}
		wait_for(false);
	}
	is(far.high, far.live_high);
	tap_ok(!much || far.questions - before <= 3, "the last step took %u questions", far.questions - before);
}

/* Other streams, contexts, pools and sizes are others. */
static void kinds(void)
{
	struct reuse_kind k = kind(KIB), other = k;
	uint64_t at;

	far_begin();
	at = want(k);
	release(k, at);
	ok(reuse_has(&far.reuse, at) && !reuse_has(&far.reuse, at - 1));
	ok(reuse_has(&far.reuse, at + KIB - 1) && !reuse_has(&far.reuse, at + KIB));
	other.stream++;
	is(reuse_take(&far.reuse, &other), 0);
	other = k;
	other.context++;
	is(reuse_take(&far.reuse, &other), 0);
	other = k;
	other.pool++;
	is(reuse_take(&far.reuse, &other), 0);
	other = k;
	other.device++;
	is(reuse_take(&far.reuse, &other), 0);
	other = k;
	other.bytes++;
	is(reuse_take(&far.reuse, &other), 0);
	is(reuse_take(&far.reuse, &k), at);
	ok(!reuse_has(&far.reuse, at));
	is(reuse_take(&far.reuse, &k), 0);
}

/* Who looks at memory within a step sees none that was not asked for, from the second time on. */
static void looked_at(void)
{
	uint64_t a, b;
	unsigned int surplus = 0;

	far_begin();
	for (unsigned int step = 0; step < 20; step++) {
		a = want(kind(KIB));
		surplus += far.held > far.live;
		wait_for(true);
		b = want(kind(2 * KIB));
		release(kind(KIB), a);
		release(kind(2 * KIB), b);
		wait_for(false);
	}
	tap_ok(surplus <= 1, "more than the program's was held %u times when it looked", surplus);
	is(far.high, far.live_high);
}

/* What is not asked for any more is not foreseen any more. */
static void habits_change(void)
{
	uint64_t at[4];

	far_begin();
	for (unsigned int step = 0; step < 8; step++) {
		unsigned int count = step < 4 ? 4 : 1;

		far.asked = 0;
		for (unsigned int i = 0; i < count; i++)
			at[i] = want(kind((i + 1) * KIB));
		for (unsigned int i = 0; i < count; i++)
			release(kind((i + 1) * KIB), at[i]);
		wait_for(false);
		is(far.asked, step <= 4 ? 4 : 1);
	}
}

/* A refusal, a mark that begins anew, everything forgotten while something is on its way. */
static void ends(void)
{
	struct reuse_kind k = kind(8 * KIB), small = kind(KIB);
	struct reuse_block b;
	uint64_t at;

	far_begin();
	ok(reuse_ask(&far.reuse, &k));
	reuse_answered(&far.reuse, &k, false);
	is(far.reuse.pools[0].asked, 0);
	is(far.reuse.pools[0].high, 0);
	at = want(k);
	is(far.reuse.pools[0].high, 8 * KIB);
	reuse_gone(&far.reuse, &k);
	is(far.reuse.pools[0].live, 0);
	reuse_mark(&far.reuse);
	is(far.reuse.pools[0].high, 0);
	at = want(small);
	release(small, at);
	ok(reuse_ask(&far.reuse, &k));
	reuse_forget(&far.reuse);
	reuse_answered(&far.reuse, &k, true);
	ok(!reuse_arrived(&far.reuse, &small, 7) && !reuse_pop(&far.reuse, false, &b));
	ok(!reuse_free(&far.reuse, &small, at));
}

/* At random, against what must always hold. */
static void at_random(void)
{
	struct {
		struct reuse_kind kind;
		uint64_t at;
	} have[64];
	unsigned int count = 0, wrong = 0;

	far_begin();
	srand(1);
	for (unsigned int i = 0; i < 100000; i++) {
		unsigned int what = (unsigned int)rand() % 100;

		if (what < 49 && count < 64) {
			have[count].kind = kind((1 + (unsigned int)rand() % 12) * KIB);
			have[count].at = want(have[count].kind);
			for (unsigned int j = 0; j < count; j++)
				wrong += have[j].at == have[count].at;
			count++;
		} else if (what < 98 && count) {
			unsigned int which = (unsigned int)rand() % count;

			release(have[which].kind, have[which].at);
			have[which] = have[--count];
		} else {
			struct reuse_block b;

			while (reuse_pop(&far.reuse, what == 99, &b))
				far.held -= b.kind.bytes;
			wrong += far.held != far.live;
		}
		wrong += far.high > far.live_high || far.reuse.coming || far.reuse.count > REUSE_BLOCKS;
	}
	is(wrong + far.refused, 0);
	tap_ok(far.questions < 50000, "%u questions", far.questions);
}

int main(void)
{
	tap_begin();
	together();
	in_turn(false);
	in_turn(true);
	kinds();
	looked_at();
	habits_change();
	ends();
	at_random();
	return tap_end();
}
