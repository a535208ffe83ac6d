/* leave.c: see leave.h. */
#include "compile/leave.h"
#include "compile/group.h"

#include <stddef.h>

void add_to(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMValueRef n)
{
	LLVMValueRef p = value_at(e, base, offset, e->i64);

	value_store(e, LLVMBuildAdd(e->b, value_load(e, e->i64, p, 8), n, ""), p, 8);
}

void count_more(struct emit *e, uint64_t instructions)
{
	LLVMValueRef n = LLVMConstInt(e->i64, instructions, false);

	if (instructions)
		add_to(e, e->count, 0, n);
	if (instructions && e->absent)
		add_to(e, e->idle, 0, LLVMBuildMul(e->b, n, e->absent, ""));
}

LLVMValueRef settle_counters(struct emit *e)
{
	LLVMValueRef n = value_load(e, e->i64, e->count, 8), lanes = LLVMConstInt(e->i64, LANES, false);

	add_to(e, e->warp, offsetof(struct warp, executed), n);
	add_to(e, e->warp, offsetof(struct warp, executed_lanes),
	       LLVMBuildSub(e->b, LLVMBuildMul(e->b, n, lanes, ""), value_load(e, e->i64, e->idle, 8), ""));
	add_to(e, e->block, offsetof(struct block, sectors), value_load(e, e->i64, e->sectors, 8));
	return n;
}

/* All ways out meet here that have nothing more to do. */
static LLVMBasicBlockRef way_out(struct emit *e)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef n;

	if (e->leave_all)
		return e->leave_all;
	e->leave_all = new_block(e);
	LLVMPositionBuilderAtEnd(e->b, e->leave_all);
	n = settle_counters(e);
	n = LLVMBuildICmp(e->b, LLVMIntNE, n, LLVMConstInt(e->i64, 0, false), "");
	LLVMBuildRet(e->b, LLVMBuildZExt(e->b, n, e->i32, ""));
	LLVMPositionBuilderAtEnd(e->b, here);
	return e->leave_all;
}

void leave_here(struct emit *e, uint64_t pending)
{
	count_more(e, pending);
	LLVMBuildBr(e->b, way_out(e));
}

void leave(struct emit *e, uint32_t pc, const uint8_t *live, const struct state *s, uint64_t pending)
{
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if ((live[r] || (e->kept && e->kept[r])) && !s[r].synced && s[r].shape != SHAPE_UNKNOWN)
			reg_to_frame(e, r, &s[r]);
	value_store(e, LLVMConstInt(e->i32, pc, false), value_at(e, e->warp, offsetof(struct warp, pc), e->i32), 4);
	if (!e->waiting) {
		leave_here(e, pending);
		return;
	}
	count_more(e, pending);
	group_leave(e);
	LLVMBuildBr(e->b, way_out(e));
}

void leave_at_barrier(struct emit *e)
{
	const struct block_of_code *next = &e->flow->block[e->flow->block_of[e->at + 1]];
	struct brief_regs brief;

	reg_brief_find(e, e->at, &brief);
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		const struct state *s = &e->s[r];

		if (!e->live[r] || s->shape == SHAPE_UNKNOWN)
			continue;
		if (brief.slot[r] != BRIEF_NONE) {
			const struct value x = value_as(e, reg_value(e, r, s, true), next->in[r].shape);

			reg_to_frame_briefly(e, r, &brief, &x);
		} else if (!s->synced) {
			reg_to_frame(e, r, s);
		}
	}
	value_store(e, LLVMConstInt(e->i32, next->begin + 1, false),
		    value_at(e, e->warp, offsetof(struct warp, brief), e->i32), 4);
	value_store(e, LLVMConstInt(e->i32, e->at, false), value_at(e, e->warp, offsetof(struct warp, pc), e->i32), 4);
	leave_here(e, e->pending);
}

/* Likely true. */
LLVMValueRef expected(struct emit *e, LLVMValueRef condition)
{
	LLVMValueRef args[2] = { condition, LLVMConstInt(e->i1, 1, false) };

	return value_intrinsic(e, "llvm.expect", e->i1, args, 2);
}

/* Goes on where the condition holds; elsewhere the interpreter executes the operation. */
void leave_unless(struct emit *e, LLVMValueRef condition)
{
	LLVMBasicBlockRef on = new_block(e), out = new_block(e);

	LLVMBuildCondBr(e->b, expected(e, condition), on, out);
	LLVMPositionBuilderAtEnd(e->b, out);
	leave(e, e->at, e->live, e->s, e->pending);
	LLVMPositionBuilderAtEnd(e->b, on);
}
