/* group.c: see group.h. */
#include "compile/group.h"
#include "compile/atomic.h"
#include "compile/leave.h"
#include "compile/pattern.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_BYTES sizeof(struct compiled_wait)

static LLVMValueRef number32(struct emit *e, uint32_t n)
{
	return LLVMConstInt(e->i32, n, false);
}

static LLVMValueRef load32(struct emit *e, LLVMValueRef place)
{
	return value_load(e, e->i32, place, 4);
}

static LLVMValueRef is_zero(struct emit *e, LLVMValueRef v)
{
	return LLVMBuildICmp(e->b, LLVMIntEQ, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

static LLVMValueRef place(struct emit *e, LLVMTypeRef t)
{
	LLVMValueRef p = LLVMBuildAlloca(e->b, t, "");

	LLVMBuildStore(e->b, LLVMConstNull(t), p);
	return p;
}

/* Blocks where lanes wait at some time. */
static uint32_t count_waits(const struct flow *f, const uint64_t *set)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < f->wait_count; w++)
		n += set_has(set, w);
	return n;
}

void group_places(struct emit *e)
{
	const struct flow *f = e->flow;
	uint32_t most = 1;

	e->mask = place(e, e->i32);
	e->spins = place(e, e->i32);
	for (uint32_t b = 0; b < f->wait_count; b++) {
		const uint32_t n = count_waits(f, f->block[b].part.at_come);
		const uint32_t m = count_waits(f, f->block[b].part.at_run);

		most = n > most ? n : m > most ? m : most;
		e->wait[b] = place(e, e->i32);
		e->since[b] = place(e, e->i64);
	}
	e->waits = LLVMBuildArrayAlloca(e->b, LLVMArrayType(e->i8, WAIT_BYTES), number32(e, most), "");
	LLVMSetAlignment(e->waits, 8);
	e->waits = LLVMBuildBitCast(e->b, e->waits, e->bytes, "");
	e->live_lanes = value_field(e, e->warp, offsetof(struct warp, live), e->i32);
}

LLVMValueRef group_lanes_in(struct emit *e, LLVMValueRef mask)
{
	LLVMValueRef each[LANES];

	if (!strcmp(e->flow->request->isa, "avx512"))
		return LLVMBuildBitCast(e->b, mask, type_lanes(e->i1), "");
	for (uint32_t i = 0; i < LANES; i++)
		each[i] = number32(e, 1u << i);
	mask = LLVMBuildAnd(e->b, value_spread(e, mask), LLVMConstVector(each, LANES), "");
	return LLVMBuildICmp(e->b, LLVMIntNE, mask, LLVMConstNull(LLVMTypeOf(mask)), "");
}

void group_begin(struct emit *e, uint32_t block)
{
	const struct part *p = &e->flow->block[block].part;
	LLVMValueRef n;

	e->kept = p->kept;
	e->waiting = p->at_run;
	e->told = false;
	e->here = load32(e, e->mask);
	e->here_lanes = group_lanes_in(e, e->here);
	n = value_intrinsic(e, "llvm.ctpop", e->i32, &e->here, 1);
	e->absent = LLVMBuildZExt(e->b, LLVMBuildSub(e->b, number32(e, LANES), n, ""), e->i64, "");
}

void group_end(struct emit *e)
{
	e->kept = NULL;
	e->waiting = NULL;
	e->here = e->here_lanes = e->absent = NULL;
}

void group_tell(struct emit *e)
{
	LLVMTypeRef t = type_lanes(e->i32);

	if (e->told)
		return;
	e->told = true;
	value_store(e, e->here, value_at(e, e->warp, offsetof(struct warp, mask), e->i32), 4);
	value_store(e, LLVMBuildSExt(e->b, e->here_lanes, t, ""), value_at(e, e->warp, offsetof(struct warp, lanes), t),
		    VECTOR_ALIGN);
}

LLVMValueRef group_mix(struct emit *e, LLVMValueRef mine, LLVMValueRef theirs)
{
	return LLVMBuildSelect(e->b, e->here_lanes, mine, theirs, "");
}

static LLVMValueRef zeroes(struct emit *e, const char *name, LLVMValueRef v)
{
	const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMTypeRef t = LLVMTypeOf(v);
	LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, &t, 1);
	LLVMValueRef args[2] = { v, LLVMConstInt(e->i1, 1, false) };

	return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->context, id, &t, 1), f, args, 2, "");
}

LLVMValueRef group_first_of(struct emit *e, LLVMValueRef lanes)
{
	return zeroes(e, "llvm.cttz", lanes);
}

LLVMValueRef group_first(struct emit *e)
{
	return group_first_of(e, e->here);
}

LLVMValueRef group_last_of(struct emit *e, LLVMValueRef lanes)
{
	return LLVMBuildSub(e->b, number32(e, LANES - 1), zeroes(e, "llvm.ctlz", lanes), "");
}

LLVMValueRef group_last(struct emit *e)
{
	return group_last_of(e, e->here);
}

LLVMValueRef group_is_one(struct emit *e)
{
	LLVMValueRef less = LLVMBuildSub(e->b, e->here, number32(e, 1), "");

	return is_zero(e, LLVMBuildAnd(e->b, e->here, less, ""));
}

/* A field of wait k in the array that the engine reads or writes. */
static LLVMValueRef wait_field(struct emit *e, uint32_t k, size_t offset, LLVMTypeRef t)
{
	return value_at(e, e->waits, (uint64_t)k * WAIT_BYTES + offset, t);
}

/* Where those who wait at w do so, as wait k. */
static void wait_place(struct emit *e, uint32_t w, uint32_t k)
{
	const struct flow *f = e->flow;
	const uint32_t pc = f->block[w].begin;
	const uint64_t bar = w < f->block_count ? 0 : f->request->op[pc - 1].imm + 1;

	value_store(e, number32(e, pc), wait_field(e, k, offsetof(struct compiled_wait, pc), e->i32), 4);
	value_store(e, number32(e, (uint32_t)bar), wait_field(e, k, offsetof(struct compiled_wait, bar), e->i32), 4);
}

void group_leave(struct emit *e)
{
	LLVMTypeRef types[5] = { e->bytes, e->i32, e->bytes, e->i32, e->i32 };
	LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 5, false);
	LLVMValueRef args[5] = { e->warp, load32(e, e->mask), e->waits, NULL, load32(e, e->spins) };
	uint32_t k = 0;

	for (uint32_t w = 0; w < e->flow->wait_count; w++) {
		if (!set_has(e->waiting, w))
			continue;
		wait_place(e, w, k);
		value_store(e, load32(e, e->wait[w]), wait_field(e, k, offsetof(struct compiled_wait, lanes), e->i32),
			    4);
		value_store(e, value_load(e, e->i64, e->since[w], 8),
			    wait_field(e, k++, offsetof(struct compiled_wait, since), e->i64), 8);
	}
	args[3] = number32(e, k);
	LLVMBuildCall2(e->b, t, value_field(e, e->env, offsetof(struct compiled_env, part), LLVMPointerType(t, 0)),
		       args, 5, "");
}

/* Registers that a or b says are needed, as `to` wants them. */
static void states_become(struct emit *e, const struct state *from, const struct state *to, const uint8_t *a,
			  const uint8_t *b)
{
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if ((a[r] || (b && b[r])) && from[r].shape != SHAPE_UNKNOWN &&
		    (to[r].shape != from[r].shape || to[r].nan != from[r].nan || to[r].split != from[r].split)) {
			const struct value x = value_as(e, reg_value(e, r, &from[r], !to[r].nan), to[r].shape);

			if (to[r].split)
				reg_split(e, r, &from[r], &x, !to[r].nan);
			else if (from[r].split && to[r].shape == SHAPE_LANES)
				reg_save(e, r, &from[r], load32(e, e->mask), !to[r].nan);
			else
				reg_store(e, r, &x);
		}
}

static void go_run(struct emit *e, uint32_t b, const struct state *s)
{
	const struct block_of_code *n = &e->flow->block[b];

	states_become(e, s, n->part.in, n->live, n->part.kept);
	LLVMBuildBr(e->b, e->run_code[b]);
}

/* The bases that lanes have if they are a line, or halves; *fits: and whether they are. */
static struct value line_of_lanes(struct emit *e, const struct state *to, LLVMValueRef lanes, LLVMValueRef *fits)
{
	struct value x = { .shape = to->shape, .stride = to->stride, .pattern = to->pattern };
	LLVMValueRef good;

	x.v[0] = LLVMBuildExtractElement(e->b, lanes, number32(e, 0), "");
	if (to->shape == SHAPE_HALVES)
		x.v[1] = LLVMBuildExtractElement(e->b, lanes, number32(e, LANES / 2), "");
	good = value_all(e, LLVMBuildICmp(e->b, LLVMIntEQ, lanes, value_lanes(e, &x), ""));
	*fits = *fits ? LLVMBuildAnd(e->b, *fits, good, "") : good;
	return x;
}

/* All lanes run together from here on; where registers do not look as that code takes them to, as a group of 32. */
static void go_all(struct emit *e, uint32_t b, const struct state *s)
{
	const struct block_of_code *n = &e->flow->block[b];
	struct value line[COMPILE_REGS_MAX];
	struct state now[COMPILE_REGS_MAX];
	LLVMBasicBlockRef on, apart;
	LLVMValueRef fits = NULL;

	memcpy(now, s, e->flow->reg_count * sizeof(*now));
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (n->live[r] && part_checks(&s[r], &n->in[r])) {
			const struct value x = reg_value(e, r, &s[r], !n->in[r].nan);

			line[r] = line_of_lanes(e, &n->in[r], value_lanes(e, &x), &fits);
		}
	if (fits) {
		on = new_block(e);
		apart = new_block(e);
		LLVMBuildCondBr(e->b, fits, on, apart);
		LLVMPositionBuilderAtEnd(e->b, apart);
		go_run(e, b, s);
		LLVMPositionBuilderAtEnd(e->b, on);
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		if (!n->live[r] || s[r].shape == SHAPE_UNKNOWN)
			continue;
		if (n->in[r].synced && !s[r].synced)
			reg_to_frame(e, r, &s[r]);
		if (!part_checks(&s[r], &n->in[r]))
			continue;
		reg_store(e, r, &line[r]);
		now[r] = n->in[r];
	}
	value_store(e, number32(e, ~0u), value_at(e, e->warp, offsetof(struct warp, mask), e->i32), 4);
	states_become(e, now, n->in, n->live, NULL);
	LLVMBuildBr(e->b, e->code[b]);
}

/* Lanes wait at block b from now on. */
static void wait_at(struct emit *e, uint32_t b, LLVMValueRef lanes)
{
	LLVMValueRef before = load32(e, e->wait[b]), first = is_zero(e, before);
	LLVMValueRef since = LLVMBuildSelect(e->b, first, value_load(e, e->i64, e->count, 8),
					     value_load(e, e->i64, e->since[b], 8), "");

	value_store(e, since, e->since[b], 8);
	value_store(e, LLVMBuildOr(e->b, before, lanes, ""), e->wait[b], 4);
}

uint64_t edge_quantum(const struct emit *e, uint32_t to)
{
	const struct block_of_code *b = e->flow->block;

	return e->flow->strong && to <= e->in_block && atomic_asks(e->flow, b[to].begin, b[e->in_block].end)
		       ? COMPILE_QUANTUM_STRONG
		       : COMPILE_QUANTUM;
}

/*
 * What jump() of exec.c does, and then the warp's loop: a group that jumps backwards while others wait gives way to
 * them after a while, and to other warps.
 */
static void jump_back(struct emit *e, uint32_t to, const struct state *s, const uint8_t *needed)
{
	const uint64_t quantum = edge_quantum(e, to);
	LLVMValueRef more = number32(e, 1), mark, strong, spins, good;
	LLVMBasicBlockRef on = new_block(e), out = new_block(e);

	if (e->flow->strong) {
		mark = value_at(e, e->warp, offsetof(struct warp, strong), e->i8);
		strong = value_load(e, e->i8, mark, 1);
		add_to(e, e->block, offsetof(struct block, waits), LLVMBuildZExt(e->b, strong, e->i64, ""));
		value_store(e, LLVMConstInt(e->i8, 0, false), mark, 1);
		more = LLVMBuildSelect(e->b, is_zero(e, strong), more, number32(e, SPINS_MAX / 32), "");
	}
	more = LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, load32(e, e->mask), e->live_lanes, ""),
			       number32(e, 0), more, "");
	spins = LLVMBuildAdd(e->b, load32(e, e->spins), more, "");
	value_store(e, spins, e->spins, 4);
	good = LLVMBuildICmp(e->b, LLVMIntULE, value_load(e, e->i64, e->count, 8), LLVMConstInt(e->i64, quantum, false),
			     "");
	good = LLVMBuildAnd(e->b, good, LLVMBuildICmp(e->b, LLVMIntULE, spins, number32(e, SPINS_MAX), ""), "");
	LLVMBuildCondBr(e->b, expected(e, good), on, out);
	LLVMPositionBuilderAtEnd(e->b, out);
	leave(e, e->flow->block[to].begin, needed, s, 0);
	LLVMPositionBuilderAtEnd(e->b, on);
}

void group_edge(struct emit *e, uint32_t to)
{
	const struct part *p = &e->flow->block[to].part;
	const uint64_t *before = e->waiting;
	const uint8_t *kept = e->kept;

	states_become(e, e->s, p->in_come, p->needed, NULL);
	e->waiting = p->at_come;
	e->kept = p->needed;
	if (to <= e->in_block)
		jump_back(e, to, p->in_come, p->needed);
	e->waiting = before;
	e->kept = kept;
	LLVMBuildBr(e->b, e->come_code[to]);
}

void group_arrive(struct emit *e, uint32_t to)
{
	const struct block_of_code *n = &e->flow->block[to];
	const struct part *p = &n->part;
	LLVMBasicBlockRef together, apart;
	LLVMValueRef all;

	states_become(e, e->s, p->in_come, p->needed, NULL);
	if (set_has(p->at_come, to) && n->reached && !e->flow->few) {
		together = new_block(e);
		apart = new_block(e);
		all = LLVMBuildICmp(e->b, LLVMIntEQ, load32(e, e->mask), number32(e, ~0u), "");
		LLVMBuildCondBr(e->b, all, together, apart);
		LLVMPositionBuilderAtEnd(e->b, together);
		go_all(e, to, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, apart);
	}
	LLVMBuildBr(e->b, e->come_code[to]);
}

void group_wait(struct emit *e, uint32_t b, LLVMValueRef lanes, LLVMValueRef since)
{
	LLVMValueRef before = load32(e, e->wait[b]), old = value_load(e, e->i64, e->since[b], 8), longer;

	longer = LLVMBuildAnd(e->b, LLVMBuildNot(e->b, is_zero(e, before), ""),
			      LLVMBuildICmp(e->b, LLVMIntSLT, old, since, ""), "");
	value_store(e, LLVMBuildSelect(e->b, longer, old, since, ""), e->since[b], 8);
	value_store(e, LLVMBuildOr(e->b, before, lanes, ""), e->wait[b], 4);
}

void group_all(struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];

	value_store(e, number32(e, ~0u), e->mask, 4);
	states_become(e, e->s, n->part.in, n->live, NULL);
	LLVMBuildBr(e->b, e->run_code[b]);
}

void group_part(struct emit *e, LLVMValueRef taken)
{
	const struct block_of_code *n = &e->flow->block[e->in_block];
	const bool back = n->next[0] < n->next[1];
	const uint32_t low = n->next[!back], high = n->next[back];
	const struct block_of_code *to = &e->flow->block[low];
	LLVMValueRef others = LLVMBuildNot(e->b, taken, "");

	value_store(e, back ? taken : others, e->mask, 4);
	wait_at(e, high, back ? others : taken);
	states_become(e, e->s, to->part.in, to->live, to->part.kept);
	e->waiting = to->part.at_run;
	e->kept = to->part.kept;
	if (low <= e->in_block) {
		uint8_t needed[COMPILE_REGS_MAX];

		for (uint32_t r = 0; r < e->flow->reg_count; r++)
			needed[r] = to->live[r] | to->part.kept[r];
		jump_back(e, low, to->part.in, needed);
	}
	LLVMBuildBr(e->b, e->run_code[low]);
	e->waiting = NULL;
	e->kept = NULL;
}

static void branch_even(struct emit *e, LLVMValueRef yes)
{
	const struct block_of_code *n = &e->flow->block[e->in_block];
	LLVMBasicBlockRef on = new_block(e), out = new_block(e);

	LLVMBuildCondBr(e->b, yes, on, out);
	LLVMPositionBuilderAtEnd(e->b, on);
	group_edge(e, n->next[0]);
	LLVMPositionBuilderAtEnd(e->b, out);
	if (n->next_count > 1)
		group_edge(e, n->next[1]);
	else
		LLVMBuildUnreachable(e->b);
}

void group_branch(struct emit *e)
{
	const struct compile_op *o = operation(e);
	const struct block_of_code *n = &e->flow->block[e->in_block];
	const bool back = n->next_count > 1 && n->next[0] < n->next[1];
	LLVMBasicBlockRef some, none;
	LLVMValueRef guard, taken, others;

	if (o->guard.place == COMPILE_NONE || n->next_count < 2 || n->next[0] == n->next[1]) {
		group_edge(e, n->next[0]);
		return;
	}
	if (!part_may(e->flow, e->in_block, e->s)) {
		guard = source(e, &o->guard, false).v[0];
		branch_even(e, LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard,
					     value_number(LLVMTypeOf(guard), 0), ""));
		return;
	}
	guard = source_lanes(e, &o->guard, false);
	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard, value_number(LLVMTypeOf(guard), 0),
			      "");
	taken = LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, guard, e->i32, ""), e->here, "");
	others = LLVMBuildXor(e->b, taken, e->here, "");
	some = new_block(e);
	none = new_block(e);
	LLVMBuildCondBr(e->b, is_zero(e, back ? taken : others), none, some);
	LLVMPositionBuilderAtEnd(e->b, none);
	group_edge(e, n->next[back]);
	LLVMPositionBuilderAtEnd(e->b, some);
	value_store(e, back ? taken : others, e->mask, 4);
	wait_at(e, n->next[back], back ? others : taken); /* perhaps nobody */
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (e->s[r].split && e->flow->block[n->next[back]].live[r])
			reg_save(e, r, &e->s[r], back ? others : taken, false);
	group_edge(e, n->next[!back]);
}

/* Takes those that wait at block w, where some do; builder: goes on where nobody does. Value: they are the group now.
 */
static LLVMBasicBlockRef somebody_at(struct emit *e, uint32_t w, LLVMValueRef *ret_lanes)
{
	LLVMBasicBlockRef some = new_block(e), none = new_block(e);

	*ret_lanes = load32(e, e->wait[w]);
	LLVMBuildCondBr(e->b, is_zero(e, *ret_lanes), none, some);
	LLVMPositionBuilderAtEnd(e->b, some);
	value_store(e, number32(e, 0), e->wait[w], 4);
	value_store(e, number32(e, 0), e->spins, 4);
	return none;
}

void group_come(struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];
	const struct part *p = &n->part;
	LLVMValueRef lanes, all;
	LLVMBasicBlockRef none, together, apart;

	LLVMPositionBuilderAtEnd(e->b, e->come_code[b]);
	for (uint32_t w = 0; w < b; w++) { /* others wait before: they run first */
		if (!set_has(p->at_come, w))
			continue;
		none = somebody_at(e, w, &lanes);
		wait_at(e, b, load32(e, e->mask));
		value_store(e, lanes, e->mask, 4);
		go_run(e, w, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, none);
	}
	if (set_has(p->at_come, b)) {
		none = somebody_at(e, b, &lanes);
		all = LLVMBuildOr(e->b, lanes, load32(e, e->mask), "");
		value_store(e, all, e->mask, 4);
		if (e->flow->few) {
			go_run(e, b, p->in_come);
			LLVMPositionBuilderAtEnd(e->b, none);
			go_run(e, b, p->in_come);
			return;
		}
		together = new_block(e);
		apart = new_block(e);
		LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, all, number32(e, ~0u), ""), together, apart);
		LLVMPositionBuilderAtEnd(e->b, together);
		go_all(e, b, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, apart);
		go_run(e, b, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, none);
	}
	if (n->group_entry && n->reached && !e->flow->few) { /* the head of a loop: a group of all lanes */
		together = new_block(e);
		apart = new_block(e);
		LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, load32(e, e->mask), number32(e, ~0u), ""),
				together, apart);
		LLVMPositionBuilderAtEnd(e->b, together);
		go_all(e, b, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, apart);
	}
	go_run(e, b, p->in_come);
}

/* A group has run the barrier at which lanes wait at v. */
static void count_meeting(struct emit *e, uint32_t v, LLVMValueRef lanes)
{
	LLVMValueRef n = value_intrinsic(e, "llvm.ctpop", e->i32, &lanes, 1);

	e->absent = LLVMBuildZExt(e->b, LLVMBuildSub(e->b, number32(e, LANES), n, ""), e->i64, "");
	count_more(e, e->flow->request->op[e->flow->block[v].begin - 1].weight);
	e->absent = NULL;
}

void group_meet(struct emit *e, uint32_t v)
{
	const struct block_of_code *n = &e->flow->block[v];
	const struct part *p = &n->part;
	LLVMBasicBlockRef none = new_block(e), every = new_block(e), together, apart;
	LLVMValueRef mine, all, lanes;

	LLVMPositionBuilderAtEnd(e->b, e->come_code[v]);
	mine = load32(e, e->mask);
	all = LLVMBuildOr(e->b, mine, load32(e, e->wait[v]), "");
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, all, e->live_lanes, ""), every, none);
	LLVMPositionBuilderAtEnd(e->b, none);
	for (uint32_t w = 0; w < e->flow->block_count; w++) { /* others run until they come here */
		if (!set_has(p->at_come, w))
			continue;
		none = somebody_at(e, w, &lanes);
		count_meeting(e, v, mine);
		wait_at(e, v, mine);
		value_store(e, lanes, e->mask, 4);
		go_run(e, w, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, none);
	}
	e->waiting = p->at_come; /* or wait at another barrier: the interpreter knows what that means */
	e->kept = p->needed;
	leave(e, n->begin - 1, p->needed, p->in_come, 0);
	e->waiting = NULL;
	e->kept = NULL;
	LLVMPositionBuilderAtEnd(e->b, every);
	count_meeting(e, v, mine);
	value_store(e, number32(e, 0), e->wait[v], 4);
	value_store(e, number32(e, 0), e->spins, 4);
	value_store(e, all, e->mask, 4);
	if (!e->flow->few) {
		together = new_block(e);
		apart = new_block(e);
		LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, all, number32(e, ~0u), ""), together, apart);
		LLVMPositionBuilderAtEnd(e->b, together);
		go_all(e, n->behind, p->in_come);
		LLVMPositionBuilderAtEnd(e->b, apart);
	}
	go_run(e, n->behind, p->in_come);
}

/* ---- from the interpreter ---- */

/* How far lane `lane` of a line, a half or a pattern lies from the first one. */
static LLVMValueRef distance(struct emit *e, LLVMTypeRef t, const struct state *s, LLVMValueRef lane, uint32_t least)
{
	LLVMValueRef far;

	if (s->shape == SHAPE_PATTERN)
		return value_apart_of(e, t, pattern_of(e->flow, s).at, lane);
	far = LLVMBuildZExtOrBitCast(e->b, LLVMBuildSub(e->b, lane, number32(e, least), ""), t, "");
	return LLVMBuildMul(e->b, far, LLVMConstInt(t, (uint64_t)s->stride, true), "");
}

/* The base of a line as the first one of these lanes and of `among` has it. */
static LLVMValueRef base_from_frame(struct emit *e, uint32_t r, const struct state *s, LLVMValueRef lanes,
				    uint32_t among, uint32_t least)
{
	LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]);
	LLVMValueRef some =
		LLVMBuildOr(e->b, LLVMBuildAnd(e->b, lanes, number32(e, among), ""), number32(e, 1u << 31), "");
	LLVMValueRef lane = zeroes(e, "llvm.cttz", some), at, v;

	at = LLVMBuildMul(e->b, LLVMBuildZExt(e->b, lane, e->i64, ""),
			  LLVMConstInt(e->i64, e->flow->reg_lane[r], false), "");
	at = LLVMBuildAdd(e->b, at, LLVMConstInt(e->i64, e->flow->reg_at[r], false), "");
	v = value_load(
		e, t,
		LLVMBuildBitCast(e->b, LLVMBuildGEP2(e->b, e->i8, e->frame, &at, 1, ""), LLVMPointerType(t, 0), ""),
		e->flow->reg_lane[r]);
	return s->stride || s->pattern ? LLVMBuildSub(e->b, v, distance(e, t, s, lane, least), "") : v;
}

static void reg_enter(struct emit *e, uint32_t r, const struct state *s, LLVMBasicBlockRef no)
{
	LLVMTypeRef lanes = type_lanes(type_int(e, e->flow->reg_lane[r]));
	struct value x = { .shape = s->shape, .stride = s->stride, .pattern = s->pattern };
	LLVMValueRef v = value_load(e, lanes, value_at(e, e->frame, e->flow->reg_at[r], lanes), VECTOR_ALIGN), good;
	LLVMValueRef who = s->split ? value_field(e, e->warp, offsetof(struct warp, mask), e->i32) : e->live_lanes;
	LLVMBasicBlockRef on;

	if (s->shape == SHAPE_LANES || s->split)
		value_store(e, v, e->lanes[r], VECTOR_ALIGN);
	if (s->shape == SHAPE_LANES)
		return;
	if (s->shape == SHAPE_HALVES) {
		x.v[0] = base_from_frame(e, r, s, who, 0xffff, 0);
		x.v[1] = base_from_frame(e, r, s, who, 0xffff0000u, LANES / 2);
	} else {
		x.v[0] = base_from_frame(e, r, s, who, ~0u, 0);
	}
	reg_store(e, r, &x);
	good = LLVMBuildICmp(e->b, LLVMIntEQ, v, value_lanes(e, &x), "");
	good = LLVMBuildOr(e->b, LLVMBuildBitCast(e->b, good, e->i32, ""), LLVMBuildNot(e->b, who, ""), "");
	on = new_block(e);
	LLVMBuildCondBr(e->b, expected(e, LLVMBuildICmp(e->b, LLVMIntEQ, good, number32(e, ~0u), "")), on, no);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* The engine gives those who wait; wherever they may. */
static void take_waits(struct emit *e, const uint64_t *set, LLVMBasicBlockRef no)
{
	LLVMTypeRef types[3] = { e->bytes, e->bytes, e->i32 };
	LLVMTypeRef t = LLVMFunctionType(e->i8, types, 3, false);
	LLVMValueRef args[3] = { e->warp, e->waits, NULL }, good;
	LLVMBasicBlockRef on = new_block(e);
	uint32_t k = 0;

	for (uint32_t w = 0; w < e->flow->wait_count; w++)
		if (set_has(set, w))
			wait_place(e, w, k++);
	args[2] = number32(e, k);
	good = LLVMBuildCall2(e->b, t,
			      value_field(e, e->env, offsetof(struct compiled_env, take), LLVMPointerType(t, 0)), args,
			      3, "");
	good = LLVMBuildAnd(e->b, good, LLVMConstInt(e->i8, 1, false), "");
	LLVMBuildCondBr(e->b, is_zero(e, good), no, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	k = 0;
	for (uint32_t w = 0; w < e->flow->wait_count; w++) {
		if (!set_has(set, w))
			continue;
		value_store(e, load32(e, wait_field(e, k, offsetof(struct compiled_wait, lanes), e->i32)), e->wait[w],
			    4);
		value_store(e,
			    value_load(e, e->i64, wait_field(e, k++, offsetof(struct compiled_wait, since), e->i64), 8),
			    e->since[w], 8);
	}
}

void group_enter(struct emit *e, uint32_t b, LLVMBasicBlockRef no)
{
	const struct block_of_code *n = &e->flow->block[b];
	LLVMValueRef spins = value_at(e, e->warp, offsetof(struct warp, spins), e->i32);

	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if ((n->live[r] || n->part.kept[r]) && n->part.in[r].shape != SHAPE_UNKNOWN)
			reg_enter(e, r, &n->part.in[r], no);
	take_waits(e, n->part.at_run, no);
	value_store(e, load32(e, spins), e->spins, 4);
	value_store(e, number32(e, 0), spins, 4);
	value_store(e, value_field(e, e->warp, offsetof(struct warp, mask), e->i32), e->mask, 4);
	LLVMBuildBr(e->b, e->run_code[b]);
}
