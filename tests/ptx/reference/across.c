/*
 * across.c: instructions across the lanes of a warp. A lane waits at one until every live lane that its member mask
 * names waits at the same one; then all of them go on together.
 */
#include "machine.h"

#include <string.h>

static const struct ref_type u32 = { 'u', 32, 1 }, u64 = { 'u', 64, 1 }, predicate = { 'p', 1, 1 };

static bool is(const struct ref_op *op, const char *name)
{
	return !strcmp(op->word[0], name);
}

bool machine_is_warp_wide(const struct ref_op *op)
{
	return is(op, "shfl") || is(op, "vote") || is(op, "match") || is(op, "redux") || is(op, "elect") ||
	       is(op, "activemask") || (is(op, "bar") && ref_has(op, "warp"));
}

/* The lanes of a warp that execute one instruction together. */
struct group {
	struct machine *x;
	struct thread *lane[WARP];
	const struct ref_insn *in;
	uint32_t mask;
};

/* The member mask is the last operand of the forms with .sync; the others mean all live lanes. */
static uint32_t members(struct group *g, int lane, uint32_t live)
{
	const struct ref_insn *in = g->in;

	if (!ref_has(&in->op, "sync"))
		return live;
	return (uint32_t)machine_value(g->x, g->lane[lane], &in->operand[in->operands - 1], &u32) & live;
}

static wide source(struct group *g, int lane, int operand, const struct ref_type *t)
{
	return machine_value(g->x, g->lane[lane], &g->in->operand[operand], t);
}

static void give(struct group *g, int lane, wide v, bool second)
{
	const struct ref_operand *o = &g->in->operand[0];

	machine_write(g->x, g->lane[lane], o, v);
	if (o->pair >= 0)
		machine_set(g->lane[lane], o->pair, second);
}

static void shuffle(struct group *g, const wide *a, int lane)
{
	const struct ref_op *op = &g->in->op;
	const int b = (int)source(g, lane, 2, &u32) & 31, c = (int)source(g, lane, 3, &u32);
	const int segment = c >> 8 & 31, most = (lane & segment) | (c & 31 & ~segment), least = lane & segment;
	bool in;
	int from;

	if (ref_has(op, "up"))
		from = lane - b, in = from >= most;
	else if (ref_has(op, "down"))
		from = lane + b, in = from <= most;
	else if (ref_has(op, "bfly"))
		from = lane ^ b, in = from <= most;
	else
		from = least | (b & ~segment), in = from <= most;
	if (!in)
		from = lane;
	give(g, lane, g->mask >> from & 1 ? a[from] : 0, in);
}

static wide reduced(const struct ref_op *op, const wide *a, uint32_t members)
{
	static const char *const names[] = { "add", "min", "max", "and", "or", "xor" };
	struct ref_op inner = { .types = 1, .words = 1 };
	struct ref_result r = { 0 };
	bool first = true;

	inner.type[0] = op->type[0];
	for (int i = 0; i < 6; i++)
		if (ref_has(op, names[i]))
			strcpy(inner.word[0], names[i]);
	for (int i = 0; i < WARP; i++) {
		wide src[2] = { r.d, a[i] };

		if (!(members >> i & 1))
			continue;
		if (first)
			r.d = a[i];
		else
			ref_compute(&inner, src, 2, NULL, &r);
		first = false;
	}
	return r.d;
}

static void vote(struct group *g, const wide *a, int lane, uint32_t m)
{
	const struct ref_op *op = &g->in->op;
	uint32_t yes = 0;

	for (int i = 0; i < WARP; i++)
		yes |= m >> i & 1 && a[i] & 1 ? 1u << i : 0;
	give(g, lane,
	     ref_has(op, "ballot") ? yes
	     : ref_has(op, "all")  ? yes == m
	     : ref_has(op, "any")  ? yes != 0
				   : yes == m || !yes,
	     false);
}

static void match(struct group *g, const wide *a, int lane, uint32_t m)
{
	uint32_t same = 0;

	for (int i = 0; i < WARP; i++)
		same |= m >> i & 1 && a[i] == a[lane] ? 1u << i : 0;
	give(g, lane, ref_has(&g->in->op, "any") || same == m ? same : 0, same == m);
}

static void execute(struct group *g, uint32_t live)
{
	const struct ref_op *op = &g->in->op;
	const struct ref_type *t = is(op, "vote") ? &predicate : op->types && op->type[0].bits == 64 ? &u64 : &u32;
	wide a[WARP] = { 0 };
	uint32_t m[WARP] = { 0 };

	for (int i = 0; i < WARP; i++) {
		if (!(g->mask >> i & 1))
			continue;
		m[i] = members(g, i, live) & g->mask;
		if (g->in->operands > 1 && !is(op, "elect"))
			a[i] = source(g, i, 1, t) & ref_mask(t->bits);
	}
	for (int i = 0; i < WARP; i++) {
		if (!(g->mask >> i & 1))
			continue;
		if (is(op, "shfl"))
			shuffle(g, a, i);
		else if (is(op, "vote"))
			vote(g, a, i, m[i]);
		else if (is(op, "match"))
			match(g, a, i, m[i]);
		else if (is(op, "redux"))
			give(g, i, reduced(op, a, m[i]), false);
		else if (is(op, "elect"))
			give(g, i, (wide)__builtin_ctz(m[i]), __builtin_ctz(m[i]) == i);
		else if (is(op, "activemask"))
			give(g, i, g->mask, false);
		g->lane[i]->state = RUNS;
		frame_of(g->lane[i])->pc++;
	}
}

/* The group that lane `first` waits with, when it is complete. */
static bool group_ready(struct machine *x, struct thread *warp, uint32_t count, uint32_t first, struct group *g,
			uint32_t *ret_live)
{
	uint32_t live = 0, needed = 0;

	*g = (struct group){ .x = x, .in = warp[first].at };
	for (uint32_t i = 0; i < count; i++) {
		live |= warp[i].state != ENDED ? 1u << i : 0;
		if (warp[i].state != AT_WARP || warp[i].at != g->in || warp[i].depth != warp[first].depth)
			continue;
		g->mask |= 1u << i;
		g->lane[i] = &warp[i];
	}
	for (uint32_t i = 0; i < count; i++)
		if (g->mask >> i & 1)
			needed |= members(g, (int)i, live);
	*ret_live = live;
	return !(needed & ~g->mask);
}

bool machine_join_warp(struct machine *x, struct thread *warp, uint32_t count)
{
	struct group g;
	uint32_t live;
	bool any = false;

	for (uint32_t i = 0; i < count && !x->failed; i++) {
		if (warp[i].state != AT_WARP || !group_ready(x, warp, count, i, &g, &live))
			continue;
		execute(&g, live);
		any = true;
	}
	return any;
}
