/* fetch.c: see fetch.h. */
#include "compile/fetch.h"

#include <string.h>

#define NEAR 64u /* operations that are looked through */

static bool writes(const struct flow *f, const struct compile_op *o, uint32_t reg)
{
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && flow_reg(f, &o->operand[k]) == reg)
			return true;
	return false;
}

/* Neither stores nor waits for others. */
static bool is_quiet(const struct compile_op *o)
{
	const struct access_form a = access_form(o->name);

	return o->kind == COMPILE_PLAIN && (inline_row(o->name) || (a.good && !a.store));
}

/* A load that could be part of one. */
static bool is_part(const struct flow *f, const struct compile_op *o, uint32_t reg)
{
	const struct access_form a = access_form(o->name);

	return o->kind == COMPILE_PLAIN && o->guard.place == COMPILE_NONE && a.good && !a.store && !a.shared &&
	       !a.param && a.count == 1 && a.bytes <= 4 && flow_reg(f, &o->operand[1]) == reg;
}

/* Loads from now on by the register's address, until that is written or memory may be. */
static uint32_t find_near(const struct emit *e, uint32_t reg, uint32_t op[FETCH_LOADS])
{
	const struct block_of_code *b = &e->flow->block[e->in_block];
	uint32_t n = 0;

	for (uint32_t i = e->at; i < b->end && i - e->at < NEAR && n < FETCH_LOADS; i++) {
		const struct compile_op *o = &e->flow->request->op[i];

		if (!is_quiet(o))
			break;
		if (is_part(e->flow, o, reg))
			op[n++] = i;
		if (writes(e->flow, o, reg))
			break;
	}
	return n;
}

/* Of the loads in op: those that lie in FETCH_BYTES from `least` on, as far as the first one's alignment tells theirs.
 */
static struct fetch window(const struct flow *f, const uint32_t *op, uint32_t count, int64_t least)
{
	const int64_t mine = (int64_t)f->request->op[op[0]].imm;
	struct fetch r = { .least = least };
	int64_t end = least;

	for (uint32_t i = 0; i < count; i++) {
		const struct compile_op *o = &f->request->op[op[i]];
		const struct access_form a = access_form(o->name);
		const int64_t at = (int64_t)o->imm;

		if (at < least || at + a.bytes > least + (int64_t)FETCH_BYTES || (at - mine) % a.bytes)
			continue;
		r.op[r.count++] = op[i];
		r.rows |= a.bytes == 4;
		end = at + a.bytes > end ? at + a.bytes : end;
	}
	r.bytes = end - least > 4 ? 8 : 4;
	r.full = end - least == (int64_t)r.bytes;
	return r;
}

bool fetch_find(const struct emit *e, struct fetch *ret)
{
	const uint32_t reg = flow_reg(e->flow, &operation(e)->operand[1]);
	const int64_t mine = (int64_t)operation(e)->imm;
	uint32_t op[FETCH_LOADS], count;
	struct fetch one;

	*ret = (struct fetch){ .count = 0 };
	if (e->kept || reg == UINT32_MAX || !is_part(e->flow, operation(e), reg))
		return false;
	count = find_near(e, reg, op);
	for (uint32_t i = 0; i < count; i++) {
		const int64_t least = (int64_t)e->flow->request->op[op[i]].imm;

		if (least > mine || mine - least >= (int64_t)FETCH_BYTES)
			continue;
		one = window(e->flow, op, count, least);
		if (one.count && one.op[0] == e->at && one.count > ret->count)
			*ret = one;
	}
	return ret->count > 1;
}

LLVMValueRef fetch_value(struct emit *e, const struct fetch *f, const struct access_form *a)
{
	uint64_t down = ((uint64_t)operation(e)->imm - (uint64_t)f->least) * 8;
	LLVMValueRef v = f->value, each[LANES];

	if (f->half[0] && down % 32 + a->bytes * 8u <= 32) {
		v = f->half[down / 32];
		down %= 32;
	} else if (f->bytes == 8 && a->bytes == 4 && down % 32 == 0) { /* every other one of 32 bits */
		for (uint32_t i = 0; i < LANES; i++)
			each[i] = LLVMConstInt(e->i32, 2 * i + down / 32, false);
		v = LLVMBuildBitCast(e->b, v, LLVMVectorType(e->i32, 2 * LANES), "");
		return LLVMBuildShuffleVector(e->b, v, LLVMGetUndef(LLVMTypeOf(v)), LLVMConstVector(each, LANES), "");
	}
	if (down)
		v = LLVMBuildLShr(e->b, v, value_number(LLVMTypeOf(v), down), "");
	return LLVMBuildTruncOrBitCast(e->b, v, type_lanes(type_int(e, a->bytes)), "");
}

const struct fetch *fetch_of(const struct emit *e)
{
	for (uint32_t k = 0; k < e->fetches; k++)
		for (uint32_t i = 0; i < e->fetch[k].count; i++)
			if (e->fetch[k].op[i] == e->at)
				return &e->fetch[k];
	return NULL;
}
