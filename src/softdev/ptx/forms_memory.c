/* forms_memory.c: loads, stores, atomics, and addresses of one space as those of another. */
#include "softdev/ptx/forms.h"

#include <stdio.h>
#include <string.h>

struct address form_address(struct decoder *d, const struct operand *o, const struct form_words *words, uint64_t bytes)
{
	const char space = words->space;
	struct address a = { "", LOC_NONE, o->value };
	struct operand base = { .kind = OPD_REG, .reg = o->reg };
	struct symbol *s = o->symbol;
	const bool element = o->kind == OPD_SYMBOL && o->element, indexed = element && o->reg != LOC_NONE;
	uint64_t end;

	if ((o->kind != OPD_ADDRESS && !element) || o->item) {
		decode_fail(d, "%.*s without an address", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return a;
	}
	if (!indexed && s && (s->kind == SYM_PARAM || s->kind == SYM_LOCAL || s->kind == SYM_KERNEL_PARAM)) {
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
		base = (struct operand){ .kind = OPD_SYMBOL, .symbol = s, .element = indexed, .reg = o->reg };
	else if (o->reg == LOC_NONE)
		base = (struct operand){ .kind = OPD_INT };
	if (space == 's' || (s && s->kind == SYM_SHARED && space)) {
		a.access = ".shared";
		a.loc = decode_source(d, &base, TY_u32);
		if (words->cluster && !d->failed)
			a = (struct address){ "", form_shared_generic(d, a.loc, a.imm), 0 };
	} else if ((space == 'l' || space == 'p') && base.kind == OPD_REG && d->reg_lane[base.reg] == 4) {
		const uint32_t source = decode_source(d, &base, TY_u32);

		a.loc = decode_temp(d, TY_u64);
		form_plain2(d, space == 'l' ? "%local_widen.b32" : "%param_widen.b32", a.loc, source, LOC_NONE);
	} else {
		a.loc = decode_source(d, &base, TY_u64);
	}
	return a;
}

static const struct row *access_row(struct decoder *d, const char *op, const struct address *a, uint32_t vector,
				    enum type t)
{
	static const char *const width[] = { [1] = "u8", [2] = "u16", [4] = "b32", [8] = "b64", [16] = "b128" };
	char name[64], v[16] = "";
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

void form_ld(struct decoder *d, const struct form_words *words)
{
	enum type t = form_last_type(words->key);
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

/* Elements [from, from + count) of a vector. */
static void store_part(struct decoder *d, const struct row *row, const struct address *a, enum type t,
		       const uint32_t *loc, uint32_t from, uint32_t count)
{
	struct step *s = decode_step(d, row);

	step_use(s, 1, a->loc);
	for (uint32_t i = 0; i < count; i++)
		step_use(s, element_place[1][i], loc[from + i]);
	s->imm = a->imm + from * type_bytes(t);
}

/* An element that is _ keeps what is in memory: then each other is a store of its own. */
void form_st(struct decoder *d, const struct form_words *words)
{
	enum type t = form_last_type(words->key);
	uint32_t vector = words->vector, at_once = vector > 4 ? 4 : vector, loc[8];
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
	for (uint32_t i = 0; i < vector; i++) {
		bool sink = vector > 1 && item[i].kind == OPD_SINK;

		loc[i] = sink ? LOC_NONE : decode_source(d, &item[i], t);
		if (sink)
			at_once = 1;
	}
	if (words->strong)
		form_strong(d);
	if (words->strong && !*a.access && type_bytes(t) < 16)
		a.access = ".strong";
	row = d->failed ? NULL : access_row(d, "st", &a, at_once, t);
	for (uint32_t done = 0; row && done < vector; done += at_once)
		if (loc[done] != LOC_NONE)
			store_part(d, row, &a, t, loc, done, at_once);
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
void form_atom(struct decoder *d, const struct insn_match *m, const struct form_words *words, bool red)
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

void form_cvta(struct decoder *d, const struct form_words *words)
{
	struct step *s;
	uint32_t source;

	if (!decode_count(d, 2, 2))
		return;
	source = decode_source(d, &d->insn->operand[1], TY_u64);
	if (words->cluster) { /* both ways through 32 bits */
		uint32_t dest = decode_dest(d, &d->insn->operand[0], TY_u64), low = decode_temp(d, TY_u32);

		s = form_plain2(d, words->to ? "%cluster.offset" : "%low.b32", low, source, LOC_NONE);
		form_plain2(d, words->to ? "cvt.u64.u32" : "%shared.generic", dest, low, LOC_NONE);
		return;
	}
	s = decode_step(d, decode_row(d, words->space == 's' ? words->to ? "%cvta.to.shared.u64" : "%cvta.shared.u64"
					 : words->to	     ? "%mov.b64"
					 : words->space == 'l' ? "%local_widen.u64"
					 : words->space == 'p' ? "%param_widen.u64"
							     : "%mov.b64"));
	step_def(s, 0, decode_dest(d, &d->insn->operand[0], TY_u64));
	step_use(s, 1, source);
}

void form_isspacep(struct decoder *d, const struct form_words *words)
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
