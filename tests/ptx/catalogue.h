/*
 * catalogue.h: every spelling of the engine's instruction rows that the reference can compute, with the registers that
 * it takes. The rows only say what may be written; what it means comes from reference/.
 */
#pragma once

#include "reference/compute.h"
#include "softdev/ptx/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the longest opcode, with its NUL. */
#define SPELLING_BYTES 192

struct spelling {
	char text[SPELLING_BYTES];
	char regs[8]; /* a letter per operand, result first: p predicate, h 16 bits, w 32, d 64 */
	struct ref_op op;
	enum ref_answer answer; /* of the reference for zeroes */
	struct ref_result zero;
	const struct row *row;
};

struct catalogue {
	struct spelling *at;
	size_t count, room;
};

typedef void spelling_fn(void *ctx, const struct row *row, const char *text);

/* Calls `each` for all spellings of a pattern, as its notation in engine.h says. */
static inline void pattern_spell(const struct row *row, const char *pattern, char *text, size_t n, spelling_fn *each,
				 void *ctx)
{
	const size_t plain = strcspn(pattern, "{<");
	const char *p = pattern + plain, *end;

	if (n + plain >= SPELLING_BYTES)
		abort();
	memcpy(text + n, pattern, plain);
	n += plain;
	if (!*p) {
		text[n] = 0;
		each(ctx, row, text);
		return;
	}
	end = strchr(p, *p == '{' ? '}' : '>');
	for (const char *from = p + 1; from <= end;) {
		const size_t bytes = strcspn(from, ",}>");

		if (n + bytes >= SPELLING_BYTES)
			abort();
		memcpy(text + n, from, bytes);
		pattern_spell(row, end + 1, text, n + bytes, each, ctx);
		from += bytes + 1;
	}
}

static inline char register_letter(int bits)
{
	return bits == 1 ? 'p' : bits == 16 ? 'h' : bits == 64 ? 'd' : bits > 64 ? 'q' : 'w';
}

static inline char letter_of_type(uint8_t t)
{
	if (t == TY_pred)
		return 'p';
	return register_letter(type_bytes((enum type)t) == 1 ? 32 : (int)type_bytes((enum type)t) * 8);
}

static inline void catalogue_add(void *ctx, const struct row *row, const char *text)
{
	struct catalogue *c = ctx;
	struct spelling *s;
	bool carry = false;
	const wide zero[5] = { 0 };

	if (c->count == c->room) {
		c->room = c->room * 2 + 1024;
		c->at = realloc(c->at, c->room * sizeof(*c->at));
		if (!c->at)
			abort();
	}
	s = &c->at[c->count++];
	memset(s, 0, sizeof(*s));
	s->row = row;
	snprintf(s->text, sizeof(s->text), "%s", text);
	for (int i = 0; i < row->count && i < 6; i++)
		s->regs[i] = letter_of_type(row->type[i]);
	ref_op_parse(text, &s->op);
	if (row->form == FORM_SET && s->op.types == 2) {
		s->regs[0] = register_letter(s->op.type[0].bits);
		s->regs[1] = s->regs[2] = register_letter(s->op.type[1].bits);
	}
	s->answer = ref_compute(&s->op, zero, (int)strlen(s->regs) - 1, &carry, &s->zero);
	if (row->form != FORM_PLAIN && row->form != FORM_SETP && row->form != FORM_SET &&
	    !(row->form == FORM_VIDEO && row->count))
		s->answer = REF_UNKNOWN;
}

/* The spellings of one row. */
static inline void catalogue_row(struct catalogue *c, const struct row *row)
{
	char text[SPELLING_BYTES];

	pattern_spell(row, row->pattern, text, 0, catalogue_add, c);
}

/* The i-th row of the engine: those of an instruction set, then those that all have in common. NULL: no more. */
static inline const struct row *engine_row(size_t i)
{
	return isa_row(isa_find(NULL), i);
}
