/*
 * forms.c: the instructions whose operands are not simply a result and sources: moves with packing, memory, calls,
 * control, barriers, comparisons with two results.
 */
#include "softdev/ptx/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool word_is(struct name w, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (name_is(w, list[i]))
			return true;
	return false;
}

#define WORD_IN(w, list) word_is(w, list, sizeof(list) / sizeof((list)[0]))

static bool starts(struct name w, const char *with)
{
	size_t n = strlen(with);

	return w.bytes >= n && !memcmp(w.p, with, n);
}

static bool memory_word(struct name w, struct form_words *f)
{
	/* Loads and stores of one lane are single accesses of the host; fences carry the order (rows_mem.h). */
	static const char *const strong[] = { "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio" };
	static const char *const other[] = { "weak", "cta", "cluster", "gpu", "sys", "nc",    "ca",	"cg",
					     "cs",   "lu",  "cv",      "wb",  "wt",  "noftz", "unified" };

	if (starts(w, "L1::") || starts(w, "L2::") || name_is(w, "L1") || name_is(w, "L2")) {
		f->hint |= name_is(w, "L2::cache_hint");
		return true;
	}
	if (name_is(w, "v2") || name_is(w, "v4") || name_is(w, "v8")) {
		f->vector = (uint8_t)(w.p[1] - '0');
		return true;
	}
	if (name_is(w, "global") || name_is(w, "const") || starts(w, "shared") || name_is(w, "local") ||
	    starts(w, "param")) {
		f->space = w.p[0];
		f->cluster = name_is(w, "shared::cluster");
		return true;
	}
	if (name_is(w, "to")) {
		f->to = true;
		return true;
	}
	f->strong |= WORD_IN(w, strong);
	return WORD_IN(w, strong) || WORD_IN(w, other);
}

void form_strong(struct decoder *d)
{
	struct step *s = decode_step(d, decode_row(d, "%strong"));

	s->guard = LOC_NONE;
}

static bool compare_word(struct name w, struct form_words *f)
{
	if (!name_is(w, "and") && !name_is(w, "or") && !name_is(w, "xor"))
		return false;
	f->boolop = (uint8_t)w.p[0];
	return true;
}

void form_words(struct name opcode, struct form_words *ret)
{
	static const char *const memory[] = { "ld",	  "ldu",      "st",	   "atom",    "red",	       "cvta",
					      "isspacep", "prefetch", "prefetchu", "discard", "applypriority", "suld",
					      "sust",	  "wmma",     "ldmatrix",  "stmatrix", "mbarrier" };
	static const char *const compare[] = { "setp", "set" };
	struct name w = { opcode.p, 0 };
	bool is_memory, is_compare;
	uint32_t n = 0;

	*ret = (struct form_words){ .vector = 1 };
	ret->key = opcode;
	while (w.bytes < opcode.bytes && w.p[w.bytes] != '.')
		w.bytes++;
	is_memory = WORD_IN(w, memory);
	is_compare = WORD_IN(w, compare);
	if ((!is_memory && !is_compare) || opcode.bytes >= FORM_KEY_BYTES)
		return;
	for (const char *p = opcode.p, *end = opcode.p + opcode.bytes; p < end; p = w.p + w.bytes + 1) {
		w = (struct name){ p, 0 };
		while (w.p + w.bytes < end && w.p[w.bytes] != '.')
			w.bytes++;
		if (p != opcode.p && (is_memory ? memory_word(w, ret) : compare_word(w, ret)))
			continue;
		if (n)
			ret->text[n++] = '.';
		memcpy(ret->text + n, w.p, w.bytes);
		n += w.bytes;
	}
	ret->key = (struct name){ ret->text, n };
}

/* The type that an opcode ends in. */
static enum type last_type(struct name key)
{
	uint32_t n = 0;

	while (n < key.bytes && key.p[key.bytes - 1 - n] != '.')
		n++;
	return type_find(key.p + key.bytes - n, n);
}

struct address form_address(struct decoder *d, const struct operand *o, const struct form_words *words, uint64_t bytes)
{
	const char space = words->space;
	struct address a = { "", LOC_NONE, o->value };
	struct operand base = { .kind = OPD_REG, .reg = o->reg };
	struct symbol *s = o->symbol;
	uint64_t end;

	if (o->kind != OPD_ADDRESS || o->item) {
		decode_fail(d, "%.*s without an address", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return a;
	}
	if (s && (s->kind == SYM_PARAM || s->kind == SYM_LOCAL || s->kind == SYM_KERNEL_PARAM)) {
		if (__builtin_add_overflow(o->value, bytes, &end) || end > s->bytes) {
			decode_fail(d, "offset %lld lies outside %.*s", (long long)o->value, (int)s->name.bytes,
				    s->name.p);
			return a;
		}
		a.access = s->kind == SYM_KERNEL_PARAM ? ".kparam" : ".frame";
		a.imm += s->definition->offset;
		return a;
	}
	if (s)
		base = (struct operand){ .kind = OPD_SYMBOL, .symbol = s };
	else if (o->reg == LOC_NONE)
		base = (struct operand){ .kind = OPD_INT };
	if (space == 's' || (s && s->kind == SYM_SHARED && space)) {
		a.access = ".shared";
		a.loc = decode_source(d, &base, TY_u32);
		if (words->cluster && !d->failed)
			a = (struct address){ "", form_shared_generic(d, a.loc, a.imm), 0 };
	} else {
		a.loc = decode_source(d, &base, TY_u64);
	}
	return a;
}

static const struct row *access_row(struct decoder *d, const char *op, const struct address *a, uint32_t vector,
				    enum type t)
{
	static const char *const width[] = { [1] = "u8", [2] = "u16", [4] = "b32", [8] = "b64", [16] = "b128" };
	char name[64], v[8] = "";
	const char *type = width[type_bytes(t)];

	if (!type_bytes(t)) {
		decode_fail(d, "%s of predicates", op);
		return NULL;
	}
	if (*op == 'l' && (t == TY_s8 || t == TY_s16))
		type = t == TY_s8 ? "s8" : "s16";
	if (vector > 1)
		snprintf(v, sizeof(v), ".v%u", vector);
	snprintf(name, sizeof(name), "%%%s%s%s.%s", op, a->access, v, type);
	return decode_row(d, name);
}

/* The operands of a vector, or the operand itself. */
static const struct operand *elements(struct decoder *d, const struct operand *o, uint32_t count)
{
	if (count == 1 && o->kind != OPD_VECTOR)
		return o;
	if (o->kind == OPD_VECTOR && o->count == count)
		return o->item;
	decode_fail(d, "%.*s takes %u elements", (int)d->insn->opcode.bytes, d->insn->opcode.p, count);
	return NULL;
}

static const uint8_t element_place[2][4] = { { 0, 2, 3, 4 }, { 2, 0, 3, 4 } }; /* of loads; of stores */

static void form_ld(struct decoder *d, const struct form_words *words)
{
	enum type t = last_type(words->key);
	uint32_t vector = words->vector, loc[8];
	const struct operand *item;
	const struct row *row;
	struct address a;

	if (!decode_count(d, 2, 2 + words->hint))
		return;
	item = elements(d, &d->insn->operand[0], vector);
	if (!item)
		return;
	a = form_address(d, &d->insn->operand[1], words, (uint64_t)type_bytes(t) * vector);
	for (uint32_t i = 0; i < vector; i++)
		loc[i] = decode_dest(d, &item[i], t);
	if (words->strong)
		form_strong(d);
	if (words->strong && !*a.access && type_bytes(t) < 16)
		a.access = ".strong";
	row = d->failed ? NULL : access_row(d, "ld", &a, vector > 4 ? 4 : vector, t);
	for (uint32_t done = 0; row && done < vector; done += 4) {
		struct step *s = decode_step(d, row);

		step_use(s, 1, a.loc);
		for (uint32_t i = 0; i < 4 && done + i < vector; i++)
			step_def(s, element_place[0][i], loc[done + i]);
		s->imm = a.imm + done * type_bytes(t);
	}
}

static void form_st(struct decoder *d, const struct form_words *words)
{
	enum type t = last_type(words->key);
	uint32_t vector = words->vector, loc[8];
	const struct operand *item;
	const struct row *row;
	struct address a;

	if (!decode_count(d, 2, 2 + words->hint))
		return;
	item = elements(d, &d->insn->operand[1], vector);
	if (!item)
		return;
	a = form_address(d, &d->insn->operand[0], words, (uint64_t)type_bytes(t) * vector);
	if (!strcmp(a.access, ".kparam")) {
		decode_fail(d, "the parameters of a kernel cannot be written");
		return;
	}
	for (uint32_t i = 0; i < vector; i++)
		loc[i] = decode_source(d, &item[i], t);
	if (words->strong)
		form_strong(d);
	if (words->strong && !*a.access && type_bytes(t) < 16)
		a.access = ".strong";
	row = d->failed ? NULL : access_row(d, "st", &a, vector > 4 ? 4 : vector, t);
	for (uint32_t done = 0; row && done < vector; done += 4) {
		struct step *s = decode_step(d, row);

		step_use(s, 1, a.loc);
		for (uint32_t i = 0; i < 4 && done + i < vector; i++)
			step_use(s, element_place[1][i], loc[done + i]);
		s->imm = a.imm + done * type_bytes(t);
	}
}

/* What a vector atomic stores where: a single one after the other, all results behind the last source. */
static void atom_vector(struct decoder *d, const struct row *row, const struct address *a, const struct operand *dest,
			const struct operand *source, enum type t, uint32_t count)
{
	uint32_t result[8], value[8];

	for (uint32_t i = 0; i < count; i++)
		value[i] = decode_source(d, &source[i], t);
	for (uint32_t i = 0; i < count && !d->failed; i++) {
		struct step *s = decode_step(d, row);

		result[i] = decode_temp(d, t);
		s->atomic = true;
		step_def(s, 0, result[i]);
		step_use(s, 1, a->loc);
		step_use(s, 2, value[i]);
		s->imm = a->imm + (uint64_t)i * type_bytes(t);
	}
	for (uint32_t i = 0; dest && i < count && !d->failed; i++) {
		struct step *s = decode_step(d, decode_row(d, type_bytes(t) == 8 ? "%mov.b64" : "%mov.b32"));

		step_def(s, 0, decode_dest(d, &dest[i], t));
		step_use(s, 1, result[i]);
	}
}

/* d, [a], b {, c}; a red has no d. */
static void form_atom(struct decoder *d, const struct insn_match *m, const struct form_words *words, bool red)
{
	const struct insn *in = d->insn;
	const struct row *row = m->row;
	struct operand sink = { .kind = OPD_SINK };
	const enum type t = (enum type)row->type[0];
	const uint32_t vector = words->vector;
	uint32_t at = red ? 0 : 1, values = row->count - 1u, loc[3], dest;
	struct address a;
	struct step *s;
	char name[FORM_KEY_BYTES + 16];

	if (!decode_count(d, at + 1 + values, at + 1 + values + words->hint))
		return;
	a = form_address(d, &in->operand[at], words, (uint64_t)type_bytes(t) * vector);
	if (*a.access && strcmp(a.access, ".shared"))
		decode_fail(d, "atomics work on global and shared memory");
	/* "atom.add.u32" or "red.add.u32" -> "%atom.shared.add.u32" */
	snprintf(name, sizeof(name), "%%atom%s%.*s", a.access, (int)(words->key.bytes - (red ? 3 : 4)),
		 words->key.p + (red ? 3 : 4));
	row = d->failed ? NULL : decode_row(d, name);
	if (!row)
		return;
	form_strong(d);
	if (vector > 1) {
		const struct operand *from = elements(d, &in->operand[at + 1], vector);
		const struct operand *to = red || !from ? NULL : elements(d, &in->operand[0], vector);

		if (!d->failed)
			atom_vector(d, row, &a, to, from, t, vector);
		return;
	}
	for (uint32_t i = 0; i < values; i++)
		loc[i] = decode_source(d, &in->operand[at + 1 + i], (enum type)m->row->type[1 + i]);
	dest = decode_dest(d, red ? &sink : &in->operand[0], t);
	if (d->failed)
		return;
	s = decode_step(d, row);
	s->atomic = true;
	step_def(s, 0, dest);
	step_use(s, 1, a.loc);
	for (uint32_t i = 0; i < values; i++)
		step_use(s, 2 + i, loc[i]);
	s->imm = a.imm;
}

static struct step *plain2(struct decoder *d, const char *row, uint32_t dest, uint32_t a, uint32_t b)
{
	struct step *s = decode_step(d, decode_row(d, row));

	step_def(s, 0, dest);
	step_use(s, 1, a);
	step_use(s, 2, b);
	return s;
}

/* Two values side by side in one of twice the width. */
static uint32_t pack(struct decoder *d, uint32_t dest, const uint32_t *loc, uint32_t count, uint32_t bytes)
{
	uint32_t half[2];
	const char *row = bytes == 16  ? "%pack.b128"
			  : bytes == 8 ? "%pack.b64"
			  : bytes == 4 ? "%pack.b32"
				       : "%pack.b16";

	if (count > 2) {
		for (uint32_t i = 0; i < 2; i++)
			half[i] = pack(d, decode_temp(d, bytes == 16 ? TY_b64 : TY_b32), loc + i * count / 2, count / 2,
				       bytes / 2);
		loc = half;
	}
	plain2(d, row, dest, loc[0], loc[1]);
	return dest;
}

static enum type bits_type(uint32_t bytes)
{
	return bytes == 1 ? TY_b8 : bytes == 2 ? TY_b16 : bytes == 4 ? TY_b32 : bytes == 8 ? TY_b64 : TY_none;
}

static void form_mov(struct decoder *d, const struct form_words *words)
{
	const struct operand *to = d->insn->operand, *from = to + 1;
	enum type t = last_type(words->key), part;
	uint32_t bytes = type_bytes(t), loc[4], source, count;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	if (to->kind != OPD_VECTOR && from->kind != OPD_VECTOR) {
		source = decode_source(d, from, t);
		s = decode_step(d, decode_row(d, t == TY_pred ? "%mov.pred"
						 : bytes <= 4 ? "%mov.b32"
						 : bytes == 8 ? "%mov.b64"
							      : "%mov.b128"));
		step_def(s, 0, decode_dest(d, to, t));
		step_use(s, 1, source);
		return;
	}
	count = to->kind == OPD_VECTOR ? to->count : from->count;
	part = count == 2 || count == 4 ? bits_type(bytes / count) : TY_none;
	if (part == TY_none || (to->kind == OPD_VECTOR && from->kind == OPD_VECTOR)) {
		decode_fail(d, "%.*s with %u elements", (int)d->insn->opcode.bytes, d->insn->opcode.p, count);
		return;
	}
	if (from->kind == OPD_VECTOR) {
		for (uint32_t i = 0; i < count; i++)
			loc[i] = decode_source(d, &from->item[i], part);
		if (!d->failed)
			pack(d, decode_dest(d, to, t), loc, count, bytes);
		return;
	}
	source = decode_source(d, from, t);
	for (uint32_t i = 0; i < count && !d->failed; i++) {
		if (to->item[i].kind == OPD_SINK)
			continue;
		s = decode_step(d, decode_row(d, bytes == 16  ? "%unpack.b128"
						 : bytes == 8 ? "%unpack.b64"
							      : "%unpack.b32"));
		step_def(s, 0, decode_dest(d, &to->item[i], part));
		step_use(s, 1, source);
		s->imm = (uint64_t)i * (bytes / count) * 8;
	}
	if (bytes == 16 && count != 2)
		decode_fail(d, "%.*s with %u elements", (int)d->insn->opcode.bytes, d->insn->opcode.p, count);
}

static void form_cvta(struct decoder *d, const struct form_words *words)
{
	struct step *s;
	uint32_t source;

	if (!decode_count(d, 2, 2))
		return;
	source = decode_source(d, &d->insn->operand[1], TY_u64);
	if (words->cluster) { /* both ways through 32 bits */
		uint32_t dest = decode_dest(d, &d->insn->operand[0], TY_u64), low = decode_temp(d, TY_u32);

		s = plain2(d, words->to ? "%cluster.offset" : "%low.b32", low, source, LOC_NONE);
		plain2(d, words->to ? "cvt.u64.u32" : "%shared.generic", dest, low, LOC_NONE);
		return;
	}
	s = decode_step(d, decode_row(d, words->space != 's' ? "%mov.b64"
					 : words->to	     ? "%cvta.to.shared.u64"
							     : "%cvta.shared.u64"));
	step_def(s, 0, decode_dest(d, &d->insn->operand[0], TY_u64));
	step_use(s, 1, source);
}

static void form_isspacep(struct decoder *d, const struct form_words *words)
{
	struct step *s;
	uint32_t source;

	if (!decode_count(d, 2, 2))
		return;
	source = decode_source(d, &d->insn->operand[1], TY_u64);
	s = decode_step(d, decode_row(d, words->cluster ? "%cluster.is_shared" : "%isspacep"));
	step_def(s, 0, decode_dest(d, &d->insn->operand[0], TY_pred));
	step_use(s, 1, source);
	s->imm = (uint8_t)words->space;
}

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
static void form_setp(struct decoder *d, const struct row *row, const struct form_words *words)
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
	plain2(d, "%nothing", from[0], a, b)->row = row;
	if (dest[1] == LOC_NONE) {
		if (words->boolop)
			plain2(d, bool_row, dest[0], from[0], c);
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
static void form_set(struct decoder *d, const struct form_words *words)
{
	const struct insn *in = d->insn;
	char name[FORM_KEY_BYTES];
	struct name key = words->key;
	uint32_t tail = 0, mid, a, b, p, c;
	const struct row *row;
	enum type t, source = last_type(key);
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
	s = plain2(d, "%nothing", p, a, b);
	s->row = row;
	if (words->boolop) {
		c = decode_source(d, &in->operand[3], TY_pred);
		plain2(d, words->boolop == 'a' ? "and.pred" : words->boolop == 'o' ? "or.pred" : "xor.pred", p, p, c);
	}
	yes = t == TY_f32 ? 0x3f800000u : t == TY_f16 ? 0x3c00 : t == TY_bf16 ? 0x3f80 : 0xffffffffu;
	s = plain2(d, "selp.b32", decode_dest(d, &in->operand[0], t), decode_constant(d, yes, 4),
		   decode_constant(d, 0, 4));
	step_use(s, 3, p);
}

/* setp.lt.f16x2 p|q, a, b: p of the lower halves, q of the upper ones. */
static void form_setp_pair(struct decoder *d, const struct form_words *words)
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
		plain2(d, "%nothing", from[k], half[k][0], half[k][1])->row = row;
	}
	predicate_results(d, p, from);
}

static uint64_t branch_target(struct decoder *d, const struct symbol *s)
{
	if (!s || s->kind != SYM_LABEL) {
		decode_fail(d, "%.*s is not a label", s ? (int)s->name.bytes : 0, s ? s->name.p : "");
		return 0;
	}
	return s->offset;
}

static void form_bra(struct decoder *d)
{
	struct step *s;

	if (!decode_count(d, 1, 1))
		return;
	s = decode_step(d, NULL);
	s->control = CTL_BRA;
	s->imm = d->insn->operand[0].kind == OPD_SYMBOL ? branch_target(d, d->insn->operand[0].symbol)
							: branch_target(d, NULL);
}

static void form_brx(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	struct symbol *list;
	uint32_t *targets, index;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	list = o[1].kind == OPD_SYMBOL ? o[1].symbol : NULL;
	if (!list || list->kind != SYM_TARGETS) {
		decode_fail(d, "brx.idx without a list of branch targets");
		return;
	}
	index = decode_source(d, &o[0], TY_u32);
	targets = decode_take(d, (list->target_count + 1) * sizeof(*targets));
	if (!targets)
		return;
	targets[0] = list->target_count;
	for (uint32_t i = 0; i < list->target_count; i++)
		targets[i + 1] = (uint32_t)branch_target(d, list->targets[i]);
	s = decode_step(d, NULL);
	s->control = CTL_BRX;
	s->targets = targets;
	step_use(s, 1, index);
}

/* Registers that hold the results of an old-style function are read when it returns. */
void form_return(struct decoder *d)
{
	struct step *s;
	uint32_t n = 0;

	form_stack_end(d);
	s = decode_step(d, NULL);
	s->control = d->body->kernel ? CTL_EXIT : CTL_RET;
	for (struct symbol *r = d->body->result; r; r = r->next)
		n += r->kind == SYM_REG_PARAM;
	if (!n)
		return;
	s->use = decode_scratch(d, (n + 1) * sizeof(*s->use));
	if (!s->use)
		return;
	n = 0;
	for (struct symbol *r = d->body->result; r; r = r->next)
		if (r->kind == SYM_REG_PARAM)
			s->use[n++] = (uint32_t)r->index + 1;
}

static void form_exit(struct decoder *d)
{
	decode_step(d, NULL)->control = CTL_EXIT;
}

/* One argument or result of a call. Registers are listed for liveness; their places are known after allocation. */
static struct call_value call_value(struct decoder *d, const struct operand *o, bool result)
{
	struct call_value v = { .loc = LOC_NONE };

	if (o->kind == OPD_SYMBOL && (o->symbol->kind == SYM_PARAM || o->symbol->kind == SYM_LOCAL)) {
		v.offset = (uint32_t)o->symbol->offset;
		v.bytes = (uint32_t)o->symbol->bytes;
	} else if (o->kind == OPD_REG) {
		v.loc = o->reg;
		v.lane_bytes = v.bytes = d->reg_lane[o->reg];
	} else if (!result && (o->kind == OPD_INT || o->kind == OPD_F64 || o->kind == OPD_F32)) {
		v.lane_bytes = v.bytes = o->kind == OPD_F32 ? 4 : 8;
		v.loc = decode_constant(d, o->value, v.lane_bytes);
	} else if (o->kind == OPD_SINK) {
		v.bytes = 0;
	} else {
		decode_fail(d, "an argument of the wrong kind");
	}
	return v;
}

static struct call_value *call_values(struct decoder *d, const struct operand *list, bool result, uint32_t *ret_count)
{
	struct call_value *v;

	*ret_count = list ? list->count : 0;
	v = decode_take(d, (*ret_count + 1) * sizeof(*v));
	for (uint32_t i = 0; v && i < *ret_count; i++)
		v[i] = call_value(d, &list->item[i], result);
	return v;
}

static uint32_t *call_registers(struct decoder *d, const struct call_value *v, uint32_t count)
{
	uint32_t *list = decode_scratch(d, (count + 1) * sizeof(*list)), n = 0;

	for (uint32_t i = 0; list && i < count; i++)
		if (v[i].loc != LOC_NONE && !(v[i].loc & LOC_CONST))
			list[n++] = v[i].loc + 1;
	return list;
}

/* The runtime library's functions in kernels have several names: cudaLaunchDeviceV2, __cudaCDP2LaunchDeviceV2. */
static struct name runtime_name(struct name n)
{
	const uint32_t front = starts(n, "__cudaCDP2") ? 10 : starts(n, "cuda") ? 4 : 0;
	const uint32_t back = n.bytes > 5 && !memcmp(n.p + n.bytes - 5, "_ptsz", 5) ? 5 : 0;

	return front ? (struct name){ n.p + front, n.bytes - front - back } : n;
}

/* vprintf and the like: plain steps whose operands are offsets in the frame's local memory. */
static bool call_builtin(struct decoder *d, const struct symbol *callee, const struct call *call)
{
	const struct name runtime = runtime_name(callee->name);
	static const struct {
		const char *name, *row;
		uint32_t args, imm;
	} builtin[] = { { "vprintf", "%vprintf", 2, 0 },
			{ "malloc", "%malloc", 1, 0 },
			{ "free", "%free", 1, 0 },
			{ "__assertfail", "%assertfail", 5, 0 },
			{ "cudaGraphSetConditional", "%setcondition", 2, 0 },
			{ "GetParameterBufferV2", "%launch.buffer", 4, 0 },
			{ "LaunchDeviceV2", "%launch.device", 2, 0 },
			{ "GetLastError", "%launch.error", 0, 1 },
			{ "PeekAtLastError", "%launch.error", 0, 0 },
			{ "StreamCreateWithFlags", "%launch.handle", 2, 0 },
			{ "StreamDestroy", "%launch.nothing", 1, 0 },
			{ "StreamWaitEvent", "%launch.nothing", 3, 0 },
			{ "EventCreateWithFlags", "%launch.handle", 2, 0 },
			{ "EventRecord", "%launch.nothing", 2, 0 },
			{ "EventRecordWithFlags", "%launch.nothing", 3, 0 },
			{ "EventDestroy", "%launch.nothing", 1, 0 } };

	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++) {
		struct step *s;

		if (!name_is(builtin[i].row[1] == 'l' ? runtime : callee->name, builtin[i].name))
			continue;
		if (call->arg_count != builtin[i].args || call->result_count > 1) {
			decode_fail(d, "%s takes %u arguments", builtin[i].name, builtin[i].args);
			return true;
		}
		for (uint32_t k = 0; k < call->arg_count; k++)
			if (call->arg[k].loc != LOC_NONE || call->arg[k].bytes < 4) {
				decode_fail(d, "the arguments of %s must be .param variables", builtin[i].name);
				return true;
			}
		s = decode_step(d, decode_row(d, builtin[i].row));
		s->imm = builtin[i].imm;
		if (call->result_count && call->result[0].loc == LOC_NONE)
			s->operand[0] = call->result[0].offset;
		for (uint32_t k = 0; k < call->arg_count && k < 5; k++)
			s->operand[k + 1] = call->arg[k].offset;
		return true;
	}
	return false;
}

static void callee_add(struct decoder *d, struct function *f)
{
	if (d->callee_count == d->callee_room) {
		uint32_t room = d->callee_room * 2 + 8;
		struct function **grown = realloc(d->callee, room * sizeof(struct function *));

		if (!grown) {
			decode_no_memory(d);
			return;
		}
		d->callee = grown;
		d->callee_room = room;
	}
	d->callee[d->callee_count++] = f;
}

/* Functions of the device runtime are known by name: without them a kernel cannot launch another. */
static void unresolved(struct decoder *d, const struct symbol *callee)
{
	static const char *const runtime[] = { "cuda", "__cudaCDP" };
	const struct name *n = &d->body->symbol->name;
	bool launches = false;
	char who[128];

	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		launches = launches || starts(callee->name, runtime[i]);
	snprintf(who, sizeof(who), "%s %.*s", d->body->kernel ? "kernel" : "function",
		 (int)(n->bytes > 96 ? 96 : n->bytes), n->p);
	complain(d->program->complaint, PTX_UNRESOLVED, d->insn->line, who, "no function %.*s in this module%s",
		 (int)callee->name.bytes, callee->name.p,
		 launches ? ": this part of the runtime library in kernels is not supported" : "");
	d->failed = true;
}

/* call{.uni} (results), function, (arguments){, prototype}; */
static void form_call(struct decoder *d)
{
	const struct insn *in = d->insn;
	const struct operand *target, *result = NULL, *arg = NULL;
	struct call *call = decode_take(d, sizeof(*call));
	uint32_t i = 0, through = LOC_NONE;
	struct symbol *callee;
	struct step *s;

	if (!call || !decode_count(d, 1, 4))
		return;
	if (in->operand[i].kind == OPD_LIST)
		result = &in->operand[i++];
	target = i < in->count ? &in->operand[i++] : NULL;
	if (i < in->count && in->operand[i].kind == OPD_LIST)
		arg = &in->operand[i];
	if (!target || (target->kind != OPD_SYMBOL && target->kind != OPD_REG)) {
		decode_fail(d, "call of what is not a function");
		return;
	}
	call->arg = call_values(d, arg, false, &call->arg_count);
	call->result = call_values(d, result, true, &call->result_count);
	if (d->failed)
		return;
	if (target->kind == OPD_REG) {
		through = decode_source(d, target, TY_u64);
		d->function->calls_unknown = true;
	} else {
		callee = target->symbol->definition;
		if (callee->kind != SYM_FUNCTION) {
			decode_fail(d, "%.*s is not a function", (int)callee->name.bytes, callee->name.p);
			return;
		}
		if (!callee->body && call_builtin(d, callee, call))
			return;
		if (!callee->body || callee->body->kernel) {
			unresolved(d, callee);
			return;
		}
		call->function = callee->body->function;
		callee_add(d, callee->body->function);
	}
	s = decode_step(d, NULL);
	s->control = CTL_CALL;
	s->call = call;
	step_use(s, 1, through);
	s->use = call_registers(d, call->arg, call->arg_count);
	s->def = call_registers(d, call->result, call->result_count);
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, {!}c */
static void form_bar(struct decoder *d, const struct insn_match *m)
{
	const struct operand *o = d->insn->operand;
	struct barrier_use *use = decode_take(d, sizeof(*use));
	bool red = m->row->count == 1;
	uint32_t id, count = LOC_NONE, source = LOC_NONE, dest = LOC_NONE;
	struct operand plain;
	struct step *s;

	if (!use)
		return;
	use->kind = red ? (enum bar_kind)(BAR_POPC + m->variant) : m->variant ? BAR_ARRIVE : BAR_SYNC;
	if (red) {
		if (!decode_count(d, 3, 4))
			return;
		id = decode_source(d, &o[1], TY_u32);
		if (d->insn->count == 4)
			count = decode_source(d, &o[2], TY_u32);
		plain = o[d->insn->count - 1];
		use->negate = plain.negate;
		plain.negate = false;
		source = decode_source(d, &plain, TY_pred);
		dest = decode_dest(d, &o[0], use->kind == BAR_POPC ? TY_u32 : TY_pred);
	} else {
		if (!decode_count(d, 1, 2))
			return;
		id = decode_source(d, &o[0], TY_u32);
		if (d->insn->count == 2)
			count = decode_source(d, &o[1], TY_u32);
	}
	if (d->failed)
		return;
	s = decode_step(d, NULL);
	s->control = CTL_BAR;
	s->bar = use;
	step_def(s, 0, dest);
	step_use(s, 1, id);
	step_use(s, 2, count);
	step_use(s, 3, source);
}

void form_decode(struct decoder *d, const struct insn_match *m, const struct form_words *words)
{
	switch ((enum form)m->row->form) {
	case FORM_LD:
		form_ld(d, words);
		break;
	case FORM_ST:
		form_st(d, words);
		break;
	case FORM_ATOM:
		form_atom(d, m, words, false);
		break;
	case FORM_RED:
		form_atom(d, m, words, true);
		break;
	case FORM_MOV:
		form_mov(d, words);
		break;
	case FORM_CVTA:
		form_cvta(d, words);
		break;
	case FORM_ISSPACEP:
		form_isspacep(d, words);
		break;
	case FORM_SETP:
		form_setp(d, m->row, words);
		break;
	case FORM_SETP_PAIR:
		form_setp_pair(d, words);
		break;
	case FORM_SET:
		form_set(d, words);
		break;
	case FORM_BRA:
		form_bra(d);
		break;
	case FORM_BRX:
		form_brx(d);
		break;
	case FORM_CALL:
		form_call(d);
		break;
	case FORM_RET:
		form_return(d);
		break;
	case FORM_EXIT:
		form_exit(d);
		break;
	case FORM_BAR:
		form_bar(d, m);
		break;
	case FORM_TEXTURE:
		form_texture(d, m, words);
		break;
	case FORM_MATRIX:
		form_matrix(d, m, words);
		break;
	case FORM_ASYNC:
		form_async(d, m, words);
		break;
	case FORM_VIDEO:
		form_video(d);
		break;
	case FORM_STACK:
		form_stack(d, words);
		break;
	default:
		decode_fail(d, "%.*s is not supported", (int)d->insn->opcode.bytes, d->insn->opcode.p);
	}
}
