/*
 * timeline.c: see timeline.h.
 *
 * step() goes from one event to the next: a slice or a switch ends, known work ends, open work stalls. Between two
 * events all rates are constant.
 */
#include "softdev/timeline.h"

#include <stddef.h>
#include <string.h>

#define PREDICT_STEPS 256u

void timeline_init(struct timeline *t, enum timeline_sharing sharing, uint64_t slice_ns, uint64_t switch_ns)
{
	memset(t, 0, offsetof(struct timeline, context));
	t->sharing = sharing;
	t->slice_ns = slice_ns ? slice_ns : 1;
	t->switch_cost_ns = switch_ns;
	t->resident = TIMELINE_NOBODY;
}

uint32_t timeline_add(struct timeline *t, uint64_t owner)
{
	uint32_t i = 0;

	while (i < t->count && t->context[i].owner)
		i++;
	if (i == TIMELINE_CONTEXTS)
		return TIMELINE_NOBODY;
	if (i == t->count)
		t->count++;
	t->context[i] = (struct timeline_context){ .owner = owner, .demand = TIMELINE_WHOLE };
	return i;
}

void timeline_remove(struct timeline *t, uint32_t i)
{
	t->context[i] = (struct timeline_context){ 0 };
	if (t->resident == i) {
		t->resident = TIMELINE_NOBODY;
		t->switch_end_ns = 0;
	}
	while (t->count && !t->context[t->count - 1].owner)
		t->count--;
}

void timeline_set(struct timeline *t, uint32_t i, uint64_t known_ns, bool open, uint32_t demand)
{
	struct timeline_context *c = &t->context[i];

	c->known_ns = known_ns;
	c->open = open;
	c->demand = demand > TIMELINE_WHOLE ? TIMELINE_WHOLE : demand ? demand : 1;
}

uint64_t timeline_idle_ns(const struct timeline *t)
{
	return t->now_ns - t->began_ns - t->served_ns - t->switch_ns;
}

/* ---- who has work ---- */

static uint64_t stall_ns(const struct timeline_context *c)
{
	return c->beat_ns > TIMELINE_NEVER - TIMELINE_STALL_NS ? TIMELINE_NEVER : c->beat_ns + TIMELINE_STALL_NS;
}

static bool eligible(const struct timeline *t, uint32_t i)
{
	const struct timeline_context *c = &t->context[i];

	return c->owner && (c->clock_ns < c->known_ns || (c->open && t->now_ns < stall_ns(c)));
}

/* The next one with work after `i`, which comes last itself. */
static uint32_t next_eligible(const struct timeline *t, uint32_t i)
{
	uint32_t start = i == TIMELINE_NOBODY ? 0 : i + 1;

	for (uint32_t k = 0; k < t->count; k++) {
		uint32_t at = (start + k) % t->count;

		if (eligible(t, at))
			return at;
	}
	return TIMELINE_NOBODY;
}

/* ---- service ---- */

/* The clock goes on from here at this rate. */
static void run_note(struct timeline *t, struct timeline_context *c, uint64_t rate)
{
	const struct timeline_run *last = c->run_count ? &c->run[(c->run_count - 1u) % TIMELINE_RUNS] : NULL;

	if (last && last->rate == rate &&
	    c->clock_ns - last->clock_ns == (t->now_ns - last->at_ns) * rate / TIMELINE_WHOLE)
		return;
	if (c->run_count == 2 * TIMELINE_RUNS)
		c->run_count = TIMELINE_RUNS;
	c->run[c->run_count++ % TIMELINE_RUNS] = (struct timeline_run){ t->now_ns, c->clock_ns, rate };
}

/* How long it goes on at this rate before its own work changes. */
static uint64_t span_of(const struct timeline *t, const struct timeline_context *c, uint64_t rate)
{
	uint64_t left, stall;

	if (c->clock_ns < c->known_ns) {
		left = c->known_ns - c->clock_ns;
		return rate == TIMELINE_WHOLE ? left : (left * TIMELINE_WHOLE + rate - 1) / rate;
	}
	stall = stall_ns(c);
	return stall == TIMELINE_NEVER ? TIMELINE_NEVER : stall - t->now_ns;
}

static void serve(struct timeline *t, struct timeline_context *c, uint64_t dt, uint64_t rate, uint64_t part)
{
	uint64_t progress = rate == TIMELINE_WHOLE ? dt : dt * rate / TIMELINE_WHOLE;

	if (c->clock_ns < c->known_ns && progress > c->known_ns - c->clock_ns)
		progress = c->known_ns - c->clock_ns; /* the end was rounded up to a whole nanosecond */
	run_note(t, c, rate);
	c->clock_ns += progress;
	c->served_ns += part == TIMELINE_WHOLE ? dt : dt * part / TIMELINE_WHOLE;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- slices ---- */

static uint64_t slice_of(const struct timeline *t, uint32_t i)
{
	return t->context[i].slice_ns ? t->context[i].slice_ns : t->slice_ns;
}

static void slice_begin(struct timeline *t, uint32_t next)
{
	if (next != t->resident && t->served_ns) {
		t->switch_end_ns = t->now_ns + t->switch_cost_ns;
		t->switches++;
	} else {
		t->switch_end_ns = t->now_ns;
	}
	t->resident = next;
	t->slice_end_ns = t->switch_end_ns + slice_of(t, next);
}

static void step_slices(struct timeline *t, uint64_t to)
{
	struct timeline_context *c;
	uint64_t dt;
	uint32_t next;

	if (t->now_ns < t->switch_end_ns) {
		dt = least(to, t->switch_end_ns) - t->now_ns;
		t->switch_ns += dt;
		t->now_ns += dt;
		return;
	}
	if (t->resident != TIMELINE_NOBODY && t->now_ns < t->slice_end_ns && eligible(t, t->resident)) {
		c = &t->context[t->resident];
		dt = least(least(to, t->slice_end_ns) - t->now_ns, span_of(t, c, TIMELINE_WHOLE));
		serve(t, c, dt, TIMELINE_WHOLE, TIMELINE_WHOLE);
		t->served_ns += dt;
		t->now_ns += dt;
		return;
	}
	next = next_eligible(t, t->resident);
	if (next == TIMELINE_NOBODY)
		t->now_ns = to; /* who comes, comes at the end of an advance */
	else
		slice_begin(t, next);
}

/* ---- together, apart ---- */

/* The equal part of the device that fills it: those who demand less get what they demand. */
static uint32_t water_level(const struct timeline *t)
{
	uint32_t level = TIMELINE_WHOLE, left = TIMELINE_WHOLE, many = 0, before = 0;
	bool settled[TIMELINE_CONTEXTS] = { false };

	for (uint32_t i = 0; i < t->count; i++)
		many += eligible(t, i);
	while (many && many != before) {
		before = many;
		level = left / many;
		for (uint32_t i = 0; i < t->count; i++)
			if (!settled[i] && eligible(t, i) && t->context[i].demand <= level) {
				settled[i] = true;
				left -= t->context[i].demand;
				many--;
			}
	}
	return !many ? TIMELINE_WHOLE : level ? level : 1;
}

static void step_together(struct timeline *t, uint64_t to)
{
	const uint32_t level = t->sharing == TIMELINE_APART ? TIMELINE_WHOLE : water_level(t);
	uint64_t dt = to - t->now_ns;
	uint64_t rate[TIMELINE_CONTEXTS];
	bool any = false;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct timeline_context *c = &t->context[i];

		rate[i] = 0;
		if (!eligible(t, i))
			continue;
		rate[i] = c->demand <= level ? TIMELINE_WHOLE : (uint64_t)level * TIMELINE_WHOLE / c->demand;
		dt = least(dt, span_of(t, c, rate[i]));
		any = true;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		struct timeline_context *c = &t->context[i];
		uint64_t part = t->sharing == TIMELINE_APART ? TIMELINE_WHOLE : c->demand < level ? c->demand : level;

		if (rate[i])
			serve(t, c, dt, rate[i], part);
	}
	if (any)
		t->served_ns += dt;
	t->now_ns += dt;
}

/* ---- time passes ---- */

static void step(struct timeline *t, uint64_t to)
{
	if (t->sharing == TIMELINE_SLICES)
		step_slices(t, to);
	else
		step_together(t, to);
}

void timeline_advance(struct timeline *t, uint64_t now_ns)
{
	if (!t->began_ns)
		t->began_ns = t->now_ns = now_ns;
	while (t->now_ns < now_ns)
		step(t, now_ns);
}

uint64_t timeline_when(const struct timeline *t, uint32_t i, uint64_t clock_ns)
{
	const struct timeline_context *c = &t->context[i];
	const struct timeline_run *r = NULL;
	uint64_t at;

	for (uint32_t k = 0; k < c->run_count && k < TIMELINE_RUNS; k++) {
		r = &c->run[(c->run_count - 1u - k) % TIMELINE_RUNS];
		if (r->clock_ns < clock_ns)
			break;
	}
	if (!r)
		return t->now_ns;
	if (clock_ns <= r->clock_ns)
		return r->at_ns;
	at = r->at_ns + ((clock_ns - r->clock_ns) * TIMELINE_WHOLE + r->rate - 1) / r->rate;
	return at < t->now_ns ? at : t->now_ns;
}

uint64_t timeline_predict(struct timeline *t, uint32_t i, uint64_t clock_ns)
{
	const struct timeline_context *c = &t->context[i];

	for (uint32_t k = 0; k < PREDICT_STEPS; k++) {
		if (c->clock_ns >= clock_ns)
			return timeline_when(t, i, clock_ns);
		if (!eligible(t, i))
			return TIMELINE_NEVER;
		step(t, TIMELINE_NEVER);
	}
	return t->now_ns;
}
