/*
 * forms_video.c: decodes the video instructions, whose operands may be parts of registers, local memory that is taken
 * at run time, and the second form of instructions that have one under the same name.
 */
#include "softdev/ptx/forms.h"
#include "softdev/ptx/video.h"

#include <stdio.h>
#include <string.h>

static const char *const op_name[] = { "vadd", "vsub", "vavrg", "vabsdiff", "vmin",
				       "vmax", "vshl", "vshr",	"vmad",	    "vset" };
static const char *const compare_name[] = { "eq", "ne", "lt", "le", "gt", "ge" };
static const char *const second_name[] = { [VIDEO_ADD] = "add", [VIDEO_MIN] = "min", [VIDEO_MAX] = "max" };

static int find_word(struct name w, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] && name_is(w, list[i]))
			return (int)i;
	return -1;
}

#define FIND_WORD(w, list) find_word(w, list, sizeof(list) / sizeof((list)[0]))

/* The first word: the operation and how many values lie in a register. */
static bool take_name(struct name w, struct video_use *u)
{
	int k;

	u->parts = 1;
	if (w.bytes && (w.p[w.bytes - 1] == '2' || w.p[w.bytes - 1] == '4')) {
		u->parts = (uint8_t)(w.p[w.bytes - 1] - '0');
		w.bytes--;
	}
	k = FIND_WORD(w, op_name);
	u->op = (uint8_t)k;
	return k >= 0;
}

static void take_word(struct name w, uint32_t *types, struct video_use *u)
{
	const int compare = FIND_WORD(w, compare_name), second = FIND_WORD(w, second_name);
	bool *const to[] = { &u->signed_d, &u->signed_a, &u->signed_b };

	if (name_is(w, "u32") || name_is(w, "s32")) {
		if (*types < 3)
			*to[(*types)++] = w.p[0] == 's';
	} else if (compare >= 0) {
		u->compare = (uint8_t)compare;
	} else if (second >= 0) {
		u->second = (uint8_t)second;
	}
	u->saturate |= name_is(w, "sat");
	u->wrap |= name_is(w, "wrap");
	u->plus_one |= name_is(w, "po");
	u->shift = name_is(w, "shr7") ? 7 : name_is(w, "shr15") ? 15 : u->shift;
}

static bool take_words(struct name opcode, struct video_use *u)
{
	uint32_t types = 0;
	bool first = true;

	u->second = VIDEO_SET;
	for (uint32_t from = 0, to; from < opcode.bytes; from = to + 1) {
		struct name w;

		for (to = from; to < opcode.bytes && opcode.p[to] != '.'; to++)
			;
		w = (struct name){ opcode.p + from, to - from };
		if (first && !take_name(w, u))
			return false;
		if (!first)
			take_word(w, &types, u);
		first = false;
		if (u->op == VIDEO_SET)
			types = types ? types : 1; /* the result has no type */
	}
	return true;
}

/* "b2" or "h1": one part. */
static bool part_taken(struct name s, uint8_t *from, uint8_t *bits)
{
	if (s.bytes != 2 || (s.p[0] != 'b' && s.p[0] != 'h') || s.p[1] < '0' || s.p[1] > (s.p[0] == 'b' ? '3' : '1'))
		return false;
	*bits = s.p[0] == 'b' ? 8 : 16;
	*from = (uint8_t)((s.p[1] - '0') * *bits);
	return true;
}

/* "h32" or "b7610": an element for each place, the uppermost first. */
static bool picks_taken(struct name s, uint32_t parts, uint8_t pick[4])
{
	if (s.bytes != parts + 1 || s.p[0] != (parts == 2 ? 'h' : 'b'))
		return false;
	for (uint32_t i = 0; i < parts; i++) {
		const uint32_t k = (uint32_t)(s.p[parts - i] - '0');

		if (k >= 2 * parts)
			return false;
		pick[i] = (uint8_t)k;
	}
	return true;
}

/* "h1" or "b310": the places that are written, the uppermost first. */
static bool mask_taken(struct name s, uint32_t parts, uint8_t *mask)
{
	uint32_t last = parts;

	if (s.bytes < 2 || s.bytes > parts + 1 || s.p[0] != (parts == 2 ? 'h' : 'b'))
		return false;
	*mask = 0;
	for (uint32_t i = 1; i < s.bytes; i++) {
		const uint32_t k = (uint32_t)(s.p[i] - '0');

		if (k >= last)
			return false;
		*mask |= (uint8_t)(1u << k);
		last = k;
	}
	return true;
}

static bool selectors_taken(const struct operand *o, struct video_use *u)
{
	bool good = true;

	u->mask = (uint8_t)((1u << u->parts) - 1);
	for (uint32_t k = 0; k < 3; k++) {
		const struct name s = o[k].select;

		u->bits[k] = 32;
		for (uint32_t i = 0; k && i < u->parts; i++)
			u->pick[k - 1][i] = (uint8_t)(i + (k - 1) * u->parts);
		if (!s.bytes)
			continue;
		good &= u->parts == 1 ? part_taken(s, &u->from[k], &u->bits[k])
			: k	      ? picks_taken(s, u->parts, u->pick[k - 1])
				      : mask_taken(s, u->parts, &u->mask);
	}
	return good;
}

/* d, a, b {, c}: with c where it is merged into, added to or compared with. */
void form_video(struct decoder *d)
{
	const struct insn *in = d->insn;
	struct video_use *u = decode_take(d, sizeof(*u));
	struct op_list *list = decode_take(d, sizeof(*list));
	struct operand o[4];
	uint32_t count, loc[4] = { LOC_NONE, LOC_NONE, LOC_NONE, LOC_NONE };
	struct step *s;

	if (!u || !list || !decode_count(d, 3, 4))
		return;
	memcpy(o, in->operand, in->count * sizeof(*o));
	if (!take_words(in->opcode, u) || !selectors_taken(o, u)) {
		decode_fail(d, "%.*s with parts of registers that it does not take", (int)in->opcode.bytes,
			    in->opcode.p);
		return;
	}
	u->minus_a = o[1].negate;
	u->minus_b = o[2].negate;
	u->minus_c = in->count == 4 && o[3].negate;
	count = u->parts > 1 || u->op == VIDEO_MAD || u->second != VIDEO_SET || u->bits[0] < 32 ? 4 : 3;
	if (!decode_count(d, count, count))
		return;
	if ((u->op != VIDEO_MAD && (u->minus_a || u->minus_b || u->minus_c)) || o[0].negate ||
	    (u->op == VIDEO_MAD && u->bits[0] < 32) || (u->bits[0] < 32 && u->second != VIDEO_SET)) {
		decode_fail(d, "%.*s does not go with these operands", (int)in->opcode.bytes, in->opcode.p);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		o[i].negate = false;
		loc[i] = decode_source(d, &o[i], TY_u32);
	}
	loc[0] = decode_dest(d, &o[0], TY_u32);
	if (d->failed)
		return;
	list->what = u;
	s = decode_step(d, decode_row(d, "%video"));
	step_def(s, 0, loc[0]);
	for (uint32_t i = 1; i < count; i++)
		step_use(s, i, loc[i]);
	s->list = list;
}

/* cvt.rs of four values: d, {a, b, e, f}, random bits: as two pairs. */
void form_random_four(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	const bool relu = memmem(d->insn->opcode.p, d->insn->opcode.bytes, ".relu", 5) != NULL;
	const char *type = memmem(d->insn->opcode.p, d->insn->opcode.bytes, ".satfinite.", 11);
	const bool four_bits = memmem(d->insn->opcode.p, d->insn->opcode.bytes, ".e2m1x4", 7) != NULL;
	uint32_t pair[2], random, value[2], dest;
	struct step *s;

	if (!decode_count(d, 3, 3))
		return;
	if (o[1].kind != OPD_VECTOR || o[1].count != 4) {
		decode_fail(d, "%.*s takes {a, b, e, f}", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return;
	}
	random = decode_source(d, &o[2], TY_u32);
	dest = decode_dest(d, &o[0], four_bits ? TY_b16 : TY_b32);
	for (uint32_t i = 0; i < 2; i++) {
		char row[40];

		snprintf(row, sizeof(row), "%%cvt.rs.%s%s.%.4s", relu ? "relu." : "", i ? "second" : "first",
			 type + 11);
		for (uint32_t k = 0; k < 2; k++)
			value[k] = decode_source(d, &o[1].item[i * 2 + k], TY_f32);
		pair[i] = decode_temp(d, TY_u32);
		if (d->failed)
			return;
		s = decode_step(d, decode_row(d, row));
		step_def(s, 0, pair[i]);
		step_use(s, 1, value[0]);
		step_use(s, 2, value[1]);
		step_use(s, 3, random);
	}
	s = decode_step(d, decode_row(d, four_bits ? "%pack.b16" : "%pack.b32"));
	step_use(s, 1, pair[1]);
	step_use(s, 2, pair[0]);
	step_def(s, 0, dest);
}

/* alloca d, size {, align}; stacksave d; stackrestore a */
void form_stack(struct decoder *d, const struct form_words *words)
{
	const struct operand *o = d->insn->operand;
	const bool alloc = words->key.p[0] == 'a', restore = words->key.bytes > 5 && words->key.p[5] == 'r';
	uint64_t align = 8;
	uint32_t loc;
	struct step *s;

	if (!decode_count(d, alloc ? 2 : 1, alloc ? 3 : 1))
		return;
	if (alloc && d->insn->count == 3) {
		align = o[2].value;
		if (o[2].kind != OPD_INT || !align || align & (align - 1) || align > 1u << 23) {
			decode_fail(d, "alloca with an alignment that is no power of two");
			return;
		}
	}
	loc = alloc ? decode_source(d, &o[1], TY_u64) : restore ? decode_source(d, &o[0], TY_u64) : LOC_NONE;
	s = decode_step(d, decode_row(d, alloc ? "%stackalloc" : restore ? "%stackrestore" : "%stacksave"));
	step_use(s, 1, loc);
	s->imm = align;
	if (!restore) {
		loc = decode_dest(d, &o[0], TY_u64);
		step_def(&d->step[d->step_count - 1], 0, loc);
	}
}

/* What a function takes of the stack is given back when it returns. */
void form_stack_begin(struct decoder *d)
{
	struct step *s;

	d->stack = LOC_NONE;
	for (uint32_t i = 0; i < d->body->count && !d->function->takes_stack; i++) {
		const struct name n = d->body->insn[i].opcode;

		d->function->takes_stack = n.bytes > 6 && n.p[0] == 'a' && !memcmp(n.p, "alloca.", 7);
	}
	if (!d->function->takes_stack || d->body->kernel)
		return;
	d->stack = decode_temp(d, TY_u64);
	s = decode_step(d, decode_row(d, "%stacksave"));
	step_def(s, 0, d->stack);
}

void form_stack_end(struct decoder *d)
{
	if (d->stack != LOC_NONE)
		step_use(decode_step(d, decode_row(d, "%stackrestore")), 1, d->stack);
}

bool form_plain_other(struct decoder *d, const struct insn_match *m)
{
	const struct insn *in = d->insn;
	struct insn_match other;
	char name[FORM_KEY_BYTES + 4];

	if (in->opcode.p[0] == 'v')
		for (uint32_t i = 0; i < in->count; i++)
			if (in->operand[i].select.bytes) {
				form_video(d);
				return true;
			}
	if (in->opcode.p[0] != 'm' || in->count != 4 || m->row->count != 3 || in->opcode.bytes >= FORM_KEY_BYTES)
		return false;
	/* of three sources: min.f32 is "%min.f32/3" */
	snprintf(name, sizeof(name), "%%%.*s/3", (int)in->opcode.bytes, in->opcode.p);
	if (!insn_find(d->table, (struct name){ name, (uint32_t)strlen(name) }, &other))
		return false;
	decode_plain(d, other.row, other.variant);
	return true;
}
