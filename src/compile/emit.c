/*
 * emit.c: see emit.h.
 *
 * The function that is made runs one warp with all its lanes:
 *
 *   begin     goes where w->pc says, if an entry is there; else returns 0
 *   enter N   takes the registers that block N needs from the frame; where they do not look as flow.c found, returns 0
 *   code N    the operations of block N
 *   leave     puts the registers that are still needed back into the frame, sets w->pc, adds to the counters, returns
 *
 * Registers are places on the stack here (LLVM makes values of them): one for the base of a line, one for lanes.
 */
#include "compile/emit.h"
#include "compile/value.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR_ALIGN 64u

static const struct compile_op *operation(const struct emit *e)
{
	return &e->flow->request->op[e->at];
}

static LLVMBasicBlockRef new_block(struct emit *e)
{
	return LLVMAppendBasicBlockInContext(e->context, e->function, "");
}

/* ---- registers ---- */

/* A register as the operation sees it: the bases of a line or of halves in v[0] and v[1], or lanes in v[0]. */
struct value {
	uint8_t shape;
	int64_t stride;
	LLVMValueRef v[2];
};

static struct value reg_value(struct emit *e, uint32_t r, const struct state *s, bool settle)
{
	LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]);
	struct value x = { .shape = s->shape, .stride = s->stride };

	if (s->shape == SHAPE_LANES)
		x.v[0] = value_load(e, type_lanes(t), e->lanes[r], VECTOR_ALIGN);
	else
		x.v[0] = value_load(e, t, e->base[r], 8);
	if (s->shape == SHAPE_HALVES)
		x.v[1] = value_load(e, t, e->second[r], 8);
	for (uint32_t k = 0; settle && s->nan && k < 2; k++)
		if (x.v[k])
			x.v[k] = value_settle(e, x.v[k]);
	return x;
}

static LLVMValueRef value_lanes(struct emit *e, const struct value *x)
{
	return x->shape == SHAPE_LANES	? x->v[0]
	       : x->shape == SHAPE_LINE ? value_line(e, x->v[0], x->stride)
					: value_halves(e, x->v, x->stride);
}

static struct value value_as(struct emit *e, struct value x, uint8_t shape)
{
	if (x.shape == shape)
		return x;
	if (shape == SHAPE_HALVES) {
		LLVMValueRef step = LLVMConstInt(LLVMTypeOf(x.v[0]), (uint64_t)(x.stride * (int64_t)(LANES / 2)), true);

		x.v[1] = x.stride ? LLVMBuildAdd(e->b, x.v[0], step, "") : x.v[0];
	} else {
		x.v[0] = value_lanes(e, &x);
		x.v[1] = NULL;
		x.stride = 0;
	}
	x.shape = shape;
	return x;
}

static void reg_to_frame(struct emit *e, uint32_t r, const struct state *s)
{
	const struct value x = reg_value(e, r, s, true);
	LLVMValueRef v = value_lanes(e, &x);

	value_store(e, v, value_at(e, e->frame, e->flow->reg_at[r], LLVMTypeOf(v)), VECTOR_ALIGN);
}

static struct value source(struct emit *e, const struct compile_operand *o, bool settle)
{
	const uint32_t r = flow_reg(e->flow, o);
	LLVMTypeRef t = type_int(e, o->lane);
	struct value x = { .shape = SHAPE_LINE };

	if (r != UINT32_MAX) {
		x = reg_value(e, r, &e->s[r], settle);
	} else if (o->place == COMPILE_FIXED) {
		x.v[0] = LLVMConstInt(t, o->value, false);
	} else if (o->place == COMPILE_CONSTANT) {
		x.v[0] = value_field(e, e->constants, o->at, t);
	} else {
		x.shape = SHAPE_LANES;
		x.v[0] = value_load(e, type_lanes(t), value_at(e, e->constants, o->at, type_lanes(t)), VECTOR_ALIGN);
	}
	return x;
}

static LLVMValueRef source_lanes(struct emit *e, const struct compile_operand *o, bool settle)
{
	const struct value x = source(e, o, settle);

	return value_lanes(e, &x);
}

static void reg_store(struct emit *e, uint32_t r, const struct value *x)
{
	if (x->shape == SHAPE_LANES) {
		value_store(e, x->v[0], e->lanes[r], VECTOR_ALIGN);
		return;
	}
	value_store(e, x->v[0], e->base[r], 8);
	if (x->shape == SHAPE_HALVES)
		value_store(e, x->v[1], e->second[r], 8);
}

/* `nan`: its bits may have to be put in order. */
static void result(struct emit *e, const struct compile_operand *o, struct value x, bool nan)
{
	const uint32_t r = flow_reg(e->flow, o);

	if (r == UINT32_MAX)
		return;
	if (e->flow->through && x.shape == SHAPE_LANES) {
		if (nan)
			x.v[0] = value_settle(e, x.v[0]);
		value_store(e, x.v[0], value_at(e, e->frame, e->flow->reg_at[r], LLVMTypeOf(x.v[0])), VECTOR_ALIGN);
	}
	reg_store(e, r, &x);
}

static struct value scalar(LLVMValueRef v)
{
	return (struct value){ .shape = SHAPE_LINE, .v = { v } };
}

static struct value all_lanes(LLVMValueRef v)
{
	return (struct value){ .shape = SHAPE_LANES, .v = { v } };
}

/* ---- leaving ---- */

static void add_to(struct emit *e, LLVMValueRef base, uint64_t offset, LLVMValueRef n)
{
	LLVMValueRef p = value_at(e, base, offset, e->i64);

	value_store(e, LLVMBuildAdd(e->b, value_load(e, e->i64, p, 8), n, ""), p, 8);
}

/* Adds to the engine's counters. Value: how many instructions have been executed since the beginning. */
static LLVMValueRef settle_counters(struct emit *e, uint64_t pending)
{
	LLVMValueRef n =
		LLVMBuildAdd(e->b, value_load(e, e->i64, e->count, 8), LLVMConstInt(e->i64, pending, false), "");

	add_to(e, e->warp, offsetof(struct warp, executed), n);
	add_to(e, e->warp, offsetof(struct warp, executed_lanes),
	       LLVMBuildMul(e->b, n, LLVMConstInt(e->i64, LANES, false), ""));
	add_to(e, e->block, offsetof(struct block, sectors), value_load(e, e->i64, e->sectors, 8));
	return n;
}

/* The rest is the interpreter's, from operation `pc` on. */
static void leave(struct emit *e, uint32_t pc, const uint8_t *live, const struct state *s, uint64_t pending)
{
	LLVMValueRef n;

	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (live[r] && !s[r].synced && s[r].shape != SHAPE_UNKNOWN)
			reg_to_frame(e, r, &s[r]);
	n = settle_counters(e, pending);
	value_store(e, LLVMConstInt(e->i32, pc, false), value_at(e, e->warp, offsetof(struct warp, pc), e->i32), 4);
	n = LLVMBuildICmp(e->b, LLVMIntNE, n, LLVMConstInt(e->i64, 0, false), "");
	LLVMBuildRet(e->b, LLVMBuildZExt(e->b, n, e->i32, ""));
}

/* Likely true. */
static LLVMValueRef expected(struct emit *e, LLVMValueRef condition)
{
	LLVMValueRef args[2] = { condition, LLVMConstInt(e->i1, 1, false) };

	return value_intrinsic(e, "llvm.expect", e->i1, args, 2);
}

/* Goes on where the condition holds; elsewhere the interpreter executes the operation. */
static void leave_unless(struct emit *e, LLVMValueRef condition)
{
	LLVMBasicBlockRef on = new_block(e), out = new_block(e);

	LLVMBuildCondBr(e->b, expected(e, condition), on, out);
	LLVMPositionBuilderAtEnd(e->b, out);
	leave(e, e->at, e->live, e->s, e->pending);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* ---- operations ---- */

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
		struct value v;

		if (x->place == COMPILE_NONE || x->lane != 4 || !operand_state(e->flow, x, e->s).stride)
			continue;
		v = source(e, x, true);
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

static void make_inline(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const bool settle = !(p->row->flags & (ROW_F32 | ROW_PASS)) || (p->row->flags & ROW_PASS && !p->result[0].nan);
	struct value x[COMPILE_OPERANDS] = { { 0 } }, made = { .shape = p->shape };

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
	result(e, &o->operand[0], made, p->result[0].nan);
}

/* The frame holds what the interpreter's function reads. */
static void sync_operand(struct emit *e, const struct compile_operand *o)
{
	const uint32_t r = flow_reg(e->flow, o);

	if (r != UINT32_MAX && !e->s[r].synced)
		reg_to_frame(e, r, &e->s[r]);
}

/* From the frame, where a function has left it. */
static void take_result(struct emit *e, const struct compile_operand *o, uint8_t shape)
{
	const uint32_t r = flow_reg(e->flow, o);
	struct value x = { .shape = shape };
	LLVMTypeRef t;

	if (r == UINT32_MAX)
		return;
	t = type_int(e, e->flow->reg_lane[r]);
	if (shape == SHAPE_LANES)
		t = type_lanes(t);
	x.v[0] = value_load(e, t, value_at(e, e->frame, e->flow->reg_at[r], t), VECTOR_ALIGN);
	reg_store(e, r, &x);
}

static void make_call(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	LLVMTypeRef args[2] = { e->bytes, e->bytes };
	LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(e->context), args, 2, false);
	LLVMValueRef op, full, given[2], fault;
	LLVMBasicBlockRef on, out;

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (!(o->defs >> k & 1) || o->guard.place != COMPILE_NONE)
			sync_operand(e, &o->operand[k]);
	for (uint32_t k = o->more_defs; k < o->more_count; k++)
		sync_operand(e, &o->more[k]);
	sync_operand(e, &o->guard);
	op = value_at(e, value_field(e, e->warp, offsetof(struct warp, code), e->bytes),
		      (uint64_t)e->at * sizeof(struct op), e->i8);
	full = value_field(e, op, offsetof(struct op, full), LLVMPointerType(t, 0));
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
		settle_counters(e, e->pending + o->weight);
		LLVMBuildRet(e->b, LLVMConstInt(e->i32, 1, false));
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1)
			take_result(e, &o->operand[k], p->result[k].shape);
	for (uint32_t k = 0; k < o->more_defs; k++)
		take_result(e, &o->more[k], SHAPE_LANES);
}

static LLVMValueRef extend(struct emit *e, LLVMValueRef v, const struct access_form *a)
{
	const uint32_t lane = a->bytes == 8 ? 8 : 4;
	LLVMTypeRef t = value_is_lanes(v) ? type_lanes(type_int(e, lane)) : type_int(e, lane);

	if (a->bytes >= 4)
		return v;
	return a->is_signed ? LLVMBuildSExt(e->b, v, t, "") : LLVMBuildZExt(e->b, v, t, "");
}

/* Whether [address, address + span) lies in the range that this operation found last, else in any. */
static LLVMValueRef reachable(struct emit *e, LLVMValueRef address, uint64_t span, bool write)
{
	LLVMTypeRef types[5] = { e->bytes, e->i64, e->i64, e->i8, e->bytes };
	LLVMTypeRef t = LLVMFunctionType(e->i8, types, 5, false);
	LLVMValueRef hints = value_field(e, e->env, offsetof(struct compiled_env, hint), e->bytes);
	LLVMValueRef hint = value_at(e, hints, e->at, e->i8), n = LLVMConstInt(e->i64, span, false);
	LLVMValueRef index = LLVMBuildZExt(e->b, value_load(e, e->i8, hint, 1), e->i64, ""), range, begin, bytes, good,
		     slow;
	LLVMBasicBlockRef first, ask = new_block(e), on = new_block(e);
	LLVMValueRef args[5], phi, from[2];
	LLVMBasicBlockRef blocks[2];

	index = LLVMBuildMul(e->b, index, LLVMConstInt(e->i64, sizeof(struct ptx_range), false), "");
	range = LLVMBuildGEP2(e->b, e->i8, value_at(e, e->block, offsetof(struct block, range), e->i8), &index, 1, "");
	begin = value_field(e, range, offsetof(struct ptx_range, begin), e->i64);
	bytes = LLVMBuildSub(e->b, value_field(e, range, offsetof(struct ptx_range, end), e->i64), begin, "");
	good = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, bytes, n, ""),
			    LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, address, begin, ""),
					  LLVMBuildSub(e->b, bytes, n, ""), ""),
			    "");
	if (write)
		good = LLVMBuildAnd(e->b, good,
				    LLVMBuildICmp(e->b, LLVMIntEQ,
						  value_field(e, range, offsetof(struct ptx_range, read_only), e->i8),
						  LLVMConstInt(e->i8, 0, false), ""),
				    "");
	first = LLVMGetInsertBlock(e->b);
	LLVMBuildCondBr(e->b, expected(e, good), on, ask);
	LLVMPositionBuilderAtEnd(e->b, ask);
	args[0] = e->warp;
	args[1] = address;
	args[2] = LLVMBuildAdd(e->b, address, n, "");
	args[3] = LLVMConstInt(e->i8, write, false);
	args[4] = hint;
	slow = LLVMBuildCall2(e->b, t,
			      value_field(e, e->env, offsetof(struct compiled_env, reach), LLVMPointerType(t, 0)), args,
			      5, "");
	slow = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, slow, LLVMConstInt(e->i8, 1, false), ""),
			     LLVMConstInt(e->i8, 0, false), "");
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	phi = LLVMBuildPhi(e->b, e->i1, "");
	from[0] = LLVMConstInt(e->i1, 1, false);
	from[1] = slow;
	blocks[0] = first;
	blocks[1] = ask;
	LLVMAddIncoming(phi, from, blocks, 2);
	return phi;
}

/* Where an access begins that touches `span` bytes, checked. */
static LLVMValueRef accessible(struct emit *e, const struct access_form *a, LLVMValueRef x, uint64_t span)
{
	const struct compile_op *o = operation(e);
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	LLVMValueRef at, size, good = NULL;

	if (a->shared) {
		x = LLVMBuildAdd(e->b, x, LLVMConstInt(e->i32, o->imm, false), "");
		at = LLVMBuildZExt(e->b, x, e->i64, "");
		size = LLVMBuildZExt(e->b, value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32),
				     e->i64, "");
		good = LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildAdd(e->b, at, LLVMConstInt(e->i64, span, false), ""),
				     size, "");
	} else {
		at = LLVMBuildAdd(e->b, x, LLVMConstInt(e->i64, o->imm, false), "");
	}
	if (bytes > 1) {
		LLVMValueRef low = LLVMBuildAnd(e->b, at, LLVMConstInt(e->i64, bytes - 1, false), "");
		LLVMValueRef even = LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstInt(e->i64, 0, false), "");

		if (a->shared)
			good = LLVMBuildAnd(e->b, good, even, "");
		else
			leave_unless(e, even);
	}
	leave_unless(e, a->shared ? good : reachable(e, at, span, a->store));
	return at;
}

/* The places of an access, checked: one, or one for each half. */
struct places {
	LLVMValueRef at[2];
	uint32_t count; /* places */
	int64_t stride; /* of lanes that are apart */
	bool row;	/* one element behind the other; else all lanes, or all of a half, at one place */
};

static struct places access_places(struct emit *e, const struct access_form *a)
{
	const struct value x = source(e, &operation(e)->operand[1], true);
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	struct places p = { .count = x.shape == SHAPE_HALVES ? 2 : 1, .row = x.stride != 0 };
	LLVMValueRef n;

	for (uint32_t k = 0; k < p.count; k++)
		p.at[k] = accessible(e, a, x.v[k], bytes * (p.row ? LANES / p.count : 1));
	if (!a->shared) {
		n = LLVMConstInt(e->i64, p.row ? bytes : 1, false);
		if (!p.row && p.count == 2)
			n = LLVMBuildAdd(
				e->b, n,
				LLVMBuildZExt(e->b, LLVMBuildICmp(e->b, LLVMIntNE, p.at[0], p.at[1], ""), e->i64, ""),
				"");
		add_to(e, e->sectors, 0, n);
	}
	for (uint32_t k = 0; k < p.count; k++)
		p.at[k] = a->shared ? LLVMBuildGEP2(e->b, e->i8, e->shared, &p.at[k], 1, "")
				    : LLVMBuildIntToPtr(e->b, p.at[k], e->bytes, "");
	return p;
}

static LLVMValueRef shuffle_mask(struct emit *e, uint32_t count, uint32_t from, uint32_t step)
{
	LLVMValueRef each[LANES * 4];

	for (uint32_t i = 0; i < count; i++)
		each[i] = LLVMConstInt(e->i32, from + i * step, false);
	return LLVMConstVector(each, count);
}

static void make_load(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = access_places(e, a);
	LLVMTypeRef t = type_int(e, a->bytes), wide = LLVMVectorType(t, LANES / p.count * a->count);
	LLVMValueRef all = NULL;

	if (p.row) {
		LLVMValueRef part[2] = { NULL };

		for (uint32_t k = 0; k < p.count; k++)
			part[k] = value_load(e, wide, value_at(e, p.at[k], 0, wide), a->bytes * a->count);
		all = p.count == 1 ? part[0]
				   : LLVMBuildShuffleVector(e->b, part[0], part[1],
							    shuffle_mask(e, LANES * a->count, 0, 1), "");
	}
	for (uint32_t k = 0; k < a->count; k++) {
		struct value v = { .shape = p.count == 2 ? SHAPE_HALVES : SHAPE_LINE };

		for (uint32_t half = 0; !p.row && half < p.count; half++)
			v.v[half] = extend(e, value_field(e, p.at[half], (uint64_t)k * a->bytes, t), a);
		if (p.row)
			v = all_lanes(extend(e,
					     a->count == 1
						     ? all
						     : LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)),
									      shuffle_mask(e, LANES, k, a->count), ""),
					     a));
		result(e, &o->operand[element_operand[0][k]], v, false);
	}
}

/* Each lane's element of shared memory. Offsets that are wrong are the interpreter's. */
static void scattered_load(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	LLVMTypeRef t = type_int(e, a->bytes), types[2] = { type_lanes(t), type_lanes(LLVMPointerType(t, 0)) };
	LLVMValueRef size = value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32);
	LLVMValueRef bytes = LLVMConstInt(e->i32, a->bytes, false), at = source_lanes(e, &o->operand[1], true), good,
		     places;

	at = LLVMBuildAdd(e->b, at, value_number(LLVMTypeOf(at), o->imm & 0xffffffffu), "");
	good = LLVMBuildICmp(e->b, LLVMIntULE, at, value_spread(e, LLVMBuildSub(e->b, size, bytes, "")), "");
	good = LLVMBuildAnd(e->b, good,
			    LLVMBuildICmp(e->b, LLVMIntEQ,
					  LLVMBuildAnd(e->b, at, value_number(LLVMTypeOf(at), a->bytes - 1u), ""),
					  value_number(LLVMTypeOf(at), 0), ""),
			    "");
	leave_unless(e, LLVMBuildAnd(e->b, value_all(e, good), LLVMBuildICmp(e->b, LLVMIntUGE, size, bytes, ""), ""));
	places = LLVMBuildBitCast(e->b, LLVMBuildGEP2(e->b, e->i8, e->shared, &at, 1, ""), types[1], "");
	result(e, &o->operand[0], all_lanes(value_gather(e, types, places, a->bytes)), false);
}

static void make_param(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	LLVMValueRef begin = value_field(e, e->block,
					 offsetof(struct block, range) + 2 * sizeof(struct ptx_range) +
						 offsetof(struct ptx_range, begin),
					 e->bytes);

	for (uint32_t k = 0; k < a->count; k++)
		result(e, &o->operand[element_operand[0][k]],
		       scalar(extend(e, value_field(e, begin, o->imm + (uint64_t)k * a->bytes, type_int(e, a->bytes)),
				     a)),
		       false);
}

static LLVMValueRef shortened(struct emit *e, LLVMValueRef v, const struct access_form *a)
{
	LLVMTypeRef t = type_int(e, a->bytes);

	return a->bytes < 4 ? LLVMBuildTrunc(e->b, v, value_is_lanes(v) ? type_lanes(t) : t, "") : v;
}

/*
 * The places of lanes that are apart: the first of a line, of a half's. All between the first and the last lane must be
 * accessible, which is more than is touched: where it is not, the interpreter looks at each.
 */
static struct places strided_places(struct emit *e, const struct access_form *a)
{
	const struct value x = source(e, &operation(e)->operand[1], true);
	const int64_t size = x.stride < 0 ? -x.stride : x.stride;
	struct places p = { .count = x.shape == SHAPE_HALVES ? 2 : 1 };
	const uint32_t lanes = LANES / p.count;

	for (uint32_t k = 0; k < p.count; k++) {
		LLVMTypeRef t = LLVMTypeOf(x.v[k]);
		const uint64_t down = x.stride < 0 ? (uint64_t)(x.stride * (int64_t)(lanes - 1)) : 0;
		LLVMValueRef low = LLVMBuildAdd(e->b, x.v[k], LLVMConstInt(t, down, true), "");

		p.at[k] = accessible(e, a, low, (uint64_t)size * (lanes - 1) + (uint64_t)a->bytes * a->count);
	}
	if (!a->shared)
		add_to(e, e->sectors, 0, LLVMConstInt(e->i64, LANES, false));
	for (uint32_t k = 0; k < p.count; k++) {
		LLVMValueRef back = LLVMConstInt(e->i64, x.stride < 0 ? (uint64_t)size * (lanes - 1) : 0, false);

		p.at[k] = a->shared ? LLVMBuildGEP2(e->b, e->i8, e->shared, &p.at[k], 1, "")
				    : LLVMBuildIntToPtr(e->b, p.at[k], e->bytes, "");
		p.at[k] = LLVMBuildGEP2(e->b, e->i8, p.at[k], &back, 1, "");
	}
	p.stride = x.stride;
	return p;
}

/* Element k of a lane. */
static LLVMValueRef strided_place(struct emit *e, const struct access_form *a, const struct places *p, uint32_t lane,
				  uint32_t k)
{
	const uint32_t lanes = LANES / p->count;
	const int64_t from = p->stride * (int64_t)(lane % lanes) + (int64_t)k * a->bytes;
	LLVMValueRef index = LLVMConstInt(e->i64, (uint64_t)from, true);

	return value_at(e, LLVMBuildGEP2(e->b, e->i8, p->at[lane / lanes], &index, 1, ""), 0, type_int(e, a->bytes));
}

static void strided_load(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = strided_places(e, a);
	LLVMTypeRef t = type_int(e, a->bytes);

	for (uint32_t k = 0; k < a->count; k++) {
		LLVMValueRef v = LLVMGetUndef(type_lanes(t));

		for (uint32_t i = 0; i < LANES; i++)
			v = LLVMBuildInsertElement(e->b, v, value_load(e, t, strided_place(e, a, &p, i, k), a->bytes),
						   LLVMConstInt(e->i32, i, false), "");
		result(e, &o->operand[element_operand[0][k]], all_lanes(extend(e, v, a)), false);
	}
}

static void strided_store(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = strided_places(e, a);

	for (uint32_t k = 0; k < a->count; k++) {
		LLVMValueRef v = shortened(e, source_lanes(e, &o->operand[element_operand[1][k]], true), a);

		for (uint32_t i = 0; i < LANES; i++)
			value_store(e, LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, i, false), ""),
				    strided_place(e, a, &p, i, k), a->bytes);
	}
}

/* Of lanes that write to one place the last one stays: of all, or of each half. */
static LLVMValueRef last_lane(struct emit *e, const struct compile_operand *o, uint32_t lane)
{
	struct value x = source(e, o, true);
	int64_t from = 0;

	if (x.shape == SHAPE_LANES)
		return LLVMBuildExtractElement(e->b, x.v[0], LLVMConstInt(e->i32, lane, false), "");
	if (x.shape == SHAPE_HALVES && lane >= LANES / 2) {
		x.v[0] = x.v[1];
		from = LANES / 2;
	}
	return LLVMBuildAdd(e->b, x.v[0],
			    LLVMConstInt(LLVMTypeOf(x.v[0]), (uint64_t)(x.stride * ((int64_t)lane - from)), true), "");
}

/* Elements of each lane side by side: 0 of lane 0, 1 of lane 0, ... */
static LLVMValueRef interleaved(struct emit *e, LLVMValueRef *v, uint32_t count)
{
	LLVMValueRef each[LANES * 4], low, high;

	if (count == 1)
		return v[0];
	if (count == 4) {
		LLVMValueRef even[2] = { v[0], v[2] }, odd[2] = { v[1], v[3] };

		low = interleaved(e, even, 2);
		high = interleaved(e, odd, 2);
		for (uint32_t i = 0; i < LANES * 4; i++)
			each[i] = LLVMConstInt(e->i32, i / 2 + (i % 2 ? LANES * 2 : 0), false);
		return LLVMBuildShuffleVector(e->b, low, high, LLVMConstVector(each, LANES * 4), "");
	}
	for (uint32_t i = 0; i < LANES * 2; i++)
		each[i] = LLVMConstInt(e->i32, i / 2 + (i % 2 ? LANES : 0), false);
	return LLVMBuildShuffleVector(e->b, v[0], v[1], LLVMConstVector(each, LANES * 2), "");
}

static void store_rows(struct emit *e, const struct access_form *a, const struct places *p)
{
	LLVMValueRef v[4], all, part;

	for (uint32_t k = 0; k < a->count; k++)
		v[k] = shortened(e, source_lanes(e, &operation(e)->operand[element_operand[1][k]], true), a);
	all = interleaved(e, v, a->count);
	for (uint32_t half = 0; half < p->count; half++) {
		const uint32_t n = LANES * a->count / p->count;

		part = p->count == 1 ? all
				     : LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)),
							      shuffle_mask(e, n, half * n, 1), "");
		value_store(e, part, value_at(e, p->at[half], 0, LLVMTypeOf(part)), a->bytes * a->count);
	}
}

static void make_store(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = access_places(e, a);
	LLVMTypeRef t = type_int(e, a->bytes);

	if (p.row) {
		store_rows(e, a, &p);
		return;
	}
	for (uint32_t k = 0; k < a->count; k++)
		for (uint32_t half = 0; half < p.count; half++)
			value_store(e,
				    shortened(e,
					      last_lane(e, &o->operand[element_operand[1][k]],
							(half + 1) * LANES / p.count - 1),
					      a),
				    value_at(e, p.at[half], (uint64_t)k * a->bytes, t), a->bytes);
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
		return x;
	}
	last = LLVMBuildSub(e->b, value_field(e, e->warp, at + (LANES - 1) * 4, e->i32), x.v[0], "");
	leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, last,
				      LLVMConstInt(e->i32, which == SP_tid_x ? LANES - 1 : 0, false), ""));
	return x;
}

static void make_special(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const uint32_t which = (uint32_t)o->imm;
	LLVMValueRef launch;
	uint64_t at;

	if (which <= SP_tid_z) {
		result(e, &o->operand[0], thread_index(e, which, p->result[0].shape), false);
	} else if (which == SP_laneid) {
		result(e, &o->operand[0], scalar(LLVMConstInt(e->i32, 0, false)), false);
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

/* Which lane lane i gets its value from, as softdev/ptx/cross.h finds it; *ret_in: it is in its segment. */
static uint32_t shuffle_from(uint32_t kind, uint32_t i, uint32_t b, uint32_t c, bool *ret_in)
{
	const uint32_t by = b & 31, segment = c >> 8 & 31, least = i & segment, most = least | (c & 31 & ~segment);
	const uint32_t to = kind == 0 ? i - by : kind == 1 ? i + by : kind == 2 ? i ^ by : least | (by & ~segment);

	*ret_in = kind == 0 ? (int32_t)to >= (int32_t)most : to <= most;
	return *ret_in ? to & 31 : i;
}

static void make_shuffle(struct emit *e, const struct plan *p)
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

/* ---- blocks ---- */

static void count_pending(struct emit *e)
{
	if (e->pending)
		add_to(e, e->count, 0, LLVMConstInt(e->i64, e->pending, false));
	e->pending = 0;
}

/* What jump() of exec.c does of a warp whose lanes are all together. */
static void note_strong(struct emit *e)
{
	LLVMValueRef p = value_at(e, e->warp, offsetof(struct warp, strong), e->i8);

	add_to(e, e->block, offsetof(struct block, waits), LLVMBuildZExt(e->b, value_load(e, e->i8, p, 1), e->i64, ""));
	value_store(e, LLVMConstInt(e->i8, 0, false), p, 1);
}

/* From the end of a block into another one, at most after COMPILE_QUANTUM instructions of a loop by the interpreter. */
static void make_edge(struct emit *e, uint32_t to)
{
	const struct block_of_code *n = &e->flow->block[to];
	const uint64_t quantum = e->flow->strong ? COMPILE_QUANTUM_STRONG : COMPILE_QUANTUM;
	LLVMBasicBlockRef on, out;

	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (n->live[r] && e->s[r].shape != SHAPE_UNKNOWN &&
		    (n->in[r].shape != e->s[r].shape || n->in[r].nan != e->s[r].nan)) {
			const struct value x = value_as(e, reg_value(e, r, &e->s[r], !n->in[r].nan), n->in[r].shape);

			reg_store(e, r, &x);
		}
	if (to <= e->in_block) {
		if (e->flow->strong)
			note_strong(e);
		on = new_block(e);
		out = new_block(e);
		LLVMBuildCondBr(e->b,
				expected(e, LLVMBuildICmp(e->b, LLVMIntULE, value_load(e, e->i64, e->count, 8),
							  LLVMConstInt(e->i64, quantum, false), "")),
				on, out);
		LLVMPositionBuilderAtEnd(e->b, out);
		leave(e, n->begin, n->live, n->in, 0);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	LLVMBuildBr(e->b, e->code[to]);
}

static void make_branch(struct emit *e)
{
	const struct compile_op *o = operation(e);
	const struct block_of_code *n = &e->flow->block[e->in_block];
	LLVMBasicBlockRef yes = new_block(e), no;
	LLVMValueRef guard;
	struct value x;

	if (o->guard.place == COMPILE_NONE) {
		e->pending += o->weight;
		count_pending(e);
		LLVMBuildBr(e->b, yes);
		LLVMPositionBuilderAtEnd(e->b, yes);
		make_edge(e, n->next[0]);
		return;
	}
	x = source(e, &o->guard, false);
	if (x.shape == SHAPE_HALVES)
		leave_unless(e, LLVMBuildICmp(e->b, LLVMIntEQ, x.v[0], x.v[1], ""));
	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, x.v[0], value_number(LLVMTypeOf(x.v[0]), 0),
			      "");
	if (value_is_lanes(guard)) {
		LLVMValueRef all = value_all(e, guard);

		leave_unless(e, LLVMBuildOr(e->b, all, LLVMBuildNot(e->b, value_any(e, guard), ""), ""));
		guard = all;
	}
	e->pending += o->weight;
	count_pending(e);
	no = new_block(e);
	LLVMBuildCondBr(e->b, guard, yes, no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	make_edge(e, n->next[0]);
	LLVMPositionBuilderAtEnd(e->b, no);
	if (n->next_count > 1)
		make_edge(e, n->next[1]);
	else
		LLVMBuildUnreachable(e->b);
}

/* Value: false when nothing follows in this block. */
static bool make_operation(struct emit *e, const struct plan *p)
{
	switch ((enum how)p->how) {
	case HOW_INLINE:
		make_inline(e, p);
		break;
	case HOW_CALL:
		make_call(e, p);
		break;
	case HOW_LOAD:
		(p->scattered ? scattered_load : p->strided ? strided_load : make_load)(e, &p->access);
		break;
	case HOW_STORE:
		(p->strided ? strided_store : make_store)(e, &p->access);
		break;
	case HOW_PARAM:
		make_param(e, &p->access);
		break;
	case HOW_SPECIAL:
		make_special(e, p);
		break;
	case HOW_SHUFFLE:
		make_shuffle(e, p);
		break;
	case HOW_STRONG:
		value_store(e, LLVMConstInt(e->i8, 1, false),
			    value_at(e, e->warp, offsetof(struct warp, strong), e->i8), 1);
		break;
	case HOW_LEAVE:
		leave(e, e->at, e->live, e->s, e->pending);
		return false;
	case HOW_BRANCH:
		make_branch(e);
		return false;
	case HOW_NOTHING:
		break;
	}
	return true;
}

static bool make_code(struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];
	const size_t regs = e->flow->reg_count + 1;
	uint8_t *live = flow_live(e->flow, b);
	bool on = true;
	struct plan p;

	if (!live)
		return false;
	LLVMPositionBuilderAtEnd(e->b, e->code[b]);
	memcpy(e->s, n->in, e->flow->reg_count * sizeof(*e->s));
	e->pending = 0;
	e->in_block = b;
	for (e->at = n->begin; on && e->at < n->end; e->at++) {
		e->live = live + (e->at - n->begin) * regs;
		plan_make(e->flow, e->at, e->s, &p);
		on = make_operation(e, &p);
		e->pending += on ? operation(e)->weight : 0;
		plan_apply(e->flow, e->at, &p, e->s);
	}
	if (on) {
		count_pending(e);
		if (n->next_count)
			make_edge(e, n->next[0]);
		else
			LLVMBuildUnreachable(e->b);
	}
	free(live);
	return true;
}

/* Takes the registers of block b from the frame. */
static void make_enter(struct emit *e, uint32_t b, LLVMBasicBlockRef no)
{
	const struct block_of_code *n = &e->flow->block[b];

	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		const struct state *s = &n->in[r];
		LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]), lanes = type_lanes(t);
		struct value x = { .shape = s->shape, .stride = s->stride };
		LLVMBasicBlockRef on;
		LLVMValueRef v;

		if (!n->live[r] || s->shape == SHAPE_UNKNOWN)
			continue;
		v = value_load(e, lanes, value_at(e, e->frame, e->flow->reg_at[r], lanes), VECTOR_ALIGN);
		if (s->shape == SHAPE_LANES) {
			value_store(e, v, e->lanes[r], VECTOR_ALIGN);
			continue;
		}
		x.v[0] = value_field(e, e->frame, e->flow->reg_at[r], t);
		if (s->shape == SHAPE_HALVES)
			x.v[1] = value_field(e, e->frame, e->flow->reg_at[r] + LANES / 2 * e->flow->reg_lane[r], t);
		reg_store(e, r, &x);
		on = new_block(e);
		LLVMBuildCondBr(e->b,
				expected(e, value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, v, value_lanes(e, &x), ""))),
				on, no);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	LLVMBuildBr(e->b, e->code[b]);
}

static LLVMValueRef place(struct emit *e, LLVMTypeRef t, uint32_t align)
{
	LLVMValueRef p = LLVMBuildAlloca(e->b, t, "");

	LLVMSetAlignment(p, align);
	value_store(e, LLVMConstNull(t), p, align);
	return p;
}

static void make_begin(struct emit *e)
{
	const struct flow *f = e->flow;
	LLVMBasicBlockRef begin = new_block(e), no = new_block(e), enter;
	LLVMValueRef go;

	LLVMPositionBuilderAtEnd(e->b, no);
	LLVMBuildRet(e->b, LLVMConstInt(e->i32, 0, false));
	LLVMPositionBuilderAtEnd(e->b, begin);
	e->warp = LLVMGetParam(e->function, 0);
	e->env = LLVMGetParam(e->function, 1);
	e->frame = value_field(e, e->warp, offsetof(struct warp, base), e->bytes);
	e->constants = value_field(e, e->warp, offsetof(struct warp, base) + sizeof(void *), e->bytes);
	e->block = value_field(e, e->warp, offsetof(struct warp, block), e->bytes);
	e->shared = value_field(e, e->block, offsetof(struct block, shared), e->bytes);
	e->count = value_at(e, place(e, e->i64, 8), 0, e->i8);
	e->sectors = value_at(e, place(e, e->i64, 8), 0, e->i8);
	for (uint32_t r = 0; r < f->reg_count; r++) {
		LLVMTypeRef t = type_int(e, f->reg_lane[r]);

		e->base[r] = place(e, t, 8);
		e->second[r] = place(e, t, 8);
		e->lanes[r] = place(e, type_lanes(t), VECTOR_ALIGN);
	}
	go = LLVMBuildSwitch(e->b, value_field(e, e->warp, offsetof(struct warp, pc), e->i32), no, f->block_count);
	for (uint32_t b = 0; b < f->block_count; b++) {
		if (f->block[b].reached)
			e->code[b] = new_block(e);
		if (!f->block[b].reached || !f->block[b].entry)
			continue;
		enter = new_block(e);
		LLVMAddCase(go, LLVMConstInt(e->i32, f->block[b].begin, false), enter);
		LLVMPositionBuilderAtEnd(e->b, enter);
		make_enter(e, b, no);
	}
}

static void make_entries(struct emit *e)
{
	const struct flow *f = e->flow;
	LLVMValueRef *each = calloc(f->request->count + 1, sizeof(LLVMValueRef)), global;

	if (!each)
		return;
	for (uint32_t i = 0; i < f->request->count; i++)
		each[i] = LLVMConstInt(e->i8, 0, false);
	for (uint32_t b = 0; b < f->block_count; b++)
		if (f->block[b].reached && f->block[b].entry)
			each[f->block[b].begin] = LLVMConstInt(e->i8, 1, false);
	global = LLVMAddGlobal(e->module, LLVMArrayType(e->i8, f->request->count), COMPILE_ENTRIES_SYMBOL);
	LLVMSetInitializer(global, LLVMConstArray(e->i8, each, f->request->count));
	LLVMSetGlobalConstant(global, true);
	free(each);
}

static void set_attribute(struct emit *e, const char *name, const char *value)
{
	LLVMAddAttributeAtIndex(
		e->function, LLVMAttributeFunctionIndex,
		LLVMCreateStringAttribute(e->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value)));
}

LLVMModuleRef emit_module(LLVMContextRef context, const struct flow *f)
{
	struct emit *e = calloc(1, sizeof(*e));
	const bool wide = !strcmp(f->request->isa, "avx512");
	LLVMModuleRef made = NULL;
	LLVMTypeRef args[2];
	bool good = true;

	if (!e)
		return NULL;
	e->flow = f;
	e->context = context;
	e->module = LLVMModuleCreateWithNameInContext("mete", context);
	e->b = LLVMCreateBuilderInContext(context);
	e->i1 = LLVMInt1TypeInContext(context);
	e->i8 = LLVMInt8TypeInContext(context);
	e->i32 = LLVMInt32TypeInContext(context);
	e->i64 = LLVMInt64TypeInContext(context);
	e->f32 = LLVMFloatTypeInContext(context);
	e->f64 = LLVMDoubleTypeInContext(context);
	e->bytes = LLVMPointerType(e->i8, 0);
	args[0] = args[1] = e->bytes;
	e->function = LLVMAddFunction(e->module, COMPILE_RUN_SYMBOL, LLVMFunctionType(e->i32, args, 2, false));
	set_attribute(e, "prefer-vector-width", wide ? "512" : "256");
	set_attribute(e, "min-legal-vector-width", wide ? "512" : "256");
	e->code = calloc(f->block_count + 1, sizeof(*e->code));
	e->s = calloc(f->reg_count + 1, sizeof(*e->s));
	if (e->code && e->s) {
		make_begin(e);
		for (uint32_t b = 0; good && b < f->block_count; b++)
			if (f->block[b].reached)
				good = make_code(e, b);
		make_entries(e);
		made = good ? e->module : NULL;
	}
	if (!made)
		LLVMDisposeModule(e->module);
	LLVMDisposeBuilder(e->b);
	free(e->code);
	free(e->s);
	free(e);
	return made;
}
