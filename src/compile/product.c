/*
 * product.c: see product.h.
 *
 * As square_of() of softdev/ptx/matrix_quad.h, which says how fragments lie: a quad of lanes has a row of A, and sums
 * of columns 0, 2, 4, 6 or 1, 3, 5, 7 of it. In step c of a tile, lane c of each quad of A is spread over its quad and
 * meets the lanes c of the quads of B whose columns the sums have. The host multiplies bytes without a sign by bytes
 * with one, so 128 is added to signed ones of A, and 128 times B is taken away.
 */
#include "compile/product.h"
#include "compile/reg.h"

#include <string.h>

#define HALF (LANES / 2) /* lanes of a vector of the host */
#define TURN 0x80808080u /* the highest bits of four bytes */

static LLVMValueRef dots(struct emit *e, LLVMValueRef sum, LLVMValueRef without_sign, LLVMValueRef with_sign)
{
	static const char name[] = "llvm.x86.avx512.vpdpbusd.512";
	const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, NULL, 0),
		     args[3] = { sum, without_sign, with_sign };

	return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, NULL, 0), f, args, 3, "");
}

static LLVMValueRef pick(struct emit *e, LLVMValueRef v, const uint32_t from[HALF])
{
	LLVMValueRef index[HALF];

	for (uint32_t i = 0; i < HALF; i++)
		index[i] = LLVMConstInt(e->i32, from[i], false);
	return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(index, HALF), "");
}

/* Lane c of each quad of half of A's rows. */
static LLVMValueRef spread_quads(struct emit *e, LLVMValueRef a, uint32_t half, uint32_t c)
{
	uint32_t from[HALF];

	for (uint32_t i = 0; i < HALF; i++)
		from[i] = half * HALF + i / 4 * 4 + c;
	return pick(e, a, from);
}

/* Lane c of the quads of even or odd columns of B. */
static LLVMValueRef columns(struct emit *e, LLVMValueRef b, uint32_t odd, uint32_t c)
{
	uint32_t from[HALF];

	for (uint32_t i = 0; i < HALF; i++)
		from[i] = (i % 4 * 2 + odd) * 4 + c;
	return pick(e, b, from);
}

static LLVMValueRef half_of(struct emit *e, LLVMValueRef v, uint32_t half)
{
	uint32_t from[HALF];

	for (uint32_t i = 0; i < HALF; i++)
		from[i] = half * HALF + i;
	return pick(e, v, from);
}

struct product {
	const struct compile_op *op;
	LLVMValueRef a[2][2];	 /* by row, by tile along the sum */
	LLVMValueRef b[2][2][4]; /* by tile along the sum, odd, step */
	LLVMValueRef less[2];	 /* by odd: what A has too much */
};

static void take_fragments(struct emit *e, struct product *x)
{
	const struct compile_product *p = &x->op->product;
	const struct compile_operand *a = x->op->more + x->op->more_defs, *b = a + (size_t)p->rows * p->deep;
	LLVMTypeRef t = LLVMVectorType(e->i32, HALF);

	for (uint32_t i = 0; i < (uint32_t)p->rows * p->deep; i++) {
		LLVMValueRef v = source_lanes(e, &a[i], false);

		if (p->a_signed)
			v = LLVMBuildXor(e->b, v, value_number(LLVMTypeOf(v), TURN), "");
		x->a[i % p->rows][i / p->rows] = v;
	}
	for (uint32_t odd = 0; odd < 2; odd++) {
		x->less[odd] = LLVMConstNull(t);
		for (uint32_t i = 0; i < p->deep * 4u; i++) {
			LLVMValueRef v = columns(e, source_lanes(e, &b[i / 4], false), odd, i % 4);

			x->b[i / 4][odd][i % 4] = v;
			if (p->a_signed)
				x->less[odd] = dots(e, x->less[odd], value_number(t, TURN), v);
		}
	}
}

/* The sums of 8 rows and of even or odd columns. */
static LLVMValueRef sums(struct emit *e, const struct product *x, uint32_t row, uint32_t odd, LLVMValueRef c)
{
	LLVMValueRef part[2];

	for (uint32_t half = 0; half < 2; half++) {
		part[half] = LLVMBuildSub(e->b, half_of(e, c, half), x->less[odd], "");
		for (uint32_t i = 0; i < x->op->product.deep * 4u; i++)
			part[half] = dots(e, part[half], spread_quads(e, x->a[row][i / 4], half, i % 4),
					  x->b[i / 4][odd][i % 4]);
	}
	return value_join(e, part, 2, HALF);
}

void make_product(struct emit *e)
{
	struct product x = { .op = operation(e) };
	const struct compile_operand *c = x.op->more + x.op->more_count - x.op->more_defs;
	LLVMValueRef d[4];

	take_fragments(e, &x);
	for (uint32_t i = 0; i < x.op->more_defs; i++)
		d[i] = sums(e, &x, i / 2, i % 2, source_lanes(e, &c[i], false));
	for (uint32_t i = 0; i < x.op->more_defs; i++)
		result(e, &x.op->more[i], all_lanes(d[i]), false);
}
