/* lane.c: see lane.h. */
#include "compile/lane.h"
#include "compile/access.h"
#include "compile/bounds.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/operation.h"
#include "compile/pattern.h"

#include <stddef.h>
#include <string.h>

bool lane_fits(const struct flow *f, const struct compile_op *o, const struct plan *p, const struct state *s)
{
	if (o->kind != COMPILE_PLAIN)
		return false;
	if (p->how == HOW_NOTHING)
		return true;
	if (p->how == HOW_LOAD)
		return p->scattered && !p->guarded && flow_reg(f, &o->operand[1]) != UINT32_MAX;
	if (p->how != HOW_INLINE || p->checks || flow_reg(f, &o->operand[0]) == UINT32_MAX ||
	    (o->guard.place != COMPILE_NONE && p->result[0].shape != SHAPE_LANES))
		return false;
	for (uint32_t k = 1; p->result[0].shape != SHAPE_LANES && k < COMPILE_OPERANDS; k++)
		if (o->operand[k].place != COMPILE_NONE && operand_state(f, &o->operand[k], s).shape == SHAPE_LANES)
			return false;
	return true;
}

/* ---- registers ---- */

LLVMValueRef lane_element(struct lane *x, LLVMValueRef all, LLVMTypeRef t)
{
	return value_element(x->e, all, x->number64, t);
}

LLVMTypeRef lane_type(const struct lane *x, uint32_t r)
{
	return type_int(x->e, x->e->flow->reg_lane[r]);
}

LLVMValueRef lane_array(struct lane *x, uint32_t r)
{
	return value_array(x->e, &x->e->single[r], lane_type(x, r));
}

/* A register that the stretch reads first. */
void lane_take(struct lane *x, uint32_t r)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMTypeRef t = lane_type(x, r);
	struct value v;

	LLVMPositionBuilderAtEnd(e->b, x->before);
	v = reg_value(e, r, &x->from[r], false);
	if (v.shape == SHAPE_LANES)
		value_store(e, v.v[0], lane_array(x, r), VECTOR_ALIGN);
	LLVMPositionBuilderAtEnd(e->b, here);
	if (v.shape == SHAPE_LANES)
		v.v[0] = value_load(e, t, lane_element(x, lane_array(x, r), t), x->e->flow->reg_lane[r]);
	x->now[r] = v;
}

/* What this lane has of a value. */
LLVMValueRef lane_of(struct lane *x, const struct value *v)
{
	struct emit *e = x->e;
	LLVMTypeRef t = LLVMTypeOf(v->v[0]);
	LLVMValueRef far, low = NULL, base = v->v[0], lane = x->number;

	if (v->shape == SHAPE_LANES)
		return v->v[0];
	if (v->shape == SHAPE_HALVES) {
		low = LLVMBuildICmp(e->b, LLVMIntULT, lane, LLVMConstInt(e->i32, LANES / 2, false), "");
		base = LLVMBuildSelect(e->b, low, v->v[0], v->v[1], "");
		lane = LLVMBuildAnd(e->b, lane, LLVMConstInt(e->i32, LANES / 2 - 1, false), "");
	}
	if (v->shape == SHAPE_PATTERN) {
		const struct state s = { .shape = SHAPE_PATTERN, .pattern = v->pattern };

		return LLVMBuildAdd(e->b, base, value_apart_of(e, t, pattern_of(e->flow, &s).at, lane), "");
	}
	if (!v->stride)
		return base;
	far = LLVMBuildZExtOrBitCast(e->b, lane, t, "");
	return LLVMBuildAdd(e->b, base, LLVMBuildMul(e->b, far, LLVMConstInt(t, (uint64_t)v->stride, true), ""), "");
}

/* What a loop inside another one does not write is loaded in front of it. */
static LLVMValueRef slot_now(struct lane *x, uint32_t r)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(x->e->b);
	LLVMValueRef v;

	if (x->bounds->outer && !x->bounds->written[r])
		LLVMPositionBuilderAtEnd(x->e->b, x->bounds->enter);
	v = LLVMBuildLoad2(x->e->b, lane_type(x, r), x->slot[r], "");
	LLVMPositionBuilderAtEnd(x->e->b, here);
	return v;
}

static struct value reg_now(struct lane *x, uint32_t r, bool settle)
{
	struct value v;

	if (x->now[r].shape == SHAPE_UNKNOWN && x->slot)
		x->now[r] = all_lanes(slot_now(x, r));
	else if (x->now[r].shape == SHAPE_UNKNOWN)
		lane_take(x, r);
	v = x->now[r];
	for (uint32_t k = 0; settle && x->e->s[r].nan && k < 2; k++)
		if (v.v[k])
			v.v[k] = value_settle(x->e, v.v[k]);
	return v;
}

/* A source as scalars: of this lane, or the bases of a line or of halves. */
struct value lane_operand(struct lane *x, const struct compile_operand *o, bool settle)
{
	const uint32_t r = flow_reg(x->e->flow, o);
	LLVMTypeRef t = type_int(x->e, o->lane);

	if (r != UINT32_MAX)
		return reg_now(x, r, settle);
	if (o->place != COMPILE_LANES)
		return source(x->e, o, settle);
	return all_lanes(
		value_load(x->e, t, lane_element(x, value_at(x->e, x->e->constants, o->at, x->e->i8), t), o->lane));
}

static void reg_becomes(struct lane *x, uint32_t r, struct value v, bool nan)
{
	if (x->slot)
		v = all_lanes(lane_of(x, &v));
	else if (v.shape == SHAPE_LANES && nan && x->e->flow->through)
		v.v[0] = value_settle(x->e, v.v[0]);
	if (x->slot)
		LLVMBuildStore(x->e->b, v.v[0], x->slot[r]);
	x->now[r] = v;
	x->made[r] = true;
}

/* ---- operations ---- */

static struct value guarded(struct lane *x, const struct compile_op *o, struct value made, const struct plan *p)
{
	struct emit *e = x->e;
	struct value guard = lane_operand(x, &o->guard, false),
		     old = lane_operand(x, &o->operand[0], !p->result[0].nan);
	LLVMValueRef yes = lane_of(x, &guard), v = lane_of(x, &made);

	if (p->row->flags & ROW_NAN && !p->result[0].nan)
		v = value_settle(e, v);
	yes = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, yes, LLVMConstNull(LLVMTypeOf(yes)), "");
	return all_lanes(LLVMBuildSelect(e->b, yes, v, lane_of(x, &old), ""));
}

/*
 * The lesser or the greater of two integers, as an instruction of the host that LLVM leaves as it is: in loops it makes
 * jumps of them, which take far longer where nobody can guess them. NULL: it is something else.
 */
static LLVMValueRef lane_choose(struct lane *x, const struct inline_row *row, LLVMValueRef a, LLVMValueRef b)
{
	static const struct {
		uint8_t code;
		const char *text[2]; /* of 32 bits, of 64 */
	} chosen[] = {
		{ CODE_MIN_S, { "cmpl $0, $2\n\tcmovll $2, $0", "cmpq $0, $2\n\tcmovlq $2, $0" } },
		{ CODE_MAX_S, { "cmpl $0, $2\n\tcmovgl $2, $0", "cmpq $0, $2\n\tcmovgq $2, $0" } },
		{ CODE_MIN_U, { "cmpl $0, $2\n\tcmovbl $2, $0", "cmpq $0, $2\n\tcmovbq $2, $0" } },
		{ CODE_MAX_U, { "cmpl $0, $2\n\tcmoval $2, $0", "cmpq $0, $2\n\tcmovaq $2, $0" } },
	};
	static const char operands[] = "=r,0,r,~{flags},~{dirflag},~{fpsr}";
	LLVMTypeRef t = LLVMTypeOf(a), types[2] = { t, t }, f = LLVMFunctionType(t, types, 2, false);
	LLVMValueRef args[2] = { a, b }, text;

	if (row->flags || row->bits || (t != x->e->i32 && t != x->e->i64) || LLVMIsConstant(a) || LLVMIsConstant(b))
		return NULL;
	for (size_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i++) {
		const char *how = chosen[i].text[t == x->e->i64];

		if (chosen[i].code != row->code)
			continue;
		text = LLVMGetInlineAsm(f, (char *)how, strlen(how), (char *)operands, sizeof(operands) - 1, false,
					false, LLVMInlineAsmDialectATT, false);
		return LLVMBuildCall2(x->e->b, f, text, args, 2, "");
	}
	return NULL;
}

/* Bases, where the result is a line or halves; else what this lane has. */
void lane_compute(struct lane *x, const struct plan *p)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const bool settle = plan_settles(p);
	const uint8_t shape = p->result[0].shape;
	struct value made = { .shape = shape, .stride = p->stride, .pattern = p->result[0].pattern };
	struct value from[COMPILE_OPERANDS] = { { 0 } };
	LLVMValueRef args[2][COMPILE_OPERANDS] = { { NULL } };

	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++) {
		if (o->operand[k].place == COMPILE_NONE)
			continue;
		from[k] = lane_operand(x, &o->operand[k], settle);
		if (shape != SHAPE_LANES)
			from[k] = value_as(e, from[k], shape);
		args[0][k] = shape == SHAPE_LANES ? lane_of(x, &from[k]) : from[k].v[0];
		args[1][k] = from[k].v[1];
	}
	for (uint32_t half = 0; half < (shape == SHAPE_HALVES ? 2 : 1); half++)
		if (!x->slot || !args[half][2] ||
		    !(made.v[half] = lane_choose(x, p->row, args[half][1], args[half][2])))
			made.v[half] = arith(e, o, p->row, args[half]);
	if (o->guard.place != COMPILE_NONE)
		made = guarded(x, o, made, p);
	else if (p->row->flags & ROW_NAN && !p->result[0].nan)
		made.v[0] = value_settle(e, made.v[0]);
	reg_becomes(x, flow_reg(e->flow, &o->operand[0]), made, p->result[0].nan);
}

void lane_unless(struct lane *x, LLVMValueRef good)
{
	LLVMBasicBlockRef on = new_block(x->e);

	LLVMBuildCondBr(x->e->b, expected(x->e, good), on, x->vectors);
	LLVMPositionBuilderAtEnd(x->e->b, on);
}

void lane_limits(struct lane *x, const struct lane_place *p, LLVMValueRef *begin, LLVMValueRef *last)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMTypeRef t = p->shared ? e->i32 : e->i64;
	struct access_range range;
	LLVMValueRef bytes;

	LLVMPositionBuilderAtEnd(e->b, x->before);
	if (p->shared) {
		*begin = LLVMConstNull(t);
		bytes = value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32);
	} else {
		range = access_range(e);
		*begin = range.begin;
		bytes = range.bytes;
	}
	*last = LLVMBuildSub(e->b, bytes, LLVMConstInt(t, p->span, false), "");
	x->good = LLVMBuildAnd(e->b, x->good,
			       LLVMBuildICmp(e->b, LLVMIntUGE, bytes, LLVMConstInt(t, p->span, false), ""), "");
	LLVMPositionBuilderAtEnd(e->b, here);
}

static bool is_local(const struct lane *x, uint32_t r)
{
	return x->local && x->local[r];
}

static bool is_load_of(const struct lane *x, const struct compile_op *o, uint32_t r, struct access_form *a)
{
	const struct flow *f = x->e->flow;

	*a = access_form(o->name);
	return o->kind == COMPILE_PLAIN && a->good && (!a->store || is_local(x, r)) && !a->param &&
	       flow_reg(f, &o->operand[1]) == r;
}

static bool writes(const struct flow *f, const struct compile_op *o, uint32_t r)
{
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && flow_reg(f, &o->operand[k]) == r)
			return true;
	return false;
}

/* From the least to the greatest byte that loads of this form from the register touch; they are one check. */
static void reach_of(const struct lane *x, const struct access_form *a, struct lane_place *ret)
{
	const uint32_t r = flow_reg(x->e->flow, &operation(x->e)->operand[1]);
	const struct flow *f = x->e->flow;
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	int64_t low = (int64_t)operation(x->e)->imm, high = low;
	struct access_form other;

	for (uint32_t i = x->e->at; i < x->end; i++) {
		const struct compile_op *o = &f->request->op[i];
		const int64_t imm = (int64_t)o->imm;

		if (is_load_of(x, o, r, &other) && other.shared == a->shared &&
		    (uint64_t)other.bytes * other.count == bytes && imm - low < 4096 && high - imm < 4096) {
			low = imm < low ? imm : low;
			high = imm > high ? imm : high;
		}
		if (writes(f, o, r))
			break;
	}
	ret->least = a->shared ? (uint64_t)low & 0xffffffffu : (uint64_t)low;
	ret->span = (uint64_t)(high - low) + bytes;
}

static uint64_t offset_of(const struct compile_op *o, const struct lane_place *p)
{
	const uint64_t n = o->imm - p->least;

	return p->shared ? n & 0xffffffffu : n;
}

struct lane_reach lane_reach_new(struct lane *x, uint64_t bytes)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	const struct lane_reach r = { slot_new(e, e->i64), slot_new(e, e->i64), bytes };

	LLVMPositionBuilderAtEnd(e->b, x->before);
	LLVMBuildStore(e->b, LLVMConstAllOnes(e->i64), r.low);
	LLVMBuildStore(e->b, LLVMConstNull(e->i64), r.high);
	LLVMPositionBuilderAtEnd(e->b, here);
	return r;
}

static void reach_to(struct lane *x, LLVMValueRef slot, LLVMIntPredicate beyond, LLVMValueRef address)
{
	struct emit *e = x->e;
	LLVMValueRef old = LLVMBuildLoad2(e->b, e->i64, slot, "");

	LLVMBuildStore(e->b, LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, beyond, address, old, ""), address, old, ""),
		       slot);
}

void lane_reach_add(struct lane *x, const struct lane_reach *r, LLVMValueRef address)
{
	reach_to(x, r->low, LLVMIntULT, address);
	reach_to(x, r->high, LLVMIntUGT, address);
}

/* An offset in shared memory as an address. */
static LLVMValueRef absolute(struct lane *x, bool shared, LLVMValueRef at)
{
	struct emit *e = x->e;

	if (!shared)
		return at;
	return LLVMBuildAdd(e->b, LLVMBuildPtrToInt(e->b, e->shared, e->i64, ""), LLVMBuildZExt(e->b, at, e->i64, ""),
			    "");
}

/* An address that grows by a number is noted where the lane begins and ends. */
static bool note_at_ends(struct lane *x, const struct lane_place *p)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(x->e->b);
	LLVMValueRef at;

	if (!p->start)
		return false;
	LLVMPositionBuilderAtEnd(x->e->b, x->bounds->enter);
	at = LLVMBuildAdd(x->e->b, p->start, LLVMConstInt(x->e->i64, p->least, false), "");
	if (p->grow >= 0)
		reach_to(x, x->reach[x->reaches].low, LLVMIntULT, at);
	if (p->grow <= 0)
		reach_to(x, x->reach[x->reaches].high, LLVMIntUGT, at);
	if (p->grow)
		x->bounds->tail[x->bounds->tails++] = (struct bounds_tail){ x->reaches, at, p->grow };
	LLVMPositionBuilderAtEnd(x->e->b, here);
	return true;
}

void lane_reach_tails(struct lane *x, const struct bounds *b, LLVMValueRef round)
{
	struct emit *e = x->e;

	for (uint32_t k = 0; k < b->tails; k++) {
		const struct bounds_tail *t = &b->tail[k];
		LLVMValueRef far = LLVMBuildMul(e->b, round, LLVMConstInt(e->i64, (uint64_t)t->grow, true), "");

		far = LLVMBuildAdd(e->b, t->first, far, "");
		if (t->grow > 0)
			reach_to(x, x->reach[t->reach].high, LLVMIntUGT, far);
		else
			reach_to(x, x->reach[t->reach].low, LLVMIntULT, far);
	}
}

static void note_reach(struct lane *x, const struct lane_place *p)
{
	if (!x->reach)
		return;
	x->reach[x->reaches] = lane_reach_new(x, p->span);
	if (!note_at_ends(x, p))
		lane_reach_add(x, &x->reach[x->reaches], absolute(x, p->shared, p->at));
	x->reaches++;
}

static void check_place(struct lane *x, struct lane_place *p)
{
	struct emit *e = x->e;
	LLVMValueRef begin, last;

	if (!p->shared && is_local(x, p->reg)) {
		last = LLVMConstInt(e->i64, x->local_bytes - p->span, false);
		begin = LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, p->at, x->local_at, ""), last, "");
		lane_unless(x, p->span > x->local_bytes ? LLVMConstNull(e->i1) : begin);
		return;
	}
	if (x->bounds && !p->shared) {
		p->even = bounds_check(x->bounds, p);
		return;
	}
	lane_limits(x, p, &begin, &last);
	lane_unless(x, LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, p->at, begin, ""), last, ""));
}

/* No lane may run where the operation may not write. */
static void check_writable(struct lane *x)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);

	LLVMPositionBuilderAtEnd(e->b, x->before);
	x->good = LLVMBuildAnd(e->b, x->good, access_range(e).writable, "");
	LLVMPositionBuilderAtEnd(e->b, here);
}

static void note_odd(struct lane *x, LLVMValueRef at, uint32_t bytes)
{
	struct emit *e = x->e;
	LLVMValueRef low = LLVMBuildAnd(e->b, at, LLVMConstInt(LLVMTypeOf(at), bytes - 1, false), "");

	x->odd = LLVMBuildOr(e->b, x->odd, LLVMBuildTrunc(e->b, low, e->i8, ""), "");
}

LLVMValueRef lane_target(struct lane *x, const struct access_form *a)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const struct value from = lane_operand(x, &o->operand[1], true);
	const uint32_t bytes = (uint32_t)a->bytes * a->count;
	LLVMTypeRef t = a->shared ? e->i32 : e->i64;
	struct lane_place *p = &x->place[x->places++];

	*p = (struct lane_place){ .address = lane_of(x, &from),
				  .least = a->shared ? o->imm & 0xffffffffu : o->imm,
				  .span = bytes,
				  .bytes = bytes,
				  .loads = 1,
				  .shared = a->shared,
				  .store = true,
				  .reg = flow_reg(e->flow, &o->operand[1]) };
	p->at = LLVMBuildAdd(e->b, p->address, LLVMConstInt(t, p->least, false), "");
	check_place(x, p);
	if (!a->shared)
		check_writable(x);
	if (!p->even)
		note_odd(x, p->at, bytes);
	return absolute(x, a->shared, p->at);
}

static struct lane_place *place_of(struct lane *x, const struct access_form *a, LLVMValueRef address)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const uint32_t bytes = (uint32_t)a->bytes * a->count;
	LLVMTypeRef t = a->shared ? e->i32 : e->i64;
	struct lane_place *p;

	for (uint32_t k = 0; k < x->places; k++) {
		p = &x->place[k];
		if (p->address == address && p->bytes == bytes && p->shared == a->shared && !p->store &&
		    offset_of(o, p) <= p->span - bytes) {
			p->loads++;
			return p;
		}
	}
	p = &x->place[x->places];
	*p = (struct lane_place){ .address = address,
				  .bytes = bytes,
				  .loads = 1,
				  .shared = a->shared,
				  .reg = flow_reg(e->flow, &o->operand[1]) };
	reach_of(x, a, p);
	p->at = LLVMBuildAdd(e->b, address, LLVMConstInt(t, p->least, false), "");
	check_place(x, p);
	note_reach(x, p);
	if (!a->shared && !x->slot) {
		p->all = value_array(e, &e->single_address[x->places], e->i64);
		value_store(e, p->at, lane_element(x, p->all, e->i64), 8);
	}
	x->places++;
	return p;
}

/* The address of the operation's access, checked. */
static LLVMValueRef place_pointer(struct lane *x, const struct access_form *a)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const struct value from = lane_operand(x, &o->operand[1], true);
	const struct lane_place *p = place_of(x, a, lane_of(x, &from));
	LLVMValueRef at;

	at = LLVMBuildAdd(e->b, p->at, LLVMConstInt(LLVMTypeOf(p->at), offset_of(o, p), false), "");
	if (!p->even || offset_of(o, p) % p->bytes)
		note_odd(x, at, p->bytes);
	if (!a->shared)
		return LLVMBuildIntToPtr(e->b, at, e->bytes, "");
	return LLVMBuildGEP2(e->b, e->i8, e->shared, (LLVMValueRef[]){ LLVMBuildZExt(e->b, at, e->i64, "") }, 1, "");
}

void lane_load(struct lane *x, const struct plan *plan)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const struct access_form *a = &plan->access;
	LLVMTypeRef t = type_int(e, a->bytes);
	LLVMValueRef at = place_pointer(x, a), v[4];

	for (uint32_t k = 0; k < a->count; k++)
		v[k] = value_load(e, t, value_at(e, at, (uint64_t)k * a->bytes, t), 1);
	for (uint32_t k = 0; k < a->count; k++) {
		const uint32_t r = flow_reg(e->flow, &o->operand[element_operand[0][k]]);

		if (r != UINT32_MAX)
			reg_becomes(x, r, all_lanes(access_extend(e, v[k], a)), false);
	}
}

void lane_store(struct lane *x, const struct plan *p)
{
	struct emit *e = x->e;
	const struct access_form *a = &p->access;
	LLVMTypeRef t = type_int(e, a->bytes);
	LLVMValueRef at = place_pointer(x, a), v;

	for (uint32_t k = 0; k < a->count; k++) {
		const struct value from = lane_operand(x, &operation(e)->operand[element_operand[1][k]], true);

		v = LLVMBuildTruncOrBitCast(e->b, lane_of(x, &from), t, "");
		value_store(e, v, value_at(e, at, (uint64_t)k * a->bytes, t), 1);
	}
}

void lane_probe(struct lane *x, const struct plan *p)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const struct value want = lane_operand(x, &o->operand[2], true);
	LLVMTypeRef t = type_int(e, p->access.bytes);
	LLVMValueRef at = lane_target(x, &p->access), v;

	note_reach(x, &x->place[x->places - 1]);
	v = value_load(e, t, LLVMBuildIntToPtr(e->b, at, LLVMPointerType(t, 0), ""), p->access.bytes);
	LLVMSetOrdering(v, LLVMAtomicOrderingSequentiallyConsistent);
	lane_unless(x, LLVMBuildICmp(e->b, LLVMIntNE, v, lane_of(x, &want), ""));
	reg_becomes(x, flow_reg(e->flow, &o->operand[0]), all_lanes(v), false);
}

/* ---- behind all lanes ---- */

void lane_give(struct lane *x, uint32_t r, struct value v)
{
	struct emit *e = x->e;
	LLVMTypeRef t = type_lanes(lane_type(x, r));

	if (v.shape == SHAPE_LANES) {
		if (e->kept && e->kept[r])
			v.v[0] = group_mix(e, v.v[0], reg_others(e, r, &x->from[r], !e->s[r].nan));
		if (e->flow->through)
			value_store(e, v.v[0], value_at(e, e->frame, e->flow->reg_at[r], t), VECTOR_ALIGN);
	}
	if (v.shape == SHAPE_LINE && e->kept && e->kept[r])
		reg_split(e, r, &x->from[r], &v, !e->s[r].nan);
	else
		reg_store(e, r, &v);
}
