/* apart.c: see apart.h. */
#include "compile/apart.h"
#include "compile/access.h"
#include "compile/fetch.h"
#include "compile/lanewise.h"
#include "compile/leave.h"
#include "compile/pattern.h"
#include "compile/reg.h"

#include <stddef.h>
#include <string.h>

#define VECTOR 64	/* bytes of one vector */
#define VECTORS_MAX 12u /* that the elements of one vector are picked from */
#define LINE 64		/* of the host's memory */
#define LINES_MIN 4
#define AHEAD 4096 /* how far behind what is loaded memory is fetched */
#define STRIDE_MAX (1 << 20)
#define IMM_MAX (1ll << 15) /* of the offset in an instruction: all of a register are checked together */

bool apart_fits(const struct flow *f, uint32_t i, const struct access_form *a, const struct state *s)
{
	const struct compile_op *o = &f->request->op[i];
	const int64_t imm = (int64_t)o->imm, bytes = (int64_t)a->bytes * a->count;
	const bool line = s->shape == SHAPE_LINE && s->stride && s->stride != bytes && s->stride <= STRIDE_MAX &&
			  s->stride >= -STRIDE_MAX;

	if (a->shared && a->bytes >= 4 && state_same(s))
		return false; /* lanes that share a place: scatter.c */
	return (line || s->shape == SHAPE_PATTERN) && o->kind == COMPILE_PLAIN && o->guard.place == COMPILE_NONE &&
	       a->good && !a->store && !a->param && (a->bytes >= 4 || a->count == 1) && imm < IMM_MAX &&
	       imm > -IMM_MAX && !(pattern_of(f, s).bits & ((uint64_t)bytes - 1));
}

static bool writes(const struct flow *f, const struct compile_op *o, uint32_t reg)
{
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && flow_reg(f, &o->operand[k]) == reg)
			return true;
	for (uint32_t k = 0; k < o->more_defs; k++)
		if (flow_reg(f, &o->more[k]) == reg)
			return true;
	return o->kind == COMPILE_STOP;
}

/* Whether operation i is such a load by the register's address, which is in the state s, in the same memory. */
static bool is_of(const struct flow *f, uint32_t i, uint32_t reg, const struct state *s)
{
	const struct compile_op *o = &f->request->op[i];
	const struct access_form a = access_form(o->name);

	return a.good && flow_reg(f, &o->operand[1]) == reg && apart_fits(f, i, &a, s);
}

/* What is added to a register of that address; in shared memory it has 32 bits. */
static LLVMValueRef moved(struct emit *e, LLVMValueRef base, int64_t by)
{
	return LLVMBuildAdd(e->b, base, LLVMConstInt(LLVMTypeOf(base), (uint64_t)by, true), "");
}

/* Whether `bytes` from there on are accessible, and `even` holds. */
static LLVMValueRef is_accessible(struct emit *e, LLVMValueRef at, int64_t bytes, bool shared, LLVMValueRef even)
{
	LLVMValueRef n = LLVMConstInt(e->i64, (uint64_t)bytes, false), size;

	if (!shared)
		return access_reachable(e, at, n, false, even);
	at = LLVMBuildAdd(e->b, LLVMBuildZExt(e->b, at, e->i64, ""), n, "");
	size = value_field(e, e->block, offsetof(struct block, shared_bytes), e->i32);
	at = LLVMBuildICmp(e->b, LLVMIntULE, at, LLVMBuildZExt(e->b, size, e->i64, ""), "");
	return LLVMBuildAnd(e->b, at, even, "");
}

bool apart_checks(const struct flow *f, uint32_t i, const struct state *s)
{
	const uint32_t begin = f->block[f->block_of[i]].begin, reg = flow_reg(f, &f->request->op[i].operand[1]);

	while (i-- > begin) {
		if (writes(f, &f->request->op[i], reg))
			return true;
		if (is_of(f, i, reg, s))
			return false;
	}
	return true;
}

/* From the first byte to the last one that loads by the register touch, and whether they are aligned. */
static void check(struct emit *e, const struct state *s, LLVMValueRef base, bool shared)
{
	const struct flow *f = e->flow;
	const uint32_t reg = flow_reg(f, &operation(e)->operand[1]), end = f->block[e->in_block].end;
	const struct pattern p = pattern_of(f, s);
	int64_t low = (int64_t)operation(e)->imm, high = low;
	LLVMValueRef odd = LLVMConstNull(LLVMTypeOf(base)), bits;

	for (uint32_t i = e->at; i < end; i++) {
		const struct compile_op *o = &f->request->op[i];
		const struct access_form a = access_form(o->name);
		const int64_t imm = (int64_t)o->imm, bytes = (int64_t)a.bytes * a.count;

		if (is_of(f, i, reg, s)) {
			low = imm < low ? imm : low;
			high = imm + bytes > high ? imm + bytes : high;
			bits = moved(e, base, imm);
			bits = LLVMBuildAnd(e->b, bits, LLVMConstInt(LLVMTypeOf(bits), (uint64_t)bytes - 1, false), "");
			odd = LLVMBuildOr(e->b, odd, bits, "");
		}
		if (writes(f, o, reg))
			break;
	}
	odd = LLVMBuildICmp(e->b, LLVMIntEQ, odd, LLVMConstNull(LLVMTypeOf(odd)), "");
	leave_unless(e, is_accessible(e, moved(e, base, low + p.least), high - low + p.most - p.least, shared, odd));
}

/* ---- elements of all lanes ---- */

/* What is loaded: `bytes` of each lane at its distance from `base`; nothing outside of least ... end. */
struct elements {
	LLVMValueRef base;
	const int64_t *at;
	int64_t least, end;
	uint32_t bytes;
};

static LLVMValueRef place(struct emit *e, const struct elements *x, int64_t at, LLVMTypeRef t)
{
	return value_at(e, x->base, (uint64_t)at, t);
}

/* Lanes that fit in a vector. */
static uint32_t lanes_of_vector(const struct elements *x)
{
	return VECTOR / x->bytes < LANES ? VECTOR / x->bytes : LANES;
}

/* How the elements of one vector are picked from others: where the least lies, how many vectors hold them, and of how
 * many bytes the pieces are that are picked. */
struct pick {
	int64_t least;
	uint32_t from, vectors, unit;
};

/* Lanes `from` and up, as many as fit in a vector. False: it is not to be done in this way. */
static bool pick_find(const struct emit *e, const struct elements *x, uint32_t from, struct pick *ret)
{
	const uint32_t count = lanes_of_vector(x);
	int64_t least = x->at[from], end = least, n;
	uint64_t bits = x->bytes;

	for (uint32_t i = from; i < from + count; i++) {
		least = x->at[i] < least ? x->at[i] : least;
		end = x->at[i] > end ? x->at[i] : end;
	}
	end += x->bytes;
	bits |= (uint64_t)(x->end - least);
	for (uint32_t i = from; i < from + count; i++)
		bits |= (uint64_t)(x->at[i] - least);
	n = (end - least + VECTOR - 1) / VECTOR;
	*ret = (struct pick){ least, from, (uint32_t)n, (uint32_t)(bits & -bits) };
	return !strcmp(e->flow->request->isa, "avx512") && ret->unit >= 2 && x->end - x->least >= VECTOR &&
	       n <= (int64_t)VECTORS_MAX;
}

/* Where vector k of them begins: the last one must not reach beyond the end of all. */
static int64_t vector_begin(const struct elements *x, const struct pick *p, uint32_t k)
{
	const int64_t at = p->least + (int64_t)k * VECTOR;

	return at + VECTOR > x->end ? x->end - VECTOR : at;
}

/* The pieces of lanes that lie in the two vectors from `k` on; of others anything. *mine: which do. */
static LLVMValueRef pick_two(struct emit *e, const struct elements *x, const struct pick *p, uint32_t k, bool *mine)
{
	const uint32_t two = k + 1 < p->vectors, each = x->bytes / p->unit, count = VECTOR / p->unit;
	LLVMTypeRef t = LLVMVectorType(type_int(e, p->unit), count);
	LLVMValueRef mask[VECTOR / 2], v[2];

	for (uint32_t n = 0; n <= two; n++)
		v[n] = value_load(e, t, place(e, x, vector_begin(x, p, k + n), t), 1);
	for (uint32_t i = 0; i < lanes_of_vector(x) * each; i++) {
		mine[i] = false;
		mask[i] = LLVMGetUndef(e->i32);
		for (uint32_t n = 0; n <= two && !mine[i]; n++) {
			const int64_t at =
				x->at[p->from + i / each] + (int64_t)(i % each * p->unit) - vector_begin(x, p, k + n);

			mine[i] = at >= 0 && at + p->unit <= VECTOR;
			if (mine[i])
				mask[i] = LLVMConstInt(e->i32, n * count + (uint32_t)(at / p->unit), false);
		}
	}
	return LLVMBuildShuffleVector(e->b, v[0], two ? v[1] : LLVMGetUndef(t),
				      LLVMConstVector(mask, lanes_of_vector(x) * each), "");
}

static LLVMValueRef pick(struct emit *e, const struct elements *x, const struct pick *p)
{
	const uint32_t lanes = lanes_of_vector(x), each = x->bytes / p->unit, count = lanes * each;
	LLVMValueRef all = NULL, mask[VECTOR / 2];
	bool mine[VECTOR / 2];

	for (uint32_t k = 0; k < p->vectors; k += 2) {
		LLVMValueRef v = pick_two(e, x, p, k, mine);

		for (uint32_t i = 0; i < count; i++)
			mask[i] = LLVMConstInt(e->i32, mine[i] ? count + i : i, false);
		all = all ? LLVMBuildShuffleVector(e->b, all, v, LLVMConstVector(mask, count), "") : v;
	}
	return LLVMBuildBitCast(e->b, all, LLVMVectorType(type_int(e, x->bytes), lanes), "");
}

/* How many lanes lie one behind the other everywhere: a power of two, and a vector at most. */
static uint32_t run_of(const struct elements *x)
{
	for (uint32_t run = lanes_of_vector(x); run > 1; run /= 2) {
		bool good = true;

		for (uint32_t i = 0; i < LANES; i++)
			good = good && x->at[i] == x->at[i / run * run] + (int64_t)(i % run * x->bytes);
		if (good)
			return run;
	}
	return 1;
}

static LLVMValueRef load_runs(struct emit *e, const struct elements *x, uint32_t run)
{
	LLVMTypeRef one = type_int(e, x->bytes), t = run > 1 ? LLVMVectorType(one, run) : one;
	LLVMValueRef part[LANES], all;

	for (uint32_t k = 0; k < LANES / run; k++)
		part[k] = value_load(e, t, place(e, x, x->at[k * run], t), 1);
	if (run > 1)
		return value_join(e, part, LANES / run, run);
	all = LLVMGetUndef(type_lanes(one));
	for (uint32_t i = 0; i < LANES; i++)
		all = LLVMBuildInsertElement(e->b, all, part[i], LLVMConstInt(e->i32, i, false), "");
	return all;
}

/* Lanes at one place share a load: the elements of all places, and of each lane which of them it has. */
static uint32_t count_places(const struct elements *x, uint32_t first[LANES], uint32_t of[LANES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < LANES; i++) {
		uint32_t k = 0;

		while (k < n && x->at[first[k]] != x->at[i])
			k++;
		if (k == n)
			first[n++] = i;
		of[i] = k;
	}
	return n;
}

static LLVMValueRef load_places(struct emit *e, const struct elements *x, const uint32_t *first, const uint32_t *of,
				uint32_t n)
{
	LLVMTypeRef one = type_int(e, x->bytes);
	uint32_t width = 1;
	LLVMValueRef all, mask[LANES];

	while (width < n)
		width *= 2;
	all = LLVMGetUndef(LLVMVectorType(one, width));
	for (uint32_t k = 0; k < n; k++)
		all = LLVMBuildInsertElement(e->b, all, value_load(e, one, place(e, x, x->at[first[k]], one), 1),
					     LLVMConstInt(e->i32, k, false), "");
	for (uint32_t i = 0; i < LANES; i++)
		mask[i] = LLVMConstInt(e->i32, of[i], false);
	return LLVMBuildShuffleVector(e->b, all, LLVMGetUndef(LLVMTypeOf(all)), LLVMConstVector(mask, LANES), "");
}

/* Of elements of 64 bits in as many vectors as they take: the lower, the upper halves of all. */
static LLVMValueRef halves_of(struct emit *e, const LLVMValueRef *part, uint32_t parts, uint32_t half)
{
	const uint32_t count = VECTOR / 4;
	LLVMTypeRef t = LLVMVectorType(e->i32, count);
	LLVMValueRef mask[VECTOR / 4], v[LANES];

	for (uint32_t i = 0; i < count; i++)
		mask[i] = LLVMConstInt(e->i32, 2 * i + half, false);
	for (uint32_t k = 0; k < parts / 2; k++)
		v[k] = LLVMBuildShuffleVector(e->b, LLVMBuildBitCast(e->b, part[2 * k], t, ""),
					      LLVMBuildBitCast(e->b, part[2 * k + 1], t, ""),
					      LLVMConstVector(mask, count), "");
	return value_join(e, v, parts / 2, count);
}

/*
 * What takes the least: a load and what puts it in its place are counted as one each. `halves`: NULL, or gets those of
 * elements of 64 bits, or NULL twice.
 */
static LLVMValueRef load_elements(struct emit *e, const struct elements *x, LLVMValueRef *halves)
{
	const uint32_t lanes = lanes_of_vector(x), parts = LANES / lanes, run = run_of(x);
	uint32_t first[LANES], of[LANES], picks = 0, n = count_places(x, first, of);
	struct pick p[LANES];
	LLVMValueRef part[LANES];
	bool can = true;

	for (uint32_t k = 0; k < parts; k++) {
		can = can && pick_find(e, x, k * lanes, &p[k]);
		picks += 2 * p[k].vectors;
	}
	if (can && picks <= 2 * LANES / run && picks <= 2 * n + parts) {
		for (uint32_t k = 0; k < parts; k++)
			part[k] = pick(e, x, &p[k]);
		for (uint32_t half = 0; halves && half < 2; half++)
			halves[half] = halves_of(e, part, parts, half);
		return value_join(e, part, parts, lanes);
	}
	return LANES / run <= n ? load_runs(e, x, run) : load_places(e, x, first, of, n);
}

/* ---- the load ---- */

static void give(struct emit *e, const struct access_form *a, uint32_t k, LLVMValueRef v)
{
	result(e, &operation(e)->operand[element_operand[0][k]], all_lanes(access_extend(e, v, a)), false);
}

/* As find_access() of softdev/ptx/mem.h counts: one place for all or for each half, a row in each half, or apart. */
static uint64_t pieces(const struct pattern *p, uint64_t bytes)
{
	bool one = true, row = true;

	for (uint32_t i = 0; i < LANES; i++) {
		const int64_t from = p->at[i / (LANES / 2) * (LANES / 2)];

		one = one && p->at[i] == from;
		row = row && p->at[i] == from + (int64_t)(i % (LANES / 2) * bytes);
	}
	return one ? (p->at[LANES / 2] ? 2 : 1) : row ? bytes : LANES;
}

/* Loads close beside each other that are all made in this way. */
static bool find_fetch(const struct emit *e, struct fetch *ret)
{
	const struct compile_op *o = operation(e);
	const struct state s = operand_state(e->flow, &o->operand[1], e->s);
	bool good = e->fetches < FETCHES_MAX && fetch_find(e, ret) && ret->full;

	for (uint32_t i = 0; good && i < ret->count; i++)
		good = is_of(e->flow, ret->op[i], flow_reg(e->flow, &o->operand[1]), &s);
	return good;
}

/*
 * Where lanes leave hardly anything out of some lines of memory, others will likely read what lies behind: rows of a
 * matrix, block by block. The host does not see that in time, since each reads a part of several rows.
 */
static void fetch_ahead(struct emit *e, const struct elements *x)
{
	const int64_t span = x->end - x->least;

	if (span < LINES_MIN * LINE || (int64_t)x->bytes * LANES * 2 < span)
		return;
	for (int64_t at = x->least; at < x->end; at += LINE)
		value_prefetch(e, place(e, x, at + AHEAD, e->i8), false);
}

static LLVMValueRef single_element(struct emit *e, const struct access_form *a, struct elements *x)
{
	const struct fetch *f = fetch_of(e);
	struct fetch made;

	if (f && f->good) /* of those that are anywhere */
		return load_elements(e, x, NULL);
	if (!f && find_fetch(e, &made)) {
		x->bytes = made.bytes;
		x->base = value_at(e, x->base, (uint64_t)made.least - operation(e)->imm, e->i8);
		x->end += (int64_t)made.bytes - a->bytes;
		fetch_ahead(e, x);
		made.value = load_elements(e, x, made.bytes == 8 ? made.half : NULL);
		e->fetch[e->fetches] = made;
		f = &e->fetch[e->fetches++];
	}
	return f ? fetch_value(e, f, a) : load_elements(e, x, NULL);
}

static void load_vectors(struct emit *e, const struct access_form *a, const struct elements *x)
{
	LLVMValueRef v[4], places = LLVMGetUndef(type_lanes(e->bytes));

	for (uint32_t i = 0; i < LANES; i++)
		places = LLVMBuildInsertElement(e->b, places, place(e, x, x->at[i], e->i8),
						LLVMConstInt(e->i32, i, false), "");
	lanewise_load(e, a, places, (uint32_t)a->bytes * a->count, v);
	for (uint32_t k = 0; k < a->count; k++)
		give(e, a, k, v[k]);
}

void apart_load(struct emit *e, const struct plan *p)
{
	const struct compile_op *o = operation(e);
	const struct access_form *a = &p->access;
	const struct state s = operand_state(e->flow, &o->operand[1], e->s);
	const struct pattern lanes = pattern_of(e->flow, &s);
	const uint64_t bytes = (uint64_t)a->bytes * a->count;
	LLVMValueRef base = source(e, &o->operand[1], true).v[0];
	struct elements x = { .at = lanes.at, .least = lanes.least, .bytes = a->bytes };

	if (p->checks)
		check(e, &s, base, a->shared);
	if (!a->shared)
		add_to(e, e->sectors, 0, LLVMConstInt(e->i64, pieces(&lanes, bytes), false));
	x.end = lanes.most + (int64_t)bytes;
	if (a->shared) {
		base = LLVMBuildZExt(e->b, moved(e, base, (int64_t)o->imm), e->i64, "");
		x.base = LLVMBuildGEP2(e->b, e->i8, e->shared, &base, 1, "");
	} else {
		x.base = value_at(e, LLVMBuildIntToPtr(e->b, base, e->bytes, ""), o->imm, e->i8);
	}
	if (a->count > 1)
		load_vectors(e, a, &x);
	else
		give(e, a, 0, single_element(e, a, &x));
}
