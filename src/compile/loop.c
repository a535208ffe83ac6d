/*
 * loop.c: see loop.h.
 *
 *   choose    a few lanes, unless this loop has been better with vectors lately: before; else vectors
 *   before    what lanes read goes to arrays
 *   head      one lane begins
 *   code      the blocks of the loop, with scalars; an address that is out of range: failed
 *   exit      for each way out of the loop: this lane has left
 *   stays     this lane has run as many rounds as are run at once
 *   done      what the lane has written goes to arrays; the next lane: head
 *   after     counters, registers; then the group goes on where the last lane has left, or at the loop's head
 *   failed    nothing has happened yet: vectors
 */
#include "compile/loop.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop_parts.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_LATER 250u /* arrivals at a loop that is better with vectors until it is tried again */

/* ---- behind the lanes ---- */

static LLVMValueRef count_bits(struct loop *l, LLVMValueRef v)
{
	return value_intrinsic(l->e, "llvm.ctpop", LLVMTypeOf(v), &v, 1);
}

/* A byte of the function that says how often the loop is not tried. */
static LLVMValueRef patience(struct emit *e, const struct loop *l)
{
	LLVMValueRef hints = value_field(e, e->env, offsetof(struct compiled_env, hint), e->bytes);

	return value_at(e, hints, e->flow->block[l->last].end - 1, e->i8);
}

/* The loop is not tried for a while if vectors would have been better. */
static void wait_if(struct loop *l, LLVMValueRef better)
{
	struct emit *e = l->e;
	LLVMValueRef later = LLVMConstInt(e->i8, AGAIN_LATER, false), old = value_load(e, e->i8, patience(e, l), 1);

	value_store(e, LLVMBuildSelect(e->b, better, later, old, ""), patience(e, l), 1);
}

/* Whether all lanes together would have been faster in as many rounds as the longest has run. */
static void compare_costs(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMValueRef lanes = LLVMBuildZExt(e->b, count_bits(l, here), e->i64, ""), mine, theirs, n;

	theirs = LLVMBuildMul(e->b, log_rounds(l), loop_number(l, l->round_cost), "");
	mine = LLVMBuildMul(e->b, l->visits, loop_number(l, l->visit_cost), "");
	mine = LLVMBuildAdd(e->b, mine, LLVMBuildMul(e->b, lanes, loop_number(l, l->lane_cost), ""), "");
	for (uint32_t k = 0; k < l->inners; k++) {
		const struct loop_inner *x = &l->inner[k];
		uint32_t round_cost = 0, visit_cost = 0;

		for (uint32_t b = x->head; b <= x->last; b++) {
			round_cost += l->block[loop_block_at(l, b)].round_cost;
			visit_cost += l->block[loop_block_at(l, b)].visit_cost;
		}
		n = LLVMBuildMul(e->b, loop_get(l, e->i64, x->turned), loop_number(l, round_cost), "");
		theirs = LLVMBuildAdd(e->b, theirs, n, "");
		n = LLVMBuildMul(e->b, loop_get(l, e->i64, x->visited), loop_number(l, visit_cost), "");
		mine = LLVMBuildAdd(e->b, mine, n, "");
	}
	if (l->inners) /* how many rounds there are differs so much that one time tells little */
		theirs = LLVMBuildShl(e->b, theirs, loop_number(l, 1), "");
	wait_if(l, loop_is_more(l, mine, theirs));
}

static void count_work(struct loop *l)
{
	struct emit *e = l->e;
	LLVMValueRef executed, idle, touched, fewer;

	executed = loop_get(l, e->i64, l->executed);
	idle = LLVMBuildMul(e->b, executed, loop_number(l, LANES), "");
	add_to(e, e->count, 0, executed);
	add_to(e, e->idle, 0, LLVMBuildSub(e->b, idle, loop_get(l, e->i64, l->work), ""));
	touched = loop_get(l, e->i64, l->touched);
	fewer = loop_get(l, e->i64, l->fewer);
	add_to(e, e->sectors, 0, LLVMBuildSub(e->b, touched, fewer, ""));
	/* where lanes share what they load, all of them together load it faster */
	wait_if(l, LLVMBuildICmp(e->b, LLVMIntSGT, LLVMBuildShl(e->b, fewer, loop_number(l, 1), ""), touched, ""));
}

/* Rounds below the one of that number. */
static LLVMValueRef below(struct loop *l, LLVMValueRef n)
{
	return LLVMBuildSub(l->e->b, LLVMBuildShl(l->e->b, loop_number(l, 1), n, ""), loop_number(l, 1), "");
}

/* The mark of the last round is left for the jump that follows; those of the others have been counted by theirs. */
static void count_strong(struct loop *l, LLVMValueRef strong, LLVMValueRef jumps)
{
	struct emit *e = l->e;
	LLVMValueRef n = count_bits(l, LLVMBuildAnd(e->b, strong, below(l, jumps), "")), mark;

	add_to(e, e->block, offsetof(struct block, waits), n);
	mark = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, strong, jumps, ""), loop_number(l, 1), "");
	value_store(e, LLVMBuildTrunc(e->b, mark, e->i8, ""),
		    value_at(e, e->warp, offsetof(struct warp, strong), e->i8), 1);
}

/* Of these rounds, those whose jumps are counted since lanes have met; *ret_old: what was counted before the loop. */
static LLVMValueRef since_met(struct loop *l, LLVMValueRef rounds, LLVMValueRef *ret_old)
{
	struct emit *e = l->e;
	LLVMValueRef met = log_last_meeting(l), none;

	*ret_old = value_load(e, e->i32, e->spins, 4);
	if (!met)
		return rounds;
	none = LLVMBuildICmp(e->b, LLVMIntSLT, met, loop_number(l, 0), "");
	*ret_old = LLVMBuildSelect(e->b, none, *ret_old, LLVMConstNull(e->i32), "");
	met = LLVMBuildSelect(e->b, none, loop_number(l, 0), met, "");
	return LLVMBuildAnd(e->b, rounds, LLVMBuildNot(e->b, below(l, met), ""), "");
}

/* Jumps backwards while others wait; the one in front of the next round is counted by whoever makes it. */
static void count_spins(struct loop *l, LLVMValueRef here, LLVMValueRef stay)
{
	struct emit *e = l->e;
	LLVMValueRef jumps = l->latest, strong = loop_get(l, e->i64, l->marked);
	LLVMValueRef zero = loop_number(l, 0), all, last, from, rounds, n, old;

	if (l->inners) {
		value_store(e, loop_get(l, e->i32, l->spun), e->spins, 4);
		return;
	}
	all = LLVMBuildICmp(e->b, LLVMIntEQ, here, e->live_lanes, "");
	last = LLVMBuildZExt(e->b, LLVMBuildNot(e->b, loop_is_zero(l, stay), ""), e->i64, "");
	jumps = LLVMBuildSub(e->b, jumps, last, "");
	from = LLVMBuildSelect(e->b, all, l->earliest, zero, "");
	rounds = LLVMBuildAnd(e->b, below(l, jumps), LLVMBuildNot(e->b, below(l, from), ""), "");
	rounds = since_met(l, rounds, &old);
	n = count_bits(l, rounds);
	if (l->strong) {
		all = count_bits(l, LLVMBuildAnd(e->b, rounds, strong, ""));
		n = LLVMBuildAdd(e->b, n, LLVMBuildMul(e->b, all, loop_number(l, SPINS_MAX / 32 - 1), ""), "");
		count_strong(l, strong, jumps);
	}
	n = LLVMBuildTrunc(e->b, n, e->i32, "");
	value_store(e, LLVMBuildAdd(e->b, old, n, ""), e->spins, 4);
}

/* A register that the group's code keeps as a line: of a lane that stays. */
static void make_line(struct loop *l, uint32_t r, LLVMValueRef lane)
{
	struct emit *e = l->e;
	const struct state *to = &e->flow->block[l->head].part.in_come[r];
	LLVMTypeRef t = lane_type(&l->x, r);
	struct value v = { .shape = SHAPE_LINE, .stride = to->stride };
	LLVMValueRef far;

	l->x.number64 = LLVMBuildZExt(e->b, lane, e->i64, "");
	v.v[0] = value_load(e, t, lane_element(&l->x, lane_array(&l->x, r), t), e->flow->reg_lane[r]);
	far = LLVMBuildZExtOrBitCast(e->b, lane, t, "");
	far = LLVMBuildMul(e->b, far, LLVMConstInt(t, (uint64_t)to->stride, true), "");
	v.v[0] = LLVMBuildSub(e->b, v.v[0], far, "");
	reg_store(e, r, &v);
	e->s[r] = (struct state){ .shape = SHAPE_LINE, .stride = to->stride, .nan = l->end[r], .split = to->split };
}

static void go_on_inside(struct loop *l, LLVMValueRef stay)
{
	struct emit *e = l->e;
	const struct part *p = &e->flow->block[l->head].part;
	LLVMValueRef lane = group_first_of(e, stay);

	value_store(e, stay, e->mask, 4);
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (l->x.made[r] && p->needed[r] && p->in_come[r].shape == SHAPE_LINE)
			make_line(l, r, lane);
	group_edge(e, l->head);
}

/* Those who left last go on; of those who left in the same round, the ones who jumped behind the others. */
static LLVMValueRef find_last(struct loop *l, LLVMValueRef stay)
{
	struct emit *e = l->e;
	LLVMValueRef none = LLVMConstNull(e->i32), latest = l->latest_lanes, run = none, here;

	latest = LLVMBuildSelect(e->b, loop_is_zero(l, stay), latest, none, "");
	for (uint32_t k = 0; k < l->exits; k++) {
		here = LLVMBuildAnd(e->b, latest, loop_get(l, e->i32, l->exit[k].lanes), "");
		run = LLVMBuildSelect(e->b, loop_is_zero(l, here), run, here, "");
	}
	return run;
}

static void part_lanes(struct loop *l, LLVMValueRef begin)
{
	struct emit *e = l->e;
	LLVMValueRef stay = loop_get(l, e->i32, l->stay), run = find_last(l, stay), since, lanes, left;
	LLVMBasicBlockRef inside = new_block(e), outside = new_block(e), yes, no;

	for (uint32_t k = 0; k < l->exits; k++) {
		left = loop_get(l, e->i32, l->exit[k].lanes);
		since = LLVMBuildMul(e->b, loop_first_of(l, left), loop_number(l, l->exits), "");
		since = LLVMBuildAdd(e->b, begin, LLVMBuildAdd(e->b, since, loop_number(l, k), ""), "");
		lanes = LLVMBuildAnd(e->b, left, LLVMBuildNot(e->b, run, ""), "");
		group_wait(e, l->exit[k].to, lanes, since);
	}
	LLVMBuildCondBr(e->b, loop_is_zero(l, stay), outside, inside);
	LLVMPositionBuilderAtEnd(e->b, outside);
	value_store(e, run, e->mask, 4);
	for (uint32_t k = l->exits; k-- > 0;) {
		if (!k) {
			group_arrive(e, l->exit[k].to);
			break;
		}
		yes = new_block(e);
		no = new_block(e);
		lanes = LLVMBuildAnd(e->b, run, loop_get(l, e->i32, l->exit[k].lanes), "");
		LLVMBuildCondBr(e->b, loop_is_zero(l, lanes), no, yes);
		LLVMPositionBuilderAtEnd(e->b, yes);
		group_arrive(e, l->exit[k].to);
		LLVMPositionBuilderAtEnd(e->b, no);
	}
	LLVMPositionBuilderAtEnd(e->b, inside);
	go_on_inside(l, stay);
}

/* A register gets what the lanes have written, beside what others keep in it. */
static void give(struct loop *l, uint32_t r)
{
	struct emit *e = l->e;
	const bool kept = e->kept && e->kept[r], through = e->flow->through;
	const struct state s = { .shape = SHAPE_LANES,
				 .synced = through,
				 .nan = l->end[r] && !through && (!kept || l->x.from[r].nan) };
	struct value v = all_lanes(value_load(e, type_lanes(lane_type(&l->x, r)), lane_array(&l->x, r), VECTOR_ALIGN));

	if (l->end[r] && !s.nan)
		v.v[0] = value_settle(e, v.v[0]);
	e->s[r] = s;
	lane_give(&l->x, r, v);
}

static void make_after(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMValueRef begin = value_load(e, e->i64, e->count, 8);

	log_count(l);
	compare_costs(l, here);
	count_work(l);
	count_spins(l, here, loop_get(l, e->i32, l->stay));
	memcpy(e->s, l->x.from, e->flow->reg_count * sizeof(*e->s));
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (l->x.made[r])
			give(l, r);
		else if (e->s[r].split)
			reg_save(e, r, &e->s[r], here, false);
	part_lanes(l, begin);
}

/* ---- the whole ---- */

/* A loop that has been better with vectors lately is not tried for a while. */
static void make_choice(struct loop *l, uint32_t few)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef skip = new_block(e);
	const uint32_t spins = l->strong   ? l->rounds * (SPINS_MAX / 32)
			       : l->inners ? NEST_ROUNDS + NEST_SLOTS * l->inners
					   : COMPILE_ROUNDS;
	LLVMValueRef wait = value_load(e, e->i8, patience(e, l), 1), good = loop_is_zero(l, wait), less, strong;

	if (e->absent)
		good = LLVMBuildAnd(
			e->b, good,
			LLVMBuildICmp(e->b, LLVMIntUGE, e->absent, loop_number(l, few < LANES ? LANES - few : 0), ""),
			"");
	less = LLVMBuildICmp(e->b, LLVMIntULE, value_load(e, e->i32, e->spins, 4),
			     LLVMConstInt(e->i32, SPINS_MAX - spins, false), "");
	good = LLVMBuildAnd(e->b, good, less, "");
	if (e->flow->strong) { /* the next jump backwards counts otherwise */
		strong = value_field(e, e->warp, offsetof(struct warp, strong), e->i8);
		good = LLVMBuildAnd(e->b, good, loop_is_zero(l, strong), "");
	}
	LLVMBuildCondBr(e->b, good, l->x.before, skip);
	LLVMPositionBuilderAtEnd(e->b, skip);
	less = LLVMBuildZExt(e->b, LLVMBuildNot(e->b, loop_is_zero(l, wait), ""), e->i8, "");
	value_store(e, LLVMBuildSub(e->b, wait, less, ""), patience(e, l), 1);
	LLVMBuildBr(e->b, l->begin);
}

static void make_loop(struct loop *l, uint32_t few)
{
	struct emit *e = l->e;
	LLVMValueRef here = e->here ? e->here : LLVMConstInt(e->i32, 0xffffffffu, false);

	l->begin = new_block(e);
	l->stays = new_block(e);
	l->done = new_block(e);
	l->x.before = new_block(e);
	l->x.vectors = l->failed = l->refused = new_block(e);
	make_choice(l, few);
	LLVMPositionBuilderAtEnd(e->b, l->failed);
	value_store(e, LLVMConstInt(e->i8, AGAIN_LATER, false), patience(e, l), 1);
	LLVMBuildBr(e->b, l->begin);
	memcpy(l->x.from, e->s, e->flow->reg_count * sizeof(*e->s));
	memcpy(e->s, l->s, e->flow->reg_count * sizeof(*e->s));
	if (l->owns)
		l->x.vectors = l->failed = new_block(e);
	loop_lanes(l, here);
	make_after(l, here);
	memcpy(e->s, l->x.from, e->flow->reg_count * sizeof(*e->s));
	LLVMPositionBuilderAtEnd(e->b, l->begin);
}

static void loop_clear(struct loop *l)
{
	free(l->s);
	free(l->now);
	free(l->written);
	free(l->end);
	free(l->step);
	free(l->local);
	free(l->local_in);
	free(l->x.from);
	free(l->x.now);
	free(l->x.made);
	free(l->x.slot);
	free(l->x.fixed);
	for (uint32_t k = 0; k < INNER_MAX; k++) {
		free(l->inner[k].written);
		free(l->inner[k].step);
	}
	memset(l, 0, sizeof(*l));
}

static bool loop_prepare(struct loop *l, struct emit *e, uint32_t b)
{
	const size_t regs = e->flow->reg_count + 1;
	bool good = true;

	l->e = l->x.e = e;
	l->head = b;
	l->s = calloc(regs, sizeof(*l->s));
	l->now = calloc(regs, sizeof(*l->now));
	l->written = calloc(regs, sizeof(*l->written));
	l->end = calloc(regs, sizeof(*l->end));
	l->step = calloc(regs, sizeof(*l->step));
	l->local = calloc(regs, sizeof(*l->local));
	l->x.from = calloc(regs, sizeof(*l->x.from));
	l->x.now = calloc(regs, sizeof(*l->x.now));
	l->x.made = calloc(regs, sizeof(*l->x.made));
	l->x.slot = calloc(regs, sizeof(*l->x.slot));
	l->x.fixed = calloc(regs, sizeof(*l->x.fixed));
	for (uint32_t k = 0; k < INNER_MAX; k++) {
		l->inner[k].written = calloc(regs, sizeof(*l->written));
		l->inner[k].step = calloc(regs, sizeof(*l->step));
		good = good && l->inner[k].written && l->inner[k].step;
	}
	return good && l->s && l->now && l->written && l->end && l->step && l->local && l->x.from && l->x.now &&
	       l->x.made && l->x.slot && l->x.fixed;
}

static bool is_worth(const struct emit *e, uint32_t few)
{
	return e->kept ? few > 1 : few >= LANES;
}

/* Value: for how many lanes a loop at block b may be better than vectors, in code of all lanes or of a group. */
static uint32_t find_any(struct loop *l, struct emit *e, uint32_t b)
{
	uint32_t few = loop_prepare(l, e, b) ? loop_find(e, l) : 0;

	if (is_worth(e, few))
		return few;
	loop_clear(l);
	return loop_prepare(l, e, b) ? loop_find_nest(e, l) : 0;
}

/* Whether code of a group takes the registers as all lanes have them. */
static bool suits_group(const struct emit *e, uint32_t b)
{
	const struct block_of_code *n = &e->flow->block[b];

	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		struct state from = e->s[r], to = n->part.in[r];

		if (from.shape == SHAPE_LANES)
			from.same = 0;
		from.whole = false;
		if (n->live[r] && (to.shape == SHAPE_UNKNOWN || state_join(&to, &from)))
			return false;
	}
	return n->part.reached;
}

/*
 * All lanes run the loop in the code of a group, which all of them are, where it is tried: it is compiled once. They
 * are together again behind it, or at its head. False: it is not compiled there.
 */
static bool go_group(struct loop *l, struct emit *e, uint32_t b, uint32_t few)
{
	struct loop *other = calloc(1, sizeof(*other));
	struct state *s = e->s;
	LLVMBasicBlockRef on, go;
	bool good = other && suits_group(e, b);

	e->s = e->flow->block[b].part.in;
	e->kept = e->flow->block[b].part.kept;
	good = good && is_worth(e, find_any(other, e, b)) && other->last == l->last && other->inners == l->inners;
	e->s = s;
	e->kept = NULL;
	if (other)
		loop_clear(other);
	free(other);
	if (!good)
		return false;
	on = new_block(e);
	go = new_block(e);
	l->x.before = go;
	l->begin = on;
	make_choice(l, few);
	LLVMPositionBuilderAtEnd(e->b, go);
	group_all(e, b);
	LLVMPositionBuilderAtEnd(e->b, on);
	return true;
}

void loop_begin(struct emit *e, uint32_t b)
{
	struct loop *l = calloc(1, sizeof(*l));
	const uint32_t few = l ? find_any(l, e, b) : 0;

	if (l && is_worth(e, few) && (e->kept || !go_group(l, e, b, few)))
		make_loop(l, few);
	if (l)
		loop_clear(l);
	free(l);
}
