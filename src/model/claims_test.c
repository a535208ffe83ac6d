/*
 * claims_test.c: what claims to the engine may not come from: time that was not used though it was there, time before a
 * meted or a tenant was there, and turns of those who left long ago.
 */
#include "model/arbiter_state.h"

#include "base/tap.h"

#define SECOND (1000 * MS)

static const struct arbiter_terms half = {
	.gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = 500000, .limit_ppm = 1000000, .weight = 100
};
static const struct arbiter_terms rest = {
	.gated = true, .class = ARBITER_NORMAL, .limit_ppm = 1000000, .weight = 100
};

static double behind_ms(const struct arbiter *a, int i)
{
	return a->tenant[i].arrears.ns / (double)MS;
}

/* It waits since `since_ns`. */
static void waits(struct arbiter *a, int i, uint64_t since_ns, uint64_t now_ns)
{
	arbiter_demands(a, i, &(struct arbiter_demand){ .waiting = true, .since_ns = since_ns, .needs_ns = MS },
			now_ns);
}

/* The same, and it goes on with what it has in flight. */
static void waits_on(struct arbiter *a, int i, uint64_t now_ns)
{
	struct arbiter_demand d = a->tenant[i].demand;

	d.waiting = true;
	d.since_ns = now_ns;
	d.needs_ns = MS;
	arbiter_demands(a, i, &d, now_ns);
}

/* Steps of a millisecond; those behind `first`, up to `last`, have work in flight whenever their gates are open. */
static uint64_t pass(struct arbiter *a, uint64_t from_ns, uint64_t ns, int first, int last)
{
	for (uint64_t now = from_ns; now < from_ns + ns; now += MS) {
		for (int i = first; i <= last; i++) {
			struct arbiter_demand d = a->tenant[i].demand;
			bool open = arbiter_turn(a, i)->open;

			if (open != d.busy)
				(open ? arbiter_begins : arbiter_ends)(a, i, now);
			d.busy = open;
			d.began_ns = now;
			d.done_by_ns = now + MS;
			arbiter_demands(a, i, &d, now);
		}
		arbiter_step(a, now);
	}
	return from_ns + ns;
}

static void test_gone(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND;

	arbiter_step(a, now);
	a->gone_ns = 3 * SECOND;
	pass(a, now, 64 * SECOND, 0, -1);
	tap_ok(a->gone_ns < SECOND / 10, "how long turns of those who left were is forgotten: %.0f ms are left",
	       (double)a->gone_ns / (double)MS);
	arbiter_free(a);
}

static void test_upgrade(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now);

	waits(a, i, now, now);
	waits(a, other, now, now);
	now = pass(a, now, 10 * MS, other, i);
	arbiter_resume(a, i, 1800 * SECOND, 0);
	arbiter_resume_wants(a, i, 3600 * SECOND, 1800 * SECOND);
	pass(a, now, 10 * MS, other, i);
	tap_ok(behind_ms(a, i) < 20, "what it wanted of the meted before is no claim: %.0f ms behind", behind_ms(a, i));
	arbiter_free(a);
}

/* What it is behind by comes from the meted before, and is no more than a guarantee can be behind. */
static void test_resumed(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now);

	arbiter_resume_rights(a, i, &(struct arbiter_rights){ .arrears_ns = (int64_t)(300 * MS) }, now);
	waits(a, i, now, now);
	waits(a, other, now, now);
	arbiter_step(a, now);
	tap_ok(rights_claims(a, i) && arbiter_read(a, i, now).arrears_ns == (int64_t)(300 * MS),
	       "who was behind under the meted before has a claim");
	arbiter_resume_rights(a, i, &(struct arbiter_rights){ .arrears_ns = INT64_MAX }, now);
	arbiter_resume_rights(a, other, &(struct arbiter_rights){ .arrears_ns = INT64_MAX }, now);
	tap_ok(behind_ms(a, i) < 2001 && behind_ms(a, other) < 1, "of 2 s at most, and without a guarantee of none");
	arbiter_free(a);
}

/* Stopped, or suspended: whoever does not take what is there, or is kept from it, is not owed it later. */
static void test_unused(bool suspended)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, end = now + 8 * SECOND;
	struct arbiter_terms terms = half;
	int other = arbiter_join(a, &rest, now), third = arbiter_join(a, &rest, now), i;
	double had;

	terms.frozen = suspended;
	i = arbiter_join(a, &terms, now);
	waits(a, i, now, now);
	waits(a, other, now, now);
	waits(a, third, now, now);
	pass(a, now, end - now, other, third);
	had = (double)(arbiter_read(a, other, end).charged_ns + arbiter_read(a, third, end).charged_ns) / (double)MS;
	tap_ok(had > 6000, "beside a %s tenant others have %.0f ms of 8000", suspended ? "suspended" : "stopped", had);
	tap_ok(behind_ms(a, i) < 200, "which is not owed them: %.0f ms behind", behind_ms(a, i));
	arbiter_free(a);
}

/* Beside one that is behind, and is stopped, nothing is held against who has more than its guarantee. */
static void test_beside_stopped(void)
{
	struct arbiter *a = arbiter_new(NULL);
	struct arbiter_terms fifth = half;
	uint64_t now = SECOND, end = now + 8 * SECOND;
	int first, other, stopped;
	double least = 0;

	fifth.guarantee_ppm = 200000;
	first = arbiter_join(a, &fifth, now);
	other = arbiter_join(a, &rest, now);
	stopped = arbiter_join(a, &half, now);
	arbiter_resume_rights(a, stopped, &(struct arbiter_rights){ .arrears_ns = (int64_t)(2 * SECOND) }, now);
	for (int i = first; i <= stopped; i++)
		waits(a, i, now, now);
	while (now < end) {
		now = pass(a, now, 10 * MS, first, other);
		least = behind_ms(a, first) < least ? behind_ms(a, first) : least;
	}
	tap_ok(least > -100, "beside a stopped tenant that is behind another gets no debt: %.0f ms at least", least);
	arbiter_free(a);
}

/*
 * It is stopped with work of unknown length in flight, which has ended since, and waits with more: it gets turns for
 * that, and nothing follows. Others wait for what it has in flight once, not behind each of these turns.
 */
static void test_stopped_in_flight(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, end = now + 8 * SECOND;
	struct arbiter_terms fifth = { .gated = true, .class = ARBITER_NORMAL, .guarantee_ppm = 200000 };
	int other = arbiter_join(a, &rest, now), third = arbiter_join(a, &rest, now), i = arbiter_join(a, &fifth, now);
	const struct arbiter_demand d = { .waiting = true,
					  .since_ns = now,
					  .needs_ns = 100 * MS,
					  .busy = true,
					  .began_ns = now,
					  .done_by_ns = now,
					  .unknown = true };
	uint64_t open_ns = 0, longest = 0;

	arbiter_resume_rights(a, i, &(struct arbiter_rights){ .arrears_ns = (int64_t)(2 * SECOND) }, now);
	waits(a, other, now, now);
	waits(a, third, now, now);
	while (now < end) {
		arbiter_demands(a, i, &d, now);
		now = pass(a, now, MS, other, third);
		if (arbiter_turn(a, other)->open || arbiter_turn(a, third)->open)
			open_ns = now;
		if (open_ns && now - open_ns > longest)
			longest = now - open_ns;
	}
	tap_ok(open_ns && longest < 100 * MS,
	       "beside one that is stopped with work in flight others wait for %llu ms at most from then on",
	       (unsigned long long)(longest / MS));
	arbiter_free(a);
}

/* Its page says that it works, and nothing is ever measured of it. Its share is half, and half of the rest. */
static void test_pretence(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, end = now + 16 * SECOND;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now);
	double had;

	arbiter_demands(a, i,
			&(struct arbiter_demand){
				.waiting = true, .since_ns = now, .needs_ns = MS, .busy = true, .unknown = true },
			now);
	waits(a, other, now, now);
	pass(a, now, end - now, other, other);
	had = (double)arbiter_read(a, other, end).charged_ns / (double)MS;
	tap_ok(had > 3400, "beside one that pretends to work the other has %.0f ms of its 4000", had);
	arbiter_free(a);
}

/*
 * Somebody's page says that work is in flight which nobody measures, for `each_ns` again and again with a pause
 * between: what his accomplice has is spent nevertheless.
 */
static void test_accomplice(uint64_t each_ns)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, end = now + 32 * SECOND;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now), helper = arbiter_join(a, &rest, now);
	double had;

	waits(a, i, now, now);
	waits(a, other, now, now);
	while (now < end) {
		uint64_t until = now + each_ns < end ? now + each_ns : end;

		arbiter_demands(a, helper, &(struct arbiter_demand){ .busy = true, .began_ns = now, .unknown = true },
				now);
		now = pass(a, now, until - now, other, i);
		arbiter_demands(a, helper, &(struct arbiter_demand){ 0 }, now);
		now = pass(a, now, 10 * MS, other, i);
	}
	had = (double)arbiter_read(a, other, end).charged_ns / (double)MS;
	tap_ok(had > 4000, "beside one with an accomplice that pauses each %llu ms another has %.0f ms of its 5333",
	       (unsigned long long)(each_ns / MS), had);
	arbiter_free(a);
}

/*
 * An accomplice's page has edges of work that is not there: by them one with a guarantee has half of what it has, and
 * is behind all the time. Who has no guarantee has one of twenty-five parts nevertheless.
 */
static void test_forged(bool unknown)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, end = now + 32 * SECOND, open = 0, longest = 0, closed = now;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now), helper = arbiter_join(a, &rest, now);

	waits(a, i, now, now);
	waits(a, other, now, now);
	arbiter_begins(a, helper, now);
	while (now < end) {
		arbiter_demands(a, helper,
				&(struct arbiter_demand){
					.busy = true, .began_ns = now, .done_by_ns = now + 3 * MS, .unknown = unknown },
				now);
		now = pass(a, now, MS, other, i);
		closed = arbiter_turn(a, other)->open ? now : closed;
		open += arbiter_turn(a, other)->open;
		longest = now - closed > longest ? now - closed : longest;
	}
	tap_ok(open > 1000 && longest < 3 * SECOND,
	       "beside one with forged edges%s another has turns of %llu ms of 32000, after %llu ms at the latest",
	       unknown ? " of unknown work" : "", (unsigned long long)open, (unsigned long long)(longest / MS));
	arbiter_free(a);
}

/* No step is taken for a minute while one holds its turn by a claim: who has no guarantee is not owed seconds of it. */
static void test_no_step(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND;
	int other = arbiter_join(a, &rest, now), i = arbiter_join(a, &half, now);

	arbiter_resume_rights(a, i, &(struct arbiter_rights){ .arrears_ns = (int64_t)(2 * SECOND) }, now);
	waits(a, i, now, now);
	waits(a, other, now, now);
	now = pass(a, now, 10 * MS, other, i);
	pass(a, now + 60 * SECOND, MS, other, i);
	tap_ok(a->unclaimed_ns > 0 && a->unclaimed_ns < 100 * (double)MS,
	       "after a minute without a step those without a guarantee are owed %.0f ms",
	       a->unclaimed_ns / (double)MS);
	arbiter_free(a);
}

/*
 * With so many accomplices one is behind its guarantee for ever. Another with a guarantee has the turns of its own
 * nevertheless, also when it comes later, behind a turn as long as all since.
 */
static void test_forged_beside(int helpers, bool later)
{
	struct arbiter *a = arbiter_new(NULL);
	struct arbiter_terms most = half;
	uint64_t now = SECOND, end = now + 32 * SECOND, open = 0, longest = 0, closed;
	int first = 0, i, other;

	most.guarantee_ppm = 450000;
	while (first < helpers)
		first = 1 + arbiter_join(a, &rest, now);
	i = arbiter_join(a, &most, now);
	other = later ? -1 : arbiter_join(a, &most, now);
	for (int n = 0; n < helpers; n++)
		arbiter_begins(a, n, now);
	for (closed = now; now < end;) {
		if (other < 0 && now > 5 * SECOND) {
			other = arbiter_join(a, &most, now);
			closed = now;
		}
		waits_on(a, i, now);
		if (other >= 0)
			waits_on(a, other, now);
		for (int n = 0; n < helpers; n++)
			arbiter_demands(
				a, n,
				&(struct arbiter_demand){ .busy = true, .began_ns = now, .done_by_ns = now + 3 * MS },
				now);
		now = pass(a, now, MS, i, other < 0 ? i : other);
		if (other < 0)
			continue;
		closed = arbiter_turn(a, other)->open ? now : closed;
		open += arbiter_turn(a, other)->open;
		longest = now - closed > longest ? now - closed : longest;
	}
	tap_ok(open > 11000 && longest < 2 * SECOND,
	       "beside one with %d that forge edges another with 45 %%%s has turns of %llu ms, after %llu ms at the "
	       "latest",
	       helpers, later ? ", a newcomer," : "", (unsigned long long)open, (unsigned long long)(longest / MS));
	arbiter_free(a);
}

/* Whose work is measured beside work of unknown length is told so: it takes twice as long there. */
static void test_told_beside(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND;
	int i = arbiter_join(a, &half, now), helper = arbiter_join(a, &rest, now);
	struct arbiter_demand d = { .busy = true, .began_ns = now, .unknown = true };
	bool before, own, changed;

	waits(a, i, now, now);
	now = pass(a, now, 10 * MS, i, i);
	before = arbiter_turn(a, i)->beside;
	arbiter_demands(a, helper, &d, now);
	arbiter_step(a, now);
	own = arbiter_turn(a, helper)->beside;
	changed = arbiter_changed(a, i);
	tap_ok(!before && !own && changed && arbiter_turn(a, i)->beside,
	       "beside work of unknown length, and there alone, a tenant is told that it shares the engine");
	pass(a, now, 20 * SECOND, i, i);
	tap_ok(!arbiter_turn(a, i)->beside, "not for longer than such work lasts");
	arbiter_free(a);
}

static void test_dated_back(void)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = 100 * SECOND;
	int first = arbiter_join(a, &rest, now), late;

	waits(a, first, now, now);
	arbiter_step(a, now);
	late = arbiter_join(a, &rest, now);
	waits(a, late, 1, now);
	lags_enter(&a->lags[MAIN], (unsigned int)late, now);
	a->lags[MAIN].of[late].ns = -20e6;
	tap_ok(!rights_before(a, late, first), "who says that it waits since before it came does not go first");
	arbiter_free(a);
}

/* Until when one has no turn that brings what nobody knows the length of, beside those before it; `end` at most. */
static uint64_t let_in(struct arbiter *a, int late, uint64_t from_ns, uint64_t end)
{
	for (uint64_t now = from_ns; now < end; now += MS) {
		for (int i = 0; i < late; i++) {
			bool open = arbiter_turn(a, i)->open;

			(open ? arbiter_begins : arbiter_ends)(a, i, now);
			arbiter_demands(a, i,
					&(struct arbiter_demand){ .waiting = true,
								  .since_ns = now,
								  .needs_ns = MS,
								  .busy = true,
								  .began_ns = now,
								  .unknown = !open },
					now);
		}
		arbiter_step(a, now);
		if (arbiter_turn(a, late)->open)
			return now;
	}
	return end;
}

/* Pages say that work of unknown length is in flight, and that what waits is short: again and again, as it is let in.
 */
static void test_passed(int cheats)
{
	struct arbiter *a = arbiter_new(NULL);
	struct arbiter_terms little = half;
	uint64_t now = SECOND, at;
	int late;

	little.guarantee_ppm = 10000;
	for (int i = 0; i < cheats; i++)
		arbiter_join(a, &little, now);
	let_in(a, cheats, now, now + SECOND / 10);
	now += SECOND / 10;
	late = arbiter_join(a, &rest, now);
	arbiter_demands(a, late, &(struct arbiter_demand){ .waiting = true, .since_ns = now }, now);
	at = let_in(a, late, now, now + 16 * SECOND);
	tap_ok(at < now + 4 * SECOND, "beside %d that pretend so another has its turn after %.0f ms", cheats,
	       (double)(at - now) / (double)MS);
	arbiter_free(a);
}

/* Words that work of unknown length is there keep others waiting for as long once; work that is there goes on doing so.
 */
static void test_belief(void)
{
	struct belief b;
	double first, minute;

	belief_init(&b);
	first = b.ns;
	belief_pass(&b, 20 * SECOND, true);
	tap_ok(first < 2 * (double)SECOND && b.ns <= 0, "words are believed for %.1f s, and then no more", first / 1e9);
	belief_pass(&b, 60 * SECOND, false);
	minute = b.ns;
	tap_ok(minute <= (double)SECOND, "after a minute for %.1f s again", minute / 1e9);
	belief_prove(&b, SECOND / 2);
	tap_ok(b.ns <= minute, "short work proves nothing");
	for (int i = 0; i < 3; i++) {
		belief_prove(&b, 8 * SECOND);
		belief_pass(&b, 6 * SECOND, true);
	}
	tap_ok(b.ns > 6 * (double)SECOND && b.ns <= BELIEF_MOST_NS, "long work proves more than waiting for it costs");
}

/* What is in flight of one user's is waited for by more of his, and by others no longer than by anybody. */
static void test_own(bool same)
{
	struct arbiter *a = arbiter_new(NULL);
	uint64_t now = SECOND, at;
	int guaranteed = arbiter_join(a, &half, now), first = arbiter_join(a, &rest, now), late;

	arbiter_user(a, first, 7);
	waits(a, guaranteed, now, now);
	arbiter_demands(a, first, &(struct arbiter_demand){ .waiting = true, .since_ns = now }, now);
	for (; !arbiter_turn(a, first)->open; now += MS)
		pass(a, now, MS, guaranteed, guaranteed);
	arbiter_demands(a, first, &(struct arbiter_demand){ .busy = true, .began_ns = now, .unknown = true }, now);
	late = arbiter_join(a, &rest, now);
	arbiter_user(a, late, same ? 7 : 8);
	arbiter_demands(a, late, &(struct arbiter_demand){ .waiting = true, .since_ns = now }, now);
	for (at = now; !arbiter_turn(a, late)->open && now < at + 40 * SECOND; now += MS) {
		waits_on(a, guaranteed, now);
		pass(a, now, MS, guaranteed, guaranteed);
	}
	tap_ok(same ? now - at > 15 * SECOND && now - at < 25 * SECOND : now - at < 5 * SECOND,
	       "beside a guarantee work of unknown length waits for such work of %s for %.1f s at most",
	       same ? "the same user" : "another user", (double)(now - at) / 1e9);
	arbiter_free(a);
}

int main(void)
{
	tap_begin();
	test_gone();
	test_upgrade();
	test_resumed();
	test_unused(false);
	test_unused(true);
	test_beside_stopped();
	test_stopped_in_flight();
	test_pretence();
	for (uint64_t each = SECOND / 4; each <= 32 * SECOND; each *= 2)
		test_accomplice(each);
	test_forged(false);
	test_forged(true);
	test_no_step();
	for (int helpers = 1; helpers <= 8; helpers *= 2) {
		test_forged_beside(helpers, false);
		test_forged_beside(helpers, true);
	}
	test_told_beside();
	test_dated_back();
	test_passed(1);
	test_passed(2);
	test_belief();
	test_own(true);
	test_own(false);
	return tap_end();
}
