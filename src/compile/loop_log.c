/*
 * loop_log.c: what the lanes of a loop that run one after the other (loop.h) note, and what is counted by it.
 *
 * In each round a lane notes that it is in a block, and from where it loads. Behind the last lane, one round after the
 * other is looked at: how many lanes ran each block, and whether their addresses may be one place or a row. The first
 * and the last lane tell that nearly always.
 */
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop_parts.h"

#include <stddef.h>

static LLVMValueRef array(struct emit *e, LLVMValueRef *place, LLVMTypeRef t, uint32_t count)
{
	if (!*place)
		*place = value_on_stack(e, LLVMArrayType(t, count), LLVMPointerType(t, 0));
	return *place;
}

LLVMValueRef log_places(struct loop *l)
{
	return array(l->e, &l->e->log_at[l->logs++], l->e->i64, LANES * COMPILE_ROUNDS);
}

LLVMValueRef log_place(struct loop *l, LLVMValueRef array, LLVMValueRef round, LLVMValueRef lane)
{
	struct emit *e = l->e;
	LLVMValueRef index =
		LLVMBuildAdd(e->b, LLVMBuildMul(e->b, lane, loop_number(l, COMPILE_ROUNDS), ""), round, "");

	return LLVMBuildGEP2(e->b, e->i64, array, &index, 1, "");
}

LLVMValueRef log_lanes(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	return LLVMBuildGEP2(l->e->b, l->e->i32, c->lanes, &round, 1, "");
}

LLVMValueRef log_rounds(struct loop *l)
{
	struct emit *e = l->e;
	LLVMValueRef n = loop_get(l, e->i64, l->latest), most = loop_number(l, l->rounds);

	n = LLVMBuildAdd(e->b, n, loop_number(l, 1), "");
	return LLVMBuildSelect(e->b, loop_is_more(l, n, most), most, n, "");
}

void log_begin(struct loop *l)
{
	struct emit *e = l->e;
	LLVMTypeRef t = LLVMVectorType(e->i32, COMPILE_ROUNDS / 3);

	for (uint32_t i = 0; i <= l->last - l->head; i++) {
		l->block[i].lanes = array(e, &e->log_lanes[i], e->i32, COMPILE_ROUNDS);
		for (uint64_t k = 0; k < l->rounds; k += COMPILE_ROUNDS / 3)
			value_store(e, LLVMConstNull(t),
				    value_at(e, LLVMBuildBitCast(e->b, l->block[i].lanes, e->bytes, ""), k * 4, t), 4);
	}
}

void log_visit(struct loop *l, struct loop_block *c)
{
	struct emit *e = l->e;
	LLVMValueRef at = log_lanes(l, c, loop_get(l, e->i64, l->round));

	value_store(e, LLVMBuildOr(e->b, value_load(e, e->i32, at, 4), l->lane_bit, ""), at, 4);
}

/* ---- behind the last lane ---- */

static void add(struct loop *l, LLVMValueRef slot, LLVMValueRef n)
{
	struct emit *e = l->e;

	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, loop_get(l, e->i64, slot), n, ""), slot);
}

static LLVMValueRef times(struct loop *l, LLVMValueRef n, uint64_t by)
{
	return LLVMBuildMul(l->e->b, n, loop_number(l, by), "");
}

/* Who is looked at: the first lane, and the last one of its half or of all. */
struct ends {
	LLVMValueRef lanes, first, last;
};

static struct ends ends_of(struct loop *l, LLVMValueRef lanes)
{
	struct emit *e = l->e;
	LLVMValueRef all = LLVMBuildICmp(e->b, LLVMIntEQ, lanes, LLVMConstAllOnes(e->i32), "");
	struct ends x = { .lanes = lanes, .first = group_first_of(e, lanes), .last = group_last_of(e, lanes) };

	x.last = LLVMBuildSelect(e->b, all, LLVMConstInt(e->i32, LANES / 2 - 1, false), x.last, "");
	x.first = LLVMBuildZExt(e->b, x.first, e->i64, "");
	x.last = LLVMBuildZExt(e->b, x.last, e->i64, "");
	return x;
}

/* The places of several lanes. */
static void count_spot(struct loop *l, const struct loop_spot *s, const struct ends *x, LLVMValueRef now)
{
	struct emit *e = l->e;
	LLVMValueRef round = s->once ? loop_number(l, 0) : now;
	LLVMTypeRef types[3] = { LLVMPointerType(e->i64, 0), e->i32, e->i32 };
	LLVMTypeRef t = LLVMFunctionType(e->i64, types, 3, false);
	LLVMBasicBlockRef ask = new_block(e), on = new_block(e);
	LLVMValueRef gap, far, maybe, call, n;
	LLVMValueRef args[3] = { log_place(l, s->log, round, loop_number(l, 0)), x->lanes,
				 LLVMConstInt(e->i32, s->bytes, false) };

	gap = LLVMBuildSub(e->b, value_load(e, e->i64, log_place(l, s->log, round, x->last), 8),
			   value_load(e, e->i64, log_place(l, s->log, round, x->first), 8), "");
	far = times(l, LLVMBuildSub(e->b, x->last, x->first, ""), s->bytes);
	maybe = LLVMBuildOr(e->b, loop_is_zero(l, gap), LLVMBuildICmp(e->b, LLVMIntEQ, gap, far, ""), "");
	LLVMBuildCondBr(e->b, expected(e, LLVMBuildNot(e->b, maybe, "")), on, ask);
	LLVMPositionBuilderAtEnd(e->b, ask);
	call = value_field(e, e->env, offsetof(struct compiled_env, alike), LLVMPointerType(t, 0));
	n = LLVMBuildCall2(e->b, t, call, args, 3, "");
	add(l, l->fewer, times(l, n, s->loads));
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

static void count_block(struct loop *l, struct loop_block *c, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef lanes = value_load(e, e->i32, log_lanes(l, c, round), 4), some, n;
	LLVMBasicBlockRef several, on;
	struct ends x;

	some = LLVMBuildZExt(e->b, LLVMBuildNot(e->b, loop_is_zero(l, lanes), ""), e->i64, "");
	n = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.ctpop", e->i32, &lanes, 1), e->i64, "");
	add(l, l->executed, times(l, some, c->weight));
	add(l, l->work, times(l, n, c->weight));
	add(l, l->touched, LLVMBuildAdd(e->b, times(l, some, c->even), times(l, n, c->loads), ""));
	if (c->strong)
		add(l, l->marked, LLVMBuildShl(e->b, some, round, ""));
	if (!c->spots)
		return;
	several = new_block(e);
	on = new_block(e);
	LLVMBuildCondBr(e->b, loop_is_more(l, n, loop_number(l, 1)), several, on);
	LLVMPositionBuilderAtEnd(e->b, several);
	x = ends_of(l, lanes);
	for (uint32_t k = 0; k < c->spots; k++) {
		const struct loop_spot *s = &c->spot[k];

		if (s->log)
			count_spot(l, s, &x, round);
		else
			add(l, l->fewer, times(l, LLVMBuildSub(e->b, n, loop_number(l, s->bytes), ""), s->loads));
	}
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

void log_each_round(struct loop *l, void (*emit)(struct loop *l, LLVMValueRef round))
{
	struct emit *e = l->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = new_block(e), on = new_block(e), end;
	LLVMValueRef rounds = log_rounds(l), round, next = loop_number(l, 0);

	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	round = LLVMBuildPhi(e->b, e->i64, "");
	LLVMAddIncoming(round, &next, &before, 1);
	emit(l, round);
	next = LLVMBuildAdd(e->b, round, loop_number(l, 1), "");
	end = LLVMGetInsertBlock(e->b);
	LLVMAddIncoming(round, &next, &end, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, rounds, ""), head, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

static void count_round(struct loop *l, LLVMValueRef round)
{
	for (uint32_t i = 0; i <= l->last - l->head; i++)
		count_block(l, &l->block[i], round);
}

void log_count(struct loop *l)
{
	log_each_round(l, count_round);
}
