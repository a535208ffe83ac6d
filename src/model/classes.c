/*
 * classes.c: high, normal and low class of an arbiter beside each other: whose gate stands open, when low may work.
 */
#include "model/arbiter_state.h"

static bool at_work(const struct arbiter *a, int i)
{
	const struct tenant *t = &a->tenant[i];

	if (!rights_competes(t))
		return false;
	if (t->demand.busy && t->turn.open && !busy_suspected(a->busy, (unsigned int)i))
		return true;
	return t->demand.waiting && !rights_absent(a, t) && (t->turn.open || rights_has_tokens(a, i));
}

/* Is anybody of the main pool at work? Notes since when not. */
bool classes_main_at_work(struct arbiter *a)
{
	bool work = false;

	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (pool_of(t) != MAIN || !at_work(a, i))
			continue;
		work = true;
		if (t->terms.class == ARBITER_HIGH)
			a->high_seen_ns = a->now_ns;
		a->readmit_ns = 2 * gaps_p90_ns(&t->gaps);
	}
	if (work)
		a->quiet_from_ns = 0;
	else if (!a->quiet_from_ns)
		a->quiet_from_ns = a->now_ns;
	return work;
}

/*
 * The gate of high class stays open while nobody else of the main pool is at work: what it submits then goes to the
 * device at once, and the ring that it causes closes low's gate.
 */
void classes_stand_open(struct arbiter *a, bool work)
{
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (!t->used || !rights_competes(t) || t->terms.class != ARBITER_HIGH || a->holder[MAIN] == i)
			continue;
		if (!t->turn.open && !work && rights_has_tokens(a, i)) {
			t->opened_ns = a->now_ns;
			t->quantum_from_ns = a->now_ns;
			turns_set(a, t, true, 0, turns_bound(a, t));
		} else if (t->turn.open && work) {
			turns_close(a, i);
		}
	}
}

/* One whose gate stood open has submitted something: the turn is its, unless another one's at work. */
void classes_promote(struct arbiter *a)
{
	int h = a->holder[MAIN];

	if (h >= 0 && at_work(a, h))
		return;
	for (unsigned int n = 0; n < a->count; n++) {
		int i = a->list[n];
		struct tenant *t = &a->tenant[i];

		if (i == h || !t->turn.open || pool_of(t) != MAIN || !at_work(a, i))
			continue;
		if (h >= 0)
			turns_close(a, h);
		a->holder[MAIN] = i;
		t->turns++;
		turns_begin_quantum(a, i, a->now_ns);
		return;
	}
}

void classes_serve_low(struct arbiter *a, bool work)
{
	uint64_t after = a->readmit_ns > READMIT_NS ? a->readmit_ns : READMIT_NS;
	int h = a->holder[MAIN];

	if (work) {
		if (a->holder[REST] >= 0)
			turns_close(a, a->holder[REST]);
		return;
	}
	/* A pause is expected only of one that could go on. */
	if (h < 0 && !turns_high_about(a))
		after = 0;
	if (a->holder[REST] < 0 && a->now_ns < a->quiet_from_ns + after) {
		turns_wake_at(a, a->quiet_from_ns + after);
		return;
	}
	turns_serve(a, REST);
}

/*
 * Low's work in flight follows how much of high's time it shared: less than 5 % may grow, more than 15 % is halved. A
 * few milliseconds of high say little: the first of them are the shared ones.
 */
void classes_guard(struct arbiter *a)
{
	struct busy_totals totals;
	uint64_t high, overlap;

	if (!turns_high_about(a) || a->now_ns < a->guard_from_ns + GUARD_NS)
		return;
	totals = busy_totals(a->busy, a->now_ns);
	high = totals.high_ns - a->guard_high_ns;
	overlap = totals.overlap_ns - a->guard_overlap_ns;
	if (high < GUARD_HIGH_NS && a->now_ns < a->guard_from_ns + GUARD_MOST_NS)
		return;
	a->guard_from_ns = a->now_ns;
	a->guard_high_ns = totals.high_ns;
	a->guard_overlap_ns = totals.overlap_ns;
	if (high < GUARD_HIGH_NS || overlap > high)
		return;
	if (overlap * 100 < high * 5)
		a->low_scale = a->low_scale < 0.95 ? a->low_scale + 0.05 : 1;
	else if (overlap * 100 > high * 15)
		a->low_scale = a->low_scale > 0.125 ? a->low_scale / 2 : 0.0625;
}
