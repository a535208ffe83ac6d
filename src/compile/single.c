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
#include "compile/leave.h"
#include "compile/operation.h"
#include "compile/pattern.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 120u /* operations of a stretch */
#define PLACES_MAX 24u /* different addresses of it */

/* Loads from one register's address, before that is written again. */
struct single_place {
	LLVMValueRef address; /* of this lane */
	LLVMValueRef at;      /* with the least offset */
	uint64_t least;
	uint64_t span;	/* from there to the end of the last load */
	uint32_t bytes; /* of a load */
	uint32_t loads;
	bool shared;
	LLVMValueRef all; /* of all lanes: an array */
};

struct single {
	struct emit *e;
	uint32_t begin, end; /* operations */
	LLVMBasicBlockRef before, vectors;
	LLVMValueRef lane, lane64; /* whose turn it is */
	LLVMValueRef good, odd;	   /* before: every range is long enough; odd: low bits of addresses */
	struct state *from;	   /* of each register, where the stretch begins */
	struct value *now; /* of each register: of this lane in v[0] where the shape is lanes; unknown: not read */
	bool *made;	   /* registers that the stretch writes and somebody needs behind it */
	struct single_place place[PLACES_MAX];
	uint32_t places;
};

/* ---- what a stretch is ---- */

static bool fits(const struct flow *f, const struct compile_op *o, const struct plan *p, const struct state *s)
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
		if (!fits(f, &f->request->op[i], &p, s) || (p.how == HOW_LOAD && places == PLACES_MAX))
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

/* ---- registers ---- */

static LLVMValueRef element(struct single *x, LLVMValueRef all, LLVMTypeRef t)
{
	return value_element(x->e, all, x->lane64, t);
}

static LLVMTypeRef reg_type(const struct single *x, uint32_t r)
{
	return type_int(x->e, x->e->flow->reg_lane[r]);
}

static LLVMValueRef reg_array(struct single *x, uint32_t r)
{
	return value_array(x->e, &x->e->single[r], reg_type(x, r));
}

/* A register that the stretch reads first. */
static void take(struct single *x, uint32_t r)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMTypeRef t = reg_type(x, r);
	struct value v;

	LLVMPositionBuilderAtEnd(e->b, x->before);
	v = reg_value(e, r, &x->from[r], false);
	if (v.shape == SHAPE_LANES)
		value_store(e, v.v[0], reg_array(x, r), VECTOR_ALIGN);
	LLVMPositionBuilderAtEnd(e->b, here);
	if (v.shape == SHAPE_LANES)
		v.v[0] = value_load(e, t, element(x, reg_array(x, r), t), x->e->flow->reg_lane[r]);
	x->now[r] = v;
}

/* What this lane has of a value. */
static LLVMValueRef of_lane(struct single *x, const struct value *v)
{
	struct emit *e = x->e;
	LLVMTypeRef t = LLVMTypeOf(v->v[0]);
	LLVMValueRef far, low = NULL, base = v->v[0], lane = x->lane;

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

static struct value reg_now(struct single *x, uint32_t r, bool settle)
{
	struct value v;

	if (x->now[r].shape == SHAPE_UNKNOWN)
		take(x, r);
	v = x->now[r];
	for (uint32_t k = 0; settle && x->e->s[r].nan && k < 2; k++)
		if (v.v[k])
			v.v[k] = value_settle(x->e, v.v[k]);
	return v;
}

/* A source as scalars: of this lane, or the bases of a line or of halves. */
static struct value operand_now(struct single *x, const struct compile_operand *o, bool settle)
{
	const uint32_t r = flow_reg(x->e->flow, o);
	LLVMTypeRef t = type_int(x->e, o->lane);

	if (r != UINT32_MAX)
		return reg_now(x, r, settle);
	if (o->place != COMPILE_LANES)
		return source(x->e, o, settle);
	return all_lanes(value_load(x->e, t, element(x, value_at(x->e, x->e->constants, o->at, x->e->i8), t), o->lane));
}

static void reg_becomes(struct single *x, uint32_t r, struct value v, bool nan)
{
	if (v.shape == SHAPE_LANES && nan && x->e->flow->through)
		v.v[0] = value_settle(x->e, v.v[0]);
	x->now[r] = v;
	x->made[r] = true;
}

/* ---- operations ---- */

static struct value guarded(struct single *x, const struct compile_op *o, struct value made, const struct plan *p)
{
	struct emit *e = x->e;
	struct value guard = operand_now(x, &o->guard, false), old = operand_now(x, &o->operand[0], !p->result[0].nan);
	LLVMValueRef yes = of_lane(x, &guard), v = of_lane(x, &made);

	if (p->row->flags & ROW_NAN && !p->result[0].nan)
		v = value_settle(e, v);
	yes = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, yes, LLVMConstNull(LLVMTypeOf(yes)), "");
	return all_lanes(LLVMBuildSelect(e->b, yes, v, of_lane(x, &old), ""));
}

/* Bases, where the result is a line or halves; else what this lane has. */
static void compute(struct single *x, const struct plan *p)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const bool settle = !(p->row->flags & (ROW_F32 | ROW_PASS)) || (p->row->flags & ROW_PASS && !p->result[0].nan);
	const uint8_t shape = p->result[0].shape;
	struct value made = { .shape = shape, .stride = p->stride, .pattern = p->result[0].pattern };
	struct value from[COMPILE_OPERANDS] = { { 0 } };
	LLVMValueRef args[2][COMPILE_OPERANDS] = { { NULL } };

	for (uint32_t k = 1; k < COMPILE_OPERANDS; k++) {
		if (o->operand[k].place == COMPILE_NONE)
			continue;
		from[k] = operand_now(x, &o->operand[k], settle);
		if (shape != SHAPE_LANES)
			from[k] = value_as(e, from[k], shape);
		args[0][k] = shape == SHAPE_LANES ? of_lane(x, &from[k]) : from[k].v[0];
		args[1][k] = from[k].v[1];
	}
	for (uint32_t half = 0; half < (shape == SHAPE_HALVES ? 2 : 1); half++)
		made.v[half] = arith(e, o, p->row, args[half]);
	if (o->guard.place != COMPILE_NONE)
		made = guarded(x, o, made, p);
	else if (p->row->flags & ROW_NAN && !p->result[0].nan)
		made.v[0] = value_settle(e, made.v[0]);
	reg_becomes(x, flow_reg(e->flow, &o->operand[0]), made, p->result[0].nan);
}

static void unless(struct single *x, LLVMValueRef good)
{
	LLVMBasicBlockRef on = new_block(x->e);

	LLVMBuildCondBr(x->e->b, expected(x->e, good), on, x->vectors);
	LLVMPositionBuilderAtEnd(x->e->b, on);
}

/* Begins and length of what the place may touch, in the block before the loop. */
static void limits(struct single *x, const struct single_place *p, LLVMValueRef *begin, LLVMValueRef *last)
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

static bool is_load_of(const struct flow *f, const struct compile_op *o, uint32_t r, struct access_form *a)
{
	*a = access_form(o->name);
	return o->kind == COMPILE_PLAIN && a->good && !a->store && !a->param && flow_reg(f, &o->operand[1]) == r;
}

static bool writes(const struct flow *f, const struct compile_op *o, uint32_t r)
{
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && flow_reg(f, &o->operand[k]) == r)
			return true;
	return false;
}

/* From the least to the greatest byte that loads of this form from the register touch; they are one check. */
static void reach_of(const struct single *x, const struct access_form *a, struct single_place *ret)
{
	const uint32_t r = flow_reg(x->e->flow, &operation(x->e)->operand[1]);
	const struct flow *f = x->e->flow;
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	int64_t low = (int64_t)operation(x->e)->imm, high = low;
	struct access_form other;

	for (uint32_t i = x->e->at; i < x->end; i++) {
		const struct compile_op *o = &f->request->op[i];
		const int64_t imm = (int64_t)o->imm;

		if (is_load_of(f, o, r, &other) && other.shared == a->shared &&
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

static uint64_t offset_of(const struct compile_op *o, const struct single_place *p)
{
	const uint64_t n = o->imm - p->least;

	return p->shared ? n & 0xffffffffu : n;
}

static struct single_place *place_of(struct single *x, const struct access_form *a, LLVMValueRef address)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const uint32_t bytes = (uint32_t)a->bytes * a->count;
	LLVMTypeRef t = a->shared ? e->i32 : e->i64;
	struct single_place *p;
	LLVMValueRef begin, last;

	for (uint32_t k = 0; k < x->places; k++) {
		p = &x->place[k];
		if (p->address == address && p->bytes == bytes && p->shared == a->shared &&
		    offset_of(o, p) <= p->span - bytes) {
			p->loads++;
			return p;
		}
	}
	p = &x->place[x->places];
	*p = (struct single_place){ .address = address, .bytes = bytes, .loads = 1, .shared = a->shared };
	reach_of(x, a, p);
	p->at = LLVMBuildAdd(e->b, address, LLVMConstInt(t, p->least, false), "");
	limits(x, p, &begin, &last);
	unless(x, LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, p->at, begin, ""), last, ""));
	if (!a->shared) {
		p->all = value_array(e, &e->single_address[x->places], e->i64);
		value_store(e, p->at, element(x, p->all, e->i64), 8);
	}
	x->places++;
	return p;
}

static void load(struct single *x, const struct plan *plan)
{
	struct emit *e = x->e;
	const struct compile_op *o = operation(e);
	const struct access_form *a = &plan->access;
	LLVMTypeRef t = type_int(e, a->bytes);
	const struct value from = operand_now(x, &o->operand[1], true);
	const struct single_place *p = place_of(x, a, of_lane(x, &from));
	LLVMValueRef at, low, v[4];

	at = LLVMBuildAdd(e->b, p->at, LLVMConstInt(LLVMTypeOf(p->at), offset_of(o, p), false), "");
	low = LLVMBuildAnd(e->b, at, LLVMConstInt(LLVMTypeOf(at), p->bytes - 1, false), "");
	x->odd = LLVMBuildOr(e->b, x->odd, LLVMBuildTrunc(e->b, low, e->i8, ""), "");
	at = a->shared ? LLVMBuildGEP2(e->b, e->i8, e->shared, (LLVMValueRef[]){ LLVMBuildZExt(e->b, at, e->i64, "") },
				       1, "")
		       : LLVMBuildIntToPtr(e->b, at, e->bytes, "");
	for (uint32_t k = 0; k < a->count; k++)
		v[k] = value_load(e, t, value_at(e, at, (uint64_t)k * a->bytes, t), 1);
	for (uint32_t k = 0; k < a->count; k++) {
		const uint32_t r = flow_reg(e->flow, &o->operand[element_operand[0][k]]);

		if (r != UINT32_MAX)
			reg_becomes(x, r, all_lanes(access_extend(e, v[k], a)), false);
	}
}

/* ---- behind the loop ---- */

static void give(struct single *x, uint32_t r)
{
	struct emit *e = x->e;
	struct value v = x->now[r], old;
	LLVMTypeRef t = type_lanes(reg_type(x, r));

	if (v.shape == SHAPE_LANES) {
		v.v[0] = value_load(e, t, reg_array(x, r), VECTOR_ALIGN);
		if (e->kept[r]) {
			old = reg_value(e, r, &x->from[r], !e->s[r].nan);
			v.v[0] = group_mix(e, v.v[0], value_lanes(e, &old));
		}
		if (e->flow->through)
			value_store(e, v.v[0], value_at(e, e->frame, e->flow->reg_at[r], t), VECTOR_ALIGN);
	}
	reg_store(e, r, &v);
}

/* Counts as find_access() does: where the first and the last lane do not lie as a row or as one place, no lanes do. */
static void count_touched(struct single *x)
{
	struct emit *e = x->e;
	LLVMValueRef first = group_first(e), last = group_last(e), n, far, maybe = LLVMConstNull(e->i1), a, b, gap;
	LLVMBasicBlockRef apart = new_block(e), look = new_block(e), on = new_block(e);
	uint32_t loads = 0;

	n = LLVMBuildSub(e->b, LLVMConstInt(e->i64, LANES, false), e->absent, "");
	far = LLVMBuildZExt(e->b, LLVMBuildSub(e->b, last, first, ""), e->i64, "");
	for (uint32_t k = 0; k < x->places; k++) {
		const struct single_place *p = &x->place[k];

		if (p->shared)
			continue;
		loads += p->loads;
		x->lane64 = LLVMBuildZExt(e->b, first, e->i64, "");
		a = value_load(e, e->i64, element(x, p->all, e->i64), 8);
		x->lane64 = LLVMBuildZExt(e->b, last, e->i64, "");
		b = value_load(e, e->i64, element(x, p->all, e->i64), 8);
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
		const struct single_place *p = &x->place[k];

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

static void make_lane(struct single *x, const uint8_t *behind)
{
	struct emit *e = x->e;
	struct plan p;

	for (e->at = x->begin; e->at < x->end; e->at++) {
		plan_make(e->flow, e->at, e->s, e->kept, &p);
		if (p.how == HOW_LOAD)
			load(x, &p);
		else if (p.how == HOW_INLINE)
			compute(x, &p);
		plan_apply(e->flow, e->at, &p, e->s);
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		x->made[r] = x->made[r] && (behind[r] || e->kept[r]);
		if (x->made[r] && x->now[r].shape == SHAPE_LANES)
			value_store(e, x->now[r].v[0], element(x, reg_array(x, r), reg_type(x, r)),
				    e->flow->reg_lane[r]);
	}
}

/* The loop over lanes; goes on where it has ended. */
static void make_lanes(struct single *x, const uint8_t *behind)
{
	struct emit *e = x->e;
	LLVMBasicBlockRef head = new_block(e), after = new_block(e), from[2], latch;
	LLVMValueRef left, odd, next, in[2];

	LLVMPositionBuilderAtEnd(e->b, head);
	left = LLVMBuildPhi(e->b, e->i32, "");
	odd = LLVMBuildPhi(e->b, e->i8, "");
	x->lane = group_first_of(e, left);
	x->lane64 = LLVMBuildZExt(e->b, x->lane, e->i64, "");
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
	unless(x, LLVMBuildICmp(e->b, LLVMIntEQ, x->odd, LLVMConstNull(e->i8), ""));
}

static void make_vectors(struct single *x, uint8_t *live, single_other *other)
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
	struct single x = { .e = e,
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
