/* forms_compare.c: comparisons: one or two predicates, or a value, from two sources and a predicate. */
#include "softdev/ptx/forms.h"

#include <stdio.h>

static void predicate_step(struct decoder *d, const char *row, uint32_t dest, uint32_t a, uint32_t b)
{
	struct step *s = decode_step(d, decode_row(d, row));

	step_def(s, 0, dest);
	step_use(s, 1, a);
	if (b != LOC_NONE)
		step_use(s, 2, b);
}

/*
 * Two predicates from temporaries to their places. The instruction's own guard holds for every step, so a result that
 * is also the guard is written last.
 */
static void predicate_results(struct decoder *d, const uint32_t dest[2], const uint32_t from[2])
{
	const uint32_t first = d->guard == dest[0] ? 1 : 0;

	predicate_step(d, "%mov.pred", dest[first], from[first], LOC_NONE);
	predicate_step(d, "%mov.pred", dest[!first], from[!first], LOC_NONE);
}

/* p = cmp boolop c; q = !cmp boolop c */
void form_setp(struct decoder *d, const struct row *row, const struct form_words *words)
{
	const struct insn *in = d->insn;
	const char *bool_row = words->boolop == 'a' ? "and.pred" : words->boolop == 'o' ? "or.pred" : "xor.pred";
	uint32_t a, b, c = LOC_NONE, dest[2] = { LOC_NONE, LOC_NONE }, from[2];

	if (!decode_count(d, words->boolop ? 4 : 3, words->boolop ? 4 : 3))
		return;
	a = decode_source(d, &in->operand[1], (enum type)row->type[1]);
	b = decode_source(d, &in->operand[2], (enum type)row->type[2]);
	if (words->boolop)
		c = decode_source(d, &in->operand[3], TY_pred);
	dest[0] = decode_dest(d, &in->operand[0], TY_pred);
	if (in->operand[0].pair)
		dest[1] = decode_dest(d, in->operand[0].pair, TY_pred);
	if (d->failed)
		return;
	from[0] = words->boolop || dest[1] != LOC_NONE ? decode_temp(d, TY_pred) : dest[0];
	form_plain2(d, "%nothing", from[0], a, b)->row = row;
	if (dest[1] == LOC_NONE) {
		if (words->boolop)
			form_plain2(d, bool_row, dest[0], from[0], c);
		return;
	}
	from[1] = decode_temp(d, TY_pred);
	predicate_step(d, "not.pred", from[1], from[0], LOC_NONE);
	for (uint32_t k = 0; k < 2 && words->boolop; k++) {
		const uint32_t cmp = from[k];

		from[k] = decode_temp(d, TY_pred);
		predicate_step(d, bool_row, from[k], cmp, c);
	}
	predicate_results(d, dest, from);
}

/* set.lt.u32.f32 d, a, b: a comparison and a selection. */
void form_set(struct decoder *d, const struct form_words *words)
{
	const struct insn *in = d->insn;
	char name[FORM_KEY_BYTES];
	struct name key = words->key;
	uint32_t tail = 0, mid, a, b, p, c;
	const struct row *row;
	enum type t, source = form_last_type(key);
	struct step *s;
	uint64_t yes;

	if (!decode_count(d, words->boolop ? 4 : 3, words->boolop ? 4 : 3))
		return;
	while (key.p[key.bytes - 1 - tail] != '.')
		tail++;
	mid = tail + 1;
	while (key.p[key.bytes - 1 - mid] != '.')
		mid++;
	t = type_find(key.p + key.bytes - mid, mid - tail - 1);
	snprintf(name, sizeof(name), "setp%.*s.%.*s", (int)(key.bytes - mid - 1 - 3), key.p + 3, (int)tail,
		 key.p + key.bytes - tail);
	row = decode_row(d, name);
	a = decode_source(d, &in->operand[1], source);
	b = decode_source(d, &in->operand[2], source);
	if (!row || d->failed)
		return;
	p = decode_temp(d, TY_pred);
	s = form_plain2(d, "%nothing", p, a, b);
	s->row = row;
	if (words->boolop) {
		c = decode_source(d, &in->operand[3], TY_pred);
		form_plain2(d, words->boolop == 'a'	? "and.pred"
				 : words->boolop == 'o' ? "or.pred"
							: "xor.pred",
			    p, p, c);
	}
	yes = t == TY_f32 ? 0x3f800000u : t == TY_f16 ? 0x3c00 : t == TY_bf16 ? 0x3f80 : 0xffffffffu;
	s = form_plain2(d, "selp.b32", decode_dest(d, &in->operand[0], t), decode_constant(d, yes, 4),
		   decode_constant(d, 0, 4));
	step_use(s, 3, p);
}

/* setp.lt.f16x2 p|q, a, b: p of the lower halves, q of the upper ones. */
void form_setp_pair(struct decoder *d, const struct form_words *words)
{
	const struct insn *in = d->insn;
	char name[FORM_KEY_BYTES];
	uint32_t half[2][2], p[2], from[2];
	const struct row *row;

	if (!decode_count(d, 3, 3))
		return;
	if (words->boolop || !in->operand[0].pair) {
		decode_fail(d, "%.*s takes two results and no further predicate", (int)in->opcode.bytes, in->opcode.p);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", (int)words->key.bytes - 2, words->key.p);
	row = decode_row(d, name);
	p[0] = decode_dest(d, &in->operand[0], TY_pred);
	p[1] = decode_dest(d, in->operand[0].pair, TY_pred);
	for (uint32_t k = 0; k < 2; k++) {
		half[0][k] = decode_source(d, &in->operand[1 + k], TY_b32);
		half[1][k] = decode_temp(d, TY_b32);
	}
	if (!row || d->failed)
		return;
	for (uint32_t k = 0; k < 2; k++) {
		struct step *s = decode_step(d, decode_row(d, "%unpack.b32"));

		step_def(s, 0, half[1][k]);
		step_use(s, 1, half[0][k]);
		s->imm = 16;
	}
	for (uint32_t k = 0; k < 2; k++) {
		from[k] = decode_temp(d, TY_pred);
		form_plain2(d, "%nothing", from[k], half[k][0], half[k][1])->row = row;
	}
	predicate_results(d, p, from);
}
