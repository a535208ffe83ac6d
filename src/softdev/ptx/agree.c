/*
 * agree.c: whether the operands of an instruction agree with its types (PTX ISA, "Operand Type Checking"): a register
 * has the size that the instruction names, and integers and floating-point numbers do not stand for each other. A
 * register of .b32 stands for both, and an instruction of .b32 takes both.
 *
 * It looks at instructions whose operands come in order. cvt is not among them: it takes wider registers.
 */
#include "softdev/ptx/forms.h"

#include <string.h>

enum sort { SORT_ANY, SORT_INTEGER, SORT_FLOAT };

static enum sort sort_of(enum type t)
{
	switch (t) {
	case TY_u16:
	case TY_s16:
	case TY_u32:
	case TY_s32:
	case TY_u64:
	case TY_s64:
		return SORT_INTEGER;
	case TY_f32:
	case TY_f64:
		return SORT_FLOAT;
	default:
		return SORT_ANY;
	}
}

/* The only type that the instruction names; TY_none: it names several, or none. */
static enum type named_type(struct name opcode)
{
	enum type found = TY_none;
	const char *end = opcode.p + opcode.bytes, *next;

	for (const char *p = memchr(opcode.p, '.', opcode.bytes); p; p = next) {
		const char *word = p + 1;
		enum type t;

		next = memchr(word, '.', (size_t)(end - word));
		t = type_find(word, (size_t)((next ? next : end) - word));

		if (t != TY_none && found != TY_none)
			return TY_none;
		found = t != TY_none ? t : found;
	}
	return found;
}

static void agree_sort(struct decoder *d, const struct operand *o, enum sort wanted)
{
	enum sort have = o->kind == OPD_REG			    ? sort_of((enum type)d->body->reg_type[o->reg])
			 : o->kind == OPD_INT			    ? SORT_INTEGER
			 : o->kind == OPD_F32 || o->kind == OPD_F64 ? SORT_FLOAT
								    : SORT_ANY;

	if (have == SORT_ANY || wanted == SORT_ANY || have == wanted)
		return;
	decode_fail(d,
		    have == SORT_FLOAT ? "a floating-point number where %.*s takes an integer"
				       : "an integer where %.*s takes a floating-point number",
		    (int)d->insn->opcode.bytes, d->insn->opcode.p);
}

static void agree_size(struct decoder *d, const struct operand *o, enum type t)
{
	uint32_t have = o->kind == OPD_REG ? type_bytes((enum type)d->body->reg_type[o->reg]) : 0;

	if (have > type_bytes(t))
		decode_fail(d, "a register of %u bits where %.*s takes one of %u", have * 8, (int)d->insn->opcode.bytes,
			    d->insn->opcode.p, type_bytes(t) * 8);
}

void agree_operands(struct decoder *d, const struct row *row)
{
	const struct insn *in = d->insn;
	const uint32_t first = row->type[0] == TY_none;
	const enum sort sort = row->form == FORM_PLAIN ? sort_of(named_type(in->opcode)) : SORT_ANY;

	if (in->opcode.bytes > 4 && !memcmp(in->opcode.p, "cvt.", 4))
		return;
	for (uint32_t i = first; i < row->count && !d->failed; i++) {
		const enum type t = (enum type)row->type[i];

		if (t == TY_pred || t == TY_none)
			continue;
		agree_size(d, &in->operand[i - first], t);
		if (!d->failed)
			agree_sort(d, &in->operand[i - first], sort);
	}
}
