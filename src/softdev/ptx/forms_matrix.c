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
	{ "f16", EL_f16, 16 },	 { "bf16", EL_bf16, 16 }, { "tf32", EL_tf32, 32 }, { "f32", EL_f32, 32 },
	{ "f64", EL_f64, 64 },	 { "s32", EL_s32, 32 },	  { "s8", EL_s8, 8 },	   { "u8", EL_u8, 8 },
	{ "s4", EL_s4, 4 },	 { "u4", EL_u4, 4 },	  { "b1", EL_b1, 1 },	   { "e4m3", EL_e4m3, 8 },
	{ "e5m2", EL_e5m2, 8 },	 { "b16", EL_b16, 16 },	  { "e3m2", EL_e3m2, 8 },  { "e2m3", EL_e2m3, 8 },
	{ "", EL_e2m1_byte, 8 }, { "e2m1", EL_e2m1, 4 },
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
	bool col[2], saturate, bits_and, trans, sparse;
	uint8_t scales; /* of scale_vec::2X; 0: not said */
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
	x->sparse |= name_is(w, "sp") || name_is(w, "sp::ordered_metadata");
	if (w.bytes == 13 && !memcmp(w.p, "scale_vec::", 11))
		x->scales = (uint8_t)(w.p[11] - '0');
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
	for (uint32_t i = 0; i < x.types && memmem(opcode.p, opcode.bytes, "f8f6f4", 6); i++)
		x.type[i] = x.type[i] == EL_e2m1 ? EL_e2m1_byte : x.type[i];
	return x;
}

/* Registers that a fragment of rows x columns takes without repetition. */
static uint8_t registers_of(uint32_t rows, uint32_t columns, uint8_t element)
{
	const uint32_t bits = element_bits(element);

	return (uint8_t)(rows * columns * bits / LANES / (bits > 32 ? bits : 32));
}

#define LIST_MOST 272u /* operands: a wide product of a warp group has 128 results, which are sources too */

struct taken {
	struct decoder *d;
	struct op_list *list;
	struct matrix_use *use;
};

static bool taken_new(struct decoder *d, struct taken *t)
{
	t->d = d;
	t->use = decode_take(d, sizeof(*t->use));
	t->list = decode_scratch(d, sizeof(*t->list) + LIST_MOST * sizeof(uint32_t));
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

	if (count < tiles || count % tiles || t->list->count + count > LIST_MOST ||
	    (count > tiles && (element != EL_f16 || !name_starts(d->insn->opcode, "wmma.")))) {
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

/* A whole number that must be in the text: false, and said, for anything else. */
static bool take_immediate(struct decoder *d, const struct operand *o, int64_t least, int64_t most, int64_t *ret)
{
	*ret = (int64_t)o->value;
	if (o->kind == OPD_INT && *ret >= least && *ret <= most)
		return true;
	decode_fail(d, "%.*s: an operand must be a number from %lld to %lld", (int)d->insn->opcode.bytes,
		    d->insn->opcode.p, (long long)least, (long long)most);
	return false;
}

/*
 * The metadata of a sparse A and which lanes have it. Of 16-bit elements every lane can be named, though of a pair of
 * lanes only the first two values mean something (PTX ISA, "Sparse matrix storage"; NVIDIA's assembler does the same).
 */
static void take_metadata(struct taken *t, const struct words *x, uint8_t a, const struct operand *o)
{
	const uint32_t bits = element_bits(a), row_bits = bits == 32 ? x->k * 2u : bits == 4 ? x->k / 2u : x->k;
	const uint32_t lanes = row_bits / 16;
	int64_t selector;

	t->use->sparse = bits == 32 ? SPARSE_of_2 : bits == 4 ? SPARSE_of_8 : SPARSE_of_4;
	t->use->meta = (uint16_t)t->list->count;
	t->list->loc[t->list->count++] = decode_source(t->d, &o[0], TY_b32);
	if (take_immediate(t->d, &o[1], 0, bits == 16 ? 3 : 4 / lanes - 1, &selector))
		t->use->selector = (uint8_t)selector;
}

/* scale, {byte, thread} of A, and the same of B. */
static void take_scales(struct taken *t, const struct words *x, const struct operand *o)
{
	struct decoder *d = t->d;

	t->use->blocks = x->scales ? x->scales : x->type[1] == EL_e2m1 ? 2 : 1;
	t->use->scale_e4m3 = memmem(d->insn->opcode.p, d->insn->opcode.bytes, "ue4m3", 5) != NULL;
	t->use->scales = (uint16_t)t->list->count;
	for (uint32_t i = 0; i < 4; i += 2) {
		if (o[i + 1].kind != OPD_VECTOR || o[i + 1].count != 2) {
			decode_fail(d, "%.*s takes {byte, thread} behind a scale", (int)d->insn->opcode.bytes,
				    d->insn->opcode.p);
			return;
		}
		t->list->loc[t->list->count++] = decode_source(d, &o[i], TY_b32);
		for (uint32_t k = 0; k < 2; k++)
			t->list->loc[t->list->count++] = decode_source(d, &o[i + 1].item[k], TY_u16);
	}
}

static void form_mma(struct decoder *d, bool scaled)
{
	const struct operand *o = d->insn->operand;
	const struct words x = take_words(d->insn->opcode);
	/* "d.c" where A and B are f16, "d.a.b.c" otherwise */
	const bool two = x.types == 2;
	const uint8_t a = two ? EL_f16 : x.type[1], b = two ? EL_f16 : x.type[2], c = x.type[x.types - 1];
	const uint32_t k = x.k, count = 4u + (x.sparse ? 2 : 0) + (scaled ? 4 : 0);
	struct taken t;

	if (!decode_count(d, count, count) || !taken_new(d, &t))
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
		t.use->a = take_fragment(&t, &o[1], a, registers_of(x.m, x.sparse ? k / 2 : k, a), false);
		t.use->b = take_fragment(&t, &o[2], b, registers_of(k, x.n, b), false);
		t.use->c = take_fragment(&t, &o[3], c, registers_of(x.m, x.n, c), false);
	}
	if (x.sparse)
		take_metadata(&t, &x, a, &o[4]);
	if (scaled)
		take_scales(&t, &x, &o[count - 4]);
	if (!d->failed)
		matrix_step(d, "%mma", &t);
}

/* Negative, 1 or -1, for A and B; then whether A, where it is described, and B lie the other way. */
static void take_group_numbers(struct taken *t, const struct operand *o, uint32_t count)
{
	bool *const transposed[] = { &t->use->a_col, &t->use->b_col };
	int64_t v;

	for (uint32_t i = 0; i < count && i < 2; i++) {
		if (!take_immediate(t->d, &o[i], -1, 1, &v))
			return;
		t->use->negate ^= v < 0;
	}
	for (uint32_t i = 2; i < count; i++) {
		if (!take_immediate(t->d, &o[i], 0, 1, &v))
			return;
		*transposed[i - 2 + !t->use->a_described] = v;
	}
}

/* d, a or its descriptor, descriptor of b{, metadata, its lanes}, whether d counts {, numbers} */
static void form_group(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	const struct words x = take_words(d->insn->opcode);
	const uint8_t out = x.type[0], a = x.type[1];
	const bool narrow = a == EL_s8 || a == EL_u8 || a == EL_b1;
	const uint32_t numbers = narrow ? 0 : a == EL_f16 || a == EL_bf16 ? 2 + (o[1].kind != OPD_VECTOR) + 1 : 2;
	const uint32_t before = x.sparse ? 5 : 3;
	uint32_t first, second, counts;
	struct taken t;
	struct step *s;

	if (!decode_count(d, before + 1 + numbers, before + 1 + numbers) || !taken_new(d, &t))
		return;
	*t.use = (struct matrix_use){ .m = 16,
				      .n = x.n,
				      .k = x.k,
				      .saturate = x.saturate,
				      .bits_and = x.bits_and,
				      .group = true,
				      .a_described = o[1].kind != OPD_VECTOR };
	t.use->d = take_fragment(&t, &o[0], out, registers_of(16, x.n, out), true);
	t.use->c = take_fragment(&t, &o[0], out, registers_of(16, x.n, out), false);
	t.use->a = (struct fragment){ .element = a };
	t.use->b = (struct fragment){ .element = x.type[2] };
	first = LOC_NONE;
	if (t.use->a_described)
		first = decode_source(d, &o[1], TY_b64);
	else
		t.use->a = take_fragment(&t, &o[1], a, registers_of(16, x.sparse ? x.k / 2u : x.k, a), false);
	second = decode_source(d, &o[2], TY_b64);
	if (x.sparse)
		take_metadata(&t, &x, a, &o[3]);
	counts = decode_source(d, &o[before], TY_pred);
	take_group_numbers(&t, o + before + 1, numbers);
	if (d->failed)
		return;
	s = matrix_step(d, "%mma", &t);
	step_use(s, 1, first);
	step_use(s, 2, second);
	step_use(s, 3, counts);
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
	const char *count = memmem(words->key.p, words->key.bytes, ".x", 2);
	struct form_words shared = *words;
	struct address a;
	struct taken t;

	if (!decode_count(d, 2, 2) || !taken_new(d, &t))
		return;
	t.use->trans = x.trans;
	t.use->bytes = memmem(words->key.p, words->key.bytes, ".m16n", 5) != NULL;
	t.use->unpack = memmem(words->key.p, words->key.bytes, "b4x16", 5)   ? 4
			: memmem(words->key.p, words->key.bytes, "b6x16", 5) ? 6
									     : 0;
	shared.space = words->space;
	a = form_address(d, &o[store ? 0 : 1], &shared, 0);
	/* a matrix of 16 x 16 bytes takes two registers */
	t.use->d = take_fragment(&t, &o[store ? 1 : 0], EL_b16,
				 (uint32_t)(count[2] - '0') << (t.use->bytes && !store), !store);
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
	case 7:
		form_mma(d, m->row->count == 7);
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
	case 6:
		form_group(d);
		break;
	default:
		form_movmatrix(d);
	}
}
