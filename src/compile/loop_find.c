/* loop_find.c: which loops run lane by lane (loop.h), and what is known of their registers. */
#include "compile/atomic.h"
#include "compile/loop_parts.h"
#include "compile/part.h"

#include <stdlib.h>
#include <string.h>

#define OPS_MAX 120u
#define NEST_OPS_MAX 200u
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

/* Behind an operation. Each address is checked where it is used. */
void loop_local_apply(const struct flow *f, const struct compile_op *o, bool *local)
{
	const uint32_t to = o->defs & 1 ? flow_reg(f, &o->operand[0]) : UINT32_MAX;
	bool any = o->kind == COMPILE_PLAIN && !strcmp(o->name, "%local_address.b64");

	for (uint32_t k = 1; k < COMPILE_OPERANDS && o->kind == COMPILE_PLAIN && inline_row(o->name); k++) {
		const uint32_t r = flow_reg(f, &o->operand[k]);

		any = any || (r != UINT32_MAX && local[r]);
	}
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		const uint32_t r = o->defs >> k & 1 ? flow_reg(f, &o->operand[k]) : UINT32_MAX;

		if (r != UINT32_MAX)
			local[r] =
				r == to && f->reg_lane[r] == 8 && (any || (o->guard.place != COMPILE_NONE && local[r]));
	}
}

void loop_local_begin(struct loop *l, uint32_t b)
{
	const size_t regs = l->e->flow->reg_count + 1;

	if (l->local_in)
		memcpy(l->local, l->local_in + b * regs, regs);
}

/* Which registers may have addresses of the lane's own memory in front of each block. */
static void find_local(const struct flow *f, struct loop *l)
{
	const size_t regs = f->reg_count + 1;
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < f->block_count; b++) {
			const struct block_of_code *c = &f->block[b];

			memcpy(l->local, l->local_in + b * regs, regs);
			for (uint32_t i = c->begin; i < c->end; i++)
				loop_local_apply(f, &f->request->op[i], l->local);
			for (uint32_t k = 0; k < c->next_count; k++)
				for (uint32_t r = 0; r < f->reg_count; r++) {
					bool *to = &l->local_in[c->next[k] * regs + r];

					changed = changed || (l->local[r] && !*to && f->block[c->next[k]].live[r]);
					*to = *to || (l->local[r] && f->block[c->next[k]].live[r]);
				}
		}
	}
}

/* Writes to the lane's own memory: nobody else sees when. */
static bool is_own(const struct flow *f, const struct loop *l, const struct compile_op *o, const struct plan *p)
{
	const uint32_t r = p->how == HOW_STORE ? flow_reg(f, &o->operand[1]) : UINT32_MAX;

	return r != UINT32_MAX && l->local_in && l->local[r];
}

static bool fits(const struct flow *f, const struct loop *l, const struct compile_op *o, const struct plan *p,
		 const struct state *s)
{
	if (p->how == HOW_LOAD)
		return !p->guarded && flow_reg(f, &o->operand[1]) != UINT32_MAX;
	if (is_own(f, l, o, p))
		return !p->guarded;
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
		l->s[r].split = false;
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

/* In the lane's own memory, which the host has at hand: nobody waits for it. */
static bool is_near(const struct flow *f, const struct loop *l, const struct compile_op *o)
{
	const uint32_t r = flow_reg(f, &o->operand[1]);

	return l->local_in && r != UINT32_MAX && l->local[r];
}

/* An address that depends on what the round before has loaded: a lane by itself would wait for each load, where all
 * together wait once. */
static bool depends(const struct flow *f, struct loop *l, bool *on, bool loads)
{
	bool found = false;

	for (uint32_t b = l->head; b <= l->last; b++) {
		if (l->local_in)
			loop_local_begin(l, b);
		for (uint32_t i = f->block[b].begin; i < f->block[b].end; i++) {
			const struct compile_op *o = &f->request->op[i];
			const bool load = (access_form(o->name).good || atomic_row(o->name)) && !is_near(f, l, o);
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
			if (l->local_in)
				loop_local_apply(f, o, l->local);
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
			int64_t step = (int64_t)o->operand[2].value;

			if (r == UINT32_MAX)
				continue;
			step = f->reg_lane[r] == 4 ? (int32_t)step : step;
			writes[r] += writes[r] < 2;
			l->step[r] = 0;
			if (writes[r] == 1 && row && row->code == CODE_ADD && !row->flags && f->reg_lane[r] >= 4 &&
			    o->guard.place == COMPILE_NONE && (b == l->head || b == l->last) &&
			    flow_reg(f, &o->operand[1]) == r && o->operand[2].place == COMPILE_FIXED &&
			    step < STEP_MAX && step > -STEP_MAX)
				l->step[r] = step;
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
	if (is_own(f, l, &f->request->op[i], p)) {
		l->owns = true;
		return true;
	}
	return l->planned++ < EFFECTS_MAX;
}

/* What a block costs a round of all lanes, and a visit of one. */
static void find_costs(struct loop_block *c, uint32_t gathers, uint32_t loads, uint32_t writes, uint32_t others)
{
	c->round_cost = 450 * (gathers + writes) + 60 * (loads - gathers) + 12 * others + 80;
	c->visit_cost = 6 * loads + 2 * others + 8 + 40 * writes;
}

/* Loads by one register, and writes to the lane's own memory by it, are one place. */
static bool is_new_place(const struct flow *f, const struct loop *l, uint32_t b, uint32_t i, const struct plan *p)
{
	const struct compile_op *op = f->request->op;

	if (p->how != HOW_LOAD && p->how != HOW_STORE && p->how != HOW_ATOMIC)
		return false;
	if (p->how == HOW_ATOMIC || (p->how == HOW_STORE && !is_own(f, l, &op[i], p)))
		return true;
	for (uint32_t k = i; k-- > f->block[b].begin;) {
		const struct access_form a = access_form(op[k].name);

		for (uint32_t d = 0; d < COMPILE_OPERANDS; d++)
			if (written_reg(f, &op[k], d) == flow_reg(f, &op[i].operand[1]))
				return true;
		if (op[k].kind == COMPILE_PLAIN && a.good && a.shared == p->access.shared &&
		    a.bytes * a.count == p->access.bytes * p->access.count &&
		    flow_reg(f, &op[k].operand[1]) == flow_reg(f, &op[i].operand[1]) &&
		    (!a.store || (l->local_in && l->local[flow_reg(f, &op[i].operand[1])])))
			return false;
	}
	return true;
}

/* Value: gathers of the block; UINT32_MAX: something in it is not done lane by lane. */
static uint32_t find_block(const struct emit *e, struct loop *l, uint32_t b, uint32_t *places)
{
	const struct flow *f = e->flow;
	struct loop_block *c = &l->block[loop_block_at(l, b)];
	uint32_t gathers = count_gathers(e, l, b), loads = 0, others = 0, before = l->planned;
	struct plan p;

	loop_local_begin(l, b);
	for (uint32_t i = f->block[b].begin; i < f->block[b].end; i++) {
		const struct compile_op *o = &f->request->op[i];

		c->weight += o->weight;
		if (o->kind == COMPILE_BRANCH)
			continue;
		plan_make(f, i, l->s, NULL, &p);
		if (!fits(f, l, o, &p, l->s) || !add_effect(l, f, i, &p))
			return UINT32_MAX;
		c->strong |= p.how == HOW_STRONG;
		l->strong |= p.how == HOW_STRONG;
		loads += p.how == HOW_LOAD || atomic_is_probe(f, i, &p) ? p.access.count : 0;
		if (is_own(f, l, o, &p)) { /* with vectors it is a scatter */
			gathers += p.access.count;
			loads += p.access.count;
		}
		*places += is_new_place(f, l, b, i, &p);
		others += p.how == HOW_INLINE ? work_of(&p) : 0;
		loop_local_apply(f, o, l->local);
	}
	c->writes = l->planned - before;
	find_costs(c, gathers, loads, c->writes, others);
	return gathers;
}

static uint32_t rounds_of(uint32_t weight, uint32_t writes, bool strong)
{
	uint32_t most = COMPILE_ROUNDS;

	most = writes && most > LOG_ROUNDS ? LOG_ROUNDS : most;
	most = strong ? STRONG_ROUNDS : most;
	return COMPILE_QUANTUM / (weight + 1) > most ? most : COMPILE_QUANTUM / (weight + 1);
}

static bool find(const struct emit *e, struct loop *l)
{
	uint32_t gathers = 0, places = 0, weight = 0;

	for (uint32_t b = l->head; b <= l->last; b++) {
		const struct loop_block *c = &l->block[loop_block_at(l, b)];
		const uint32_t n = find_block(e, l, b, &places);

		if (n == UINT32_MAX)
			return false;
		gathers += n;
		weight += c->weight;
		if (!c->inner) {
			l->round_cost += c->round_cost;
			l->visit_cost += c->visit_cost;
		}
	}
	l->rounds = l->inners ? NEST_ROUNDS : rounds_of(weight, l->planned, l->strong);
	l->turns = l->inners > 2 ? NEST_TURNS / 2 : NEST_TURNS;
	l->lane_cost = 160;
	return gathers && places <= SPOTS_MAX && l->exits <= l->block[0].weight && l->rounds > 1;
}

/* Where it begins and wherever it is left. */
static bool ends_take_lanes(const struct flow *f, const struct loop *l)
{
	if (!takes_lanes(f, l, l->head))
		return false;
	for (uint32_t k = 0; k < l->exits; k++)
		if (!takes_lanes(f, l, l->exit[k].to))
			return false;
	return true;
}

/* Where lanes' own memory is so small that it is saved in front of them. False: there is no memory for the analysis. */
static bool find_own(const struct flow *f, struct loop *l)
{
	if (!f->request->local || f->request->local > LOCAL_MAX || f->request->local % 2)
		return true;
	l->local_in = calloc(f->block_count * ((size_t)f->reg_count + 1), sizeof(*l->local_in));
	if (l->local_in)
		find_local(f, l);
	return l->local_in;
}

/* Value: whether there is such a loop, and for how many lanes it may be better than vectors. */
uint32_t loop_find(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;

	if (!f->parts || !find_blocks(f, l))
		return 0;
	find_written(f, l);
	if (!ends_take_lanes(f, l) || !find_own(f, l))
		return 0;
	find_states(e, l);
	find_steps(f, l);
	return !find(e, l) ? 0 : is_chase(f, l) ? CHASE_LANES : LANES;
}

/* ---- a loop with loops inside ---- */

static bool is_simple(const struct flow *f, uint32_t b)
{
	for (uint32_t i = f->block[b].begin; i < f->block[b].end; i++) {
		const struct compile_op *o = &f->request->op[i];

		if (o->kind == COMPILE_BRANCH)
			continue;
		if (o->kind != COMPILE_PLAIN || !o->name ||
		    (!inline_row(o->name) && !access_form(o->name).good && !atomic_row(o->name)))
			return false;
	}
	return f->block[b].next_count;
}

/* A loop that begins at block b. */
static bool find_inner(const struct flow *f, struct loop_inner *x, uint32_t b, bool *chase)
{
	struct loop *t = calloc(1, sizeof(*t));
	bool good;

	if (!t)
		return false;
	t->head = b;
	t->written = x->written;
	t->step = x->step;
	good = find_blocks(f, t);
	for (uint32_t i = b; good && i <= t->last; i++)
		good = is_simple(f, i);
	if (good) {
		find_written(f, t);
		find_steps(f, t);
		*chase = *chase || is_chase(f, t);
		x->head = b;
		x->last = t->last;
	}
	free(t);
	return good;
}

/* Nobody who stays in it leaves a block out. */
static bool is_straight(const struct flow *f, const struct loop_inner *x)
{
	for (uint32_t b = x->head; b <= x->last; b++)
		for (uint32_t k = 0; k < f->block[b].next_count; k++) {
			const uint32_t to = f->block[b].next[k];

			if (to > x->head && to <= x->last && to != b + 1)
				return false;
		}
	return true;
}

static bool jumps_back(const struct flow *f, uint32_t b)
{
	for (uint32_t k = 0; k < f->block[b].next_count; k++)
		if (f->block[b].next[k] <= b)
			return true;
	return false;
}

static void find_inners(const struct flow *f, struct loop *l, uint32_t end, bool *chase)
{
	uint32_t b = l->head + 1;

	while (b < end && is_simple(f, b)) {
		struct loop_inner *x = &l->inner[l->inners];
		const bool is_loop = l->inners < INNER_MAX && find_inner(f, x, b, chase);

		if (is_loop && x->last - l->head < BLOCKS_MAX) {
			for (uint32_t i = x->head; i <= x->last; i++)
				l->block[loop_block_at(l, i)].inner = x;
			l->last = x->last;
			x->straight = is_straight(f, x);
			l->inners++;
		} else if (is_loop || jumps_back(f, b)) {
			break;
		}
		b = is_loop ? x->last + 1 : b + 1;
	}
}

/* All jumps lead forwards, except to the heads of loops inside; and nobody comes in but at the head. */
static bool jumps_fit(const struct flow *f, struct loop *l)
{
	bool known;

	for (uint32_t b = 0; b < f->block_count; b++)
		for (uint32_t i = 0; i < f->block[b].next_count; i++) {
			const uint32_t to = f->block[b].next[i];

			if ((b < l->head || b > l->last) && to > l->head && to <= l->last)
				return false;
			if (b < l->head || b > l->last || to <= l->last)
				continue;
			known = false;
			for (uint32_t k = 0; k < l->exits; k++)
				known = known || l->exit[k].to == to;
			if (!known && !add_exit(l, b, to))
				return false;
		}
	return l->exits;
}

/* The last block that jumps back to the head; 0: none does. */
static uint32_t last_of(const struct flow *f, uint32_t head)
{
	uint32_t last = 0;

	for (uint32_t b = head + 1; b < f->block_count; b++)
		for (uint32_t k = 0; k < f->block[b].next_count; k++)
			if (f->block[b].next[k] == head)
				last = last ? UINT32_MAX : b;
	return last;
}

static bool nest_fits(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;

	for (uint32_t b = l->head; b <= l->last; b++) {
		const struct loop_block *c = &l->block[loop_block_at(l, b)];

		if (!is_simple(f, b) || (c->writes && c->inner) || c->strong ||
		    (!c->inner && b != l->last && jumps_back(f, b)))
			return false;
	}
	return !l->owns || (f->request->local <= LOCAL_MAX && !(f->request->local % 2));
}

uint32_t loop_find_nest(const struct emit *e, struct loop *l)
{
	const struct flow *f = e->flow;
	const uint32_t last = last_of(f, l->head);
	bool chase = false;

	if (!f->parts || !last || last - l->head >= BLOCKS_MAX || !is_simple(f, l->head) ||
	    f->block[last].end - f->block[l->head].begin > NEST_OPS_MAX)
		return 0;
	find_inners(f, l, last, &chase);
	l->last = last;
	if (!l->inners || l->inner[l->inners - 1].last >= last || !jumps_fit(f, l))
		return 0;
	find_written(f, l);
	if (!ends_take_lanes(f, l))
		return 0;
	l->local_in = calloc(f->block_count * ((size_t)f->reg_count + 1), sizeof(*l->local_in));
	if (!l->local_in)
		return 0;
	if (f->request->local)
		find_local(f, l);
	find_states(e, l);
	find_steps(f, l);
	return !find(e, l) || !nest_fits(e, l) ? 0 : chase ? CHASE_LANES : LANES;
}
