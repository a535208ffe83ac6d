/* strip.c: see strip.h. */
#include "compile/strip.h"
#include "compile/reg.h"
#include "compile/root.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MIN 16u /* operations of a sequence */

struct strip {
	struct emit *e;
	uint32_t first, width; /* lanes */
	struct state *from;    /* of each register, where the sequence begins */
	LLVMValueRef *now;     /* of each register: of these lanes; NULL: not read yet */
	LLVMValueRef *part;    /* of each register that the sequence writes: LANES / width of them */
	bool *made;	       /* registers that it writes */
};

static uint32_t vector_bytes(const struct emit *e)
{
	return strcmp(e->flow->request->isa, "avx512") ? 32 : 64;
}

static uint32_t vectors_max(const struct emit *e)
{
	return strcmp(e->flow->request->isa, "avx512") ? 16 : 32;
}

static bool fits(const struct emit *e, uint32_t i, const struct plan *p)
{
	const struct compile_op *o = &e->flow->request->op[i];

	if (p->how != HOW_INLINE || p->checks || o->guard.place != COMPILE_NONE || p->shape != SHAPE_LANES ||
	    flow_reg(e->flow, &o->operand[0]) == UINT32_MAX || roots_want(e, i))
		return false;
	return p->row->code != CODE_SHARED_GENERIC && (p->row->code < CODE_DOT_UU || p->row->code > CODE_DOT_SS);
}

/* Adds the vectors of the operation's registers that are new. */
static uint32_t add_vectors(const struct emit *e, const struct compile_op *o, bool *seen)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++) {
		const uint32_t r = flow_reg(e->flow, &o->operand[k]);

		if (r == UINT32_MAX || seen[r])
			continue;
		seen[r] = true;
		n += LANES * e->flow->reg_lane[r] / vector_bytes(e);
	}
	return n;
}

uint32_t strip_count(struct emit *e, uint32_t end)
{
	const struct flow *f = e->flow;
	struct state *s;
	bool *seen;
	uint32_t i, vectors = 0;
	struct plan p;

	if (e->kept || e->at < e->stripless)
		return 0;
	s = malloc((f->reg_count + 1) * sizeof(*s));
	seen = calloc(f->reg_count + 1, sizeof(*seen));
	if (s)
		memcpy(s, e->s, f->reg_count * sizeof(*s));
	for (i = e->at; s && seen && i < end; i++) {
		plan_make(f, i, s, NULL, &p);
		if (!fits(e, i, &p))
			break;
		vectors += add_vectors(e, &f->request->op[i], seen);
		plan_apply(f, i, &p, s);
	}
	free(s);
	free(seen);
	if (i - e->at >= COUNT_MIN && vectors > vectors_max(e))
		return i - e->at;
	e->stripless = i; /* a part of it is none either */
	return 0;
}

/* So many that most results are one vector. */
static uint32_t width_of(const struct emit *e, uint32_t count)
{
	uint32_t wide = 0;

	for (uint32_t i = e->at; i < e->at + count; i++)
		wide += e->flow->request->op[i].operand[0].lane == 8;
	return vector_bytes(e) / (wide * 2 >= count ? 8 : 4);
}

static LLVMValueRef part_of(const struct strip *x, LLVMValueRef all)
{
	LLVMValueRef index[LANES];

	for (uint32_t i = 0; i < x->width; i++)
		index[i] = LLVMConstInt(x->e->i32, x->first + i, false);
	return LLVMBuildShuffleVector(x->e->b, all, LLVMGetUndef(LLVMTypeOf(all)), LLVMConstVector(index, x->width),
				      "");
}

static LLVMValueRef operand_now(struct strip *x, const struct compile_operand *o, bool settle)
{
	const uint32_t r = flow_reg(x->e->flow, o);

	if (r == UINT32_MAX)
		return part_of(x, source_lanes(x->e, o, settle));
	if (!x->now[r]) {
		const struct value all = reg_value(x->e, r, &x->from[r], false);

		x->now[r] = part_of(x, value_lanes(x->e, &all));
	}
	return settle && x->e->s[r].nan ? value_settle(x->e, x->now[r]) : x->now[r];
}

static void compute(struct strip *x, const struct plan *p)
{
	const struct compile_op *o = operation(x->e);
	const bool settle = plan_settles(p);
	const uint32_t r = flow_reg(x->e->flow, &o->operand[0]);
	LLVMValueRef args[COMPILE_OPERANDS] = { NULL };

	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE)
			args[k] = operand_now(x, &o->operand[k], settle);
	x->now[r] = arith(x->e, o, p->row, args);
	x->made[r] = true;
	plan_apply(x->e->flow, x->e->at, p, x->e->s);
	x->e->s[r].nan = p->result[0].nan; /* until it is given */
}

/* All operations of these lanes; the state at their end. */
static void make_strip(struct strip *x, uint32_t count)
{
	struct emit *e = x->e;
	const uint32_t begin = e->at, number = x->first / x->width, strips = LANES / x->width;
	struct plan p;

	memset(x->now, 0, e->flow->reg_count * sizeof(LLVMValueRef));
	memcpy(e->s, x->from, e->flow->reg_count * sizeof(*e->s));
	for (e->at = begin; e->at < begin + count; e->at++) {
		plan_make(e->flow, e->at, e->s, NULL, &p);
		compute(x, &p);
	}
	e->at = begin;
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (x->made[r])
			x->part[r * strips + number] = x->now[r];
}

/* What the strips have made becomes registers again. */
static void give(struct strip *x, uint32_t r)
{
	struct emit *e = x->e;
	const uint32_t strips = LANES / x->width;
	struct value all = all_lanes(value_join(e, &x->part[r * strips], strips, x->width));

	if (e->flow->through) {
		if (e->s[r].nan)
			all.v[0] = value_settle(e, all.v[0]);
		e->s[r].nan = false;
		value_store(e, all.v[0], value_at(e, e->frame, e->flow->reg_at[r], LLVMTypeOf(all.v[0])), VECTOR_ALIGN);
	}
	reg_store(e, r, &all);
}

bool strip_run(struct emit *e, uint32_t count)
{
	const uint32_t regs = e->flow->reg_count + 1;
	struct strip x = { .e = e,
			   .width = width_of(e, count),
			   .from = calloc(regs, sizeof(struct state)),
			   .now = calloc(regs, sizeof(LLVMValueRef)),
			   .part = calloc((size_t)regs * LANES, sizeof(LLVMValueRef)),
			   .made = calloc(regs, sizeof(bool)) };
	const bool good = x.from && x.now && x.part && x.made;

	if (good) {
		memcpy(x.from, e->s, e->flow->reg_count * sizeof(*e->s));
		for (x.first = 0; x.first < LANES; x.first += x.width)
			make_strip(&x, count);
		for (uint32_t r = 0; r < e->flow->reg_count; r++)
			if (x.made[r])
				give(&x, r);
		for (const uint32_t end = e->at + count; e->at < end; e->at++) {
			roots_pass(e);
			e->pending += operation(e)->weight;
		}
	}
	free(x.from);
	free(x.now);
	free(x.part);
	free(x.made);
	return good;
}
