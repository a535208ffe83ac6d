/*
 * arith.c: the inline rows (plan.c) in LLVM's operations, which are the same for a scalar and for all lanes. What each
 * computes stands in softdev/ptx/rows_int.h, rows_float.h and rows_cvt.h.
 */
#include "compile/approx.h"
#include "compile/value.h"

#include <string.h>

struct arith {
	struct emit *e;
	LLVMBuilderRef b;
	LLVMTypeRef narrow, wide; /* of the sources' form: 32 and 64 bits */
	LLVMTypeRef real;	  /* of the operation's floats */
};

static LLVMValueRef number(LLVMValueRef like, uint64_t n)
{
	return value_number(LLVMTypeOf(like), n);
}

/* A type of as many elements as `like` has. */
static LLVMTypeRef formed(LLVMValueRef like, LLVMTypeRef t)
{
	return value_is_lanes(like) ? LLVMVectorType(t, LLVMGetVectorSize(LLVMTypeOf(like))) : t;
}

static uint32_t bits_of_int(LLVMValueRef v)
{
	LLVMTypeRef t = LLVMTypeOf(v);

	return LLVMGetIntTypeWidth(value_is_lanes(v) ? LLVMGetElementType(t) : t);
}

static LLVMValueRef predicate(struct arith *a, LLVMValueRef condition)
{
	return LLVMBuildSExt(a->b, condition, a->narrow, "");
}

static LLVMValueRef compare(struct arith *a, LLVMIntPredicate how, LLVMValueRef *x)
{
	return predicate(a, LLVMBuildICmp(a->b, how, x[1], x[2], ""));
}

static LLVMValueRef pick(struct arith *a, LLVMIntPredicate how, LLVMValueRef *x)
{
	return LLVMBuildSelect(a->b, LLVMBuildICmp(a->b, how, x[1], x[2], ""), x[1], x[2], "");
}

/* Counts of all bits and more shift everything out; of the arithmetic shift the sign stays. */
static LLVMValueRef shift(struct arith *a, enum code code, LLVMValueRef v, LLVMValueRef by)
{
	const uint32_t bits = bits_of_int(v);
	LLVMValueRef most = LLVMBuildICmp(a->b, LLVMIntUGT, by, number(by, bits - 1), "");
	LLVMValueRef n, r;

	if (code == CODE_SHR_S)
		by = LLVMBuildSelect(a->b, most, number(by, bits - 1), by, "");
	else
		by = LLVMBuildAnd(a->b, by, number(by, bits - 1), "");
	n = bits == 64 ? LLVMBuildZExt(a->b, by, LLVMTypeOf(v), "") : by;
	if (code == CODE_SHR_S)
		return LLVMBuildAShr(a->b, v, n, "");
	r = code == CODE_SHL ? LLVMBuildShl(a->b, v, n, "") : LLVMBuildLShr(a->b, v, n, "");
	return LLVMBuildSelect(a->b, most, number(v, 0), r, "");
}

static LLVMValueRef widen(struct arith *a, LLVMValueRef v, bool is_signed)
{
	return is_signed ? LLVMBuildSExt(a->b, v, a->wide, "") : LLVMBuildZExt(a->b, v, a->wide, "");
}

static LLVMValueRef multiply_wide(struct arith *a, LLVMValueRef *x, bool is_signed)
{
	return LLVMBuildMul(a->b, widen(a, x[1], is_signed), widen(a, x[2], is_signed), "");
}

static LLVMValueRef multiply_high(struct arith *a, LLVMValueRef *x, bool is_signed)
{
	LLVMValueRef p = multiply_wide(a, x, is_signed);

	return LLVMBuildTrunc(a->b, LLVMBuildLShr(a->b, p, number(p, 32), ""), a->narrow, "");
}

static LLVMValueRef narrow(struct arith *a, LLVMValueRef v, uint32_t bits, bool is_signed)
{
	if (!is_signed)
		return LLVMBuildAnd(a->b, v, number(v, (1ull << bits) - 1), "");
	return LLVMBuildAShr(a->b, LLVMBuildShl(a->b, v, number(v, 32 - bits), ""), number(v, 32 - bits), "");
}

/* prmt_of() of softdev/ptx/int.h: each byte of the result is one of eight, or eight times its highest bit. */
static LLVMValueRef permute(struct arith *a, LLVMValueRef *x, uint32_t select)
{
	LLVMBuilderRef b = a->e->b;
	LLVMTypeRef t = LLVMTypeOf(x[1]);
	const uint32_t count = (value_is_lanes(x[1]) ? LLVMGetVectorSize(t) : 1) * 4;
	LLVMTypeRef bytes = LLVMVectorType(a->e->i8, count);
	LLVMValueRef from[LANES * 4], sign[LANES * 4], seven[LANES * 4], v, signs;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t s = select >> i % 4 * 4;

		from[i] = LLVMConstInt(a->e->i32, (s & 4 ? count : 0) + i / 4 * 4 + (s & 3), false);
		sign[i] = LLVMConstInt(a->e->i32, (s & 8 ? count : 0) + i, false);
		seven[i] = LLVMConstInt(a->e->i8, 7, false);
	}
	v = LLVMBuildShuffleVector(b, LLVMBuildBitCast(b, x[1], bytes, ""), LLVMBuildBitCast(b, x[2], bytes, ""),
				   LLVMConstVector(from, count), "");
	signs = LLVMBuildAShr(b, v, LLVMConstVector(seven, count), "");
	v = LLVMBuildShuffleVector(b, v, signs, LLVMConstVector(sign, count), "");
	return LLVMBuildBitCast(b, v, t, "");
}

/* Any function of three bits, as its table says. */
static LLVMValueRef logic(struct arith *a, LLVMValueRef *x, uint32_t table)
{
	LLVMValueRef r = number(x[1], 0), term, bit;

	for (uint32_t i = 0; i < 8; i++) {
		if (!(table >> i & 1))
			continue;
		term = number(x[1], ~0ull);
		for (uint32_t k = 1; k <= 3; k++) {
			bit = i >> (3 - k) & 1 ? x[k] : LLVMBuildNot(a->b, x[k], "");
			term = LLVMBuildAnd(a->b, term, bit, "");
		}
		r = LLVMBuildOr(a->b, r, term, "");
	}
	return r;
}

static LLVMValueRef byte_of(struct arith *a, LLVMValueRef v, uint32_t k, bool is_signed)
{
	v = LLVMBuildShl(a->b, v, number(v, 24 - 8 * k), "");
	return is_signed ? LLVMBuildAShr(a->b, v, number(v, 24), "") : LLVMBuildLShr(a->b, v, number(v, 24), "");
}

/* dp4a_of() of softdev/ptx/int.h, and the sum. */
/* The host multiplies bytes without a sign by bytes with one. Which of the two small bytes are taken for is free. */
static void mix_signs(const struct emit *e, const struct compile_op *o, bool *first, bool *second)
{
	if (*first != *second)
		return;
	if (operand_state(e->flow, &o->operand[1], e->s).small)
		*first = !*first;
	else if (operand_state(e->flow, &o->operand[2], e->s).small)
		*second = !*second;
}

static LLVMValueRef dot(struct arith *a, const struct compile_op *o, enum code code, LLVMValueRef *x)
{
	bool first = code == CODE_DOT_SU || code == CODE_DOT_SS;
	bool second = code == CODE_DOT_US || code == CODE_DOT_SS;
	LLVMValueRef sum = x[3], p;

	mix_signs(a->e, o, &first, &second);
	if (value_is_lanes(x[1]))
		return dot_lanes(a->e, x[1], first, x[2], second, x[3]);
	for (uint32_t k = 0; k < 4; k++) {
		p = LLVMBuildMul(a->b, byte_of(a, x[1], k, first), byte_of(a, x[2], k, second), "");
		sum = LLVMBuildAdd(a->b, sum, p, "");
	}
	return sum;
}

/* By way of f64, as div_u32_of() and div_s32_of() of softdev/ptx/int.h; the rest of a division by zero is all. */
static LLVMValueRef divide(struct arith *a, LLVMValueRef *x, bool is_signed, bool remainder)
{
	LLVMBuilderRef b = a->b;
	LLVMTypeRef real = formed(x[1], a->e->f64);
	LLVMValueRef one = number(x[1], 1), all = number(x[1], ~0ull), by = x[2], p, q;
	LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, x[2], number(x[2], 0), "");
	LLVMValueRef minus = LLVMBuildICmp(b, LLVMIntEQ, x[2], all, "");

	by = LLVMBuildSelect(b, none, one, by, "");
	by = is_signed ? LLVMBuildSelect(b, minus, one, by, "") : by;
	p = is_signed ? LLVMBuildSIToFP(b, x[1], real, "") : LLVMBuildUIToFP(b, x[1], real, "");
	q = is_signed ? LLVMBuildSIToFP(b, by, real, "") : LLVMBuildUIToFP(b, by, real, "");
	q = LLVMBuildFDiv(b, p, q, "");
	q = is_signed ? LLVMBuildFPToSI(b, q, a->narrow, "") : LLVMBuildFPToUI(b, q, a->narrow, "");
	q = is_signed ? LLVMBuildSelect(b, minus, LLVMBuildNeg(b, x[1], ""), q, "") : q;
	if (!remainder)
		return LLVMBuildSelect(b, none, all, q, "");
	q = LLVMBuildSub(b, x[1], LLVMBuildMul(b, q, x[2], ""), "");
	return LLVMBuildSelect(b, none, x[1], q, "");
}

static LLVMValueRef funnel(struct arith *a, LLVMValueRef *x, const char *name)
{
	LLVMValueRef args[3] = { x[2], x[1], x[3] };

	return value_intrinsic(a->e, name, LLVMTypeOf(x[1]), args, 3);
}

static LLVMValueRef integer(struct arith *a, const struct compile_op *o, const struct inline_row *row, LLVMValueRef *x)
{
	LLVMBuilderRef b = a->b;

	switch ((enum code)row->code) {
	case CODE_ADD:
		return LLVMBuildAdd(b, x[1], x[2], "");
	case CODE_SUB:
		return LLVMBuildSub(b, x[1], x[2], "");
	case CODE_MUL:
		return LLVMBuildMul(b, x[1], x[2], "");
	case CODE_MAD:
		return LLVMBuildAdd(b, LLVMBuildMul(b, x[1], x[2], ""), x[3], "");
	case CODE_MUL_WIDE_S:
		return multiply_wide(a, x, true);
	case CODE_MUL_WIDE_U:
		return multiply_wide(a, x, false);
	case CODE_MAD_WIDE_S:
		return LLVMBuildAdd(b, multiply_wide(a, x, true), x[3], "");
	case CODE_MAD_WIDE_U:
		return LLVMBuildAdd(b, multiply_wide(a, x, false), x[3], "");
	case CODE_ADD_WIDE_S:
		return LLVMBuildAdd(b, widen(a, x[1], true), x[2], "");
	case CODE_ADD_WIDE_U:
		return LLVMBuildAdd(b, widen(a, x[1], false), x[2], "");
	case CODE_SHL_ADD:
		return LLVMBuildAdd(b, shift(a, CODE_SHL, x[1], x[2]), x[3], "");
	case CODE_MUL_HI_S:
		return multiply_high(a, x, true);
	case CODE_MUL_HI_U:
		return multiply_high(a, x, false);
	case CODE_AND:
		return LLVMBuildAnd(b, x[1], x[2], "");
	case CODE_OR:
		return LLVMBuildOr(b, x[1], x[2], "");
	case CODE_XOR:
		return LLVMBuildXor(b, x[1], x[2], "");
	case CODE_NOT:
		return LLVMBuildNot(b, x[1], "");
	case CODE_SHL:
	case CODE_SHR_U:
	case CODE_SHR_S:
		return shift(a, (enum code)row->code, x[1], x[2]);
	case CODE_NEG:
		return LLVMBuildNeg(b, x[1], "");
	case CODE_MIN_S:
		return pick(a, LLVMIntSLT, x);
	case CODE_MAX_S:
		return pick(a, LLVMIntSGT, x);
	case CODE_MIN_U:
		return pick(a, LLVMIntULT, x);
	case CODE_MAX_U:
		return pick(a, LLVMIntUGT, x);
	case CODE_COPY:
		return x[1];
	case CODE_LOW:
		return LLVMBuildTrunc(b, x[1], a->narrow, "");
	case CODE_WIDEN_S:
		return widen(a, x[1], true);
	case CODE_WIDEN_U:
		return widen(a, x[1], false);
	case CODE_SELECT:
		return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntNE, x[3], number(x[3], 0), ""), x[1], x[2], "");
	case CODE_PACK:
		return LLVMBuildOr(b, widen(a, x[1], false),
				   LLVMBuildShl(b, widen(a, x[2], false), value_number(a->wide, 32), ""), "");
	case CODE_UNPACK:
		return LLVMBuildTrunc(b, LLVMBuildLShr(b, x[1], number(x[1], o->imm & 63), ""), a->narrow, "");
	case CODE_UNPACK_32:
		return LLVMBuildLShr(b, x[1], number(x[1], o->imm & 31), "");
	case CODE_PACK_16:
		return LLVMBuildOr(b, LLVMBuildAnd(b, x[1], number(x[1], 0xffff), ""),
				   LLVMBuildShl(b, x[2], number(x[2], 16), ""), "");
	case CODE_DOT_UU:
	case CODE_DOT_US:
	case CODE_DOT_SU:
	case CODE_DOT_SS:
		return dot(a, o, (enum code)row->code, x);
	case CODE_DIV_U:
	case CODE_DIV_S:
		return divide(a, x, row->code == CODE_DIV_S, false);
	case CODE_REM_U:
	case CODE_REM_S:
		return divide(a, x, row->code == CODE_REM_S, true);
	case CODE_NARROW_U:
		return narrow(a, x[1], row->bits, false);
	case CODE_NARROW_S:
		return narrow(a, x[1], row->bits, true);
	case CODE_FUNNEL_L:
		return funnel(a, x, "llvm.fshl");
	case CODE_FUNNEL_R:
		return funnel(a, x, "llvm.fshr");
	case CODE_LOGIC:
		return logic(a, x, (uint32_t)o->operand[4].value);
	case CODE_PERMUTE:
		return permute(a, x, (uint32_t)o->operand[3].value);
	case CODE_COUNT_BITS:
		return value_intrinsic(a->e, "llvm.ctpop", LLVMTypeOf(x[1]), &x[1], 1);
	case CODE_EQ:
		return compare(a, LLVMIntEQ, x);
	case CODE_NE:
		return compare(a, LLVMIntNE, x);
	case CODE_LT_S:
		return compare(a, LLVMIntSLT, x);
	case CODE_LE_S:
		return compare(a, LLVMIntSLE, x);
	case CODE_GT_S:
		return compare(a, LLVMIntSGT, x);
	case CODE_GE_S:
		return compare(a, LLVMIntSGE, x);
	case CODE_LT_U:
		return compare(a, LLVMIntULT, x);
	case CODE_LE_U:
		return compare(a, LLVMIntULE, x);
	case CODE_GT_U:
		return compare(a, LLVMIntUGT, x);
	case CODE_GE_U:
		return compare(a, LLVMIntUGE, x);
	case CODE_SHARED_GENERIC: {
		LLVMValueRef base = LLVMBuildPtrToInt(b, a->e->shared, a->e->i64, "");

		return LLVMBuildAdd(b, x[1], value_is_lanes(x[1]) ? value_spread(a->e, base) : base, "");
	}
	default:
		return NULL;
	}
}

/* Which sources of a row of 16 bits have 16 bits. */
static bool is_short(const struct inline_row *row, uint32_t operand)
{
	switch ((enum code)row->code) {
	case CODE_SHL:
	case CODE_SHR_U:
	case CODE_SHR_S:
		return operand == 1;
	case CODE_SELECT:
		return operand < 3;
	default:
		return true;
	}
}

/* A subnormal is a zero of its sign. */
static LLVMValueRef flush(struct arith *a, LLVMValueRef bits)
{
	LLVMValueRef exponent = LLVMBuildAnd(a->b, bits, number(bits, 0x7f800000u), "");
	LLVMValueRef zero = LLVMBuildAnd(a->b, bits, number(bits, 0x80000000u), "");

	return LLVMBuildSelect(a->b, LLVMBuildICmp(a->b, LLVMIntNE, exponent, number(bits, 0), ""), bits, zero, "");
}

static LLVMValueRef as_real(struct arith *a, LLVMValueRef bits)
{
	return LLVMBuildBitCast(a->b, bits, a->real, "");
}

/* min and max drop NaN, and -0 is below +0. */
static LLVMValueRef extreme(struct arith *a, LLVMValueRef *x, bool min)
{
	LLVMBuilderRef b = a->b;
	LLVMValueRef p = as_real(a, x[1]), q = as_real(a, x[2]), r, both;

	r = LLVMBuildSelect(b, LLVMBuildFCmp(b, min ? LLVMRealOLT : LLVMRealOGT, p, q, ""), x[1], x[2], "");
	both = min ? LLVMBuildOr(b, x[1], x[2], "") : LLVMBuildAnd(b, x[1], x[2], "");
	r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOEQ, p, q, ""), both, r, "");
	r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, q, q, ""), x[1], r, "");
	return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, p, p, ""), x[2], r, "");
}

static LLVMValueRef real_number(struct arith *a, double x)
{
	LLVMTypeRef t = LLVMGetTypeKind(a->real) == LLVMVectorTypeKind ? LLVMGetElementType(a->real) : a->real;
	LLVMValueRef each[LANES], v = LLVMConstReal(t, x);
	uint32_t count;

	if (t == a->real)
		return v;
	count = LLVMGetVectorSize(a->real);
	for (uint32_t i = 0; i < count; i++)
		each[i] = v;
	return LLVMConstVector(each, count);
}

static LLVMRealPredicate real_predicate(enum code code)
{
	switch (code) {
	case CODE_FEQ:
		return LLVMRealOEQ;
	case CODE_FNE:
		return LLVMRealONE;
	case CODE_FLT:
		return LLVMRealOLT;
	case CODE_FLE:
		return LLVMRealOLE;
	case CODE_FGT:
		return LLVMRealOGT;
	case CODE_FGE:
		return LLVMRealOGE;
	case CODE_FEQU:
		return LLVMRealUEQ;
	case CODE_FNEU:
		return LLVMRealUNE;
	case CODE_FLTU:
		return LLVMRealULT;
	case CODE_FLEU:
		return LLVMRealULE;
	case CODE_FGTU:
		return LLVMRealUGT;
	default:
		return LLVMRealUGE;
	}
}

/* to_s32_f32() of softdev/ptx/cvt.h; nothing is converted that does not fit. */
static LLVMValueRef int_of_f32(struct arith *a, LLVMValueRef v)
{
	LLVMBuilderRef b = a->b;
	LLVMValueRef least = real_number(a, -0x1p31), most = real_number(a, 0x1p31 - 128), in, r;

	in = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, v, least, ""), v, least, "");
	in = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, in, most, ""), in, most, "");
	r = LLVMBuildFPToSI(b, in, a->narrow, "");
	r = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGE, v, real_number(a, 0x1p31), ""), number(r, INT32_MAX), r,
			    "");
	return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, v, v, ""), number(r, 0), r, "");
}

/* to_s64_f64() */
static LLVMValueRef long_of_f64(struct arith *a, LLVMValueRef v)
{
	LLVMBuilderRef b = a->b;
	LLVMValueRef below = LLVMBuildFCmp(b, LLVMRealOLT, v, real_number(a, 0x1p63), "");
	LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGT, v, real_number(a, -0x1p63), ""), r;

	r = LLVMBuildFPToSI(b, LLVMBuildSelect(b, LLVMBuildAnd(b, below, above, ""), v, real_number(a, 0), ""), a->wide,
			    "");
	r = LLVMBuildSelect(b, below, r, number(r, INT64_MAX), "");
	return LLVMBuildSelect(b, above, r, number(r, 1ull << 63), ""); /* not a number too */
}

/* Between f32 and f64. */
static LLVMValueRef float_of_float(struct arith *a, const struct compile_op *o, LLVMValueRef bits)
{
	LLVMTypeRef f32 = formed(bits, a->e->f32), f64 = formed(bits, a->e->f64);

	if (o->operand[1].lane == 4)
		return LLVMBuildFPExt(a->b, LLVMBuildBitCast(a->b, bits, f32, ""), f64, "");
	return LLVMBuildFPTrunc(a->b, LLVMBuildBitCast(a->b, bits, f64, ""), f32, "");
}

#define HALVES 16u /* that one instruction widens */

/*
 * f16 as i16 of all lanes, by the host's own instruction, LLVM's number `id`. As a conversion LLVM would let the type
 * of f16 go on behind it where the result is compared, and it takes vectors of that type apart.
 */
static LLVMValueRef widen_halves(struct arith *a, unsigned id, LLVMValueRef v)
{
	LLVMTypeRef t = LLVMIntrinsicGetType(a->e->context, id, NULL, 0);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(a->e->module, id, NULL, 0), index[HALVES], part[2], args[4];
	const uint32_t parts = LLVMGetVectorSize(LLVMTypeOf(v)) / HALVES;

	args[1] = LLVMGetUndef(LLVMVectorType(a->e->f32, HALVES));
	args[2] = LLVMConstInt(LLVMInt16TypeInContext(a->e->context), 0xffff, false);
	args[3] = LLVMConstInt(a->e->i32, 4, false); /* flags as they are set */
	for (uint32_t k = 0; k < parts; k++) {
		for (uint32_t i = 0; i < HALVES; i++)
			index[i] = LLVMConstInt(a->e->i32, k * HALVES + i, false);
		args[0] = LLVMBuildShuffleVector(a->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(index, HALVES),
						 "");
		part[k] = LLVMBuildCall2(a->b, t, f, args, 4, "");
	}
	return value_join(a->e, part, parts, HALVES);
}

/* f32 of the f16 in the lower half. */
static LLVMValueRef float_of_half(struct arith *a, LLVMValueRef bits)
{
	static const char name[] = "llvm.x86.avx512.mask.vcvtph2ps.512";
	LLVMTypeRef half = formed(bits, LLVMHalfTypeInContext(a->e->context));
	LLVMTypeRef narrow16 = formed(bits, LLVMInt16TypeInContext(a->e->context));
	const unsigned id = LLVMLookupIntrinsicID(name, sizeof(name) - 1);

	bits = LLVMBuildTrunc(a->b, bits, narrow16, "");
	if (id && value_is_lanes(bits) && LLVMGetVectorSize(narrow16) >= HALVES &&
	    !strcmp(a->e->flow->request->isa, "avx512"))
		return widen_halves(a, id, bits);
	bits = LLVMBuildBitCast(a->b, bits, half, "");
	return LLVMBuildFPExt(a->b, bits, formed(bits, a->e->f32), "");
}

/* f2h() of softdev/ptx/fp.h: to nearest even, in the lower half. */
static LLVMValueRef half_of_float(struct arith *a, LLVMValueRef bits)
{
	LLVMBuilderRef b = a->b;
	LLVMValueRef sign = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, number(bits, 16), ""), number(bits, 0x8000), "");
	LLVMValueRef x = LLVMBuildAnd(b, bits, number(bits, 0x7fffffff), ""), small, r, big, nan;

	small = LLVMBuildFAdd(b, as_real(a, x), real_number(a, 0.5), "");
	small = LLVMBuildSub(b, LLVMBuildBitCast(b, small, a->narrow, ""), number(bits, 0x3f000000), "");
	r = LLVMBuildAnd(b, LLVMBuildLShr(b, x, number(bits, 13), ""), number(bits, 1), "");
	r = LLVMBuildAdd(b, LLVMBuildAdd(b, x, r, ""), number(bits, 0xfffu - 0x38000000u), "");
	r = LLVMBuildLShr(b, r, number(bits, 13), "");
	r = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, x, number(bits, 0x38800000), ""), small, r, "");
	big = LLVMBuildICmp(b, LLVMIntUGE, x, number(bits, 0x477ff000), "");
	nan = LLVMBuildICmp(b, LLVMIntUGT, x, number(bits, 0x7f800000), "");
	r = LLVMBuildSelect(b, big, number(bits, 0x7c00), r, "");
	return LLVMBuildSelect(b, nan, number(bits, 0x7fff), LLVMBuildOr(b, r, sign, ""), "");
}

static const char *rounding(enum code code)
{
	return code == CODE_ROUND_EVEN	 ? "llvm.rint"
	       : code == CODE_ROUND_ZERO ? "llvm.trunc"
	       : code == CODE_ROUND_DOWN ? "llvm.floor"
					 : "llvm.ceil";
}

static LLVMValueRef floating(struct arith *a, enum code code, LLVMValueRef *x)
{
	LLVMBuilderRef b = a->b;
	LLVMValueRef args[3] = { as_real(a, x[1]), x[2] ? as_real(a, x[2]) : NULL, x[3] ? as_real(a, x[3]) : NULL };

	switch (code) {
	case CODE_FADD:
		return LLVMBuildFAdd(b, args[0], args[1], "");
	case CODE_FSUB:
		return LLVMBuildFSub(b, args[0], args[1], "");
	case CODE_FMUL:
		return LLVMBuildFMul(b, args[0], args[1], "");
	case CODE_FMA:
		return value_intrinsic(a->e, "llvm.fma", a->real, args, 3);
	case CODE_FDIV:
		return LLVMBuildFDiv(b, args[0], args[1], "");
	case CODE_FRCP:
		return LLVMBuildFDiv(b, real_number(a, 1), args[0], "");
	case CODE_FSQRT:
		return value_intrinsic(a->e, "llvm.sqrt", a->real, args, 1);
	case CODE_ROUND_EVEN:
	case CODE_ROUND_ZERO:
	case CODE_ROUND_DOWN:
	case CODE_ROUND_UP:
		return value_intrinsic(a->e, rounding(code), a->real, args, 1);
	case CODE_EX2:
	case CODE_LG2:
	case CODE_TANH:
		return approx(a->e, code, args[0]);
	case CODE_INT_OF_F32:
		return int_of_f32(a, args[0]);
	case CODE_LONG_OF_F64:
		return long_of_f64(a, args[0]);
	default:
		return predicate(a, LLVMBuildFCmp(b, real_predicate(code), args[0], args[1], ""));
	}
}

/* Two f32 side by side: a vector of twice as many. */
static LLVMValueRef pairs(struct arith *a, enum code code, LLVMValueRef *x)
{
	LLVMTypeRef t = LLVMTypeOf(x[1]);
	LLVMValueRef in[4] = { NULL }, r;

	a->real = LLVMVectorType(a->e->f32, value_is_lanes(x[1]) ? 2 * LLVMGetVectorSize(t) : 2);
	for (uint32_t k = 1; k < 4; k++)
		in[k] = x[k] ? LLVMBuildBitCast(a->b, x[k], a->real, "") : NULL;
	r = code == CODE_FADD_PAIR   ? LLVMBuildFAdd(a->b, in[1], in[2], "")
	    : code == CODE_FSUB_PAIR ? LLVMBuildFSub(a->b, in[1], in[2], "")
	    : code == CODE_FMUL_PAIR ? LLVMBuildFMul(a->b, in[1], in[2], "")
				     : value_intrinsic(a->e, "llvm.fma", a->real, in + 1, 3);
	return LLVMBuildBitCast(a->b, r, t, "");
}

/* x[4] + x[1] * x[2] * x[3], of which x[1] is an integer. */
static LLVMValueRef scale_add(struct arith *a, const struct compile_op *o, bool flushes, bool flushes_result,
			      LLVMValueRef *x)
{
	const bool flat = operand_state(a->e->flow, &o->operand[2], a->e->s).grain >= GRAIN_FLAT;
	LLVMValueRef r = LLVMBuildSIToFP(a->b, x[1], a->real, ""), args[3];

	for (uint32_t k = 2; k < 5; k++)
		if (flushes && !operand_state(a->e->flow, &o->operand[k], a->e->s).flat)
			x[k] = flush(a, x[k]);
	r = LLVMBuildBitCast(a->b, LLVMBuildFMul(a->b, r, as_real(a, x[2]), ""), a->narrow, "");
	args[0] = as_real(a, flushes && !flat ? flush(a, r) : r);
	args[1] = as_real(a, x[3]);
	args[2] = as_real(a, x[4]);
	r = LLVMBuildBitCast(a->b, value_intrinsic(a->e, "llvm.fma", a->real, args, 3), a->narrow, "");
	return flushes_result ? flush(a, r) : r;
}

LLVMValueRef arith(struct emit *e, const struct compile_op *o, const struct inline_row *row, LLVMValueRef *x)
{
	struct arith a = { e, e->b, formed(x[1], e->i32), formed(x[1], e->i64),
			   formed(x[1], row->flags & ROW_F64 ? e->f64 : e->f32) };
	LLVMTypeRef result = formed(x[1], type_int(e, o->operand[0].lane));
	const uint64_t sign = row->flags & ROW_F64 ? 1ull << 63 : 1ull << 31;
	const bool is_16 = row->flags & (ROW_U16 | ROW_S16);
	const bool flushes =
		row->flags & ROW_FTZ && row->flags & ROW_NAN && result_grain(e->flow, o, row, e->s) < GRAIN_FLAT;
	LLVMValueRef r;

	for (uint32_t k = 1; is_16 && k < COMPILE_OPERANDS; k++)
		if (x[k] && is_short(row, k))
			x[k] = narrow(&a, x[k], 16, row->flags & ROW_S16);
	if (is_16) {
		r = integer(&a, o, row, x);
		return row->flags & (ROW_WHOLE | ROW_S16) ? r : narrow(&a, r, 16, false);
	}
	if (row->code == CODE_SCALE_ADD)
		return scale_add(&a, o, row->flags & ROW_FTZ, flushes, x);
	for (uint32_t k = 1; row->flags & ROW_FTZ && k < COMPILE_OPERANDS; k++)
		if (x[k] && !operand_state(e->flow, &o->operand[k], e->s).flat)
			x[k] = flush(&a, x[k]);
	if (row->code == CODE_FLOAT_S || row->code == CODE_FLOAT_U) {
		a.real = formed(x[1], o->operand[0].lane == 8 ? e->f64 : e->f32);
		r = row->code == CODE_FLOAT_S ? LLVMBuildSIToFP(e->b, x[1], a.real, "")
					      : LLVMBuildUIToFP(e->b, x[1], a.real, "");
		return LLVMBuildBitCast(e->b, r, result, "");
	}
	if (row->code == CODE_FWIDEN || row->code == CODE_FSHORTEN)
		return LLVMBuildBitCast(e->b, float_of_float(&a, o, x[1]), result, "");
	if (row->code == CODE_HALF_WIDEN)
		return LLVMBuildBitCast(e->b, float_of_half(&a, x[1]), result, "");
	if (row->code == CODE_HALF_SHORTEN)
		return half_of_float(&a, x[1]);
	if (row->code == CODE_FNEG)
		return LLVMBuildXor(e->b, x[1], number(x[1], sign), "");
	if (row->code == CODE_FABS)
		return LLVMBuildAnd(e->b, x[1], number(x[1], sign - 1), "");
	if (row->code == CODE_FMIN || row->code == CODE_FMAX)
		return extreme(&a, x, row->code == CODE_FMIN);
	if (row->code >= CODE_FADD_PAIR && row->code <= CODE_FMA_PAIR)
		return pairs(&a, (enum code)row->code, x);
	if (!(row->flags & (ROW_F32 | ROW_F64)))
		return integer(&a, o, row, x);
	r = LLVMBuildBitCast(e->b, floating(&a, (enum code)row->code, x), result, "");
	return flushes ? flush(&a, r) : r;
}
