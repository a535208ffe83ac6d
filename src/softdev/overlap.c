/*
 * overlap.c: see overlap.h.
 *
 * The plan is worked out on the kernels themselves: what has been served is noted before and put back afterwards, as
 * there are few of them. In it a kernel of unknown length runs on and on.
 */
#include "softdev/overlap.h"

#include <stddef.h>

static bool is_open(const struct overlap_kernel *k)
{
	return k->duration_ns == OVERLAP_OPEN;
}

static void begin_next(struct overlap *o, const struct overlap_kernel *ended)
{
	for (struct overlap_kernel *k = o->first; k; k = k->next)
		if (k->after == ended) {
			k->after = NULL;
			k->state = OVERLAP_RUNS;
		}
}

static void unlink_kernel(struct overlap *o, struct overlap_kernel *k)
{
	struct overlap_kernel **at = &o->first;

	while (*at && *at != k)
		at = &(*at)->next;
	if (*at)
		*at = k->next;
	k->next = NULL;
}

static void end_kernel(struct overlap *o, struct overlap_kernel *k)
{
	k->state = OVERLAP_ENDED;
	k->end_clock_ns = o->clock_ns;
	unlink_kernel(o, k);
	k->next = o->ended;
	o->ended = k;
	begin_next(o, k);
}

static void end_those_due(struct overlap *o)
{
	struct overlap_kernel *k = o->first;

	while (k) {
		if (k->state == OVERLAP_RUNS && !is_open(k) && k->served_ns >= k->duration_ns) {
			end_kernel(o, k);
			k = o->first; /* others may have begun */
		} else {
			k = k->next;
		}
	}
}

void overlap_add(struct overlap *o, struct overlap_kernel *k, struct overlap_kernel *after, uint32_t demand,
		 uint64_t duration_ns)
{
	struct overlap_kernel **at = &o->first;

	if (after && after->state != OVERLAP_WAITS && after->state != OVERLAP_RUNS)
		after = NULL;
	if (!demand)
		demand = 1;
	*k = (struct overlap_kernel){ .after = after,
				      .state = after ? OVERLAP_WAITS : OVERLAP_RUNS,
				      .demand = demand < TIMELINE_WHOLE ? demand : TIMELINE_WHOLE,
				      .duration_ns = duration_ns };
	while (*at)
		at = &(*at)->next;
	*at = k;
	end_those_due(o);
}

void overlap_known(struct overlap *o, struct overlap_kernel *k, uint64_t duration_ns)
{
	if (k->state == OVERLAP_ENDED)
		return;
	k->duration_ns = duration_ns;
	end_those_due(o);
}

void overlap_remove(struct overlap *o, struct overlap_kernel *k)
{
	if (k->state != OVERLAP_WAITS && k->state != OVERLAP_RUNS)
		return;
	end_kernel(o, k);
	end_those_due(o);
}

/* The sum of what those that run demand, at least the whole: the divisor of their rates. */
static uint64_t divisor(const struct overlap *o)
{
	uint64_t sum = 0;

	for (const struct overlap_kernel *k = o->first; k; k = k->next)
		sum += k->state == OVERLAP_RUNS ? k->demand : 0;
	return sum < TIMELINE_WHOLE ? TIMELINE_WHOLE : sum;
}

/* How long until the first one ends; OVERLAP_OPEN: none does. */
static uint64_t first_end(const struct overlap *o, uint64_t d)
{
	uint64_t first = OVERLAP_OPEN;

	for (const struct overlap_kernel *k = o->first; k; k = k->next) {
		uint64_t left;

		if (k->state != OVERLAP_RUNS || is_open(k))
			continue;
		left = k->duration_ns > k->served_ns ? k->duration_ns - k->served_ns : 0;
		if (d != TIMELINE_WHOLE)
			left = (left * d + TIMELINE_WHOLE - 1) / TIMELINE_WHOLE;
		if (left < first)
			first = left;
	}
	return first;
}

static void serve(struct overlap *o, uint64_t dt, uint64_t d)
{
	for (struct overlap_kernel *k = o->first; k; k = k->next)
		if (k->state == OVERLAP_RUNS)
			k->served_ns += d == TIMELINE_WHOLE ? dt : dt * TIMELINE_WHOLE / d;
	o->clock_ns += dt;
}

void overlap_advance(struct overlap *o, uint64_t clock_ns)
{
	while (o->clock_ns < clock_ns) {
		uint64_t d = divisor(o), dt = first_end(o, d);

		if (dt > clock_ns - o->clock_ns)
			dt = clock_ns - o->clock_ns;
		serve(o, dt, d);
		end_those_due(o);
	}
}

/* ---- the plan ---- */

/* The plan's own view of a kernel, in its place in the list. */
struct planned {
	uint64_t left_ns;
	bool runs, ended;
};

#define PLANNED_MOST 512u

static uint32_t place_of(const struct overlap *o, const struct overlap_kernel *wanted)
{
	uint32_t i = 0;

	for (const struct overlap_kernel *k = o->first; k && k != wanted; k = k->next)
		i++;
	return i;
}

static uint64_t plan_step(struct overlap *o, struct planned p[PLANNED_MOST], uint64_t at)
{
	uint64_t sum = 0, dt = OVERLAP_OPEN;
	uint32_t i = 0;

	for (struct overlap_kernel *k = o->first; k && i < PLANNED_MOST; k = k->next, i++)
		sum += p[i].runs ? k->demand : 0;
	if (sum < TIMELINE_WHOLE)
		sum = TIMELINE_WHOLE;
	i = 0;
	for (struct overlap_kernel *k = o->first; k && i < PLANNED_MOST; k = k->next, i++) {
		uint64_t left = p[i].left_ns;

		if (!p[i].runs || left == OVERLAP_OPEN)
			continue;
		left = sum == TIMELINE_WHOLE ? left : (left * sum + TIMELINE_WHOLE - 1) / TIMELINE_WHOLE;
		dt = left < dt ? left : dt;
	}
	if (dt == OVERLAP_OPEN)
		return at;
	i = 0;
	for (struct overlap_kernel *k = o->first; k && i < PLANNED_MOST; k = k->next, i++) {
		uint64_t progress = sum == TIMELINE_WHOLE ? dt : dt * TIMELINE_WHOLE / sum;

		if (!p[i].runs || p[i].left_ns == OVERLAP_OPEN)
			continue;
		p[i].left_ns -= progress < p[i].left_ns ? progress : p[i].left_ns;
		if (!p[i].left_ns) {
			p[i].runs = false;
			p[i].ended = true;
			k->plan_clock_ns = at + dt;
		}
	}
	return at + dt;
}

static bool plan_begin_next(struct overlap *o, struct planned p[PLANNED_MOST], const uint32_t after[PLANNED_MOST])
{
	bool any = false;
	uint32_t i = 0;

	for (struct overlap_kernel *k = o->first; k && i < PLANNED_MOST; k = k->next, i++) {
		if (!p[i].runs && !p[i].ended && k->after && p[after[i]].ended)
			p[i].runs = true;
		any |= p[i].runs && p[i].left_ns != OVERLAP_OPEN;
	}
	return any;
}

struct overlap_plan overlap_plan(struct overlap *o)
{
	struct overlap_plan ret = { .known_ns = o->clock_ns };
	struct planned p[PLANNED_MOST];
	uint32_t after[PLANNED_MOST], i = 0;

	if (!o->first) {
		ret.demand = 1;
		return ret;
	}
	if (!o->first->next) { /* one alone */
		struct overlap_kernel *k = o->first;

		ret.open = is_open(k);
		ret.demand = k->demand;
		if (!ret.open)
			ret.known_ns += k->duration_ns - k->served_ns;
		k->plan_clock_ns = ret.open ? OVERLAP_OPEN : ret.known_ns;
		return ret;
	}
	for (struct overlap_kernel *k = o->first; k && i < PLANNED_MOST; k = k->next, i++) {
		p[i] = (struct planned){ OVERLAP_OPEN, k->state == OVERLAP_RUNS, false };
		if (!is_open(k))
			p[i].left_ns = k->duration_ns > k->served_ns ? k->duration_ns - k->served_ns : 0;
		after[i] = k->after ? place_of(o, k->after) : 0;
		k->plan_clock_ns = OVERLAP_OPEN;
		ret.open |= is_open(k);
		ret.demand += k->state == OVERLAP_RUNS ? k->demand : 0;
	}
	while (plan_begin_next(o, p, after))
		ret.known_ns = plan_step(o, p, ret.known_ns);
	return ret;
}
