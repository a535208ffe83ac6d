/*
 * approx.c: see approx.h. Each function computes what its namesake of softdev/ptx/vmath.h does, in the same order and
 * without fused operations: results are the same bits.
 */
#include "compile/approx.h"

#define ROUNDER 0x1.8p52

struct approx {
	struct emit *e;
	LLVMTypeRef f32, f64, i64; /* of the form of the source */
};

static LLVMValueRef real(LLVMTypeRef t, double x)
{
	LLVMValueRef each[LANES];
	uint32_t count;

	if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
		return LLVMConstReal(t, x);
	count = LLVMGetVectorSize(t);
	for (uint32_t i = 0; i < count; i++)
		each[i] = LLVMConstReal(LLVMGetElementType(t), x);
	return LLVMConstVector(each, count);
}

static LLVMValueRef add(struct approx *a, LLVMValueRef x, double y)
{
	return LLVMBuildFAdd(a->e->b, x, real(LLVMTypeOf(x), y), "");
}

static LLVMValueRef multiply(struct approx *a, LLVMValueRef x, LLVMValueRef y)
{
	return LLVMBuildFMul(a->e->b, x, y, "");
}

/* p[0] * x^(count - 1) + ... + p[count - 1] */
static LLVMValueRef polynomial(struct approx *a, LLVMValueRef x, const double *p, uint32_t count)
{
	LLVMValueRef v = real(a->f64, p[0]);

	for (uint32_t k = 1; k < count; k++)
		v = add(a, multiply(a, v, x), p[k]);
	return v;
}

static LLVMValueRef select_if(struct approx *a, LLVMRealPredicate how, LLVMValueRef x, double y, LLVMValueRef yes,
			      LLVMValueRef no)
{
	LLVMBuilderRef b = a->e->b;

	return LLVMBuildSelect(b, LLVMBuildFCmp(b, how, x, real(LLVMTypeOf(x), y), ""), yes, no, "");
}

static LLVMValueRef no_number(struct approx *a, LLVMValueRef x, LLVMValueRef other)
{
	LLVMBuilderRef b = a->e->b;

	return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, x, x, ""), x, other, "");
}

static LLVMValueRef bits_of(struct approx *a, LLVMValueRef x)
{
	return LLVMBuildBitCast(a->e->b, x, a->i64, "");
}

static LLVMValueRef f64_of(struct approx *a, LLVMValueRef bits)
{
	return LLVMBuildBitCast(a->e->b, bits, a->f64, "");
}

static LLVMValueRef wide(struct approx *a, LLVMValueRef x)
{
	return LLVMBuildFPExt(a->e->b, x, a->f64, "");
}

static LLVMValueRef short_of(struct approx *a, LLVMValueRef x)
{
	return LLVMBuildFPTrunc(a->e->b, x, a->f32, "");
}

/* ex2_f64_of() */
static LLVMValueRef ex2_wide(struct approx *a, LLVMValueRef x)
{
	static const double even[] = { 0x1.62c0223a5c824p-20, 0x1.430912f86c787p-13, 0x1.3b2ab6fba4e77p-7,
				       0x1.ebfbdff82c58fp-3, 1.0 };
	static const double odd[] = { 0x1.b5253d395e7c4p-24, 0x1.ffcbfc588b0c7p-17, 0x1.5d87fe78a6731p-10,
				      0x1.c6b08d704a0c0p-5, 0x1.62e42fefa39efp-1 };
	LLVMBuilderRef b = a->e->b;
	LLVMValueRef shifted = add(a, x, ROUNDER), r, q, v, power;

	r = LLVMBuildFSub(b, x, LLVMBuildFSub(b, shifted, real(a->f64, ROUNDER), ""), "");
	q = multiply(a, r, r);
	power = LLVMBuildAdd(b, bits_of(a, shifted), value_number(a->i64, 1023), "");
	power = f64_of(a, LLVMBuildShl(b, power, value_number(a->i64, 52), ""));
	v = multiply(a, polynomial(a, q, odd, sizeof(odd) / sizeof(odd[0])), r);
	return multiply(a, LLVMBuildFAdd(b, v, polynomial(a, q, even, sizeof(even) / sizeof(even[0])), ""), power);
}

/* ex2_of() */
static LLVMValueRef ex2(struct approx *a, LLVMValueRef x)
{
	LLVMValueRef near = select_if(a, LLVMRealOGT, x, -160, x, real(a->f32, -160));

	near = select_if(a, LLVMRealOLT, near, 130, near, real(a->f32, 130));
	return no_number(a, x, short_of(a, ex2_wide(a, wide(a, near))));
}

/* lg2_of() */
static LLVMValueRef lg2(struct approx *a, LLVMValueRef x)
{
	static const double p[] = { 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0 };
	LLVMBuilderRef b = a->e->b;
	LLVMValueRef bits = bits_of(a, wide(a, x)), t, e, m, s, r, up = value_number(a->i64, 0x4000000000000000ull);

	t = LLVMBuildSub(b, bits, value_number(a->i64, 0x3fe6a09e667f3bcdull), "");
	t = LLVMBuildAdd(b, t, up, "");
	e = LLVMBuildLShr(b, t, value_number(a->i64, 52), "");
	e = f64_of(a, LLVMBuildOr(b, e, value_number(a->i64, 0x4330000000000000ull), ""));
	e = LLVMBuildFSub(b, e, real(a->f64, 0x1p52 + 1024), "");
	m = LLVMBuildSub(b, bits, LLVMBuildAnd(b, t, value_number(a->i64, 0xfff0000000000000ull), ""), "");
	m = f64_of(a, LLVMBuildAdd(b, m, up, ""));
	s = LLVMBuildFDiv(b, LLVMBuildFSub(b, m, real(a->f64, 1), ""), add(a, m, 1), "");
	r = polynomial(a, multiply(a, s, s), p, sizeof(p) / sizeof(p[0]));
	r = multiply(a, multiply(a, r, s), real(a->f64, 0x1.71547652b82fep0));
	r = short_of(a, LLVMBuildFAdd(b, r, e, ""));
	r = select_if(a, LLVMRealOGT, x, 0x1.fffffep127, x, r);
	r = select_if(a, LLVMRealOEQ, x, 0, real(a->f32, -__builtin_inf()), r);
	return select_if(a, LLVMRealOGE, x, 0, r, real(a->f32, __builtin_nan("")));
}

/* tanh_of() */
static LLVMValueRef tanh_approx(struct approx *a, LLVMValueRef x)
{
	static const double p[] = { 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1.0 };
	LLVMBuilderRef b = a->e->b;
	LLVMValueRef d = wide(a, x), size, near, e, large, small, sign[2];

	size = value_intrinsic(a->e, "llvm.fabs", a->f64, &d, 1);
	near = select_if(a, LLVMRealOLT, size, 20, size, real(a->f64, 20));
	e = ex2_wide(a, multiply(a, near, real(a->f64, 0x1.71547652b82fep1)));
	sign[0] = LLVMBuildFDiv(b, LLVMBuildFSub(b, e, real(a->f64, 1), ""), add(a, e, 1), "");
	sign[1] = d;
	large = value_intrinsic(a->e, "llvm.copysign", a->f64, sign, 2);
	small = multiply(a, polynomial(a, multiply(a, d, d), p, sizeof(p) / sizeof(p[0])), d);
	return no_number(a, x, short_of(a, select_if(a, LLVMRealOLT, size, 0.125, small, large)));
}

LLVMValueRef approx(struct emit *e, enum code code, LLVMValueRef x)
{
	const uint32_t count = value_is_lanes(x) ? LLVMGetVectorSize(LLVMTypeOf(x)) : 0;
	struct approx a = { e, LLVMTypeOf(x), e->f64, e->i64 };

	if (count) {
		a.f64 = LLVMVectorType(e->f64, count);
		a.i64 = LLVMVectorType(e->i64, count);
	}
	return code == CODE_EX2 ? ex2(&a, x) : code == CODE_LG2 ? lg2(&a, x) : tanh_approx(&a, x);
}
