/*
 * scatter.c: loads and stores whose lanes may lie anywhere, of all lanes or of a group.
 *
 * Where all addresses lie in the range that the operation found last, they are gathered or scattered by the host's
 * instructions; elsewhere the interpreter's function looks at each lane, and finds the range for the next time.
 * Accesses are counted as find_access() of softdev/ptx/mem.h counts them.
 */
#include "compile/access.h"
#include "compile/atomic.h"
#include "compile/fetch.h"
#include "compile/group.h"
#include "compile/lanewise.h"
#include "compile/leave.h"
#include "compile/operation.h"
#include "compile/root.h"

#include <stddef.h>
#include <string.h>

struct scatter {
	const struct access_form *a;
	LLVMValueRef base;	  /* what the register holds: of loads beside each other the same; or its root */
	LLVMValueRef at;	  /* addresses, or offsets in shared memory: with the operation's own number */
	LLVMValueRef here, lanes; /* who accesses: as i32, as a vector of i1 */
	LLVMValueRef first;	  /* the address of the first of them */
	LLVMValueRef first_lane;  /* as i64; NULL: all lanes access */
	LLVMValueRef is_row, is_one;
	const struct root *root; /* root.h; NULL: of this access alone */
	LLVMValueRef offset;	 /* from there, the same for all lanes */
	LLVMValueRef pieces;	 /* where there is a root: what scatter_pattern() found */
};

static uint64_t access_bytes(const struct access_form *a)
{
	return (uint64_t)a->bytes * a->count;
}

static LLVMValueRef steps(LLVMTypeRef t, uint32_t period, uint64_t step)
{
	LLVMValueRef each[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(t, i % period * step, false);
	return LLVMConstVector(each, LANES);
}

static LLVMValueRef scatter_all(struct emit *e, const struct scatter *x, LLVMValueRef condition)
{
	LLVMValueRef bits = LLVMBuildBitCast(e->b, condition, e->i32, "");

	if (x->first_lane)
		bits = LLVMBuildOr(e->b, bits, LLVMBuildNot(e->b, x->here, ""), "");
	return LLVMBuildICmp(e->b, LLVMIntEQ, bits, LLVMConstInt(e->i32, 0xffffffffu, false), "");
}

/* Lane by lane: whether it lies at or below `last`, counted from `begin`. */
static LLVMValueRef in_reach(struct emit *e, const struct scatter *x, LLVMValueRef begin, LLVMValueRef last)
{
	LLVMValueRef off = begin ? LLVMBuildSub(e->b, x->at, value_spread(e, begin), "") : x->at;

	return LLVMBuildICmp(e->b, LLVMIntULE, off, value_spread(e, last), "");
}

/* Whether all do, and are aligned. */
static LLVMValueRef scatter_check(struct emit *e, const struct scatter *x, LLVMValueRef begin, LLVMValueRef last)
{
	const uint64_t bytes = access_bytes(x->a);
	LLVMValueRef good = in_reach(e, x, begin, last), even;

	if (bytes > 1) {
		even = LLVMBuildAnd(e->b, x->at, value_number(LLVMTypeOf(x->at), bytes - 1), "");
		even = LLVMBuildICmp(e->b, LLVMIntEQ, even, LLVMConstNull(LLVMTypeOf(even)), "");
		good = LLVMBuildAnd(e->b, good, even, "");
	}
	return scatter_all(e, x, good);
}

static LLVMValueRef in_shared(struct emit *e, const struct scatter *x)
{
	LLVMValueRef size = value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32);
	LLVMValueRef bytes = LLVMConstInt(e->i32, access_bytes(x->a), false);

	return LLVMBuildAnd(e->b, scatter_check(e, x, NULL, LLVMBuildSub(e->b, size, bytes, "")),
			    LLVMBuildICmp(e->b, LLVMIntUGE, size, bytes, ""), "");
}

static LLVMValueRef in_range(struct emit *e, const struct scatter *x, const struct access_range *r)
{
	const uint64_t size = access_bytes(x->a);
	LLVMValueRef bytes = LLVMConstInt(e->i64, size, false), good;

	if (x->root)
		good = LLVMBuildAnd(e->b, root_in_range(e, x->root, x->offset, r->begin, r->bytes, size),
				    root_aligned(e, x->root, x->offset, size), "");
	else
		good = LLVMBuildAnd(e->b, scatter_check(e, x, r->begin, LLVMBuildSub(e->b, r->bytes, bytes, "")),
				    LLVMBuildICmp(e->b, LLVMIntUGE, r->bytes, bytes, ""), "");
	return x->a->store ? LLVMBuildAnd(e->b, good, r->writable, "") : good;
}

/* Lane `lane`, i64, of addresses. */
static LLVMValueRef address_of(struct emit *e, LLVMValueRef at, LLVMValueRef lane)
{
	return LLVMBuildExtractElement(e->b, at, lane, "");
}

/* What lane 0 has, and in the second half what the first lane of it has. */
static LLVMValueRef first_of_halves(struct emit *e, LLVMValueRef v)
{
	LLVMValueRef each[LANES];

	for (uint32_t i = 0; i < LANES; i++)
		each[i] = LLVMConstInt(e->i32, i / (LANES / 2) * (LANES / 2), false);
	return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(each, LANES), "");
}

/*
 * A group of all lanes is looked at by halves, as all lanes together are: each may be a row, or at one place. Value: n
 * where they are neither.
 */
static LLVMValueRef halves_pattern(struct emit *e, const struct scatter *x, uint64_t bytes, LLVMValueRef n)
{
	LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(e->b), new_block(e) }, on = new_block(e);
	LLVMValueRef all, first, row, one, in[2] = { n, NULL };
	LLVMTypeRef t = e->i64;

	all = LLVMBuildICmp(e->b, LLVMIntEQ, x->here, LLVMConstAllOnes(e->i32), "");
	all = LLVMBuildAnd(e->b, all, LLVMBuildNot(e->b, LLVMBuildOr(e->b, x->is_one, x->is_row, ""), ""), "");
	LLVMBuildCondBr(e->b, expected(e, LLVMBuildNot(e->b, all, "")), on, from[1]);
	LLVMPositionBuilderAtEnd(e->b, from[1]);
	first = first_of_halves(e, x->base);
	one = value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, x->base, first, ""));
	row = LLVMBuildSub(e->b, x->base, steps(t, LANES / 2, bytes), "");
	row = value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, row, first, ""));
	in[1] = LLVMBuildSelect(e->b, row, LLVMConstInt(t, bytes, false), n, "");
	in[1] = LLVMBuildSelect(e->b, one, LLVMConstInt(t, 2, false), in[1], "");
	from[1] = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	n = LLVMBuildPhi(e->b, t, "");
	LLVMAddIncoming(n, in, from, 2);
	return n;
}

/* Finds out whether the addresses are one behind the other. Value: how many pieces of memory are touched. It asks the
 * registers and not the addresses, so that LLVM finds the same for loads beside each other. */
static LLVMValueRef scatter_pattern(struct emit *e, struct scatter *x)
{
	const uint64_t bytes = access_bytes(x->a);
	const uint32_t period = x->first_lane ? LANES : LANES / 2;
	LLVMTypeRef t = e->i64;
	LLVMValueRef from, one, row, n, other;
	LLVMValueRef first = address_of(e, x->base, x->first_lane ? x->first_lane : LLVMConstNull(t));

	if (x->first_lane) {
		from = value_spread(e, first);
		row = LLVMBuildSub(e->b, first, LLVMBuildMul(e->b, x->first_lane, LLVMConstInt(t, bytes, false), ""),
				   "");
		row = value_spread(e, row);
		n = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.ctpop", e->i32, &x->here, 1), t, "");
	} else {
		row = from = first_of_halves(e, x->base);
		n = LLVMConstInt(t, LANES, false);
	}
	one = scatter_all(e, x, LLVMBuildICmp(e->b, LLVMIntEQ, x->base, from, ""));
	row = scatter_all(
		e, x,
		LLVMBuildICmp(e->b, LLVMIntEQ, LLVMBuildSub(e->b, x->base, steps(t, period, bytes), ""), row, ""));
	n = LLVMBuildSelect(e->b, row, LLVMConstInt(t, bytes, false), n, "");
	other = LLVMConstInt(t, 1, false);
	x->is_row = row;
	x->is_one = one;
	if (!x->first_lane) {
		LLVMValueRef second = address_of(e, x->base, LLVMConstInt(t, LANES / 2, false));

		x->is_one = LLVMBuildICmp(e->b, LLVMIntEQ, first, second, "");
		other = LLVMBuildSelect(e->b, x->is_one, other, LLVMConstInt(t, 2, false), "");
		x->is_one = LLVMBuildAnd(e->b, one, x->is_one, "");
		second = LLVMBuildSub(e->b, second, LLVMConstInt(t, bytes * (LANES / 2), false), "");
		x->is_row = LLVMBuildAnd(e->b, row, LLVMBuildICmp(e->b, LLVMIntEQ, first, second, ""), "");
	}
	n = LLVMBuildSelect(e->b, one, other, n, "");
	return x->first_lane && !e->flow->few ? halves_pattern(e, x, bytes, n) : n;
}

LLVMValueRef access_sectors(struct emit *e, LLVMValueRef at, uint32_t bytes)
{
	const struct access_form a = { .bytes = (uint8_t)bytes, .count = 1 };
	struct scatter x = { .a = &a, .base = at, .at = at, .here = e->here };

	x.first_lane = LLVMBuildZExt(e->b, group_first(e), e->i64, "");
	x.first = address_of(e, at, x.first_lane);
	return scatter_pattern(e, &x);
}

/* Pointers to element k of each lane. */
static LLVMValueRef pointers(struct emit *e, const struct scatter *x, uint64_t offset, LLVMTypeRef t)
{
	LLVMTypeRef many = type_lanes(LLVMPointerType(t, 0));
	LLVMValueRef index, at = x->at;

	if (x->root) {
		at = LLVMBuildAdd(e->b, x->offset, LLVMConstInt(e->i64, offset, false), "");
		index = x->root->lanes;
		at = LLVMBuildGEP2(e->b, e->i8, LLVMBuildIntToPtr(e->b, at, e->bytes, ""), &index, 1, "");
		return LLVMBuildBitCast(e->b, at, many, "");
	}
	if (!x->a->shared) {
		at = offset ? LLVMBuildAdd(e->b, at, value_number(LLVMTypeOf(at), offset), "") : at;
		return LLVMBuildIntToPtr(e->b, at, many, "");
	}
	index = offset ? LLVMBuildAdd(e->b, at, value_number(LLVMTypeOf(at), offset), "") : at;
	return LLVMBuildBitCast(e->b, LLVMBuildGEP2(e->b, e->i8, e->shared, &index, 1, ""), many, "");
}

/* Elements of less than 4 bytes, which the host does not gather: those who do not access read where the first does. */
static LLVMValueRef load_each(struct emit *e, const struct scatter *x)
{
	LLVMTypeRef t = type_int(e, x->a->bytes);
	struct scatter safe = *x;
	LLVMValueRef v[4];

	if (x->first_lane)
		safe.at = LLVMBuildSelect(e->b, x->lanes, x->at, value_spread(e, x->first), "");
	lanewise_load(e, x->a, pointers(e, &safe, 0, t), x->a->bytes, v);
	return v[0];
}

static void give(struct emit *e, const struct access_form *a, uint32_t k, LLVMValueRef v)
{
	result(e, &operation(e)->operand[element_operand[0][k]], all_lanes(access_extend(e, v, a)), false);
}

static void load_gathered(struct emit *e, const struct scatter *x)
{
	const struct access_form *a = x->a;
	const bool pairs = a->bytes == 4 && a->count > 1; /* two elements at once */
	LLVMTypeRef t = pairs ? type_lanes(e->i64) : type_lanes(type_int(e, a->bytes)), low = type_lanes(e->i32);
	LLVMValueRef v, half, all[4];

	if (a->bytes < 4) {
		give(e, a, 0, load_each(e, x));
		return;
	}
	if (lanewise_pays(e, a)) {
		lanewise_load(e, a, pointers(e, x, 0, e->i8), (uint32_t)access_bytes(a), all);
		for (uint32_t k = 0; k < a->count; k++)
			give(e, a, k, all[k]);
		return;
	}
	for (uint32_t k = 0; k < a->count; k += pairs ? 2 : 1) {
		v = value_gather(e, t, pointers(e, x, (uint64_t)k * a->bytes, LLVMGetElementType(t)),
				 pairs ? 8 : a->bytes, x->lanes);
		if (!pairs) {
			give(e, a, k, v);
			continue;
		}
		half = LLVMBuildLShr(e->b, v, value_number(t, 32), "");
		give(e, a, k, LLVMBuildTrunc(e->b, v, low, ""));
		give(e, a, k + 1, LLVMBuildTrunc(e->b, half, low, ""));
	}
}

/* By the host's instruction, which takes as long for one lane as for all, and of which there is none for bytes. */
static bool scatters_at_once(const struct emit *e, const struct access_form *a)
{
	return !e->kept && a->bytes >= 4 && !strcmp(e->flow->request->isa, "avx512");
}

static void store_at_once(struct emit *e, const struct scatter *x)
{
	for (uint32_t k = 0; k < x->a->count; k++) {
		LLVMValueRef v = source_lanes(e, &operation(e)->operand[element_operand[1][k]], true);

		v = access_shorten(e, v, x->a);
		value_scatter(e, v, pointers(e, x, (uint64_t)k * x->a->bytes, LLVMGetElementType(LLVMTypeOf(v))),
			      x->a->bytes, x->lanes);
	}
}

/* What one lane stores; `lane`: i64. */
static void store_one(struct emit *e, const struct scatter *x, LLVMValueRef at, LLVMValueRef *values, LLVMValueRef lane)
{
	const struct access_form *a = x->a;
	LLVMTypeRef t = type_int(e, a->bytes), lane_type = type_int(e, a->bytes == 8 ? 8 : 4);
	LLVMTypeRef address_type = a->shared ? e->i32 : e->i64;
	LLVMValueRef address, v;

	address = value_load(e, address_type, value_element(e, at, lane, address_type), 4);
	address = LLVMBuildZExtOrBitCast(e->b, address, e->i64, "");
	address = a->shared ? LLVMBuildGEP2(e->b, e->i8, e->shared, &address, 1, "")
			    : LLVMBuildIntToPtr(e->b, address, e->bytes, "");
	for (uint32_t k = 0; k < a->count; k++) {
		v = value_load(e, lane_type, value_element(e, values[k], lane, lane_type), 4);
		if (a->bytes < 4)
			v = LLVMBuildTrunc(e->b, v, t, "");
		value_store(e, v, value_at(e, address, (uint64_t)k * a->bytes, t), a->bytes);
	}
}

/* One lane after the other, in their order. */
static void store_in_turn(struct emit *e, const struct scatter *x)
{
	const bool wide = x->a->bytes == 8;
	LLVMValueRef at = value_array(e, &e->store_at[!x->a->shared], x->a->shared ? e->i32 : e->i64), values[4];
	LLVMBasicBlockRef before, head = new_block(e), on = new_block(e), from[2];
	LLVMValueRef left, next, in[2], v;

	value_store(e, x->at, at, VECTOR_ALIGN);
	for (uint32_t k = 0; k < x->a->count; k++) {
		v = source_lanes(e, &operation(e)->operand[element_operand[1][k]], true);
		values[k] = value_array(e, &e->store_value[wide][k], wide ? e->i64 : e->i32);
		value_store(e, v, values[k], VECTOR_ALIGN);
	}
	before = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	left = LLVMBuildPhi(e->b, e->i32, "");
	store_one(e, x, at, values, LLVMBuildZExt(e->b, group_first_of(e, left), e->i64, ""));
	next = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), ""), "");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, next, LLVMConstNull(e->i32), ""), on, head);
	from[0] = before;
	from[1] = head;
	in[0] = x->here;
	in[1] = next;
	LLVMAddIncoming(left, in, from, 2);
	LLVMPositionBuilderAtEnd(e->b, on);
}

static void store_lanewise(struct emit *e, const struct scatter *x)
{
	LLVMValueRef v[4];

	for (uint32_t k = 0; k < x->a->count; k++)
		v[k] = access_shorten(e, source_lanes(e, &operation(e)->operand[element_operand[1][k]], true), x->a);
	lanewise_store(e, x->a, pointers(e, x, 0, e->i8), v);
}

static void store_scattered(struct emit *e, const struct scatter *x)
{
	if (lanewise_pays(e, x->a))
		store_lanewise(e, x);
	else
		(scatters_at_once(e, x->a) ? store_at_once : store_in_turn)(e, x);
}

/* Of elements that lie one behind the other: where that of lane 0 would. */
static LLVMValueRef row_place(struct emit *e, const struct scatter *x)
{
	LLVMValueRef at = x->first;

	if (x->first_lane)
		at = LLVMBuildSub(e->b, at,
				  LLVMBuildMul(e->b, x->first_lane, LLVMConstInt(e->i64, x->a->bytes, false), ""), "");
	return LLVMBuildIntToPtr(e->b, at, LLVMPointerType(type_lanes(type_int(e, x->a->bytes)), 0), "");
}

static void row_move(struct emit *e, const struct scatter *x)
{
	LLVMTypeRef t = type_lanes(type_int(e, x->a->bytes));
	LLVMValueRef v, place = row_place(e, x);

	if (x->a->store) {
		v = access_shorten(e, source_lanes(e, &operation(e)->operand[element_operand[1][0]], true), x->a);
		if (x->first_lane)
			value_masked_store(e, v, place, x->a->bytes, x->lanes);
		else
			value_store(e, v, place, x->a->bytes);
		return;
	}
	v = x->first_lane ? value_masked_load(e, t, place, x->a->bytes, x->lanes)
			  : value_load(e, t, place, x->a->bytes);
	give(e, x->a, 0, v);
}

/* Elements of less than 4 bytes are moved lane by lane where they are scattered, which takes longest: a load at one
 * place is one load. */
static void one_load(struct emit *e, const struct scatter *x)
{
	LLVMTypeRef t = type_int(e, x->a->bytes);
	LLVMValueRef at = LLVMBuildIntToPtr(e->b, x->first, LLVMPointerType(t, 0), "");

	give(e, x->a, 0, value_spread(e, value_load(e, t, at, x->a->bytes)));
}

static void any_move(struct emit *e, const struct scatter *x)
{
	(x->a->store ? store_scattered : load_gathered)(e, x);
}

/* Where the condition holds, that move, and on; the code goes on with where it does not. */
static void instead(struct emit *e, const struct scatter *x, LLVMValueRef condition,
		    void (*move)(struct emit *, const struct scatter *), LLVMBasicBlockRef on)
{
	LLVMBasicBlockRef yes = new_block(e), no = new_block(e);

	LLVMBuildCondBr(e->b, condition, yes, no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	move(e, x);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, no);
}

static void scatter_move(struct emit *e, const struct scatter *x)
{
	const bool narrow = x->a->bytes < 4;
	LLVMBasicBlockRef on;

	if (x->a->shared || x->a->count != 1 || (narrow && strcmp(e->flow->request->isa, "avx512") != 0)) {
		any_move(e, x);
		return;
	}
	on = new_block(e);
	instead(e, x, x->is_row, row_move, on);
	if (narrow && !x->a->store)
		instead(e, x, x->is_one, one_load, on);
	any_move(e, x);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/*
 * Shared memory: where `good` does not hold, the interpreter's function faults. It is called here, and code is not left
 * to it, because that would mean to write all registers to the frame at every access, or as soon as they are computed.
 * Value: where both ways meet; the builder goes on where it is good.
 */
static LLVMBasicBlockRef unless_call(struct emit *e, const struct plan *p, LLVMValueRef good)
{
	LLVMBasicBlockRef fast = new_block(e), slow = new_block(e), on = new_block(e);
	const bool told = e->told;

	LLVMBuildCondBr(e->b, expected(e, good), fast, slow);
	LLVMPositionBuilderAtEnd(e->b, slow);
	make_call(e, p);
	e->told = told; /* on this way only */
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, fast);
	return on;
}

static void meet_at(struct emit *e, LLVMBasicBlockRef on)
{
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* The interpreter's function, after which its range is the operation's. */
static void scatter_call(struct emit *e, const struct plan *p, const struct access_range *r)
{
	const bool told = e->told;
	LLVMValueRef last;

	make_call(e, p);
	e->told = told; /* on this way only */
	last = value_field(e, e->block, offsetof(struct block, range_last), e->i32);
	value_store(e, LLVMBuildTrunc(e->b, last, e->i8, ""), r->hint, 1);
}

/*
 * Of a load whose address does not depend on some bits of the lane's number (`same`): the lanes with none of them.
 * Each is loaded once, and its elements are handed to the lanes that have the same address. As products of matrices
 * read their tiles: eight lanes share a row, or every eighth one a column.
 */
struct folded {
	const struct access_form *a;
	uint32_t lane[LANES / 2], count;
	uint32_t of[LANES]; /* of each lane: which of them */
};

static struct folded fold(const struct plan *p)
{
	struct folded f = { .a = &p->access };

	for (uint32_t i = 0; i < LANES; i++) {
		if (!(i & p->same))
			f.lane[f.count++] = i;
		for (uint32_t k = 0; k < f.count; k++)
			if (f.lane[k] == (i & ~(uint32_t)p->same))
				f.of[i] = k;
	}
	return f;
}

/* The largest and the bits of all are the same for every access by this address, which LLVM finds. */
static LLVMValueRef folded_good(struct emit *e, const struct access_form *a, LLVMValueRef at, uint32_t imm)
{
	const uint64_t bytes = access_bytes(a);
	LLVMValueRef most = value_intrinsic(e, "llvm.vector.reduce.umax", LLVMTypeOf(at), &at, 1), size, end, low;

	size = LLVMBuildZExt(e->b, value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32), e->i64, "");
	end = LLVMBuildAdd(e->b, LLVMBuildZExt(e->b, most, e->i64, ""), LLVMConstInt(e->i64, imm + bytes, false), "");
	low = value_intrinsic(e, "llvm.vector.reduce.or", LLVMTypeOf(at), &at, 1);
	low = LLVMBuildAnd(e->b, low, LLVMConstInt(e->i32, bytes - 1, false), "");
	return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULE, end, size, ""),
			    LLVMBuildICmp(e->b, LLVMIntEQ, low, LLVMConstNull(e->i32), ""), "");
}

/* All elements of the chosen lanes, one lane behind the other. */
static LLVMValueRef folded_load(struct emit *e, const struct folded *f, LLVMValueRef at, uint32_t imm)
{
	LLVMTypeRef one = type_int(e, f->a->bytes), t = LLVMVectorType(one, f->a->count);
	LLVMValueRef part[LANES / 2];

	for (uint32_t k = 0; k < f->count; k++) {
		LLVMValueRef lane = LLVMConstInt(e->i32, f->lane[k], false), index;

		index = LLVMBuildZExt(e->b, LLVMBuildExtractElement(e->b, at, lane, ""), e->i64, "");
		part[k] = value_load(e, t, value_at(e, LLVMBuildGEP2(e->b, e->i8, e->shared, &index, 1, ""), imm, t),
				     (uint32_t)access_bytes(f->a));
	}
	return value_join(e, part, f->count, f->a->count);
}

/* Value: false when it is none of those that can be folded. */
static bool make_folded(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const uint32_t imm = (uint32_t)o->imm;
	const struct folded f = fold(p);
	LLVMValueRef at, all, spread, each[LANES];
	LLVMBasicBlockRef on;

	if (imm > INT32_MAX || imm % access_bytes(f.a))
		return false;
	at = source_lanes(e, &o->operand[1], true);
	on = unless_call(e, p, folded_good(e, f.a, at, imm));
	all = folded_load(e, &f, at, imm);
	for (uint32_t k = 0; k < f.a->count; k++) {
		for (uint32_t i = 0; i < LANES; i++)
			each[i] = LLVMConstInt(e->i32, f.of[i] * f.a->count + k, false);
		spread = LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)), LLVMConstVector(each, LANES),
						"");
		give(e, f.a, k, spread);
	}
	meet_at(e, on);
	return true;
}

/* ---- loads that lie close together ---- */

/* Where a fetch begins, from the root on. */
static LLVMValueRef fetch_offset(struct emit *e, const struct scatter *x, const struct fetch *f)
{
	const uint64_t down = (uint64_t)f->least - (uint64_t)operation(e)->imm;

	return LLVMBuildAdd(e->b, x->offset, LLVMConstInt(e->i64, down, false), "");
}

/* Whether all that is fetched lies in the range of the first load, and each load is aligned. */
static LLVMValueRef fetch_good(struct emit *e, const struct scatter *x, const struct fetch *f)
{
	const struct access_form whole = { .bytes = (uint8_t)f->bytes, .count = 1 };
	struct scatter all = { .a = &whole, .base = x->base, .here = x->here, .lanes = x->lanes };
	const struct access_range r = access_range(e);
	LLVMValueRef bytes = LLVMConstInt(e->i64, f->bytes, false), good, even;
	uint32_t most = 1;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct access_form a = access_form(e->flow->request->op[f->op[i]].name);

		most = a.bytes > most ? a.bytes : most;
	}
	if (x->root) {
		good = LLVMBuildAnd(e->b, root_in_range(e, x->root, fetch_offset(e, x, f), r.begin, r.bytes, f->bytes),
				    root_aligned(e, x->root, x->offset, most), "");
	} else {
		all.at = LLVMBuildAdd(e->b, x->base, value_number(LLVMTypeOf(x->base), (uint64_t)f->least), "");
		good = in_reach(e, &all, r.begin, LLVMBuildSub(e->b, r.bytes, bytes, ""));
		even = LLVMBuildAnd(e->b, x->at, value_number(LLVMTypeOf(x->at), most - 1), "");
		even = LLVMBuildICmp(e->b, LLVMIntEQ, even, LLVMConstNull(LLVMTypeOf(even)), "");
		good = scatter_all(e, &all, LLVMBuildAnd(e->b, good, even, ""));
	}
	if (f->rows) {
		scatter_pattern(e, &all);
		good = LLVMBuildAnd(e->b, good, LLVMBuildNot(e->b, all.is_row, ""), "");
	}
	return LLVMBuildAnd(e->b, good, LLVMBuildICmp(e->b, LLVMIntUGE, r.bytes, bytes, ""), "");
}

/* Gathers them, where that is good. */
static void fetch_all(struct emit *e, const struct scatter *x, struct fetch *f)
{
	LLVMTypeRef one = type_int(e, f->bytes), t = type_lanes(one);
	LLVMBasicBlockRef from[2], gather = new_block(e), on = new_block(e);
	LLVMValueRef v[2], at, index;

	f->good = fetch_good(e, x, f);
	from[0] = LLVMGetInsertBlock(e->b);
	LLVMBuildCondBr(e->b, f->good, gather, on);
	LLVMPositionBuilderAtEnd(e->b, gather);
	if (x->root) {
		at = LLVMBuildIntToPtr(e->b, fetch_offset(e, x, f), e->bytes, "");
		index = x->root->lanes;
		at = LLVMBuildGEP2(e->b, e->i8, at, &index, 1, "");
		at = LLVMBuildBitCast(e->b, at, type_lanes(LLVMPointerType(one, 0)), "");
	} else {
		at = LLVMBuildAdd(e->b, x->base, value_number(LLVMTypeOf(x->base), (uint64_t)f->least), "");
		at = LLVMBuildIntToPtr(e->b, at, type_lanes(LLVMPointerType(one, 0)), "");
	}
	v[0] = LLVMConstNull(t);
	v[1] = value_gather(e, t, at, 1, x->lanes);
	from[1] = LLVMGetInsertBlock(e->b);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	f->value = LLVMBuildPhi(e->b, t, "");
	LLVMAddIncoming(f->value, v, from, 2);
}

/* Value: whether the load is one of those that are fetched together. The first of them fetches. */
static bool fetch_begin(struct emit *e, const struct scatter *x)
{
	if (e->kept || fetch_of(e))
		return fetch_of(e);
	if (e->fetches == FETCHES_MAX || !fetch_find(e, &e->fetch[e->fetches]))
		return false;
	fetch_all(e, x, &e->fetch[e->fetches++]);
	return true;
}

/* Where it has been fetched, goes `on` with it; builder: goes on where it has not. */
static void take_fetched(struct emit *e, struct scatter *x, LLVMBasicBlockRef on)
{
	const struct fetch *f = fetch_of(e);
	LLVMBasicBlockRef yes = new_block(e), no = new_block(e);

	LLVMBuildCondBr(e->b, expected(e, f->good), yes, no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	add_to(e, e->sectors, 0, x->root ? x->pieces : scatter_pattern(e, x));
	give(e, x->a, 0, fetch_value(e, f, x->a));
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, no);
}

void make_scattered(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	struct scatter x = { .a = &p->access, .base = source_lanes(e, &o->operand[1], true) };
	LLVMBasicBlockRef fast, slow, on;
	struct access_range range;
	LLVMValueRef good;

	if (p->same && make_folded(e, p))
		return;
	x.at = LLVMBuildAdd(e->b, x.base, value_number(LLVMTypeOf(x.base), x.a->shared ? o->imm & 0xffffffffu : o->imm),
			    "");
	if ((x.root = e->kept || p->atomic ? NULL : root_of_access(e, &x.offset))) {
		x.base = x.root->lanes;
		x.at = LLVMBuildAdd(e->b, x.base, value_spread(e, x.offset), "");
	}
	x.here = e->kept ? e->here : LLVMConstInt(e->i32, 0xffffffffu, false);
	x.lanes = e->kept ? e->here_lanes : LLVMConstAllOnes(type_lanes(e->i1));
	x.first_lane = e->kept ? LLVMBuildZExt(e->b, group_first(e), e->i64, "") : NULL;
	x.first = address_of(e, x.at, e->kept ? x.first_lane : LLVMConstInt(e->i64, 0, false));
	if (x.a->shared) {
		on = unless_call(e, p, in_shared(e, &x));
		if (p->atomic)
			atomic_lanes(e, p, x.at, x.here);
		else
			any_move(e, &x);
		meet_at(e, on);
		return;
	}
	if (x.root)
		x.pieces = scatter_pattern(e, &x);
	on = new_block(e);
	if (!p->atomic && fetch_begin(e, &x))
		take_fetched(e, &x, on);
	range = access_range(e);
	good = in_range(e, &x, &range);
	fast = new_block(e);
	slow = new_block(e);
	LLVMBuildCondBr(e->b, expected(e, good), fast, slow);
	LLVMPositionBuilderAtEnd(e->b, slow);
	scatter_call(e, p, &range);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, fast);
	add_to(e, e->sectors, 0, x.root ? x.pieces : scatter_pattern(e, &x));
	if (p->atomic)
		atomic_lanes(e, p, x.at, x.here);
	else
		scatter_move(e, &x);
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}
