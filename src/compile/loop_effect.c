/*
 * loop_effect.c: stores and atomics of a loop whose lanes run one after the other (loop.h).
 *
 * A lane only notes what it writes and where. Behind the last lane all of it is written round by round, in each round
 * operation by operation and lane by lane: the order in which the lanes together would have written. If any place may
 * have been loaded from as well, nothing is written, and the loop is executed with vectors. Of atomics only those are
 * executed like this whose results nobody reads.
 */
#include "compile/atomic.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop_parts.h"

bool loop_effect_fits(const struct flow *f, uint32_t i, const struct plan *p)
{
	const struct compile_op *o = &f->request->op[i];

	if (p->guarded || flow_reg(f, &o->operand[1]) == UINT32_MAX)
		return false;
	return p->how == HOW_STORE ||
	       (p->how == HOW_ATOMIC && !atomic_is_read(f, i) && o->operand[3].place == COMPILE_NONE);
}

/* ---- one lane ---- */

/* A number that no lane changes. */
static bool is_same(const struct loop *l, const struct value *v)
{
	return v->shape == SHAPE_LINE && !v->stride &&
	       (LLVMIsConstant(v->v[0]) ||
		(LLVMIsAInstruction(v->v[0]) && LLVMGetInstructionParent(v->v[0]) == l->x.before));
}

void loop_effect_note(struct loop *l, uint32_t block, const struct plan *p)
{
	struct emit *e = l->e;
	const struct compile_op *o = operation(e);
	struct loop_effect *x = &l->effect[l->effects];
	LLVMValueRef round = loop_round(l, &l->block[block]), at, v;

	*x = (struct loop_effect){ .block = block, .place = l->x.places, .plan = *p, .at = log_places(l) };
	x->reach = lane_reach_new(&l->x, (uint64_t)p->access.bytes * p->access.count);
	at = lane_target(&l->x, &p->access);
	lane_reach_add(&l->x, &x->reach, at);
	value_store(e, at, log_place(l, x->at, round, l->x.number64), 8);
	for (uint32_t j = 0; j < p->access.count; j++) {
		const struct value from = lane_operand(&l->x, &o->operand[p->atomic ? 2 : element_operand[1][j]], true);

		if (is_same(l, &from)) {
			x->same[j] = from.v[0];
			continue;
		}
		x->value[j] = value_array_of(e, &e->log_value[l->effects][j], e->i64, LANES * COMPILE_ROUNDS);
		v = LLVMBuildZExtOrBitCast(e->b, lane_of(&l->x, &from), e->i64, "");
		value_store(e, v, log_place(l, x->value[j], round, l->x.number64), 8);
	}
	l->effects++;
}

LLVMValueRef loop_effect_log(const struct loop *l, uint32_t block, uint32_t place)
{
	for (uint32_t k = 0; k < l->effects; k++)
		if (l->effect[k].block == block && l->effect[k].place == place)
			return l->effect[k].at;
	return NULL;
}

/* ---- all lanes ---- */

void loop_effects_begin(struct loop *l)
{
	l->x.reach = l->planned ? l->reach : NULL;
}

/* Whether no place that b touches is touched by a. */
static LLVMValueRef are_apart(struct loop *l, const struct lane_reach *a, const struct lane_reach *b)
{
	struct emit *e = l->e;
	LLVMValueRef first, last, below;

	first = loop_get(l, e->i64, b->low);
	last = LLVMBuildAdd(e->b, loop_get(l, e->i64, a->high), loop_number(l, a->bytes), "");
	below = LLVMBuildICmp(e->b, LLVMIntULE, last, first, "");
	first = loop_get(l, e->i64, a->low);
	last = LLVMBuildAdd(e->b, loop_get(l, e->i64, b->high), loop_number(l, b->bytes), "");
	return LLVMBuildOr(e->b, below, LLVMBuildICmp(e->b, LLVMIntULE, last, first, ""), "");
}

static void write_one(struct loop *l, const struct loop_effect *x, LLVMValueRef round, LLVMValueRef lane)
{
	struct emit *e = l->e;
	const struct access_form *a = &x->plan.access;
	LLVMTypeRef t = type_int(e, a->bytes);
	LLVMValueRef at = value_load(e, e->i64, log_place(l, x->at, round, lane), 8), v;

	at = LLVMBuildIntToPtr(e->b, at, e->bytes, "");
	for (uint32_t j = 0; j < a->count; j++) {
		v = x->same[j] ? x->same[j] : value_load(e, e->i64, log_place(l, x->value[j], round, lane), 8);
		v = LLVMTypeOf(v) == t ? v : LLVMBuildTrunc(e->b, v, t, "");
		if (x->plan.atomic)
			atomic_one(e, &x->plan, at, v, NULL);
		else
			value_store(e, v, value_at(e, at, (uint64_t)j * a->bytes, t), a->bytes);
	}
}

/* The lanes of an operation in a round. */
static void write_round(struct loop *l, const struct loop_effect *x, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = new_block(e), one = new_block(e), on = new_block(e),
			  end;
	LLVMValueRef all = log_ran(l, &l->block[x->block], round), left, lane, next;

	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	left = LLVMBuildPhi(e->b, e->i32, "");
	LLVMAddIncoming(left, &all, &before, 1);
	LLVMBuildCondBr(e->b, loop_is_zero(l, left), on, one);
	LLVMPositionBuilderAtEnd(e->b, one);
	lane = LLVMBuildZExt(e->b, group_first_of(e, left), e->i64, "");
	write_one(l, x, round, lane);
	next = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), ""), "");
	end = LLVMGetInsertBlock(e->b);
	LLVMAddIncoming(left, &next, &end, 1);
	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* What one round has logged. */
static void write_effects(struct loop *l, LLVMValueRef round)
{
	for (uint32_t k = 0; k < l->effects; k++)
		write_round(l, &l->effect[k], round);
}

void loop_effects_end(struct loop *l)
{
	struct emit *e = l->e;
	LLVMValueRef good = LLVMConstInt(e->i1, 1, false);

	if (!l->effects)
		return;
	for (uint32_t k = 0; k < l->effects; k++)
		for (uint32_t i = 0; i < l->x.reaches; i++)
			good = LLVMBuildAnd(e->b, good, are_apart(l, &l->effect[k].reach, &l->reach[i]), "");
	lane_unless(&l->x, good);
	log_each_round(l, write_effects);
}
