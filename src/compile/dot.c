/*
 * dot.c: dot products of four bytes by the host's instructions, for all lanes: dp4a_of() of softdev/ptx/int.h, and the
 * sum.
 *
 * Where the processor has an instruction for it (vpdpbusd), it wants bytes without a sign beside bytes with one. Others
 * get another sign: a signed byte with its highest bit turned is the byte plus 128, and an unsigned one is, read as
 * signed, the byte less 128; 128 times the other bytes is put right. Elsewhere the bytes at even and at odd places are
 * widened to 16 bits each, whose products the host adds by twos (vpmaddwd).
 */
#include "compile/value.h"

#include <string.h>

#define TURN 0x80808080u      /* the highest bits of four bytes */
#define HALF_TURN 0x40404040u /* 64 each: 128 is no signed byte */

/* An instruction that computes `lanes` at once; `element`: bits of its sources. */
struct instruction {
	const char *name;
	uint32_t lanes, element;
	bool sums; /* it has the sum as its first source */
};

static const struct instruction busd = { "llvm.x86.avx512.vpdpbusd.512", 16, 32, true };
static const struct instruction wide_pairs = { "llvm.x86.avx512.pmaddw.d.512", 16, 16, false };
static const struct instruction pairs = { "llvm.x86.avx2.pmadd.wd", 8, 16, false };

/* Lanes from `from` on of a vector of 32 bits each, as the instruction reads them. */
static LLVMValueRef slice(struct emit *e, const struct instruction *in, LLVMValueRef v, uint32_t from, uint32_t element)
{
	LLVMTypeRef t = LLVMVectorType(LLVMIntTypeInContext(e->context, element), in->lanes * 32 / element);
	LLVMValueRef index[LANES];

	for (uint32_t i = 0; i < in->lanes; i++)
		index[i] = LLVMConstInt(e->i32, from + i, false);
	v = LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(index, in->lanes), "");
	return LLVMBuildBitCast(e->b, v, t, "");
}

/* sum + x * y, or x * y where the instruction has no sum. */
static LLVMValueRef run(struct emit *e, const struct instruction *in, LLVMValueRef sum, LLVMValueRef x, LLVMValueRef y)
{
	const unsigned id = LLVMLookupIntrinsicID(in->name, strlen(in->name));
	LLVMTypeRef t = LLVMIntrinsicGetType(e->context, id, NULL, 0);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0), part[4], args[3];
	uint32_t count = 0, n;

	for (uint32_t from = 0; from < LANES; from += in->lanes) {
		n = 0;
		if (in->sums)
			args[n++] = slice(e, in, sum, from, 32);
		args[n++] = slice(e, in, x, from, in->element);
		args[n++] = slice(e, in, y, from, in->element);
		part[count++] = LLVMBuildCall2(e->b, t, f, args, n, "");
	}
	return value_join(e, part, count, LANES / count);
}

static LLVMValueRef number(LLVMValueRef like, uint32_t n)
{
	return value_number(LLVMTypeOf(like), n);
}

static LLVMValueRef turned(struct emit *e, LLVMValueRef v)
{
	return LLVMBuildXor(e->b, v, number(v, TURN), "");
}

/* `x` and `y` may change places. */
static LLVMValueRef by_bytes(struct emit *e, LLVMValueRef x, bool x_signed, LLVMValueRef y, bool y_signed,
			     LLVMValueRef sum)
{
	if (x_signed && !y_signed)
		return by_bytes(e, y, false, x, true, sum);
	if (!x_signed && y_signed)
		return run(e, &busd, sum, x, y);
	if (x_signed) {
		LLVMValueRef more = run(e, &busd, number(y, 0), number(y, TURN), y);

		return LLVMBuildSub(e->b, run(e, &busd, sum, turned(e, x), y), more, "");
	}
	sum = run(e, &busd, sum, x, turned(e, y));
	sum = run(e, &busd, sum, x, number(x, HALF_TURN));
	return run(e, &busd, sum, x, number(x, HALF_TURN));
}

/* Bytes at even or at odd places, each in 16 bits. */
static LLVMValueRef spread(struct emit *e, LLVMValueRef v, bool odd, bool is_signed)
{
	LLVMTypeRef t = LLVMVectorType(LLVMInt16TypeInContext(e->context), 2 * LANES);
	LLVMValueRef each[2 * LANES], eight, short_v = LLVMBuildBitCast(e->b, v, t, "");

	for (uint32_t i = 0; i < 2 * LANES; i++)
		each[i] = LLVMConstInt(LLVMInt16TypeInContext(e->context), 8, false);
	eight = LLVMConstVector(each, 2 * LANES);
	if (!odd)
		short_v = LLVMBuildShl(e->b, short_v, eight, "");
	short_v = is_signed ? LLVMBuildAShr(e->b, short_v, eight, "") : LLVMBuildLShr(e->b, short_v, eight, "");
	return LLVMBuildBitCast(e->b, short_v, LLVMTypeOf(v), "");
}

static LLVMValueRef by_pairs(struct emit *e, LLVMValueRef x, bool x_signed, LLVMValueRef y, bool y_signed,
			     LLVMValueRef sum)
{
	const struct instruction *in = strcmp(e->flow->request->isa, "avx512") ? &pairs : &wide_pairs;

	for (uint32_t odd = 0; odd < 2; odd++)
		sum = LLVMBuildAdd(e->b, sum,
				   run(e, in, NULL, spread(e, x, odd, x_signed), spread(e, y, odd, y_signed)), "");
	return sum;
}

LLVMValueRef dot_lanes(struct emit *e, LLVMValueRef x, bool x_signed, LLVMValueRef y, bool y_signed, LLVMValueRef sum)
{
	return (e->flow->request->dots ? by_bytes : by_pairs)(e, x, x_signed, y, y_signed, sum);
}
