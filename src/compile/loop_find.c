/* loop_find.c: which loops run lane by lane (loop.h), and what is known of their registers. */
#include "compile/atomic.h"
#include "compile/loop_parts.h"
#include "compile/part.h"

#include <string.h>

#define OPS_MAX 120u
#define STRONG_ROUNDS 16u /* of memory that others change: a jump counts so much that a warp leaves after 32 */
#define STEP_MAX (1 << 20)
#define CHASE_LANES 3u /* that are as fast by turns as together where each waits for its own loads */

/* ---- what a loop is ---- */

static bool add_exit(struct loop *l, uint32_t from, uint32_t to)
{
	if (l->exits == EXITS_MAX)
		return false;
	l->exit[l->exits++] = (struct loop_exit){ .from = from, .to = to };
	return true;
}

/* Inside, jumps go forwards, except from the last block to the first. */
static bool edges_fit(const struct flow *f, struct loop *l, uint32_t b)
{
	const struct block_of_code *c = &f->block[b];

	for (uint32_t k = 0; k < c->next_count; k++) {
		const uint32_t to = c->next[k];

		if (to > l->last ? !add_exit(l, b, to) : to <= b && (to != l->head || b != l->last))
			return false;
	}
	return c->next_count;
}

static bool find_blocks(const struct flow *f, struct loop *l)
{
	uint32_t last = 0;

	for (uint32_t b = l->head; b < f->block_count; b++)
		for (uint32_t k = 0; k < f->block[b].next_count; k++)
			if (f->block[b].next[k] == l->head)
				last = b + 1;
	if (!last || last - l->head > BLOCKS_MAX)
		return false;
	l->last = last - 1;
	for (uint32_t b = 0; b < f->block_count; b++) {
		const bool inside = b >= l->head && b <= l->last;

		if (inside && !edges_fit(f, l, b))
			return false;
		for (uint32_t k = 0; !inside && k < f->block[b].next_count; k++)
			if (f->block[b].next[k] > l->head && f->block[b].next[k] <= l->last)
				return false;
	}
	return l->exits && f->block[l->last].end - f->block[l->head].begin <= OPS_MAX;
}

static bool fits(const struct flow *f, const struct compile_op *o, const struct plan *p, const struct state *s)
{
	if (p->how == HOW_LOAD)
		return !p->guarded && flow_reg(f, &o->operand[1]) != UINT32_MAX;
	if (p->how == HOW_STORE || p->how == HOW_ATOMIC)
		return atomic_is_probe(f, (uint32_t)(o - f->request->op), p) ||
		       loop_effect_fits(f, (uint32_t)(o - f->request->op), p);
	return p->how == HOW_STRONG || lane_fits(f, o, p, s);
}

/* The register that is operand k of an operation, and is written; else UINT32_MAX: an atomic's that nobody reads. */
static uint32_t written_reg(const struct flow *f, const struct compile_op *o, uint32_t k)
{
	if (!(o->defs >> k & 1) || (atomic_row(o->name) && !atomic_is_read(f, (uint32_t)(o - f->request->op))))
		return UINT32_MAX;
	return flow_reg(f, &o->operand[k]);
}

static void find_written(const struct flow *f, struct loop *l)
{
	for (uint32_t i = f->block[l->head].begin; i < f->block[l->last].end; i++)
		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
			const struct compile_op *o = &f->request->op[i];
			const uint32_t r = written_reg(f, o, k);

			if (r != UINT32_MAX)
				l->written[r] = true;
		}
}

/* The states in front of block b, of which only the lanes' own vary. */
void loop_states_begin(const struct flow *f, const struct loop *l, uint32_t b, struct state *ret)
{
	memcpy(ret, l->s, f->reg_count * sizeof(*ret));
	for (uint32_t r = 0; r < f->reg_count; r++)
		ret[r].nan = l->written[r] ? l->block[loop_block_at(l, b)].nan[r] : ret[r].nan;
}

void loop_states_apply(const struct flow *f, uint32_t i, const struct plan *p, struct state *s)
{
	const struct compile_op *o = &f->request->op[i];

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		const uint32_t r = written_reg(f, o, k);

		if (r != UINT32_MAX)
			s[r].nan = p->result[k].nan;
	}
}

/* What comes from somewhere into a block, or out of the loop. */
static bool nan_join(const struct flow *f, bool *to, const struct state *from)
{
	bool changed = false;

	for (uint32_t r = 0; r < f->reg_count; r++) {
		changed = changed || (to[r] && !from[r].nan);
		to[r] = to[r] && from[r].nan;
	}
	return changed;
}

/* Which registers may hold NaNs whose bits are not the device's: plan.c. */
static bool nan_pass(const struct flow *f, struct loop *l, uint32_t b)
{
	const struct block_of_code *c = &f->block[b];
	struct state *s = l->now;
	bool changed = false;
	struct plan p;

	loop_states_begin(f, l, b, s);
	for (uint32_t i = c->begin; i < c->end; i++) {
		plan_make(f, i, s, NULL, &p);
		loop_states_apply(f, i, &p, s);
	}
	for (uint32_t k = 0; k < c->next_count; k++) {
		const uint32_t to = c->next[k];

		changed |= nan_join(f, to > l->last ? l->end : l->block[loop_block_at(l, to)].nan, s);
		if (to == l->head)
			nan_join(f, l->end, s); /* it may be the last round that is run at once */
	}
	return changed;
}

static void find_states(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;
	bool changed = true;

	memcpy(l->s, e->s, f->reg_count * sizeof(*l->s));
	for (uint32_t r = 0; r < f->reg_count; r++) {
		if (l->written[r] || l->s[r].shape == SHAPE_HALVES || l->s[r].shape == SHAPE_PATTERN || l->s[r].stride)
			l->s[r] = (struct state){ .shape = SHAPE_LANES, .nan = l->s[r].nan };
		l->end[r] = f->reg_lane[r] == 4;
		for (uint32_t b = l->head; b <= l->last; b++)
			l->block[loop_block_at(l, b)].nan[r] = f->reg_lane[r] == 4;
	}
	while (changed) {
		changed = false;
		for (uint32_t b = l->head; b <= l->last; b++)
			changed |= nan_pass(f, l, b);
	}
	for (uint32_t r = 0; r < f->reg_count; r++)
		l->end[r] = l->end[r] && l->block[0].nan[r];
}

/* Whether all that is written can be handed over there: lanes that have left in different rounds differ. */
static bool takes_lanes(const struct flow *f, const struct loop *l, uint32_t to)
{
	const struct part *p = &f->block[to].part;

	if (!p->comes)
		return false;
	for (uint32_t r = 0; r < f->reg_count; r++)
		if (l->written[r] && p->needed[r] && p->in_come[r].shape != SHAPE_LANES &&
		    (to != l->head || p->in_come[r].shape != SHAPE_LINE))
			return false;
	return true;
}

/* Loads that are gathers where the block is executed with vectors. */
static uint32_t count_gathers(const struct emit *e, struct loop *l, uint32_t b)
{
	const struct flow *f = e->flow;
	const struct block_of_code *c = &f->block[b];
	struct plan p;
	uint32_t n = 0;

	memcpy(l->now, e->kept ? c->part.in : c->in, f->reg_count * sizeof(*l->now));
	for (uint32_t i = c->begin; i < c->end; i++) {
		plan_make(f, i, l->now, e->kept ? c->part.kept : NULL, &p);
		n += (p.how == HOW_LOAD && p.scattered) || atomic_is_probe(f, i, &p) ? p.access.count : 0;
		plan_apply(f, i, &p, l->now);
	}
	return n;
}

/* An address that depends on what the round before has loaded: a lane by itself would wait for each load, where all
 * together wait once. */
static bool depends(const struct flow *f, const struct loop *l, bool *on, bool loads)
{
	bool found = false;

	for (uint32_t b = l->head; b <= l->last; b++)
		for (uint32_t i = f->block[b].begin; i < f->block[b].end; i++) {
			const struct compile_op *o = &f->request->op[i];
			const bool load = access_form(o->name).good || atomic_row(o->name);
			const bool always = (b == l->head || b == l->last) && o->guard.place == COMPILE_NONE;
			const uint32_t guard = flow_reg(f, &o->guard);
			/* which of several ways a lane takes depends on data too */
			bool any =
				(load && loads) || (b != l->head && b != l->last) || (guard != UINT32_MAX && on[guard]);

			for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
				const uint32_t r = o->defs >> k & 1 ? UINT32_MAX : flow_reg(f, &o->operand[k]);

				any = any || (r != UINT32_MAX && on[r]);
				found = found || (load && k == 1 && r != UINT32_MAX && on[r]);
			}
			for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
				const uint32_t r = written_reg(f, o, k);

				if (r != UINT32_MAX)
					on[r] = any || (on[r] && !always);
			}
		}
	return found;
}

static bool is_chase(const struct flow *f, struct loop *l)
{
	bool on[COMPILE_REGS_MAX] = { false };

	for (uint32_t pass = 0; pass < 2; pass++)
		depends(f, l, on, true);
	for (uint32_t r = 0; r < f->reg_count; r++)
		on[r] = on[r] && l->written[r] && f->block[l->head].live[r];
	return depends(f, l, on, false);
}

/* Addresses that grow by a number: the only write to the register is one that no round leaves out. */
static void find_steps(const struct flow *f, struct loop *l)
{
	uint8_t writes[COMPILE_REGS_MAX] = { 0 };

	for (uint32_t i = f->block[l->head].begin; i < f->block[l->last].end; i++) {
		const struct compile_op *o = &f->request->op[i];
		const struct inline_row *row = inline_row(o->name);
		const uint32_t b = f->block_of[i];

		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
			const uint32_t r = written_reg(f, o, k);

			if (r == UINT32_MAX)
				continue;
			writes[r] += writes[r] < 2;
			l->step[r] = 0;
			if (writes[r] == 1 && row && row->code == CODE_ADD && !row->flags && f->reg_lane[r] == 8 &&
			    o->guard.place == COMPILE_NONE && (b == l->head || b == l->last) &&
			    flow_reg(f, &o->operand[1]) == r && o->operand[2].place == COMPILE_FIXED &&
			    (int64_t)o->operand[2].value < STEP_MAX && (int64_t)o->operand[2].value > -STEP_MAX)
				l->step[r] = (int64_t)o->operand[2].value;
		}
	}
}

/* Operations that take longer than most. */
static uint32_t work_of(const struct plan *p)
{
	return p->row->code == CODE_EX2 || p->row->code == CODE_LG2 || p->row->code == CODE_TANH ? 10 : 1;
}

static bool add_effect(struct loop *l, const struct flow *f, uint32_t i, const struct plan *p)
{
	if ((p->how != HOW_STORE && p->how != HOW_ATOMIC) || atomic_is_probe(f, i, p))
		return true;
	return l->planned++ < EFFECTS_MAX;
}

static bool find(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;
	uint32_t gathers = 0, loads = 0, places = 0, others = 0, weight = 0, most = COMPILE_ROUNDS;
	const uint32_t blocks = l->last - l->head + 1;
	struct plan p;

	for (uint32_t b = l->head; b <= l->last; b++) {
		gathers += count_gathers(e, l, b);
		for (uint32_t i = f->block[b].begin; i < f->block[b].end; i++) {
			const struct compile_op *o = &f->request->op[i];

			weight += o->weight;
			l->block[loop_block_at(l, b)].weight += o->weight;
			if (o->kind == COMPILE_BRANCH)
				continue;
			plan_make(f, i, l->s, NULL, &p);
			if (!fits(f, o, &p, l->s) || !add_effect(l, f, i, &p))
				return false;
			l->block[loop_block_at(l, b)].strong |= p.how == HOW_STRONG;
			l->strong |= p.how == HOW_STRONG;
			loads += p.how == HOW_LOAD || atomic_is_probe(f, i, &p) ? p.access.count : 0;
			places += p.how == HOW_LOAD || p.how == HOW_STORE || p.how == HOW_ATOMIC;
			others += p.how == HOW_INLINE ? work_of(&p) : 0;
		}
	}
	most = l->planned && most > LOG_ROUNDS ? LOG_ROUNDS : most;
	most = l->strong ? STRONG_ROUNDS : most;
	l->rounds = COMPILE_QUANTUM / (weight + 1);
	l->rounds = l->rounds > most ? most : l->rounds;
	l->round_cost = 450 * (gathers + l->planned) + 60 * (loads - gathers) + 12 * others + 80 * blocks;
	l->visit_cost = 6 * loads + 2 * others + 8 * blocks + 40 * l->planned;
	l->lane_cost = 160;
	return gathers && places <= SPOTS_MAX && l->exits <= l->block[0].weight && l->rounds > 1;
}

/* Value: whether there is such a loop, and for how many lanes it may be better than vectors. */
uint32_t loop_find(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;

	if (!f->parts || !find_blocks(f, l))
		return 0;
	find_written(f, l);
	if (!takes_lanes(f, l, l->head))
		return 0;
	for (uint32_t k = 0; k < l->exits; k++)
		if (!takes_lanes(f, l, l->exit[k].to))
			return 0;
	find_states(e, l);
	find_steps(f, l);
	return !find(e, l) ? 0 : is_chase(f, l) ? CHASE_LANES : LANES;
}
