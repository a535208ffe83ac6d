/*
 * forms_matrix.c: decodes the matrix instructions: shape, layouts and types from the words of the opcode, fragments
 * from its vectors. Which combinations exist is said by rows_matrix.h.
 */
#include "softdev/ptx/forms.h"
#include "softdev/ptx/matrix.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t element, bits;
} elements[] = {
	{ "f16", EL_f16, 16 },	{ "bf16", EL_bf16, 16 }, { "tf32", EL_tf32, 32 }, { "f32", EL_f32, 32 },
	{ "f64", EL_f64, 64 },	{ "s32", EL_s32, 32 },	 { "s8", EL_s8, 8 },	  { "u8", EL_u8, 8 },
	{ "s4", EL_s4, 4 },	{ "u4", EL_u4, 4 },	 { "b1", EL_b1, 1 },	  { "e4m3", EL_e4m3, 8 },
	{ "e5m2", EL_e5m2, 8 }, { "b16", EL_b16, 16 },
};

static uint32_t element_bits(uint8_t e)
{
	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
		if (elements[i].element == e)
			return elements[i].bits;
	return 32;
}

struct words {
	uint16_t m, n, k;
	uint8_t layouts, types, load;
	bool col[2], saturate, bits_and, trans;
	uint8_t type[4];
};

/* "m16n8k16" */
static bool shape_word(struct name w, struct words *x)
{
	uint32_t v[3] = { 0 }, at = 0;

	for (int i = 0; i < 3; i++) {
		if (at == w.bytes || w.p[at] != "mnk"[i])
			return false;
		for (at++; at < w.bytes && w.p[at] >= '0' && w.p[at] <= '9' && v[i] < 1000; at++)
			v[i] = v[i] * 10 + (uint32_t)(w.p[at] - '0');
	}
	x->m = (uint16_t)v[0];
	x->n = (uint16_t)v[1];
	x->k = (uint16_t)v[2];
	return true;
}

static void take_word(struct name w, struct words *x)
{
	if (shape_word(w, x))
		return;
	if (name_is(w, "row") || name_is(w, "col")) {
		if (x->layouts < 2)
			x->col[x->layouts++] = w.p[0] == 'c';
		return;
	}
	x->saturate |= name_is(w, "satfinite");
	x->bits_and |= name_is(w, "and");
	x->trans |= name_is(w, "trans");
	if (w.bytes == 1)
		x->load = (uint8_t)w.p[0];
	for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); i++)
		if (x->types < 4 && name_is(w, elements[i].name))
			x->type[x->types++] = elements[i].element;
}

static struct words take_words(struct name opcode)
{
	struct words x = { 0 };

	for (uint32_t from = 0, to; from < opcode.bytes; from = to + 1) {
		for (to = from; to < opcode.bytes && opcode.p[to] != '.'; to++)
			;
		take_word((struct name){ opcode.p + from, to - from }, &x);
	}
	return x;
}

/* Registers that a fragment of rows x columns takes without repetition. */
static uint8_t registers_of(uint32_t rows, uint32_t columns, uint8_t element)
{
	const uint32_t bits = element_bits(element);

	return (uint8_t)(rows * columns * bits / LANES / (bits > 32 ? bits : 32));
}

struct taken {
	struct decoder *d;
	struct op_list *list;
	struct matrix_use *use;
};

static bool taken_new(struct decoder *d, struct taken *t)
{
	t->d = d;
	t->use = decode_take(d, sizeof(*t->use));
	t->list = decode_scratch(d, sizeof(*t->list) + 48 * sizeof(uint32_t));
	if (!t->use || !t->list)
		return false;
	t->list->what = t->use;
	return true;
}

/* The registers of one fragment. Results must be taken first. */
static struct fragment take_fragment(struct taken *t, const struct operand *o, uint8_t element, uint32_t tiles,
				     bool def)
{
	struct decoder *d = t->d;
	const enum type type = element == EL_f64 ? TY_f64 : TY_b32;
	const uint32_t count = o->kind == OPD_VECTOR ? o->count : 1;
	struct fragment f = { element, (uint8_t)count, (uint8_t)tiles, (uint16_t)t->list->count };

	if (count < tiles || count % tiles || t->list->count + count > 48 || (count > tiles && element != EL_f16)) {
		decode_fail(d, "%.*s: a fragment of %u registers instead of %u", (int)d->insn->opcode.bytes,
			    d->insn->opcode.p, count, tiles);
		return f;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct operand *item = o->kind == OPD_VECTOR ? &o->item[i] : o;

		t->list->loc[t->list->count++] = def ? decode_dest(d, item, type) : decode_source(d, item, type);
		t->list->defs += def;
	}
	return f;
}

/* What waits for the whole warp. Of its list (t, may be NULL) what has been filled in is kept. */
static struct step *matrix_step(struct decoder *d, const char *row, struct taken *t)
{
	const uint32_t all = decode_constant(d, UINT32_MAX, 4);
	struct step *s = decode_step(d, decode_row(d, row));

	step_use(s, 5, all);
	s->control = CTL_SYNC;
	if (t) {
		const size_t bytes = sizeof(*t->list) + t->list->count * sizeof(uint32_t);
		void *list = decode_take(d, bytes);

		if (list)
			t->list = memcpy(list, t->list, bytes);
		s->list = t->list;
	}
	return s;
}

static void form_mma(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	const struct words x = take_words(d->insn->opcode);
	/* "d.c" where A and B are f16, "d.a.b.c" otherwise */
	const bool two = x.types == 2;
	const uint8_t a = two ? EL_f16 : x.type[1], b = two ? EL_f16 : x.type[2], c = x.type[x.types - 1];
	const uint32_t k = x.k;
	struct taken t;

	if (!decode_count(d, 4, 4) || !taken_new(d, &t))
		return;
	*t.use = (struct matrix_use){ .m = x.m,
				      .n = x.n,
				      .k = (uint16_t)k,
				      .a_col = x.col[0],
				      .b_col = x.col[1],
				      .saturate = x.saturate,
				      .bits_and = x.bits_and };
	t.use->volta = a == EL_f16 && k == 4;
	if (t.use->volta) {
		t.use->d = take_fragment(&t, &o[0], x.type[0], x.type[0] == EL_f16 ? 4 : 8, true);
		t.use->a = take_fragment(&t, &o[1], a, 2, false);
		t.use->b = take_fragment(&t, &o[2], b, 2, false);
		t.use->c = take_fragment(&t, &o[3], c, c == EL_f16 ? 4 : 8, false);
	} else {
		t.use->d = take_fragment(&t, &o[0], x.type[0], registers_of(x.m, x.n, x.type[0]), true);
		t.use->a = take_fragment(&t, &o[1], a, registers_of(x.m, k, a), false);
		t.use->b = take_fragment(&t, &o[2], b, registers_of(k, x.n, b), false);
		t.use->c = take_fragment(&t, &o[3], c, registers_of(x.m, x.n, c), false);
	}
	if (!d->failed)
		matrix_step(d, "%mma", &t);
}

/* Address in operand 1, leading dimension in operand 2. */
static void take_memory(struct taken *t, struct step *s, const struct address *a, uint32_t stride)
{
	step_use(s, 1, a->loc);
	step_use(s, 2, stride);
	t->list->imm = a->imm;
	t->use->shared = !strcmp(a->access, ".shared");
}

static void form_wmma_memory(struct decoder *d, const struct form_words *words, bool store)
{
	const struct operand *o = d->insn->operand;
	const struct words x = take_words(words->key);
	const uint8_t element = x.type[0];
	const uint32_t k = x.k, rows = x.load == 'b' ? k : x.m, columns = x.load == 'a' ? k : x.n;
	uint32_t stride = LOC_NONE;
	struct address a;
	struct taken t;

	if (!decode_count(d, 2, 3) || !taken_new(d, &t))
		return;
	*t.use = (struct matrix_use){ .m = x.m, .n = x.n, .k = (uint16_t)k, .which = x.load, .a_col = x.col[0] };
	t.use->bits = (uint8_t)element_bits(element);
	a = form_address(d, &o[!store ? 1 : 0], words, 0);
	if (d->insn->count == 3)
		stride = decode_source(d, &o[2], TY_u32);
	t.use->d = take_fragment(&t, &o[store ? 1 : 0], element, registers_of(rows, columns, element), !store);
	if (*a.access && strcmp(a.access, ".shared"))
		decode_fail(d, "%.*s takes global or shared memory", (int)d->insn->opcode.bytes, d->insn->opcode.p);
	if (!d->failed)
		take_memory(&t, matrix_step(d, store ? "%wmma.store" : "%wmma.load", &t), &a, stride);
}

static void form_ldmatrix(struct decoder *d, const struct form_words *words, bool store)
{
	const struct operand *o = d->insn->operand;
	const struct words x = take_words(words->key);
	const char *count = memchr(words->key.p, 'x', words->key.bytes);
	struct form_words shared = *words;
	struct address a;
	struct taken t;

	for (const char *p = count; p; p = memchr(p + 1, 'x', (size_t)(words->key.p + words->key.bytes - p - 1)))
		count = p;
	if (!decode_count(d, 2, 2) || !taken_new(d, &t))
		return;
	t.use->trans = x.trans;
	shared.space = words->space;
	a = form_address(d, &o[store ? 0 : 1], &shared, 0);
	t.use->d = take_fragment(&t, &o[store ? 1 : 0], EL_b16, (uint32_t)(count[1] - '0'), !store);
	if (!d->failed)
		take_memory(&t, matrix_step(d, store ? "%stmatrix" : "%ldmatrix", &t), &a, LOC_NONE);
}

static void form_movmatrix(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	uint32_t source, dest;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	source = decode_source(d, &o[1], TY_b32);
	dest = decode_dest(d, &o[0], TY_b32);
	if (d->failed)
		return;
	s = matrix_step(d, "%movmatrix", NULL);
	step_def(s, 0, dest);
	step_use(s, 1, source);
}

void form_matrix(struct decoder *d, const struct insn_match *m, const struct form_words *words)
{
	switch (m->row->count) {
	case 0:
		form_mma(d);
		break;
	case 1:
		form_wmma_memory(d, words, false);
		break;
	case 2:
		form_wmma_memory(d, words, true);
		break;
	case 3:
		form_ldmatrix(d, words, false);
		break;
	case 4:
		form_ldmatrix(d, words, true);
		break;
	default:
		form_movmatrix(d);
	}
}
