/*
 * loop_log.c: what the lanes of a loop that run one after the other (loop.h) note, and what is counted by it.
 *
 * In each round a lane notes that it is in a block, and from where it loads. Behind the last lane, one round after the
 * other is looked at: how many lanes ran each block, and whether their addresses may be one place or a row. The first
 * and the last lane tell that nearly always.
 */
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop_parts.h"

#include <stddef.h>

/* They are one array, so that one register has where all of them are. */
static LLVMValueRef new_places(struct emit *e)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef from = LLVMConstInt(e->i32, (uint64_t)e->log_count++ * LANES * COMPILE_ROUNDS, false), at,
		     all = LLVMConstInt(e->i32, (uint64_t)e->log_count * LANES * COMPILE_ROUNDS, false);

	if (!e->log_all) {
		LLVMPositionBuilderBefore(e->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(e->function)));
		e->log_all = LLVMBuildArrayAlloca(e->b, e->i64, all, "");
		LLVMSetAlignment(e->log_all, VECTOR_ALIGN);
	}
	LLVMSetOperand(e->log_all, 0, all);
	LLVMPositionBuilderBefore(e->b, LLVMGetNextInstruction(e->log_all));
	at = LLVMBuildGEP2(e->b, e->i64, e->log_all, &from, 1, "");
	LLVMPositionBuilderAtEnd(e->b, here);
	return at;
}

LLVMValueRef log_places(struct loop *l)
{
	LLVMValueRef *at = &l->e->log_at[l->logs++];

	if (!*at)
		*at = new_places(l->e);
	return *at;
}

LLVMValueRef log_place(struct loop *l, LLVMValueRef array, LLVMValueRef round, LLVMValueRef lane)
{
	struct emit *e = l->e;
	LLVMValueRef index =
		LLVMBuildAdd(e->b, LLVMBuildMul(e->b, lane, loop_number(l, COMPILE_ROUNDS), ""), round, "");

	return LLVMBuildGEP2(e->b, e->i64, array, &index, 1, "");
}

LLVMValueRef log_lanes(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	return LLVMBuildGEP2(l->e->b, l->e->i32, c->lanes, &round, 1, "");
}

LLVMValueRef log_ran(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef ran;

	if (c != l->block || c->inner)
		return value_load(e, e->i32, log_lanes(l, c, round), 4);
	ran = value_spread(e, LLVMBuildTrunc(e->b, round, e->i32, ""));
	ran = LLVMBuildICmp(e->b, LLVMIntUGE, l->left_in, ran, "");
	return LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, ran, e->i32, ""), l->here, "");
}

LLVMValueRef log_rounds(struct loop *l)
{
	struct emit *e = l->e;
	LLVMValueRef n = l->latest, most = loop_number(l, l->rounds);

	n = LLVMBuildAdd(e->b, n, loop_number(l, 1), "");
	return LLVMBuildSelect(e->b, loop_is_more(l, n, most), most, n, "");
}

LLVMValueRef loop_round(struct loop *l, const struct loop_block *c)
{
	struct emit *e = l->e;

	LLVMValueRef n;

	if (!c->inner)
		return loop_get(l, e->i64, l->round);
	n = LLVMBuildSub(e->b, loop_get(l, e->i64, c->inner->begun), loop_number(l, 1), "");
	return LLVMBuildAdd(e->b, LLVMBuildMul(e->b, loop_get(l, e->i64, l->round), loop_number(l, NEST_TURNS), ""), n,
			    "");
}

void log_begin(struct loop *l)
{
	struct emit *e = l->e;
	LLVMTypeRef t = LLVMVectorType(e->i32, COMPILE_ROUNDS / 3);

	for (uint32_t i = 1; i <= l->last - l->head; i++) {
		const bool nest = l->block[i].inner != NULL;
		const uint32_t rounds = nest ? NEST_SLOTS : l->rounds;

		l->block[i].lanes = value_array_of(e, nest ? &e->log_nest[i] : &e->log_lanes[i], e->i32,
						   nest ? NEST_SLOTS : COMPILE_ROUNDS);
		for (uint64_t k = 0; k < rounds; k += COMPILE_ROUNDS / 3)
			value_store(e, LLVMConstNull(t),
				    value_at(e, LLVMBuildBitCast(e->b, l->block[i].lanes, e->bytes, ""), k * 4, t), 4);
	}
}

void log_visit(struct loop *l, struct loop_block *c)
{
	struct emit *e = l->e;
	LLVMValueRef at;

	if (c == l->block)
		return; /* how many rounds the lane runs says it */
	at = log_lanes(l, c, loop_round(l, c));
	c->others = value_load(e, e->i32, at, 4);
	value_store(e, LLVMBuildOr(e->b, c->others, l->lane_bit, ""), at, 4);
}

/* A new set of arrays of what a loop in a loop notes. */
static LLVMValueRef end_array(struct loop *l, uint32_t k, uint32_t which)
{
	return value_array_of(l->e, &l->e->log_nest_at[k][which], l->e->i64, NEST_SLOTS);
}

static LLVMValueRef end_place(struct loop *l, LLVMValueRef array, LLVMValueRef round)
{
	return LLVMBuildGEP2(l->e->b, l->e->i64, array, &round, 1, "");
}

static void note_end(struct loop *l, LLVMValueRef array, LLVMValueRef round, LLVMValueRef address, LLVMValueRef when)
{
	struct emit *e = l->e;
	LLVMValueRef at = end_place(l, array, round);

	if (when)
		address = LLVMBuildSelect(e->b, when, address, value_load(e, e->i64, at, 8), "");
	value_store(e, address, at, 8);
}

bool log_note_ends(struct loop *l, const struct loop_block *c, struct loop_spot *s)
{
	struct emit *e = l->e;
	LLVMValueRef round = loop_round(l, c), half;

	if (l->ends_used == NEST_SPOTS_MAX)
		return false;
	for (uint32_t k = 0; k < 3; k++)
		s->ends[k] = end_array(l, l->ends_used, k);
	l->ends_used++;
	half = LLVMBuildICmp(e->b, LLVMIntULT, l->x.number, LLVMConstInt(e->i32, LANES / 2, false), "");
	note_end(l, s->ends[0], round, s->address, loop_is_zero(l, c->others));
	note_end(l, s->ends[1], round, s->address, NULL);
	note_end(l, s->ends[2], round, s->address, half);
	return true;
}

/* ---- behind the last lane ---- */

static void add(struct loop *l, LLVMValueRef slot, LLVMValueRef n)
{
	struct emit *e = l->e;

	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, loop_get(l, e->i64, slot), n, ""), slot);
}

static LLVMValueRef times(struct loop *l, LLVMValueRef n, uint64_t by)
{
	return LLVMBuildMul(l->e->b, n, loop_number(l, by), "");
}

/* Who is looked at: the first lane, and the last one of its half or of all. */
struct ends {
	LLVMValueRef lanes, first, last;
};

static struct ends ends_of(struct loop *l, LLVMValueRef lanes)
{
	struct emit *e = l->e;
	LLVMValueRef all = LLVMBuildICmp(e->b, LLVMIntEQ, lanes, LLVMConstAllOnes(e->i32), "");
	struct ends x = { .lanes = lanes, .first = group_first_of(e, lanes), .last = group_last_of(e, lanes) };

	x.last = LLVMBuildSelect(e->b, all, LLVMConstInt(e->i32, LANES / 2 - 1, false), x.last, "");
	x.first = LLVMBuildZExt(e->b, x.first, e->i64, "");
	x.last = LLVMBuildZExt(e->b, x.last, e->i64, "");
	return x;
}

/* The places of several lanes. */
static void count_spot(struct loop *l, const struct loop_spot *s, const struct ends *x, LLVMValueRef now)
{
	struct emit *e = l->e;
	LLVMValueRef round = s->once ? loop_number(l, 0) : now;
	LLVMTypeRef types[3] = { LLVMPointerType(e->i64, 0), e->i32, e->i32 };
	LLVMTypeRef t = LLVMFunctionType(e->i64, types, 3, false);
	LLVMBasicBlockRef ask = new_block(e), on = new_block(e);
	LLVMValueRef gap, far, maybe, call, n;
	LLVMValueRef args[3] = { log_place(l, s->log, round, loop_number(l, 0)), x->lanes,
				 LLVMConstInt(e->i32, s->bytes, false) };

	gap = LLVMBuildSub(e->b, value_load(e, e->i64, log_place(l, s->log, round, x->last), 8),
			   value_load(e, e->i64, log_place(l, s->log, round, x->first), 8), "");
	far = times(l, LLVMBuildSub(e->b, x->last, x->first, ""), s->bytes);
	maybe = LLVMBuildOr(e->b, loop_is_zero(l, gap), LLVMBuildICmp(e->b, LLVMIntEQ, gap, far, ""), "");
	LLVMBuildCondBr(e->b, expected(e, LLVMBuildNot(e->b, maybe, "")), on, ask);
	LLVMPositionBuilderAtEnd(e->b, ask);
	call = value_field(e, e->env, offsetof(struct compiled_env, alike), LLVMPointerType(t, 0));
	n = LLVMBuildCall2(e->b, t, call, args, 3, "");
	add(l, l->fewer, times(l, n, s->loads));
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* The same where only the first and the last are known: where they may lie as a row or at one place, it is given up. */
static void count_ends(struct loop *l, const struct loop_spot *s, const struct ends *x, LLVMValueRef now)
{
	struct emit *e = l->e;
	LLVMValueRef all = LLVMBuildICmp(e->b, LLVMIntEQ, x->lanes, LLVMConstAllOnes(e->i32), ""), last, gap, far;

	last = LLVMBuildSelect(e->b, all, value_load(e, e->i64, end_place(l, s->ends[2], now), 8),
			       value_load(e, e->i64, end_place(l, s->ends[1], now), 8), "");
	gap = LLVMBuildSub(e->b, last, value_load(e, e->i64, end_place(l, s->ends[0], now), 8), "");
	far = times(l, LLVMBuildSub(e->b, x->last, x->first, ""), s->bytes);
	gap = LLVMBuildOr(e->b, loop_is_zero(l, gap), LLVMBuildICmp(e->b, LLVMIntEQ, gap, far, ""), "");
	lane_unless(&l->x, LLVMBuildNot(e->b, gap, ""));
}

static void count_block(struct loop *l, struct loop_block *c, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef lanes = log_ran(l, c, round), some, n;
	LLVMBasicBlockRef several, on;
	struct ends x;

	some = LLVMBuildZExt(e->b, LLVMBuildNot(e->b, loop_is_zero(l, lanes), ""), e->i64, "");
	n = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.ctpop", e->i32, &lanes, 1), e->i64, "");
	add(l, l->executed, times(l, some, c->weight));
	add(l, l->work, times(l, n, c->weight));
	add(l, l->touched, LLVMBuildAdd(e->b, times(l, some, c->even), times(l, n, c->loads), ""));
	if (c->strong)
		add(l, l->marked, LLVMBuildShl(e->b, some, round, ""));
	if (!c->spots)
		return;
	several = new_block(e);
	on = new_block(e);
	LLVMBuildCondBr(e->b, loop_is_more(l, n, loop_number(l, 1)), several, on);
	LLVMPositionBuilderAtEnd(e->b, several);
	x = ends_of(l, lanes);
	for (uint32_t k = 0; k < c->spots; k++) {
		const struct loop_spot *s = &c->spot[k];

		if (s->ends[0])
			count_ends(l, s, &x, round);
		else if (s->log)
			count_spot(l, s, &x, round);
		else
			add(l, l->fewer, times(l, LLVMBuildSub(e->b, n, loop_number(l, s->bytes), ""), s->loads));
	}
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

void log_each_round(struct loop *l, void (*emit)(struct loop *l, LLVMValueRef round))
{
	struct emit *e = l->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = new_block(e), on = new_block(e), end;
	LLVMValueRef rounds = log_rounds(l), round, next = loop_number(l, 0);

	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	round = LLVMBuildPhi(e->b, e->i64, "");
	LLVMAddIncoming(round, &next, &before, 1);
	emit(l, round);
	next = LLVMBuildAdd(e->b, round, loop_number(l, 1), "");
	end = LLVMGetInsertBlock(e->b);
	LLVMAddIncoming(round, &next, &end, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, rounds, ""), head, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

static void count_blocks(struct loop *l, LLVMValueRef round)
{
	for (uint32_t i = 0; i <= l->last - l->head; i++)
		if (!l->block[i].inner)
			count_block(l, &l->block[i], round);
}

/*
 * ---- where lanes meet ----
 *
 * A group that comes to where others wait, or past it, is chosen anew, and its jumps backwards are counted from there
 * on (warp_schedule). In a loop that is so in each round in which some lanes have passed over a block that others ran.
 * Who has left the loop waits outside: nobody meets him there.
 */

/* Blocks one behind the other, of a loop or of a loop inside; lanes that run a block behind those looked at so far. */
struct stretch {
	uint32_t head, last;
	LLVMValueRef later;
	LLVMValueRef met; /* an i1; NULL: no block is passed over */
};

static LLVMValueRef lanes_at(struct loop *l, uint32_t b, LLVMValueRef round)
{
	return log_ran(l, &l->block[loop_block_at(l, b)], round);
}

/* Whether a jump within the stretch leads over the block. */
static bool is_passed(const struct flow *f, const struct stretch *s, uint32_t b)
{
	for (uint32_t from = s->head; from < b; from++)
		for (uint32_t k = 0; k < f->block[from].next_count; k++)
			if (f->block[from].next[k] > b && f->block[from].next[k] <= s->last)
				return true;
	return false;
}

static bool is_any_passed(const struct flow *f, const struct stretch *s)
{
	for (uint32_t b = s->head; b <= s->last; b++)
		if (is_passed(f, s, b))
			return true;
	return false;
}

/* Whether some ran what `lanes` did not, who come behind it. */
static LLVMValueRef do_meet(struct loop *l, LLVMValueRef lanes, LLVMValueRef later)
{
	struct emit *e = l->e;
	LLVMValueRef others = LLVMBuildAnd(e->b, later, LLVMBuildNot(e->b, lanes, ""), "");

	others = LLVMBuildOr(e->b, loop_is_zero(l, lanes), loop_is_zero(l, others), "");
	return LLVMBuildNot(e->b, others, "");
}

/* The block before those that were looked at. */
static void meet_at(struct loop *l, struct stretch *s, uint32_t b, LLVMValueRef lanes)
{
	struct emit *e = l->e;
	LLVMValueRef met;

	if (is_passed(e->flow, s, b)) {
		met = do_meet(l, lanes, s->later);
		s->met = s->met ? LLVMBuildOr(e->b, s->met, met, "") : met;
	}
	s->later = LLVMBuildOr(e->b, s->later, lanes, "");
}

/* Whether lanes meet in this round of the loop, or of the loop inside; NULL: never. */
static LLVMValueRef find_meeting(struct loop *l, uint32_t head, uint32_t last, LLVMValueRef round)
{
	struct stretch s = { .head = head, .last = last, .later = LLVMConstNull(l->e->i32) };

	if (!is_any_passed(l->e->flow, &s))
		return NULL;
	for (uint32_t b = last + 1; b-- > head;)
		meet_at(l, &s, b, lanes_at(l, b, round));
	return s.met;
}

static void count_round(struct loop *l, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef met;

	count_blocks(l, round);
	met = find_meeting(l, l->head, l->last, round);
	if (!met)
		return;
	l->meets = true;
	met = LLVMBuildShl(e->b, LLVMBuildZExt(e->b, met, e->i64, ""), round, "");
	LLVMBuildStore(e->b, LLVMBuildOr(e->b, loop_get(l, e->i64, l->met), met, ""), l->met);
}

/* ---- loops in a loop ---- */

/* A jump backwards of these lanes, where it is one. */
static void count_jump(struct loop *l, LLVMValueRef lanes, LLVMValueRef is_jump)
{
	struct emit *e = l->e;
	LLVMValueRef n = LLVMBuildICmp(e->b, LLVMIntNE, lanes, e->live_lanes, "");

	n = LLVMBuildZExt(e->b, LLVMBuildAnd(e->b, n, is_jump, ""), e->i32, "");
	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, loop_get(l, e->i32, l->spun), n, ""), l->spun);
}

/* Jumps are counted anew where lanes have met; NULL: they never do. */
static void count_anew(struct loop *l, LLVMValueRef met)
{
	struct emit *e = l->e;

	if (met)
		LLVMBuildStore(e->b,
			       LLVMBuildSelect(e->b, met, LLVMConstNull(e->i32), loop_get(l, e->i32, l->spun), ""),
			       l->spun);
}

static bool leads_out(const struct flow *f, const struct loop_inner *x, uint32_t b)
{
	for (uint32_t k = 0; k < f->block[b].next_count; k++)
		if (f->block[b].next[k] > x->last)
			return true;
	return false;
}

/* Who ran the last block of all in this round of the loop inside, if it is its last round. */
static LLVMValueRef find_rest(struct loop *l, const struct loop_inner *x, LLVMValueRef at)
{
	struct emit *e = l->e;
	LLVMValueRef rest = LLVMConstNull(e->i32), lanes;

	for (uint32_t b = x->head; b <= x->last; b++)
		if (leads_out(e->flow, x, b)) {
			lanes = lanes_at(l, b, at);
			rest = LLVMBuildSelect(e->b, loop_is_zero(l, lanes), rest, lanes, "");
		}
	return rest;
}

/* All rounds of the loop inside in one round of the other, in which `later` run a block behind it. */
static void count_turns(struct loop *l, struct loop_inner *x, LLVMValueRef round, LLVMValueRef later)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), head = new_block(e), each = new_block(e),
			  on = new_block(e), end;
	LLVMValueRef first = times(l, round, NEST_TURNS), turn, next = loop_number(l, 0), at, lanes, some, n;
	LLVMValueRef rest, none = LLVMConstNull(e->i32);

	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, head);
	turn = LLVMBuildPhi(e->b, e->i64, "");
	rest = LLVMBuildPhi(e->b, e->i32, "");
	LLVMAddIncoming(turn, &next, &before, 1);
	LLVMAddIncoming(rest, &none, &before, 1);
	some = LLVMBuildICmp(e->b, LLVMIntULT, turn, loop_number(l, NEST_TURNS), "");
	n = LLVMBuildSelect(e->b, some, turn, loop_number(l, 0), "");
	at = LLVMBuildAdd(e->b, first, n, "");
	lanes = lanes_at(l, x->head, at);
	some = LLVMBuildAnd(e->b, some, LLVMBuildNot(e->b, loop_is_zero(l, lanes), ""), "");
	LLVMBuildCondBr(e->b, some, each, on);
	LLVMPositionBuilderAtEnd(e->b, each);
	count_jump(l, lanes, LLVMBuildNot(e->b, loop_is_zero(l, turn), ""));
	count_anew(l, find_meeting(l, x->head, x->last, at));
	add(l, x->turned, loop_number(l, 1));
	n = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.ctpop", e->i32, &lanes, 1), e->i64, "");
	add(l, x->visited, n);
	for (uint32_t b = x->head; b <= x->last; b++)
		count_block(l, &l->block[loop_block_at(l, b)], at);
	lanes = find_rest(l, x, at);
	next = LLVMBuildAdd(e->b, turn, loop_number(l, 1), "");
	end = LLVMGetInsertBlock(e->b);
	LLVMAddIncoming(turn, &next, &end, 1);
	LLVMAddIncoming(rest, &lanes, &end, 1);
	LLVMBuildBr(e->b, head);
	LLVMPositionBuilderAtEnd(e->b, on);
	count_anew(l, do_meet(l, rest, later)); /* with those who have left it before, or have not come */
}

static void count_nest_round(struct loop *l, LLVMValueRef round)
{
	struct emit *e = l->e;
	struct stretch s = { .head = l->head, .last = l->last, .later = LLVMConstNull(e->i32) };
	LLVMValueRef met[INNER_MAX + 1] = { NULL }, later[INNER_MAX]; /* in front of each loop inside; behind it */
	uint32_t k = l->inners;

	count_jump(l, lanes_at(l, l->head, round), LLVMBuildNot(e->b, loop_is_zero(l, round), ""));
	count_blocks(l, round);
	for (uint32_t b = l->last + 1; b-- > l->head;) {
		const struct loop_inner *x = l->block[loop_block_at(l, b)].inner;

		if (!x) {
			meet_at(l, &s, b, lanes_at(l, b, round));
			met[k] = s.met;
		} else if (b == x->head) {
			later[--k] = s.later;
			s.met = NULL;
			s.later = LLVMBuildOr(e->b, s.later, lanes_at(l, b, times(l, round, NEST_TURNS)), "");
		}
	}
	for (k = 0; k < l->inners; k++) {
		count_anew(l, met[k]);
		count_turns(l, &l->inner[k], round, later[k]);
	}
	count_anew(l, met[k]);
}

void log_count(struct loop *l)
{
	log_each_round(l, l->inners ? count_nest_round : count_round);
}
