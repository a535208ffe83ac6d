/*
 * forms_async.c: decodes asynchronous copies, barriers in memory and what concerns clusters, and names the instructions
 * that are known and not supported.
 *
 * Addresses of shared memory, the block's own or of the cluster, become generic ones first, so each executor has one
 * kind to deal with.
 */
#include "softdev/ptx/forms.h"

#include <stdio.h>
#include <string.h>

static bool has_word(struct name opcode, const char *word)
{
	const size_t n = strlen(word);

	for (uint32_t i = 0; i + n <= opcode.bytes; i++)
		if (!memcmp(opcode.p + i, word, n) && (i + n == opcode.bytes || opcode.p[i + n] == '.') &&
		    (!i || opcode.p[i - 1] == '.'))
			return true;
	return false;
}

uint32_t form_shared_generic(struct decoder *d, uint32_t loc, uint64_t offset)
{
	const uint32_t temp = decode_temp(d, TY_u64);
	struct step *s = decode_step(d, decode_row(d, "%shared.generic"));

	step_def(s, 0, temp);
	step_use(s, 1, loc);
	s->imm = offset;
	return temp;
}

uint32_t form_generic_address(struct decoder *d, const struct operand *o, char space)
{
	const struct form_words words = { .space = space };
	struct address a = form_address(d, o, &words, 0);
	uint32_t temp;
	struct step *s;

	if (d->failed)
		return LOC_NONE;
	if (!strcmp(a.access, ".shared"))
		return form_shared_generic(d, a.loc, a.imm);
	if (*a.access) {
		decode_fail(d, "%.*s takes global or shared memory", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return LOC_NONE;
	}
	if (!a.imm)
		return a.loc;
	temp = decode_temp(d, TY_u64);
	s = decode_step(d, decode_row(d, "add.u64"));
	step_def(s, 0, temp);
	step_use(s, 1, a.loc);
	step_use(s, 2, decode_constant(d, a.imm, 8));
	return temp;
}

/* A step with the operands a, b, c, e, f; LOC_NONE where there is none. */
static struct step *five(struct decoder *d, const char *row, uint32_t a, uint32_t b, uint32_t c, uint32_t e, uint32_t f)
{
	const uint32_t loc[5] = { a, b, c, e, f };
	struct step *s = decode_step(d, decode_row(d, row));

	for (uint32_t i = 0; i < 5; i++)
		step_use(s, i + 1, loc[i]);
	return s;
}

/* [shared], [global], bytes {, bytes read or predicate} {, policy} */
static void form_cp_async(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	const uint32_t hint = has_word(d->insn->opcode, "L2::cache_hint");
	uint32_t to, from, read = LOC_NONE, ignore = LOC_NONE;
	bool size;

	if (!decode_count(d, 3, 4 + hint))
		return;
	size = o[2].kind == OPD_INT && (o[2].value == 4 || o[2].value == 8 || o[2].value == 16);
	if (!size || (has_word(d->insn->opcode, "cg") && o[2].value != 16)) {
		decode_fail(d, "%.*s copies 4, 8 or 16 bytes (.cg: 16)", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return;
	}
	to = form_generic_address(d, &o[0], 's');
	from = form_generic_address(d, &o[1], 'g');
	if (d->insn->count > 3 + hint) {
		if (o[3].kind == OPD_REG && d->reg_pred[o[3].reg])
			ignore = decode_source(d, &o[3], TY_pred);
		else
			read = decode_source(d, &o[3], TY_u32);
	}
	if (!d->failed)
		five(d, "%cp.async", to, from, read, ignore, LOC_NONE)->imm = o[2].value;
}

static void barrier_step(struct decoder *d, const char *row, uint32_t dest, uint32_t address, uint32_t count,
			 uint32_t bytes, uint64_t imm)
{
	struct step *s;

	if (d->failed)
		return;
	form_strong(d);
	s = five(d, row, address, count, bytes, LOC_NONE, LOC_NONE);
	step_def(s, 0, dest);
	s->imm = imm;
}

/* Copies are complete when they are issued: without .noinc the arrival that is added comes at once. */
static void form_cp_arrive(struct decoder *d)
{
	const struct name opcode = d->insn->opcode;
	uint32_t address;

	if (!decode_count(d, 1, 1))
		return;
	address = form_generic_address(d, d->insn->operand,
				       has_word(opcode, "shared") || has_word(opcode, "shared::cta") ? 's' : 0);
	if (has_word(opcode, "noinc"))
		barrier_step(d, "%mbarrier.arrive", LOC_NONE, address, decode_constant(d, 1, 4), LOC_NONE, 0);
}

struct bulk {
	uint32_t to, from, bytes, barrier, blocks, mask;
};

/* [to], [from], bytes {, [barrier]} {, blocks} {, policy} {, mask}: spaces in the order of the opcode's words. */
static struct bulk take_bulk(struct decoder *d)
{
	const struct insn *in = d->insn;
	const struct name opcode = in->opcode;
	const bool group = has_word(opcode, "bulk_group"), many = has_word(opcode, "multicast::cluster");
	const bool from_global = !group && has_word(opcode, "global");
	const bool masked = has_word(opcode, "cp_mask");
	const uint32_t least = 3u + !group + many + has_word(opcode, "L2::cache_hint") + masked;
	struct bulk b = { LOC_NONE, LOC_NONE, LOC_NONE, LOC_NONE, LOC_NONE, LOC_NONE };

	if (!decode_count(d, least, least))
		return b;
	b.to = form_generic_address(d, &in->operand[0], group ? 'g' : 's');
	b.from = form_generic_address(d, &in->operand[1], from_global ? 'g' : 's');
	b.bytes = decode_source(d, &in->operand[2], TY_u32);
	if (!group)
		b.barrier = form_generic_address(d, &in->operand[3], 's');
	if (many)
		b.blocks = decode_source(d, &in->operand[4], TY_u16);
	if (masked)
		b.mask = decode_source(d, &in->operand[least - 1], TY_u16);
	return b;
}

static void form_bulk(struct decoder *d)
{
	const struct bulk b = take_bulk(d);

	if (d->failed)
		return;
	if (b.mask != LOC_NONE)
		five(d, "%cp.masked", b.to, b.from, b.bytes, b.mask, LOC_NONE);
	else
		five(d, "%cp.bulk", b.to, b.from, b.bytes, b.barrier, b.blocks);
}

static enum type type_word(struct name opcode)
{
	uint32_t n = 0;

	while (n < opcode.bytes && opcode.p[opcode.bytes - 1 - n] != '.')
		n++;
	return type_find(opcode.p + opcode.bytes - n, n);
}

uint32_t form_reduction(struct name opcode)
{
	static const char *const name[] = { "add", "min", "max", "inc", "dec", "and", "or", "xor" };
	uint32_t op = 0;

	for (uint32_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		op = has_word(opcode, name[i]) ? i : op;
	return op;
}

static void form_bulk_reduce(struct decoder *d)
{
	const struct bulk b = take_bulk(d);

	if (!d->failed)
		five(d, "%cp.reduce", b.to, b.from, b.bytes, b.barrier, LOC_NONE)->imm =
			form_reduction(d->insn->opcode) | (uint64_t)type_word(d->insn->opcode) << 4;
}

/* [answer], [barrier] */
static void form_takeover(struct decoder *d)
{
	uint32_t to, barrier;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	to = form_generic_address(d, &d->insn->operand[0], 's');
	barrier = form_generic_address(d, &d->insn->operand[1], 's');
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, "%takeover"));
	step_use(s, 1, to);
	step_use(s, 2, barrier);
	s->imm = has_word(d->insn->opcode, "multicast::cluster::all");
}

/* {x, y, z, nothing}, answer */
static void form_takeover_block(struct decoder *d)
{
	static const char *const row[] = { "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128",
					   "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128",
					   "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128" };
	const struct operand *o = d->insn->operand;
	uint32_t answer;

	if (!decode_count(d, 2, 2))
		return;
	if (o[0].kind != OPD_VECTOR || o[0].count != 4) {
		decode_fail(d, "%.*s gives four values", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return;
	}
	answer = decode_source(d, &o[1], TY_b128);
	for (uint32_t i = 0; i < 3 && !d->failed; i++) {
		struct step *s;

		if (o[0].item[i].kind == OPD_SINK)
			continue;
		s = decode_step(d, decode_row(d, row[i]));
		step_def(s, 0, decode_dest(d, &o[0].item[i], TY_b32));
		step_use(s, 1, answer);
	}
}

/* [a], bytes, 0 */
static void form_bulk_zero(struct decoder *d, const struct form_words *words)
{
	const struct operand *o = d->insn->operand;
	uint32_t to, bytes;
	struct step *s;

	if (!decode_count(d, 3, 3))
		return;
	if (o[2].kind != OPD_INT || o[2].value) {
		decode_fail(d, "%.*s writes zeroes only", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return;
	}
	to = form_generic_address(d, &o[0], words->space);
	bytes = decode_source(d, &o[1], TY_u64);
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, "%st.bulk"));
	step_use(s, 1, to);
	step_use(s, 2, bytes);
}

/* [a], value, [barrier]: a plain store and the bytes of a transaction. */
static void form_st_async(struct decoder *d, const struct form_words *words)
{
	static const uint8_t place[4] = { 2, 0, 3, 4 };
	const struct operand *o = d->insn->operand;
	const enum type t = type_word(words->key);
	const uint32_t vector = words->vector;
	uint32_t to, barrier, loc[4];
	struct step *s;
	char row[32], v[8] = "";

	if (!decode_count(d, 3, 3))
		return;
	if (vector > 4 || (vector > 1 ? o[1].kind != OPD_VECTOR || o[1].count != vector : o[1].kind == OPD_VECTOR)) {
		decode_fail(d, "%.*s takes %u elements", (int)d->insn->opcode.bytes, d->insn->opcode.p, vector);
		return;
	}
	to = form_generic_address(d, &o[0], 's');
	for (uint32_t i = 0; i < vector; i++)
		loc[i] = decode_source(d, vector > 1 ? &o[1].item[i] : &o[1], t);
	barrier = form_generic_address(d, &o[2], 's');
	if (d->failed)
		return;
	if (vector > 1)
		snprintf(v, sizeof(v), ".v%u", vector);
	snprintf(row, sizeof(row), "%%st%s.b%u", v, type_bytes(t) * 8);
	s = decode_step(d, decode_row(d, row));
	step_use(s, 1, to);
	for (uint32_t i = 0; i < vector; i++)
		step_use(s, place[i], loc[i]);
	barrier_step(d, "%mbarrier.complete", LOC_NONE, barrier, decode_constant(d, type_bytes(t) * vector, 4),
		     LOC_NONE, 0);
}

/* [a], value, [barrier] */
static void form_red_async(struct decoder *d, const struct form_words *words)
{
	const struct operand *o = d->insn->operand;
	const enum type t = type_word(words->key);
	const char *op = words->key.p + words->key.bytes;
	char row[FORM_KEY_BYTES];
	uint32_t to, value, barrier, dots = 0;
	struct step *s;

	if (!decode_count(d, 3, 3))
		return;
	while (dots < 2)
		dots += *--op == '.';
	snprintf(row, sizeof(row), "%%atom%.*s", (int)(words->key.p + words->key.bytes - op), op);
	to = form_generic_address(d, &o[0], 's');
	value = decode_source(d, &o[1], t);
	barrier = form_generic_address(d, &o[2], 's');
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, row));
	step_def(s, 0, decode_temp(d, t));
	step_use(s, 1, to);
	step_use(s, 2, value);
	barrier_step(d, "%mbarrier.complete", LOC_NONE, barrier, decode_constant(d, type_bytes(t), 4), LOC_NONE, 0);
}

/* state or _, [barrier] {, arrivals or bytes} */
static void form_arrive(struct decoder *d, const struct form_words *words, bool expect, bool drop)
{
	const struct operand *o = d->insn->operand;
	uint32_t address, count = decode_constant(d, 1, 4), bytes = LOC_NONE, dest = LOC_NONE;

	if (!decode_count(d, 2u + expect, 3))
		return;
	address = form_generic_address(d, &o[1], words->space);
	if (d->insn->count == 3 && expect)
		bytes = decode_source(d, &o[2], TY_u32);
	else if (d->insn->count == 3)
		count = decode_source(d, &o[2], TY_u32);
	if (o[0].kind != OPD_SINK)
		dest = decode_dest(d, &o[0], TY_b64);
	barrier_step(d, "%mbarrier.arrive", dest, address, count, bytes, drop);
}

/* [barrier], count */
static void form_barrier_count(struct decoder *d, const struct form_words *words, const char *row)
{
	uint32_t address;

	if (!decode_count(d, 2, 2))
		return;
	address = form_generic_address(d, &d->insn->operand[0], words->space);
	barrier_step(d, row, LOC_NONE, address, decode_source(d, &d->insn->operand[1], TY_u32), LOC_NONE, 0);
}

/* done, [barrier], state or parity {, time} */
static void form_wait(struct decoder *d, const struct form_words *words, bool parity)
{
	const struct operand *o = d->insn->operand;
	uint32_t address, value;

	if (!decode_count(d, 3, 4))
		return;
	address = form_generic_address(d, &o[1], words->space);
	value = decode_source(d, &o[2], parity ? TY_u32 : TY_b64);
	barrier_step(d, "%mbarrier.test", decode_dest(d, &o[0], TY_pred), address, value, LOC_NONE, parity);
}

static void form_cluster_arrive(struct decoder *d)
{
	if (!decode_count(d, 0, 0))
		return;
	form_strong(d);
	decode_step(d, decode_row(d, "%cluster.arrive"));
}

/* A loop: test, and jump back to this instruction. Lanes that the guard leaves out count as done. */
static void form_wait_loop(struct decoder *d, const char *test, uint32_t operands)
{
	const uint32_t done = decode_temp(d, TY_pred), guard = d->guard;
	const bool guard_not = d->guard_not;
	struct step *s;

	if (!decode_count(d, operands, operands))
		return;
	d->guard = LOC_NONE;
	s = decode_step(d, decode_row(d, "%mov.pred"));
	step_def(s, 0, done);
	step_use(s, 1, decode_constant(d, UINT32_MAX, 4));
	form_strong(d);
	d->guard = guard;
	d->guard_not = guard_not;
	s = decode_step(d, decode_row(d, test));
	if (guard != LOC_NONE) /* what the other lanes have must stay */
		s->use = decode_scratch(d, 2 * sizeof(*s->use));
	if (s->use)
		s->use[0] = done + 1;
	step_def(s, 0, done);
	s = decode_step(d, NULL);
	s->control = CTL_BRA;
	s->guard = done;
	s->guard_not = true;
	s->imm = (uint64_t)(d->insn - d->body->insn);
}

/* d, a {, rank}: with .shared::cluster the addresses are of 32 bits or extended from them. */
static void form_map(struct decoder *d, bool rank_only)
{
	const struct operand *o = d->insn->operand;
	const bool window = has_word(d->insn->opcode, "shared::cluster");
	const enum type t = type_word(d->insn->opcode);
	uint32_t a, rank = LOC_NONE, dest, result;
	struct step *s;

	if (!decode_count(d, rank_only ? 2 : 3, rank_only ? 2 : 3))
		return;
	if (!window && t != TY_u64) {
		decode_fail(d, "%.*s: generic addresses have 64 bits", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return;
	}
	a = decode_source(d, &o[1], window ? TY_u32 : TY_u64);
	if (window)
		a = form_shared_generic(d, a, 0);
	if (rank_only) {
		dest = decode_dest(d, &o[0], TY_u32);
		s = decode_step(d, decode_row(d, "%cluster.rank"));
		step_def(s, 0, dest);
		step_use(s, 1, a);
		return;
	}
	rank = decode_source(d, &o[2], TY_u32);
	dest = decode_dest(d, &o[0], window ? TY_u32 : TY_u64);
	if (d->failed)
		return;
	result = window ? decode_temp(d, TY_u64) : dest;
	s = five(d, "%cluster.map", a, rank, LOC_NONE, LOC_NONE, LOC_NONE);
	step_def(s, 0, result);
	if (!window)
		return;
	s = decode_step(d, decode_row(d, "%cluster.offset"));
	step_def(s, 0, dest);
	step_use(s, 1, result);
}

void form_async(struct decoder *d, const struct insn_match *m, const struct form_words *words)
{
	switch (m->row->count) {
	case 0:
		form_cp_async(d);
		break;
	case 1:
		form_cp_arrive(d);
		break;
	case 2:
		form_bulk(d);
		break;
	case 3:
		form_bulk_reduce(d);
		break;
	case 4:
		form_st_async(d, words);
		break;
	case 5:
		form_red_async(d, words);
		break;
	case 6:
		form_barrier_count(d, words, "%mbarrier.init");
		break;
	case 7: /* inval: nothing is kept beside the barrier's own word */
		if (decode_count(d, 1, 1))
			form_generic_address(d, d->insn->operand, words->space);
		break;
	case 8:
	case 9:
	case 10:
	case 11:
		form_arrive(d, words, m->row->count >= 10, m->row->count & 1);
		break;
	case 12:
		form_barrier_count(d, words, "%mbarrier.expect");
		break;
	case 13:
		form_barrier_count(d, words, "%mbarrier.complete");
		break;
	case 14:
	case 15:
		form_wait(d, words, m->row->count == 15);
		break;
	case 16:
		form_cluster_arrive(d);
		break;
	case 17:
		form_wait_loop(d, "%cluster.test", 0);
		break;
	case 21:
	case 22:
	case 23:
		form_tensor_copy(d, (enum tensor_way)(m->row->count - 21));
		break;
	case 24:
		form_tensor_replace(d);
		break;
	case 25:
		form_tensor_publish(d);
		break;
	case 27:
		form_takeover(d);
		break;
	case 28:
		form_takeover_block(d);
		break;
	case 26:
		form_bulk_zero(d, words);
		break;
	case 20:
		form_wait_loop(d, "%warpgroup.test", 1);
		break;
	case 18:
		form_map(d, false);
		break;
	default:
		form_map(d, true);
	}
}

const char *form_refusal(struct name opcode)
{
	static const struct {
		const char *begin, *reason;
	} known[] = {
		{ "wgmma.mma_async.", "no such combination of shape and types" },
		{ "tcgen05.", "tensor memory (sm_100a) is not supported; use mma or wmma" },
		{ "mma.sp.", "no such combination of shape and types" },
		{ "mma.sp::ordered_metadata.", "no such combination of shape and types" },
		{ "mma.sync.aligned.m16n8k", "no such combination of shape and types" },
		{ "cp.async.bulk.tensor.",
		  "no such copy through tensor maps is supported; im2col::w (sm_100a) is not" },
		{ "cp.async.bulk.prefetch.tensor.", "im2col::w (sm_100a) through tensor maps is not supported" },
		{ "cvt.rn.satfinite.s2f6x2", "fixed point (s2f6) is not supported" },
		{ "cvt.rn.bf16x2.s2f6x2", "fixed point (s2f6) is not supported" },
		{ "multimem.", "memory of several devices at one address is not supported" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const size_t n = strlen(known[i].begin);

		if (opcode.bytes >= n && !memcmp(opcode.p, known[i].begin, n))
			return known[i].reason;
	}
	return NULL;
}
