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

/* How far a lane is at the start of a block in this turn, as struct loop_inner counts it. */
static LLVMValueRef position(struct loop *l, const struct loop_block *c, LLVMValueRef turn)
{
	const uint32_t b = l->head + (uint32_t)(c - l->block);
	LLVMValueRef n = LLVMBuildMul(l->e->b, turn, loop_number(l, c->inner->last - c->inner->head + 1), "");

	n = LLVMBuildAdd(l->e->b, n, loop_number(l, b - c->inner->head), "");
	return LLVMBuildTrunc(l->e->b, n, l->e->i32, "");
}

static LLVMValueRef ended_at(struct loop *l, const struct loop_inner *x, LLVMValueRef round)
{
	LLVMValueRef at = LLVMBuildMul(l->e->b, round, loop_number(l, LANES), "");

	return LLVMBuildGEP2(l->e->b, l->e->i32, x->ended, &at, 1, "");
}

/* Of a loop inside: those who have come further. */
static LLVMValueRef ran_inside(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMTypeRef t = type_lanes(e->i32);
	LLVMValueRef turn = LLVMBuildURem(e->b, round, loop_number(l, NEST_TURNS), ""), at, far;

	at = ended_at(l, c->inner, LLVMBuildUDiv(e->b, round, loop_number(l, NEST_TURNS), ""));
	far = value_load(e, t, LLVMBuildBitCast(e->b, at, LLVMPointerType(t, 0), ""), VECTOR_ALIGN);
	far = LLVMBuildICmp(e->b, LLVMIntUGT, far, value_spread(e, position(l, c, turn)), "");
	return LLVMBuildBitCast(e->b, far, e->i32, "");
}

/* ---- who ran a block, by who ran those in front of it ---- */

static uint32_t edges_into(const struct flow *f, const struct loop *l, uint32_t b)
{
	uint32_t n = 0;

	for (uint32_t p = l->head; p <= l->last; p++)
		for (uint32_t k = 0; k < f->block[p].next_count; k++)
			n += f->block[p].next[k] == b;
	return n;
}

/* The exit by which a block leaves the loop for block `to`; NULL: not known. */
static const struct loop_exit *exit_of(const struct loop *l, uint32_t from, uint32_t to)
{
	for (uint32_t k = 0; k < l->exits && !l->inners; k++)
		if (l->exit[k].from == from && l->exit[k].to == to)
			return &l->exit[k];
	return NULL;
}

/* Whether it is known who goes from p to b: all, or those who do not go elsewhere. */
static bool knows_edge(const struct flow *f, const struct loop *l, uint32_t p, uint32_t b)
{
	const struct block_of_code *n = &f->block[p];
	const uint32_t other = n->next[0] == b ? n->next[1] : n->next[0];

	if (l->block[loop_block_at(l, p)].inner)
		return false;
	if (n->next_count < 2)
		return true;
	if (other > l->last)
		return exit_of(l, p, other);
	return other != b && other > l->head && l->block[loop_block_at(l, other)].lanes && edges_into(f, l, other) == 1;
}

/* Whether nobody has to note that it runs block b; those in front of it have been asked. */
static bool is_told(const struct flow *f, const struct loop *l, uint32_t b)
{
	for (uint32_t p = l->head; p <= l->last; p++)
		for (uint32_t k = 0; k < f->block[p].next_count; k++)
			if (f->block[p].next[k] == b && !knows_edge(f, l, p, b))
				return false;
	return edges_into(f, l, b);
}

/* Who left there in this round. */
static LLVMValueRef left_by(struct loop *l, const struct loop_exit *x, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef now = value_spread(e, LLVMBuildTrunc(e->b, round, e->i32, ""));

	now = LLVMBuildICmp(e->b, LLVMIntEQ, l->left_in, now, "");
	return LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, now, e->i32, ""), loop_get(l, e->i32, x->lanes), "");
}

static LLVMValueRef ran_edges(struct loop *l, uint32_t b, LLVMValueRef round)
{
	struct emit *e = l->e;
	const struct flow *f = e->flow;
	LLVMValueRef all = LLVMConstNull(e->i32), some, others;

	for (uint32_t p = l->head; p < b; p++) {
		const struct block_of_code *n = &f->block[p];
		const uint32_t other = n->next[0] == b ? n->next[1] : n->next[0];

		if (n->next[0] != b && (n->next_count < 2 || n->next[1] != b))
			continue;
		some = log_ran(l, &l->block[loop_block_at(l, p)], round);
		if (n->next_count > 1) {
			others = other > l->last ? left_by(l, exit_of(l, p, other), round)
						 : log_ran(l, &l->block[loop_block_at(l, other)], round);
			some = LLVMBuildAnd(e->b, some, LLVMBuildNot(e->b, others, ""), "");
		}
		all = LLVMBuildOr(e->b, all, some, "");
	}
	return all;
}

static LLVMValueRef ran(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	const uint32_t b = l->head + (uint32_t)(c - l->block);
	struct emit *e = l->e;
	LLVMValueRef ran;

	if (c->lanes)
		return value_load(e, e->i32, log_lanes(l, c, round), 4);
	if (c->inner)
		return ran_inside(l, c, round);
	if (b != l->head)
		return ran_edges(l, b, round);
	ran = value_spread(e, LLVMBuildTrunc(e->b, round, e->i32, ""));
	ran = LLVMBuildICmp(e->b, LLVMIntUGE, l->left_in, ran, "");
	return LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, ran, e->i32, ""), l->here, "");
}

LLVMValueRef log_ran(struct loop *l, struct loop_block *c, LLVMValueRef round)
{
	if (c->ran_in != round) {
		c->ran = ran(l, c, round);
		c->ran_in = round;
	}
	return c->ran;
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

/* Numbers of 32 bits, a multiple of 8. */
static void clear(struct loop *l, LLVMValueRef array, uint32_t count)
{
	struct emit *e = l->e;
	LLVMValueRef at = LLVMBuildBitCast(e->b, array, e->bytes, "");

	for (uint32_t k = 0, n; k < count; k += n) {
		LLVMTypeRef t = LLVMVectorType(e->i32, n = count - k < 16 ? 8 : 16);

		value_store(e, LLVMConstNull(t), value_at(e, at, (uint64_t)k * 4, t), 4);
	}
}

/* A large one, in a loop: the lanes are prepared behind it. */
static void clear_many(struct loop *l, LLVMValueRef array, uint32_t count)
{
	struct emit *e = l->e;
	LLVMTypeRef t = LLVMVectorType(e->i32, 16);
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), each = new_block(e), on = new_block(e);
	LLVMValueRef k, next = loop_number(l, 0), at;

	LLVMBuildBr(e->b, each);
	LLVMPositionBuilderAtEnd(e->b, each);
	k = LLVMBuildPhi(e->b, e->i64, "");
	LLVMAddIncoming(k, &next, &before, 1);
	at = LLVMBuildGEP2(e->b, e->i32, array, &k, 1, "");
	value_store(e, LLVMConstNull(t), LLVMBuildBitCast(e->b, at, LLVMPointerType(t, 0), ""), 4);
	next = LLVMBuildAdd(e->b, k, loop_number(l, 16), "");
	LLVMAddIncoming(k, &next, &each, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, loop_number(l, count), ""), each, on);
	LLVMPositionBuilderAtEnd(e->b, on);
	l->x.before = on;
}

void log_begin(struct loop *l)
{
	struct emit *e = l->e;

	for (uint32_t i = 0; i <= l->last - l->head; i++)
		l->block[i].lanes = NULL;

	for (uint32_t i = 1; i <= l->last - l->head; i++) {
		struct loop_block *c = &l->block[i];

		if (c->inner ? c->inner->straight || l->head + i == c->inner->head : is_told(e->flow, l, l->head + i))
			continue;
		c->lanes = value_array_of(e, c->inner ? &e->log_nest[i] : &e->log_lanes[i], e->i32,
					  c->inner ? NEST_SLOTS : COMPILE_ROUNDS);
		if (c->inner)
			clear_many(l, c->lanes, NEST_SLOTS);
		else
			clear(l, c->lanes, (l->rounds + 7) & ~7u);
	}
	for (uint32_t k = 0; k < l->inners; k++) {
		struct loop_inner *x = &l->inner[k];

		x->ended = value_array_of(e, &e->log_turns[k], e->i32, NEST_ROUNDS * LANES);
		x->seen = value_array_of(e, &e->log_seen[k], e->i32, NEST_ROUNDS);
		clear(l, x->ended, NEST_ROUNDS * LANES);
		clear(l, x->seen, NEST_ROUNDS);
	}
}

/* ---- one lane ---- */

void log_enter(struct loop *l, struct loop_inner *x)
{
	LLVMValueRef round = loop_get(l, l->e->i64, l->round);

	x->before = value_load(l->e, l->e->i32, LLVMBuildGEP2(l->e->b, l->e->i32, x->seen, &round, 1, ""), 4);
}

void log_leave(struct loop *l, const struct loop_inner *x, uint32_t from)
{
	struct emit *e = l->e;
	const struct loop_block *c = &l->block[loop_block_at(l, x->straight ? from : x->head)];
	LLVMValueRef round = loop_get(l, e->i64, l->round), turn, far, more;

	turn = LLVMBuildSub(e->b, loop_get(l, e->i64, x->begun), loop_number(l, 1), "");
	far = LLVMBuildAdd(e->b, position(l, c, turn), LLVMConstInt(e->i32, 1, false), "");
	value_store(e, far, LLVMBuildGEP2(e->b, e->i32, ended_at(l, x, round), &l->x.number64, 1, ""), 4);
	more = LLVMBuildICmp(e->b, LLVMIntUGT, far, x->before, "");
	value_store(e, LLVMBuildSelect(e->b, more, far, x->before, ""),
		    LLVMBuildGEP2(e->b, e->i32, x->seen, &round, 1, ""), 4);
}

void log_visit(struct loop *l, struct loop_block *c)
{
	struct emit *e = l->e;
	LLVMValueRef at, others;

	if (c->lanes) {
		at = log_lanes(l, c, loop_round(l, c));
		others = value_load(e, e->i32, at, 4);
		value_store(e, LLVMBuildOr(e->b, others, l->lane_bit, ""), at, 4);
		c->first = loop_is_zero(l, others);
	} else if (c->inner) {
		at = LLVMBuildSub(e->b, loop_get(l, e->i64, c->inner->begun), loop_number(l, 1), "");
		c->first = LLVMBuildICmp(e->b, LLVMIntUGE, position(l, c, at), c->inner->before, "");
	}
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

static void note_end(struct loop *l, LLVMValueRef at, LLVMValueRef address)
{
	value_store(l->e, address, at, 8);
}

/* The first lane of a round, and the last one of each half; who is not the first notes it nowhere. */
bool log_note_ends(struct loop *l, const struct loop_block *c, struct loop_spot *s)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef round = loop_round(l, c), half;

	if (l->ends_used == NEST_SPOTS_MAX)
		return false;
	for (uint32_t k = 0; k < 3; k++)
		s->ends[k] = end_array(l, l->ends_used, k);
	l->ends_used++;
	note_end(l, LLVMBuildSelect(e->b, c->first, end_place(l, s->ends[0], round), l->nowhere, ""), s->address);
	LLVMPositionBuilderAtEnd(e->b, l->x.bounds->enter);
	half = LLVMBuildICmp(e->b, LLVMIntULT, l->x.number, LLVMConstInt(e->i32, LANES / 2, false), "");
	half = LLVMBuildSelect(e->b, half, s->ends[2], s->ends[1], "");
	LLVMPositionBuilderAtEnd(e->b, here);
	note_end(l, end_place(l, half, round), s->address);
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
	LLVMValueRef round = s->inner  ? LLVMBuildUDiv(e->b, now, loop_number(l, NEST_TURNS), "")
			     : s->once ? loop_number(l, 0)
				       : now;
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
	LLVMValueRef low = LLVMBuildICmp(e->b, LLVMIntULT, x->last, loop_number(l, LANES / 2), ""), last, gap, far;

	last = LLVMBuildSelect(e->b, low, value_load(e, e->i64, end_place(l, s->ends[2], now), 8),
			       value_load(e, e->i64, end_place(l, s->ends[1], now), 8), "");
	gap = LLVMBuildSub(e->b, last, value_load(e, e->i64, end_place(l, s->ends[0], now), 8), "");
	far = times(l, LLVMBuildSub(e->b, x->last, x->first, ""), s->bytes);
	gap = LLVMBuildOr(e->b, loop_is_zero(l, gap), LLVMBuildICmp(e->b, LLVMIntEQ, gap, far, ""), "");
	lane_unless(&l->x, LLVMBuildNot(e->b, gap, ""));
}

static LLVMValueRef count_lanes(struct loop *l, LLVMValueRef lanes)
{
	return LLVMBuildZExt(l->e->b, value_intrinsic(l->e, "llvm.ctpop", l->e->i32, &lanes, 1), l->e->i64, "");
}

/* Of a block: so many rounds of any lanes, and of all lanes together. */
static void count_rounds(struct loop *l, const struct loop_block *c, LLVMValueRef some, LLVMValueRef n)
{
	add(l, l->executed, times(l, some, c->weight));
	add(l, l->work, times(l, n, c->weight));
	add(l, l->touched, LLVMBuildAdd(l->e->b, times(l, some, c->even), times(l, n, c->loads), ""));
}

/* What lanes that run a block together load. */
static void count_spots(struct loop *l, const struct loop_block *c, LLVMValueRef round, LLVMValueRef lanes)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef several, on;
	LLVMValueRef n;
	struct ends x;

	if (!c->spots)
		return;
	n = count_lanes(l, lanes);
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

static void count_block(struct loop *l, struct loop_block *c, LLVMValueRef round)
{
	struct emit *e = l->e;
	LLVMValueRef lanes = log_ran(l, c, round);
	LLVMValueRef some = LLVMBuildZExt(e->b, LLVMBuildNot(e->b, loop_is_zero(l, lanes), ""), e->i64, "");

	count_rounds(l, c, some, count_lanes(l, lanes));
	if (c->strong)
		add(l, l->marked, LLVMBuildShl(e->b, some, round, ""));
	count_spots(l, c, round, lanes);
}

/* A block of a loop inside, of which it is known how far each lane has come: all turns of one round. */
static void count_inside(struct loop *l, const struct loop_block *c, LLVMValueRef round)
{
	const uint32_t blocks = c->inner->last - c->inner->head + 1, b = l->head + (uint32_t)(c - l->block);
	struct emit *e = l->e;
	LLVMTypeRef t = type_lanes(e->i32);
	LLVMValueRef n = LLVMBuildBitCast(e->b, ended_at(l, c->inner, round), LLVMPointerType(t, 0), ""), most;

	n = value_load(e, t, n, VECTOR_ALIGN);
	n = LLVMBuildAdd(e->b, n, value_number(t, blocks - 1 - (b - c->inner->head)), "");
	n = LLVMBuildUDiv(e->b, n, value_number(t, blocks), "");
	most = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.vector.reduce.umax", t, &n, 1), e->i64, "");
	n = LLVMBuildZExt(e->b, value_intrinsic(e, "llvm.vector.reduce.add", t, &n, 1), e->i64, "");
	count_rounds(l, c, most, n);
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

/* Looks from the last round on, since lanes that part at all mostly do so often. */
LLVMValueRef log_last_meeting(struct loop *l)
{
	struct emit *e = l->e;
	const struct stretch all = { .head = l->head, .last = l->last };
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), look, on;
	LLVMValueRef behind, round, met, end;

	if (!is_any_passed(e->flow, &all))
		return NULL;
	look = new_block(e);
	on = new_block(e);
	end = log_rounds(l);
	LLVMBuildBr(e->b, look);
	LLVMPositionBuilderAtEnd(e->b, look);
	behind = LLVMBuildPhi(e->b, e->i64, "");
	round = LLVMBuildSub(e->b, behind, loop_number(l, 1), "");
	LLVMAddIncoming(behind, &end, &before, 1);
	LLVMAddIncoming(behind, &round, &look, 1);
	met = find_meeting(l, l->head, l->last, round);
	LLVMBuildCondBr(e->b, LLVMBuildOr(e->b, met, loop_is_zero(l, round), ""), on, look);
	LLVMPositionBuilderAtEnd(e->b, on);
	return LLVMBuildSelect(e->b, met, round, LLVMConstAllOnes(e->i64), "");
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
	LLVMBasicBlockRef before, head = new_block(e), each = new_block(e), on = new_block(e), end;
	LLVMValueRef first = times(l, round, NEST_TURNS), turn, next = loop_number(l, 0), at, lanes, some, n;
	LLVMValueRef rest, none = LLVMConstNull(e->i32);

	for (uint32_t b = x->head; b <= x->last; b++)
		if (!l->block[loop_block_at(l, b)].lanes)
			count_inside(l, &l->block[loop_block_at(l, b)], round);
	before = LLVMGetInsertBlock(e->b);
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
	for (uint32_t b = x->head; b <= x->last; b++) {
		struct loop_block *c = &l->block[loop_block_at(l, b)];

		if (c->lanes)
			count_block(l, c, at);
		else if (c->spots)
			count_spots(l, c, at, log_ran(l, c, at));
	}
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
	log_each_round(l, l->inners ? count_nest_round : count_blocks);
}
