/* access.c: see access.h. */
#include "compile/access.h"
#include "compile/group.h"
#include "compile/lanewise.h"
#include "compile/leave.h"

#include <stddef.h>

LLVMValueRef access_extend(struct emit *e, LLVMValueRef v, const struct access_form *a)
{
	const uint32_t lane = a->bytes == 8 ? 8 : 4;
	LLVMTypeRef t = value_is_lanes(v) ? type_lanes(type_int(e, lane)) : type_int(e, lane);

	if (a->bytes >= 4)
		return v;
	return a->is_signed ? LLVMBuildSExt(e->b, v, t, "") : LLVMBuildZExt(e->b, v, t, "");
}

struct access_range access_range(struct emit *e)
{
	LLVMValueRef hints = value_field(e, e->env, offsetof(struct compiled_env, hint), e->bytes), index, range;
	struct access_range r = { .hint = value_at(e, hints, e->at, e->i8) };

	index = LLVMBuildZExt(e->b, value_load(e, e->i8, r.hint, 1), e->i64, "");
	index = LLVMBuildMul(e->b, index, LLVMConstInt(e->i64, sizeof(struct ptx_range), false), "");
	range = LLVMBuildGEP2(e->b, e->i8, value_at(e, e->block, offsetof(struct block, range), e->i8), &index, 1, "");
	r.begin = value_field(e, range, offsetof(struct ptx_range, begin), e->i64);
	r.bytes = LLVMBuildSub(e->b, value_field(e, range, offsetof(struct ptx_range, end), e->i64), r.begin, "");
	r.writable = LLVMBuildICmp(e->b, LLVMIntEQ, value_field(e, range, offsetof(struct ptx_range, read_only), e->i8),
				   LLVMConstInt(e->i8, 0, false), "");
	return r;
}

LLVMValueRef access_reachable(struct emit *e, LLVMValueRef address, LLVMValueRef n, bool write, LLVMValueRef even)
{
	LLVMTypeRef types[5] = { e->bytes, e->i64, e->i64, e->i8, e->bytes };
	LLVMTypeRef t = LLVMFunctionType(e->i8, types, 5, false);
	const struct access_range range = access_range(e);
	LLVMValueRef good, slow;
	LLVMBasicBlockRef first, ask = new_block(e), on = new_block(e);
	LLVMValueRef args[5], phi, from[2];
	LLVMBasicBlockRef blocks[2];

	good = LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, range.bytes, n, ""),
			    LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, address, range.begin, ""),
					  LLVMBuildSub(e->b, range.bytes, n, ""), ""),
			    "");
	if (write)
		good = LLVMBuildAnd(e->b, good, range.writable, "");
	good = even ? LLVMBuildAnd(e->b, good, even, "") : good;
	first = LLVMGetInsertBlock(e->b);
	LLVMBuildCondBr(e->b, expected(e, good), on, ask);
	LLVMPositionBuilderAtEnd(e->b, ask);
	args[0] = e->warp;
	args[1] = address;
	args[2] = LLVMBuildAdd(e->b, address, n, "");
	args[3] = LLVMConstInt(e->i8, write, false);
	args[4] = range.hint;
	slow = LLVMBuildCall2(e->b, t,
			      value_field(e, e->env, offsetof(struct compiled_env, reach), LLVMPointerType(t, 0)), args,
			      5, "");
	slow = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, slow, LLVMConstInt(e->i8, 1, false), ""),
			     LLVMConstInt(e->i8, 0, false), "");
	slow = even ? LLVMBuildAnd(e->b, slow, even, "") : slow;
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
static LLVMValueRef accessible(struct emit *e, const struct access_form *a, LLVMValueRef x, LLVMValueRef span)
{
	const struct compile_op *o = operation(e);
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	LLVMValueRef at, size, good = NULL, even = NULL;

	if (a->shared) {
		x = LLVMBuildAdd(e->b, x, LLVMConstInt(e->i32, o->imm, false), "");
		at = LLVMBuildZExt(e->b, x, e->i64, "");
		size = LLVMBuildZExt(e->b, value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32),
				     e->i64, "");
		good = LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildAdd(e->b, at, span, ""), size, "");
	} else {
		at = LLVMBuildAdd(e->b, x, LLVMConstInt(e->i64, o->imm, false), "");
	}
	if (bytes > 1) {
		LLVMValueRef low = LLVMBuildAnd(e->b, at, LLVMConstInt(e->i64, bytes - 1, false), "");

		even = LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstInt(e->i64, 0, false), "");
		if (a->shared)
			good = LLVMBuildAnd(e->b, good, even, "");
	}
	leave_unless(e, a->shared ? good : access_reachable(e, at, span, a->store, even));
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
		p.at[k] = accessible(e, a, x.v[k], LLVMConstInt(e->i64, bytes * (p.row ? LANES / p.count : 1), false));
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

/* Of a group of lanes: where all access, or where lane 0 would, one element behind the other. */
static LLVMValueRef group_place(struct emit *e, const struct access_form *a)
{
	const struct value x = source(e, &operation(e)->operand[1], true);
	LLVMValueRef bytes = LLVMConstInt(e->i64, (uint64_t)a->bytes * a->count, false), first, span = bytes,
		     at = x.v[0];
	LLVMValueRef sectors = LLVMConstInt(e->i64, 1, false), down = LLVMConstInt(e->i64, 0, false);

	if (x.stride) {
		first = group_first(e);
		span = LLVMBuildAdd(e->b, LLVMBuildSub(e->b, group_last(e), first, ""), LLVMConstInt(e->i32, 1, false),
				    "");
		span = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, span, e->i64, ""), bytes, "");
		first = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, first, e->i64, ""), bytes, "");
		down = LLVMBuildNeg(e->b, first, "");
		at = LLVMBuildAdd(e->b, at, LLVMBuildTruncOrBitCast(e->b, first, LLVMTypeOf(at), ""), "");
		sectors = LLVMBuildSelect(e->b, group_is_one(e), sectors, bytes, "");
	}
	at = accessible(e, a, at, span);
	if (!a->shared)
		add_to(e, e->sectors, 0, sectors);
	at = a->shared ? LLVMBuildGEP2(e->b, e->i8, e->shared, &at, 1, "") : LLVMBuildIntToPtr(e->b, at, e->bytes, "");
	return LLVMBuildGEP2(e->b, e->i8, at, &down, 1, "");
}

static void group_load(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const bool row = source(e, &o->operand[1], true).stride;
	LLVMValueRef at = group_place(e, a), v;
	LLVMTypeRef t = type_int(e, a->bytes), lanes = type_lanes(t);

	for (uint32_t k = 0; k < a->count; k++) {
		if (row)
			v = value_masked_load(e, lanes, value_at(e, at, 0, lanes), a->bytes, e->here_lanes);
		else
			v = value_field(e, at, (uint64_t)k * a->bytes, t);
		result(e, &o->operand[element_operand[0][k]],
		       row ? all_lanes(access_extend(e, v, a)) : scalar(access_extend(e, v, a)), false);
	}
}

static LLVMValueRef shuffle_mask(struct emit *e, uint32_t count, uint32_t from, uint32_t step)
{
	LLVMValueRef each[LANES * 4];

	for (uint32_t i = 0; i < count; i++)
		each[i] = LLVMConstInt(e->i32, from + i * step, false);
	return LLVMConstVector(each, count);
}

static void all_load(struct emit *e, const struct access_form *a)
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
			v.v[half] = access_extend(e, value_field(e, p.at[half], (uint64_t)k * a->bytes, t), a);
		if (p.row)
			v = all_lanes(access_extend(
				e,
				a->count == 1 ? all
					      : LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)),
								       shuffle_mask(e, LANES, k, a->count), ""),
				a));
		result(e, &o->operand[element_operand[0][k]], v, false);
	}
}

void make_param(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	LLVMValueRef begin = value_field(e, e->block,
					 offsetof(struct block, range) + 2 * sizeof(struct ptx_range) +
						 offsetof(struct ptx_range, begin),
					 e->bytes);

	for (uint32_t k = 0; k < a->count; k++)
		result(e, &o->operand[element_operand[0][k]],
		       scalar(access_extend(
			       e, value_field(e, begin, o->imm + (uint64_t)k * a->bytes, type_int(e, a->bytes)), a)),
		       false);
}

/* Of lanes that write to one place the last one stays. */
static LLVMValueRef last_of_group(struct emit *e, const struct compile_operand *o)
{
	const struct value x = source(e, o, true);
	LLVMValueRef last = group_last(e), far;

	if (x.shape != SHAPE_LINE)
		return LLVMBuildExtractElement(e->b, value_lanes(e, &x), last, "");
	far = LLVMBuildZExtOrBitCast(e->b, last, LLVMTypeOf(x.v[0]), "");
	far = LLVMBuildMul(e->b, far, LLVMConstInt(LLVMTypeOf(far), (uint64_t)x.stride, true), "");
	return LLVMBuildAdd(e->b, x.v[0], far, "");
}

LLVMValueRef access_shorten(struct emit *e, LLVMValueRef v, const struct access_form *a)
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

		p.at[k] = accessible(
			e, a, low,
			LLVMConstInt(e->i64, (uint64_t)size * (lanes - 1) + (uint64_t)a->bytes * a->count, false));
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

void strided_load(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = strided_places(e, a);
	LLVMTypeRef t = type_int(e, a->bytes);

	for (uint32_t k = 0; k < a->count; k++) {
		LLVMValueRef v = LLVMGetUndef(type_lanes(t));

		for (uint32_t i = 0; i < LANES; i++)
			v = LLVMBuildInsertElement(e->b, v, value_load(e, t, strided_place(e, a, &p, i, k), a->bytes),
						   LLVMConstInt(e->i32, i, false), "");
		result(e, &o->operand[element_operand[0][k]], all_lanes(access_extend(e, v, a)), false);
	}
}

/* The elements of a lane by one store. */
static void strided_store_whole(struct emit *e, const struct access_form *a, const struct places *p)
{
	LLVMValueRef places = LLVMGetUndef(type_lanes(e->bytes)), v[4];

	for (uint32_t i = 0; i < LANES; i++)
		places = LLVMBuildInsertElement(e->b, places,
						LLVMBuildBitCast(e->b, strided_place(e, a, p, i, 0), e->bytes, ""),
						LLVMConstInt(e->i32, i, false), "");
	for (uint32_t k = 0; k < a->count; k++)
		v[k] = access_shorten(e, source_lanes(e, &operation(e)->operand[element_operand[1][k]], true), a);
	lanewise_store(e, a, places, v);
}

void strided_store(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const struct places p = strided_places(e, a);

	if (a->count > 1 && lanewise_pays(e, a)) {
		strided_store_whole(e, a, &p);
		return;
	}
	for (uint32_t k = 0; k < a->count; k++) {
		LLVMValueRef v = access_shorten(e, source_lanes(e, &o->operand[element_operand[1][k]], true), a);

		for (uint32_t i = 0; i < LANES; i++)
			value_store(e, LLVMBuildExtractElement(e->b, v, LLVMConstInt(e->i32, i, false), ""),
				    strided_place(e, a, &p, i, k), a->bytes);
	}
}

/* The elements of lanes that lie in vector n of those from the first lane on, and a mask that says where. */
static void store_dense_vector(struct emit *e, const struct places *p, uint32_t half, uint32_t n, LLVMValueRef v)
{
	LLVMTypeRef one = LLVMGetElementType(LLVMTypeOf(v));
	const uint32_t bytes = LLVMGetIntTypeWidth(one) / 8, count = VECTOR_ALIGN / bytes, lanes = LANES / p->count;
	LLVMTypeRef t = LLVMVectorType(one, count);
	LLVMValueRef from[VECTOR_ALIGN / 4], mask[VECTOR_ALIGN / 4];

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t at = (uint64_t)n * VECTOR_ALIGN + (uint64_t)i * bytes, lane = at / (uint64_t)p->stride;
		const bool is_one = at % (uint64_t)p->stride == 0 && lane < lanes;

		from[i] = is_one ? LLVMConstInt(e->i32, half * lanes + lane, false) : LLVMGetUndef(e->i32);
		mask[i] = LLVMConstInt(e->i1, is_one, false);
	}
	v = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(from, count), "");
	value_masked_store(e, v, value_at(e, p->at[half], (uint64_t)n * VECTOR_ALIGN, t), bytes,
			   LLVMConstVector(mask, count));
}

void dense_store(struct emit *e, const struct access_form *a)
{
	const struct places p = strided_places(e, a);
	LLVMValueRef v = source_lanes(e, &operation(e)->operand[element_operand[1][0]], true);
	const uint64_t last = (uint64_t)p.stride * (LANES / p.count - 1);

	for (uint32_t half = 0; half < p.count; half++)
		for (uint32_t n = 0; n <= last / VECTOR_ALIGN; n++)
			store_dense_vector(e, &p, half, n, v);
}

/* Of lanes that write to one place the last one stays: of all, or of each half. */
static LLVMValueRef last_lane(struct emit *e, const struct compile_operand *o, uint32_t lane)
{
	struct value x = source(e, o, true);
	int64_t from = 0;

	if (x.shape >= SHAPE_PATTERN)
		return LLVMBuildExtractElement(e->b, value_lanes(e, &x), LLVMConstInt(e->i32, lane, false), "");
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
		v[k] = access_shorten(e, source_lanes(e, &operation(e)->operand[element_operand[1][k]], true), a);
	all = interleaved(e, v, a->count);
	for (uint32_t half = 0; half < p->count; half++) {
		const uint32_t n = LANES * a->count / p->count;

		part = p->count == 1 ? all
				     : LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)),
							      shuffle_mask(e, n, half * n, 1), "");
		value_store(e, part, value_at(e, p->at[half], 0, LLVMTypeOf(part)), a->bytes * a->count);
	}
}

static void group_store(struct emit *e, const struct access_form *a)
{
	const struct compile_op *o = operation(e);
	const bool row = source(e, &o->operand[1], true).stride;
	LLVMValueRef at = group_place(e, a), v;
	LLVMTypeRef t = type_int(e, a->bytes), lanes = type_lanes(t);

	for (uint32_t k = 0; k < a->count; k++) {
		const struct compile_operand *from = &o->operand[element_operand[1][k]];

		v = access_shorten(e, row ? source_lanes(e, from, true) : last_of_group(e, from), a);
		if (row)
			value_masked_store(e, v, value_at(e, at, 0, lanes), a->bytes, e->here_lanes);
		else
			value_store(e, v, value_at(e, at, (uint64_t)k * a->bytes, t), a->bytes);
	}
}

static void all_store(struct emit *e, const struct access_form *a)
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
				    access_shorten(e,
						   last_lane(e, &o->operand[element_operand[1][k]],
							     (half + 1) * LANES / p.count - 1),
						   a),
				    value_at(e, p.at[half], (uint64_t)k * a->bytes, t), a->bytes);
}

void make_load(struct emit *e, const struct access_form *a)
{
	(e->kept ? group_load : all_load)(e, a);
}

void make_store(struct emit *e, const struct access_form *a)
{
	(e->kept ? group_store : all_store)(e, a);
}
