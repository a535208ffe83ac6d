/*
 * forms.c: the instructions whose operands are not simply a result and sources: the words of their opcodes, moves with
 * packing, and which file knows each form.
 */
#include "softdev/ptx/forms.h"

#include <string.h>

static bool word_is(struct name w, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (name_is(w, list[i]))
			return true;
	return false;
}

#define WORD_IN(w, list) word_is(w, list, sizeof(list) / sizeof((list)[0]))

bool name_starts(struct name w, const char *with)
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

	if (name_starts(w, "L1::") || name_starts(w, "L2::") || name_is(w, "L1") || name_is(w, "L2")) {
		f->hint |= name_is(w, "L2::cache_hint");
		return true;
	}
	if (name_is(w, "v2") || name_is(w, "v4") || name_is(w, "v8")) {
		f->vector = (uint8_t)(w.p[1] - '0');
		return true;
	}
	if (name_is(w, "global") || name_is(w, "const") || name_starts(w, "shared") || name_is(w, "local") ||
	    name_starts(w, "param")) {
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

enum type form_last_type(struct name key)
{
	uint32_t n = 0;

	while (n < key.bytes && key.p[key.bytes - 1 - n] != '.')
		n++;
	return type_find(key.p + key.bytes - n, n);
}

struct step *form_plain2(struct decoder *d, const char *row, uint32_t dest, uint32_t a, uint32_t b)
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
	form_plain2(d, row, dest, loc[0], loc[1]);
	return dest;
}

static enum type bits_type(uint32_t bytes)
{
	return bytes == 1 ? TY_b8 : bytes == 2 ? TY_b16 : bytes == 4 ? TY_b32 : bytes == 8 ? TY_b64 : TY_none;
}

static void form_mov(struct decoder *d, const struct form_words *words)
{
	const struct operand *to = d->insn->operand, *from;
	enum type t = form_last_type(words->key), part;
	uint32_t bytes = type_bytes(t), loc[4], source, count;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	from = to + 1;
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

static void form_policy(struct decoder *d)
{
	uint32_t dest;

	if (!decode_count(d, 1, 4))
		return;
	dest = decode_dest(d, &d->insn->operand[0], TY_u64);
	form_plain2(d, "%mov.b64", dest, decode_constant(d, 0, 8), LOC_NONE);
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
		if (m->row->count == 1)
			form_random_four(d);
		else
			form_video(d);
		break;
	case FORM_STACK:
		form_stack(d, words);
		break;
	case FORM_POLICY:
		form_policy(d);
		break;
	default:
		decode_fail(d, "%.*s is not supported", (int)d->insn->opcode.bytes, d->insn->opcode.p);
	}
}
