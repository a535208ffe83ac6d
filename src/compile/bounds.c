/* bounds.c: see bounds.h. */
#include "compile/bounds.h"
#include "compile/leave.h"

#define DEPTH_MAX 4u
#define GROW_MAX (1 << 20)

static LLVMValueRef number(struct bounds *b, uint64_t n)
{
	return LLVMConstInt(b->lane->e->i64, n, false);
}

LLVMValueRef slot_new(struct emit *e, LLVMTypeRef t)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef place;

	LLVMPositionBuilderBefore(e->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(e->function)));
	place = LLVMBuildAlloca(e->b, t, "");
	LLVMPositionBuilderAtEnd(e->b, here);
	return place;
}

void bounds_begin(struct bounds *b)
{
	b->count = 0;
}

/* ---- what an address is made of ---- */

static bool is_op(LLVMValueRef v, LLVMOpcode code)
{
	return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == code;
}

/* The same for all lanes. */
static bool is_shared(const struct bounds *b, LLVMValueRef v)
{
	return LLVMIsConstant(v) || (LLVMIsAInstruction(v) && LLVMGetInstructionParent(v) == b->lane->before);
}

/* Known where a lane begins. */
static bool is_fixed(const struct bounds *b, LLVMValueRef v)
{
	LLVMBasicBlockRef at;

	if (LLVMIsConstant(v))
		return true;
	if (!LLVMIsAInstruction(v))
		return false;
	at = LLVMGetInstructionParent(v);
	return at == b->lane->before || at == b->enter || at == b->outer;
}

static bool is_same(LLVMValueRef a, LLVMValueRef b, uint32_t depth)
{
	if (a == b)
		return true;
	if (!depth || !LLVMIsAInstruction(a) || !LLVMIsAInstruction(b) ||
	    LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b) ||
	    LLVMGetNumOperands(a) != LLVMGetNumOperands(b))
		return false;
	switch (LLVMGetInstructionOpcode(a)) {
	case LLVMAdd:
	case LLVMSub:
	case LLVMMul:
	case LLVMShl:
	case LLVMSExt:
	case LLVMZExt:
		break;
	default:
		return false;
	}
	for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(a); k++)
		if (!is_same(LLVMGetOperand(a, k), LLVMGetOperand(b, k), depth - 1))
			return false;
	return true;
}

/* How many of its low bits are zero, at least. */
static uint32_t low_zeros(LLVMValueRef v, uint32_t depth)
{
	uint32_t a, b;

	if (LLVMIsAConstantInt(v))
		return LLVMConstIntGetZExtValue(v) ? (uint32_t)__builtin_ctzll(LLVMConstIntGetZExtValue(v)) : 63;
	if (!depth || !LLVMIsAInstruction(v))
		return 0;
	switch (LLVMGetInstructionOpcode(v)) {
	case LLVMShl:
		v = LLVMGetOperand(v, 1);
		return LLVMIsAConstantInt(v) ? (uint32_t)LLVMConstIntGetZExtValue(v) : 0;
	case LLVMMul:
		return low_zeros(LLVMGetOperand(v, 0), depth - 1) + low_zeros(LLVMGetOperand(v, 1), depth - 1);
	case LLVMSExt:
	case LLVMZExt:
		return low_zeros(LLVMGetOperand(v, 0), depth - 1);
	case LLVMAnd:
		a = low_zeros(LLVMGetOperand(v, 0), depth - 1);
		b = low_zeros(LLVMGetOperand(v, 1), depth - 1);
		return a > b ? a : b;
	case LLVMAdd:
	case LLVMSub:
		a = low_zeros(LLVMGetOperand(v, 0), depth - 1);
		b = low_zeros(LLVMGetOperand(v, 1), depth - 1);
		return a < b ? a : b;
	default:
		return 0;
	}
}

/* ---- checks ---- */

/* Where a lane begins, it is given up unless this holds. */
static void require(struct bounds *b, LLVMValueRef condition)
{
	b->good = LLVMBuildAnd(b->lane->e->b, b->good, condition, "");
}

static void require_even(struct bounds *b, LLVMValueRef at, uint32_t bytes)
{
	struct emit *e = b->lane->e;
	LLVMValueRef low = LLVMBuildAnd(e->b, at, number(b, bytes - 1), "");

	require(b, LLVMBuildICmp(e->b, LLVMIntEQ, low, number(b, 0), ""));
}

/* ---- addresses that grow by a number ---- */

/* A sum that is made where a lane begins. */
struct sum {
	LLVMValueRef at;
	int64_t grow;
};

static LLVMValueRef is_load_of_slot(const struct bounds *b, LLVMValueRef v, uint32_t *ret)
{
	const struct lane *x = b->lane;

	for (uint32_t r = 0; is_op(v, LLVMLoad) && r < x->e->flow->reg_count; r++)
		if (x->slot[r] && LLVMGetOperand(v, 0) == x->slot[r]) {
			*ret = r;
			return v;
		}
	return NULL;
}

/* A register that grows, as the current block finds it in the first round. */
static bool sum_of_slot(struct bounds *b, LLVMValueRef v, struct sum *ret)
{
	struct lane *x = b->lane;
	bool late = false;
	uint32_t r;

	if (!is_load_of_slot(b, v, &r) || !b->step[r])
		return false;
	for (uint32_t i = b->from; i < b->last && x->begin != b->from; i++)
		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			late = late || (x->e->flow->request->op[i].defs >> k & 1 &&
					flow_reg(x->e->flow, &x->e->flow->request->op[i].operand[k]) == r);
	ret->grow = b->step[r];
	ret->at = LLVMBuildLoad2(x->e->b, LLVMTypeOf(v), x->slot[r], "");
	if (late)
		ret->at = LLVMBuildAdd(x->e->b, ret->at, LLVMConstInt(LLVMTypeOf(v), (uint64_t)ret->grow, true), "");
	return true;
}

/* By how much operand 1 multiplies; 0: it is something else. */
static int64_t factor_of(LLVMValueRef v)
{
	LLVMValueRef by = is_op(v, LLVMMul) || is_op(v, LLVMShl) ? LLVMGetOperand(v, 1) : NULL;
	int64_t n;

	if (!by || !LLVMIsAConstantInt(by))
		return 0;
	n = LLVMConstIntGetSExtValue(by);
	if (is_op(v, LLVMShl))
		return n >= 0 && n < 20 ? (int64_t)1 << n : 0;
	return n < GROW_MAX && n > -GROW_MAX ? n : 0;
}

static bool sum_of(struct bounds *b, LLVMValueRef v, uint32_t depth, struct sum *ret)
{
	LLVMBuilderRef build = b->lane->e->b;
	const int64_t by = factor_of(v);
	struct sum other;

	*ret = (struct sum){ v, 0 };
	if (is_fixed(b, v) || sum_of_slot(b, v, ret))
		return true;
	if (!depth || (!by && !is_op(v, LLVMAdd) && !is_op(v, LLVMSub)) ||
	    !sum_of(b, LLVMGetOperand(v, 0), depth - 1, ret))
		return false;
	if (by) {
		ret->at = LLVMBuildMul(build, ret->at, LLVMConstInt(LLVMTypeOf(v), (uint64_t)by, true), "");
		ret->grow *= by;
	} else if (!sum_of(b, LLVMGetOperand(v, 1), depth - 1, &other)) {
		return false;
	} else if (is_op(v, LLVMAdd)) {
		ret->at = LLVMBuildAdd(build, ret->at, other.at, "");
		ret->grow += other.grow;
	} else {
		ret->at = LLVMBuildSub(build, ret->at, other.at, "");
		ret->grow -= other.grow;
	}
	return ret->grow < GROW_MAX && ret->grow > -GROW_MAX;
}

/* 32 bits that become 64: no round may be beyond them. */
static bool sum_of_wide(struct bounds *b, LLVMValueRef v, struct sum *ret)
{
	struct emit *e = b->lane->e;
	const bool is_signed = is_op(v, LLVMSExt);
	LLVMValueRef end;

	if ((!is_signed && !is_op(v, LLVMZExt)) || LLVMTypeOf(LLVMGetOperand(v, 0)) != e->i32 ||
	    !sum_of(b, LLVMGetOperand(v, 0), DEPTH_MAX, ret))
		return false;
	ret->at = is_signed ? LLVMBuildSExt(e->b, ret->at, e->i64, "") : LLVMBuildZExt(e->b, ret->at, e->i64, "");
	if (!ret->grow)
		return true;
	end = LLVMBuildAdd(e->b, ret->at, number(b, (uint64_t)(ret->grow * (int64_t)(b->rounds + 1))), "");
	v = LLVMBuildTrunc(e->b, end, e->i32, "");
	v = is_signed ? LLVMBuildSExt(e->b, v, e->i64, "") : LLVMBuildZExt(e->b, v, e->i64, "");
	require(b, LLVMBuildICmp(e->b, LLVMIntEQ, v, end, ""));
	return true;
}

/* Adds v, `by` times, to the place's start; the parts in which lanes differ are terms. */
static bool add_linear(struct bounds *b, LLVMValueRef v, int64_t by, uint32_t depth, struct lane_place *p)
{
	struct emit *e = b->lane->e;
	struct sum x = { v, 0 };
	const int64_t more = factor_of(v);

	if (by >= GROW_MAX || by <= -GROW_MAX)
		return false;
	if (is_fixed(b, v) || sum_of_slot(b, v, &x) || sum_of_wide(b, v, &x)) {
		if (!is_shared(b, v)) {
			if (p->terms == LANE_TERMS_MAX)
				return false;
			p->term[p->terms++] = (struct lane_term){ v, by };
		}
		p->grow += x.grow * by;
		if (by != 1)
			x.at = LLVMBuildMul(e->b, x.at, number(b, (uint64_t)by), "");
		p->start = p->start ? LLVMBuildAdd(e->b, p->start, x.at, "") : x.at;
		return p->grow < GROW_MAX && p->grow > -GROW_MAX;
	}
	if (!depth)
		return false;
	if (more)
		return add_linear(b, LLVMGetOperand(v, 0), by * more, depth - 1, p);
	return (is_op(v, LLVMAdd) || is_op(v, LLVMSub)) && add_linear(b, LLVMGetOperand(v, 0), by, depth - 1, p) &&
	       add_linear(b, LLVMGetOperand(v, 1), is_op(v, LLVMSub) ? -by : by, depth - 1, p);
}

/* Whether the address grows by a number. If so, it has been checked; *ret_even: and no round has to look at whether it
 * is aligned. */
static bool check_linear(struct bounds *b, struct lane_place *p, bool *ret_even)
{
	struct emit *e = b->lane->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef good = b->good, begin, last, far, n, limit;
	bool linear;

	LLVMPositionBuilderAtEnd(e->b, b->enter);
	linear = add_linear(b, p->address, 1, DEPTH_MAX, p);
	LLVMPositionBuilderAtEnd(e->b, here);
	if (!linear) {
		b->good = good;
		p->start = NULL;
		p->terms = 0;
		p->grow = 0;
		return false;
	}
	lane_limits(b->lane, p, &begin, &last);
	LLVMPositionBuilderAtEnd(e->b, b->enter);
	n = LLVMBuildAdd(e->b, p->start, number(b, p->least), "");
	*ret_even = p->grow % p->bytes == 0;
	require_even(b, n, *ret_even ? p->bytes : 1);
	far = LLVMBuildSub(e->b, n, begin, "");
	require(b, LLVMBuildICmp(e->b, LLVMIntULE, far, last, ""));
	if (p->grow) {
		n = p->grow > 0 ? LLVMBuildSub(e->b, last, far, "") : far;
		n = LLVMBuildUDiv(e->b, n, number(b, (uint64_t)(p->grow > 0 ? p->grow : -p->grow)), "");
		n = LLVMBuildAdd(e->b, n, number(b, 1), "");
		limit = LLVMBuildLoad2(e->b, e->i64, b->limit, "");
		n = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntULT, n, limit, ""), n, limit, "");
		LLVMBuildStore(e->b, n, b->limit);
	}
	LLVMPositionBuilderAtEnd(e->b, here);
	return true;
}

bool bounds_alike(const struct lane_term *a, const struct lane_term *b, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++)
		if (a[k].by != b[k].by || !is_same(a[k].id, b[k].id, DEPTH_MAX))
			return false;
	return true;
}

void bounds_enter(struct bounds *b)
{
	b->good = LLVMConstInt(b->lane->e->i1, 1, false);
	b->limit = slot_new(b->lane->e, b->lane->e->i64);
	LLVMBuildStore(b->lane->e->b, number(b, b->rounds), b->limit);
}

/* ---- other addresses ---- */

/* The bound of a term; a new one goes on behind its comparison. */
static struct bound *bound_of(struct bounds *b, LLVMValueRef term)
{
	struct emit *e = b->lane->e;
	struct bound *x;
	LLVMValueRef off;

	for (uint32_t k = 0; k < b->count; k++)
		if (is_same(b->bound[k].term, term, DEPTH_MAX))
			return &b->bound[k];
	if (b->count == BOUNDS_MAX)
		return NULL;
	x = &b->bound[b->count++];
	*x = (struct bound){ .term = term, .low = slot_new(e, e->i64), .span = slot_new(e, e->i64) };
	off = LLVMBuildSub(e->b, term, LLVMBuildLoad2(e->b, e->i64, x->low, ""), "");
	lane_unless(b->lane, LLVMBuildICmp(e->b, LLVMIntULE, off, LLVMBuildLoad2(e->b, e->i64, x->span, ""), ""));
	return x;
}

/* Where the term may be for this memory too. Values are far from the ends of 64 bits, or no lane may run. */
static void narrow(struct bounds *b, struct bound *x, LLVMValueRef first, LLVMValueRef last)
{
	struct emit *e = b->lane->e;
	LLVMValueRef gap, end, zero = number(b, 0);

	if (!x->first) {
		x->first = first;
		x->from = zero;
		x->until = last;
	} else {
		gap = LLVMBuildSub(e->b, first, x->first, "");
		end = LLVMBuildAdd(e->b, gap, last, "");
		x->from = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntSGT, gap, x->from, ""), gap, x->from, "");
		x->until = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntSLT, end, x->until, ""), end, x->until, "");
	}
	require(b, LLVMBuildICmp(e->b, LLVMIntSGE, x->until, x->from, ""));
	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, x->first, x->from, ""), x->low);
	LLVMBuildStore(e->b, LLVMBuildSub(e->b, x->until, x->from, ""), x->span);
}

/* Where an address begins that the number is added to, of the place; known where a lane begins. */
static struct bound_range range_of(struct bounds *b, const struct lane_place *p, LLVMValueRef fixed)
{
	struct emit *e = b->lane->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	struct bound_range r = { .fixed = fixed, .least = p->least, .span = p->span, .bytes = p->bytes };

	for (uint32_t k = 0; k < b->ranges && !p->store; k++) { /* whether a store may write is asked of its own */
		const struct bound_range *x = &b->range[k];

		if (x->fixed == fixed && x->least == r.least && x->span == r.span && x->bytes == r.bytes)
			return *x;
	}
	lane_limits(b->lane, p, &r.begin, &r.last);
	LLVMPositionBuilderAtEnd(e->b, b->enter);
	r.first = LLVMBuildSub(e->b, r.begin, LLVMBuildAdd(e->b, fixed, number(b, p->least), ""), "");
	LLVMPositionBuilderAtEnd(e->b, here);
	if (b->ranges < BOUNDS_MAX && !p->store)
		b->range[b->ranges++] = r;
	return r;
}

bool bounds_check(struct bounds *b, struct lane_place *p)
{
	struct emit *e = b->lane->e;
	LLVMBasicBlockRef here;
	LLVMValueRef term = p->address, fixed = number(b, 0);
	struct bound_range r;
	struct bound *x;
	uint32_t zeros;
	bool even;

	if (check_linear(b, p, &even))
		return even;
	for (unsigned k = 0; is_op(p->address, LLVMAdd) && k < 2; k++)
		if (is_fixed(b, LLVMGetOperand(p->address, k))) {
			fixed = LLVMGetOperand(p->address, k);
			term = LLVMGetOperand(p->address, 1 - k);
			break;
		}
	r = range_of(b, p, fixed);
	if (!(x = bound_of(b, term))) {
		lane_unless(b->lane,
			    LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, p->at, r.begin, ""), r.last, ""));
		return false;
	}
	p->bound = is_shared(b, fixed) ? x : NULL;
	here = LLVMGetInsertBlock(e->b);
	LLVMPositionBuilderAtEnd(e->b, b->enter);
	fixed = LLVMBuildAdd(e->b, fixed, number(b, p->least), "");
	zeros = low_zeros(term, DEPTH_MAX);
	even = term != p->address && (zeros > 4 || 1u << zeros >= p->bytes);
	if (even)
		require_even(b, fixed, p->bytes);
	narrow(b, x, r.first, r.last);
	LLVMPositionBuilderAtEnd(e->b, here);
	return even;
}
