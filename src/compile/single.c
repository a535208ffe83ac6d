/*
 * single.c: see single.h.
 *
 *   choose    few lanes: before; else vectors
 *   before    what lanes read goes to arrays; where a range of memory is too short for any access: vectors
 *   head      one lane: all operations, with scalars; an address that is out of range: vectors
 *   after     arrays become registers again, and what has been touched is counted
 *   vectors   the operations as ever
 *   on        what follows
 */
#include "compile/single.h"
#include "compile/access.h"
#include "compile/group.h"
#include "compile/lane.h"
#include "compile/leave.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 120u /* operations of a stretch */

/* ---- what a stretch is ---- */

/* How many lanes take as long one by one as all of them together; in units of a quarter of a cycle. */
static uint32_t worth(uint32_t loads, uint32_t others)
{
	return (200 * loads + 12 * others) / (10 + 6 * loads + 2 * others);
}

static uint32_t count_ops(const struct emit *e, uint32_t end, uint32_t *ret_worth)
{
	const struct flow *f = e->flow;
	struct state *s = malloc((f->reg_count + 1) * sizeof(*s));
	uint32_t i, loads = 0, others = 0, places = 0;
	struct plan p;

	if (!s)
		return 0;
	memcpy(s, e->s, f->reg_count * sizeof(*s));
	for (i = e->at; i < end && i - e->at < COUNT_MAX; i++) {
		plan_make(f, i, s, e->kept, &p);
		if (!lane_fits(f, &f->request->op[i], &p, s) || (p.how == HOW_LOAD && places == LANE_PLACES_MAX))
			break;
		loads += p.how == HOW_LOAD ? p.access.count : 0;
		places += p.how == HOW_LOAD;
		others += p.how == HOW_INLINE && p.result[0].shape == SHAPE_LANES;
		plan_apply(f, i, &p, s);
	}
	free(s);
	*ret_worth = loads ? worth(loads, others) : 0;
	return *ret_worth > 2 ? i - e->at : 0;
}

uint32_t single_count(const struct emit *e, uint32_t end)
{
	uint32_t unused;

	return e->kept ? count_ops(e, end, &unused) : 0;
}

/* ---- behind the loop ---- */

/* Counts as find_access() does: where the first and the last lane do not lie as a row or as one place, no lanes do. */
static void count_touched(struct lane *x)
{
	struct emit *e = x->e;
	LLVMValueRef first = group_first(e), last = group_last(e), n, far, maybe = LLVMConstNull(e->i1), a, b, gap, all;
	LLVMBasicBlockRef apart = new_block(e), look = new_block(e), on = new_block(e);
	uint32_t loads = 0;

	/* each half of all lanes may be a row or a place of its own */
	all = LLVMBuildICmp(e->b, LLVMIntEQ, e->here, LLVMConstAllOnes(e->i32), "");
	last = LLVMBuildSelect(e->b, all, LLVMConstInt(e->i32, LANES / 2 - 1, false), last, "");
	n = LLVMBuildSub(e->b, LLVMConstInt(e->i64, LANES, false), e->absent, "");
	far = LLVMBuildZExt(e->b, LLVMBuildSub(e->b, last, first, ""), e->i64, "");
	for (uint32_t k = 0; k < x->places; k++) {
		const struct lane_place *p = &x->place[k];

		if (p->shared)
			continue;
		loads += p->loads;
		x->number64 = LLVMBuildZExt(e->b, first, e->i64, "");
		a = value_load(e, e->i64, lane_element(x, p->all, e->i64), 8);
		x->number64 = LLVMBuildZExt(e->b, last, e->i64, "");
		b = value_load(e, e->i64, lane_element(x, p->all, e->i64), 8);
		gap = LLVMBuildSub(e->b, b, a, "");
		maybe = LLVMBuildOr(e->b, maybe, LLVMBuildICmp(e->b, LLVMIntEQ, gap, LLVMConstNull(e->i64), ""), "");
		b = LLVMBuildMul(e->b, far, LLVMConstInt(e->i64, p->bytes, false), "");
		maybe = LLVMBuildOr(e->b, maybe, LLVMBuildICmp(e->b, LLVMIntEQ, gap, b, ""), "");
	}
	maybe = LLVMBuildAnd(e->b, maybe, LLVMBuildICmp(e->b, LLVMIntNE, first, last, ""), "");
	LLVMBuildCondBr(e->b, maybe, look, apart);
	LLVMPositionBuilderAtEnd(e->b, apart);
	add_to(e, e->sectors, 0, LLVMBuildMul(e->b, n, LLVMConstInt(e->i64, loads, false), ""));
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, look);
	for (uint32_t k = 0; k < x->places; k++) {
		const struct lane_place *p = &x->place[k];

		if (p->shared)
			continue;
		a = value_load(e, type_lanes(e->i64), p->all, VECTOR_ALIGN);
		a = access_sectors(e, a, p->bytes);
		add_to(e, e->sectors, 0, LLVMBuildMul(e->b, a, LLVMConstInt(e->i64, p->loads, false), ""));
	}
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* ---- the whole ---- */

static void make_lane(struct lane *x, const uint8_t *behind)
{
	struct emit *e = x->e;
	struct plan p;

	for (e->at = x->begin; e->at < x->end; e->at++) {
		plan_make(e->flow, e->at, e->s, e->kept, &p);
		if (p.how == HOW_LOAD)
			lane_load(x, &p);
		else if (p.how == HOW_INLINE)
			lane_compute(x, &p);
		plan_apply(e->flow, e->at, &p, e->s);
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		x->made[r] = x->made[r] && (behind[r] || e->kept[r]);
		if (x->made[r] && x->now[r].shape == SHAPE_LANES)
			value_store(e, x->now[r].v[0], lane_element(x, lane_array(x, r), lane_type(x, r)),
				    e->flow->reg_lane[r]);
	}
}

/* The loop over lanes; goes on where it has ended. */
static void make_lanes(struct lane *x, const uint8_t *behind)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef head = new_block(e), after = new_block(e), from[2], latch;
	LLVMValueRef left, odd, next, in[2];

	LLVMPositionBuilderAtEnd(e->b, head);
	left = LLVMBuildPhi(e->b, e->i32, "");
	odd = LLVMBuildPhi(e->b, e->i8, "");
	x->number = group_first_of(e, left);
	x->number64 = LLVMBuildZExt(e->b, x->number, e->i64, "");
	x->good = LLVMConstInt(e->i1, 1, false);
	x->odd = odd;
	make_lane(x, behind);
	next = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), ""), "");
	latch = LLVMGetInsertBlock(e->b);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, next, LLVMConstNull(e->i32), ""), after, head);
	from[0] = x->before;
	from[1] = latch;
	in[0] = e->here;
	in[1] = next;
	LLVMAddIncoming(left, in, from, 2);
	in[0] = LLVMConstNull(e->i8);
	in[1] = x->odd;
	LLVMAddIncoming(odd, in, from, 2);
	LLVMPositionBuilderAtEnd(e->b, x->before);
	LLVMBuildCondBr(e->b, expected(e, x->good), head, x->vectors);
	LLVMPositionBuilderAtEnd(e->b, after);
	lane_unless(x, LLVMBuildICmp(e->b, LLVMIntEQ, x->odd, LLVMConstNull(e->i8), ""));
}

static void give(struct lane *x, uint32_t r)
{
	struct value v = x->now[r];

	if (v.shape == SHAPE_LANES)
		v.v[0] = value_load(x->e, type_lanes(lane_type(x, r)), lane_array(x, r), VECTOR_ALIGN);
	lane_give(x, r, v);
}

static void make_vectors(struct lane *x, uint8_t *live, single_other *other)
{
	struct emit *e = x->e;
	const size_t regs = e->flow->reg_count + 1;

	LLVMPositionBuilderAtEnd(e->b, x->vectors);
	for (e->at = x->begin; e->at < x->end; e->at++) {
		e->live = live + (e->at - x->begin) * regs;
		other(e);
	}
}

void single_run(struct emit *e, uint32_t count, uint8_t *live, single_other *other)
{
	const struct flow *f = e->flow;
	const size_t regs = f->reg_count + 1, states = f->reg_count * sizeof(struct state);
	struct lane x = { .e = e,
			  .begin = e->at,
			  .end = e->at + count,
			  .from = calloc(regs, sizeof(struct state)),
			  .now = calloc(regs, sizeof(struct value)),
			  .made = calloc(regs, sizeof(bool)) };
	LLVMBasicBlockRef on = new_block(e);
	const bool told = e->told;
	uint32_t most = 0;
	LLVMValueRef n;

	x.before = new_block(e);
	x.vectors = new_block(e);
	count_ops(e, x.end, &most);
	n = LLVMBuildICmp(e->b, LLVMIntUGE, e->absent, LLVMConstInt(e->i64, most < LANES ? LANES - most : 0, false),
			  "");
	if (!x.from || !x.now || !x.made)
		n = LLVMConstNull(e->i1);
	LLVMBuildCondBr(e->b, n, x.before, x.vectors);
	if (x.from && x.now && x.made) {
		memcpy(x.from, e->s, states);
		make_lanes(&x, live + count * regs);
		for (uint32_t r = 0; r < f->reg_count; r++)
			if (x.made[r])
				give(&x, r);
		count_touched(&x);
		memcpy(e->s, x.from, states);
	} else {
		LLVMPositionBuilderAtEnd(e->b, x.before);
	}
	LLVMBuildBr(e->b, on);
	make_vectors(&x, live, other);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	e->told = told;
	free(x.from);
	free(x.now);
	free(x.made);
}
