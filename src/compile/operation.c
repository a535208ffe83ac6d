/* operation.c: see operation.h. */
#include "compile/operation.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/pattern.h"

#include <stddef.h>

/* Whether base ... base + last * stride does not wrap in 32 bits. */
static void check_ends(struct emit *e, LLVMValueRef base, int64_t reach, bool is_signed)
{
	LLVMValueRef first, last, low;

	first = is_signed ? LLVMBuildSExt(e->b, base, e->i64, "") : LLVMBuildZExt(e->b, base, e->i64, "");
	last = LLVMBuildAdd(e->b, first, LLVMConstInt(e->i64, (uint64_t)reach, true), "");
	low = LLVMBuildTrunc(e->b, last, e->i32, "");
	low = is_signed ? LLVMBuildSExt(e->b, low, e->i64, "") : LLVMBuildZExt(e->b, low, e->i64, "");
	leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, low, last, ""));
}

/* A line is widened by its ends: it must not wrap between them. */
static void check_line(struct emit *e, const struct compile_op *o, const struct inline_row *row)
{
	const bool is_signed = row->code == CODE_WIDEN_S || row->code == CODE_ADD_WIDE_S ||
			       row->code == CODE_MUL_WIDE_S || row->code == CODE_MAD_WIDE_S;

	for (uint32_t k = 1; k < 3; k++) {
		const struct compile_operand *x = &o->operand[k];
		const struct state s = operand_state(e->flow, x, e->s);
		struct value v;

		if (x->place == COMPILE_NONE || x->lane != 4 || (!s.stride && !s.pattern))
			continue;
		v = source(e, x, true);
		if (v.shape == SHAPE_PATTERN) {
			check_ends(e, v.v[0], pattern_of(e->flow, &s).least, is_signed);
			check_ends(e, v.v[0], pattern_of(e->flow, &s).most, is_signed);
			continue;
		}
		check_ends(e, v.v[0], v.stride * (int64_t)((v.shape == SHAPE_LINE ? LANES : LANES / 2) - 1), is_signed);
		if (v.shape == SHAPE_HALVES)
			check_ends(e, v.v[1], v.stride * (int64_t)(LANES / 2 - 1), is_signed);
	}
}

static struct value under_guard(struct emit *e, const struct compile_op *o, struct value x, const struct plan *p)
{
	const uint8_t shape = p->result[0].shape;
	struct value guard = value_as(e, source(e, &o->guard, false), shape);
	struct value old = value_as(e, source(e, &o->operand[0], !p->result[0].nan), shape);

	x.stride = p->stride;
	x.pattern = p->pattern;
	for (uint32_t k = 0; p->row->flags & ROW_NAN && !p->result[0].nan && k < 2; k++)
		if (x.v[k])
			x.v[k] = value_settle(e, x.v[k]);
	x = value_as(e, x, shape);
	for (uint32_t k = 0; k < 2; k++)
		if (x.v[k]) {
			LLVMValueRef yes = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard.v[k],
							 value_number(LLVMTypeOf(guard.v[k]), 0), "");

			x.v[k] = LLVMBuildSelect(e->b, yes, x.v[k], old.v[k], "");
		}
	return x;
}

void make_inline(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const bool settle = plan_settles(p);
	struct value made = { .shape = p->shape, .stride = p->stride, .pattern = p->pattern };
	struct value x[COMPILE_OPERANDS] = { { 0 } };
	const uint32_t r = flow_reg(e->flow, &o->operand[0]);

	if (p->checks)
		check_line(e, o, p->row);
	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE)
			x[k] = value_as(e, source(e, &o->operand[k], settle), p->shape);
	for (uint32_t half = 0; half < (p->shape == SHAPE_HALVES ? 2 : 1); half++) {
		LLVMValueRef args[COMPILE_OPERANDS];

		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			args[k] = x[k].v[half];
		made.v[half] = arith(e, o, p->row, args);
	}
	if (o->guard.place != COMPILE_NONE)
		made = under_guard(e, o, made, p);
	else if (e->kept && r != UINT32_MAX && e->kept[r] && p->row->flags & ROW_NAN && !p->result[0].nan)
		for (uint32_t k = 0; k < 2 && made.v[k]; k++)
			made.v[k] = value_settle(e, made.v[k]);
	result(e, &o->operand[0], made, p->result[0].nan);
}

/* The frame holds what the interpreter's function reads. */
static void sync_operand(struct emit *e, const struct compile_operand *o)
{
	const uint32_t r = flow_reg(e->flow, o);

	if (r == UINT32_MAX || e->s[r].synced)
		return;
	if (e->s[r].nan) { /* from here on both hold the device's bits */
		const struct value x = reg_value(e, r, &e->s[r], true);

		if (e->s[r].split)
			reg_split(e, r, &e->s[r], &x, true);
		else
			reg_store(e, r, &x);
	}
	reg_to_frame(e, r, &e->s[r]);
}

/* From the frame, where a function has left it. */
static void take_result(struct emit *e, const struct compile_operand *o, uint8_t shape)
{
	const uint32_t r = flow_reg(e->flow, o);
	struct value x = { .shape = shape };
	LLVMValueRef at, lane;
	LLVMTypeRef t;

	if (r == UINT32_MAX)
		return;
	t = type_int(e, e->flow->reg_lane[r]);
	if (shape == SHAPE_LANES)
		t = type_lanes(t);
	at = value_at(e, e->frame, e->flow->reg_at[r], t);
	if (shape == SHAPE_LINE && e->kept) { /* of a lane that has it */
		lane = LLVMBuildZExt(e->b, group_first(e), e->i64, "");
		at = LLVMBuildGEP2(e->b, t, at, &lane, 1, "");
	}
	x.v[0] = value_load(e, t, at, shape == SHAPE_LANES ? VECTOR_ALIGN : e->flow->reg_lane[r]);
	reg_store(e, r, &x);
}

/* The lanes that the operation names are all in the group, or have ended; else the interpreter lets it wait for them.
 */
static void check_members(struct emit *e, const struct compile_op *o)
{
	LLVMValueRef named = source(e, &o->operand[5], false).v[0];

	named = LLVMBuildAnd(e->b, LLVMBuildAnd(e->b, named, e->live_lanes, ""), LLVMBuildNot(e->b, e->here, ""), "");
	leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, named, LLVMConstNull(e->i32), ""));
}

/* Whether others need what the operation writes to, beside it. */
static bool is_kept(const struct emit *e, const struct compile_operand *o)
{
	const uint32_t r = flow_reg(e->flow, o);

	return e->kept && r != UINT32_MAX && e->kept[r];
}

void make_call(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	LLVMTypeRef args[2] = { e->bytes, e->bytes };
	LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(e->context), args, 2, false);
	LLVMValueRef op, full, given[2], fault;
	LLVMBasicBlockRef on, out;

	if (p->meets && e->kept)
		check_members(e, o);
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (!(o->defs >> k & 1) || o->guard.place != COMPILE_NONE || is_kept(e, &o->operand[k]))
			sync_operand(e, &o->operand[k]);
	for (uint32_t k = o->more_defs; k < o->more_count; k++)
		sync_operand(e, &o->more[k]);
	sync_operand(e, &o->guard);
	op = value_at(e, value_field(e, e->warp, offsetof(struct warp, code), e->bytes),
		      (uint64_t)e->at * sizeof(struct op), e->i8);
	if (e->kept)
		group_tell(e);
	full = value_field(e, op, e->kept ? offsetof(struct op, masked) : offsetof(struct op, full),
			   LLVMPointerType(t, 0));
	given[0] = e->warp;
	given[1] = op;
	LLVMBuildCall2(e->b, t, full, given, 2, "");
	if (!o->lanewise) {
		fault = value_field(e, e->block, offsetof(struct block, fault) + offsetof(struct ptx_fault, kind),
				    e->i32);
		on = new_block(e);
		out = new_block(e);
		LLVMBuildCondBr(e->b,
				expected(e, LLVMBuildICmp(e->b, LLVMIntEQ, fault, LLVMConstInt(e->i32, 0, false), "")),
				on, out);
		LLVMPositionBuilderAtEnd(e->b, out);
		leave_here(e, e->pending + o->weight);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1)
			take_result(e, &o->operand[k], p->result[k].shape);
	for (uint32_t k = 0; k < o->more_defs; k++)
		take_result(e, &o->more[k], SHAPE_LANES);
}

static struct value thread_index(struct emit *e, uint32_t which, uint8_t shape)
{
	const uint64_t at = offsetof(struct warp, tid) + (uint64_t)which * LANES * 4;
	LLVMTypeRef lanes = type_lanes(e->i32);
	struct value x = { .shape = shape };
	LLVMValueRef last;

	if (shape == SHAPE_LANES)
		return all_lanes(value_load(e, lanes, value_at(e, e->warp, at, lanes), 4));
	x.v[0] = value_field(e, e->warp, at, e->i32);
	if (shape == SHAPE_HALVES) {
		x.v[1] = value_field(e, e->warp, at + LANES / 2 * 4, e->i32);
		x.stride = which == SP_tid_x;
		return x;
	}
	x.stride = which == SP_tid_x;
	if (e->kept)
		return x;
	last = LLVMBuildSub(e->b, value_field(e, e->warp, at + (LANES - 1) * 4, e->i32), x.v[0], "");
	leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, last,
				      LLVMConstInt(e->i32, which == SP_tid_x ? LANES - 1 : 0, false), ""));
	return x;
}

void make_special(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const uint32_t which = (uint32_t)o->imm;
	LLVMValueRef launch;
	uint64_t at;

	if (which <= SP_tid_z) {
		result(e, &o->operand[0], thread_index(e, which, p->result[0].shape), false);
	} else if (which == SP_laneid) {
		result(e, &o->operand[0],
		       (struct value){ .shape = SHAPE_LINE, .stride = 1, .v = { LLVMConstInt(e->i32, 0, false) } },
		       false);
	} else if (which >= SP_ctaid_x && which <= SP_ctaid_z) {
		result(e, &o->operand[0],
		       scalar(value_field(e, e->block, offsetof(struct block, id) + (which - SP_ctaid_x) * 4, e->i32)),
		       false);
	} else {
		launch = value_field(e, e->block, offsetof(struct block, launch), e->bytes);
		at = which <= SP_ntid_z ? offsetof(struct ptx_launch, block) + (which - SP_ntid_x) * 4
					: offsetof(struct ptx_launch, grid) + (which - SP_nctaid_x) * 4;
		result(e, &o->operand[0], scalar(value_field(e, launch, at, e->i32)), false);
	}
}

/* As local_address() of softdev/ptx/mem.h: the threads' local memory lies side by side. */
void make_local(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	LLVMValueRef first = value_field(e, e->warp, offsetof(struct warp, local), e->i64), apart, each[LANES];

	first = LLVMBuildAdd(e->b, first, LLVMConstInt(e->i64, o->imm, false), "");
	if (p->stride) {
		result(e, &o->operand[0], (struct value){ .shape = SHAPE_LINE, .stride = p->stride, .v = { first } },
		       false);
		return;
	}
	apart = value_field(e, e->warp, offsetof(struct warp, local_stride), e->i32);
	apart = value_spread(e, LLVMBuildZExt(e->b, apart, e->i64, ""));
	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(e->i64, i, false);
	apart = LLVMBuildMul(e->b, apart, LLVMConstVector(each, LANES), "");
	result(e, &o->operand[0], all_lanes(LLVMBuildAdd(e->b, value_spread(e, first), apart, "")), false);
}

/* Which lane lane i gets its value from, as softdev/ptx/cross.h finds it; *ret_in: it is in its segment. */
static uint32_t shuffle_from(uint32_t kind, uint32_t i, uint32_t b, uint32_t c, bool *ret_in)
{
	const uint32_t by = b & 31, segment = c >> 8 & 31, least = i & segment, most = least | (c & 31 & ~segment);
	const uint32_t to = kind == 0 ? i - by : kind == 1 ? i + by : kind == 2 ? i ^ by : least | (by & ~segment);

	*ret_in = kind == 0 ? (int32_t)to >= (int32_t)most : to <= most;
	return *ret_in ? to & 31 : i;
}

void make_shuffle(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	LLVMValueRef v = source_lanes(e, &o->operand[1], false), from[LANES], in[LANES];
	uint64_t b, c;

	operand_number(e->flow, &o->operand[2], e->s, &b);
	operand_number(e->flow, &o->operand[3], e->s, &c);
	for (uint32_t i = 0; i < LANES; i++) {
		bool inside;

		from[i] = LLVMConstInt(e->i32, shuffle_from((uint32_t)o->imm & 3, i, (uint32_t)b, (uint32_t)c, &inside),
				       false);
		in[i] = LLVMConstInt(e->i32, inside ? 0xffffffffu : 0, false);
	}
	v = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(from, LANES), "");
	result(e, &o->operand[0], all_lanes(v), p->result[0].nan);
	if (o->defs & 1u << 4)
		result(e, &o->operand[4], all_lanes(LLVMConstVector(in, LANES)), false);
}
