/* bounds.c: see bounds.h. */
#include "compile/bounds.h"
#include "compile/leave.h"

#define DEPTH_MAX 4u

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

/* Value: whether no round has to look at whether it is aligned. */
static bool check_steps(struct bounds *b, const struct lane_place *p, int64_t step, LLVMValueRef slot)
{
	struct emit *e = b->lane->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	const int64_t far = step * (int64_t)b->rounds;
	struct lane_place all = *p;
	LLVMValueRef begin, last, at;

	all.span += (uint64_t)(far < 0 ? -far : far);
	lane_limits(b->lane, &all, &begin, &last);
	LLVMPositionBuilderAtEnd(e->b, b->enter);
	at = LLVMBuildAdd(e->b, LLVMBuildLoad2(e->b, e->i64, slot, ""), number(b, p->least), "");
	require_even(b, at, step % p->bytes ? 1 : p->bytes);
	at = LLVMBuildAdd(e->b, at, number(b, far < 0 ? (uint64_t)far : 0), "");
	require(b, LLVMBuildICmp(e->b, LLVMIntULE, LLVMBuildSub(e->b, at, begin, ""), last, ""));
	LLVMPositionBuilderAtEnd(e->b, here);
	return step % p->bytes == 0;
}

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

bool bounds_check(struct bounds *b, struct lane_place *p, uint32_t reg)
{
	struct emit *e = b->lane->e;
	LLVMBasicBlockRef here;
	LLVMValueRef term = p->address, fixed = number(b, 0);
	struct bound_range r;
	struct bound *x;
	uint32_t zeros;
	bool even;

	if (b->step[reg])
		return check_steps(b, p, b->step[reg], b->lane->slot[reg]);
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
