/* loop_lane.c: the code of one lane of a loop (loop.h), with scalars. */
#include "compile/atomic.h"
#include "compile/group.h"
#include "compile/leave.h"
#include "compile/loop_parts.h"

#include <stddef.h>
#include <string.h>

/* ---- slots ---- */

static LLVMValueRef begin_slot(struct emit *e, LLVMTypeRef t, uint64_t n)
{
	LLVMValueRef place = slot_new(e, t);

	LLVMBuildStore(e->b, LLVMConstInt(t, n, true), place);
	return place;
}

LLVMValueRef loop_get(struct loop *l, LLVMTypeRef t, LLVMValueRef slot)
{
	return LLVMBuildLoad2(l->e->b, t, slot, "");
}

LLVMValueRef loop_number(struct loop *l, uint64_t n)
{
	return LLVMConstInt(l->e->i64, n, true);
}

LLVMValueRef loop_is_zero(struct loop *l, LLVMValueRef v)
{
	return LLVMBuildICmp(l->e->b, LLVMIntEQ, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

LLVMValueRef loop_is_more(struct loop *l, LLVMValueRef a, LLVMValueRef b)
{
	return LLVMBuildICmp(l->e->b, LLVMIntUGT, a, b, "");
}

static void add_bits(struct loop *l, LLVMTypeRef t, LLVMValueRef slot, LLVMValueRef bits)
{
	LLVMBuildStore(l->e->b, LLVMBuildOr(l->e->b, loop_get(l, t, slot), bits, ""), slot);
}

/* ---- one lane ---- */

static void note_place(struct loop *l, LLVMValueRef log, LLVMValueRef address, LLVMValueRef round)
{
	value_store(l->e, address, log_place(l, log, round, l->x.number64), 8);
}

/* Whether the register is written in the loop that the block is in. */
static bool is_written(const struct loop *l, const struct loop_block *c, uint32_t r)
{
	return c->inner ? c->inner->written[r] : l->written[r];
}

/* An address that does not change, or grows by a number: where the lane begins. False: it is none. */
static bool note_once(struct loop *l, const struct loop_block *c, const struct lane_place *p, struct loop_spot *spot)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);

	if (!p->start && (is_written(l, c, p->reg) || c->inner))
		return false;
	LLVMPositionBuilderAtEnd(e->b, l->x.bounds->enter);
	spot->log = log_places(l);
	spot->once = true;
	spot->inner = c->inner;
	note_place(l, spot->log, p->start ? p->start : p->address,
		   c->inner ? loop_get(l, e->i64, l->round) : loop_number(l, 0));
	LLVMPositionBuilderAtEnd(e->b, here);
	return true;
}

/* Of a line in front of the loop: nothing has to be noted. False: it is none. */
static bool is_line(const struct loop *l, const struct lane_place *p)
{
	return (!l->written[p->reg] || l->step[p->reg]) && l->x.from[p->reg].shape == SHAPE_LINE &&
	       l->x.from[p->reg].stride;
}

/* A place that lies as far from lane to lane as another one. */
static struct loop_spot *spot_like(struct loop_block *c, const struct lane_place *p)
{
	for (uint32_t k = 0; k < c->spots; k++) {
		struct loop_spot *s = &c->spot[k];

		if (s->bytes == p->bytes &&
		    ((p->bound && s->bound == p->bound) ||
		     (p->start && s->linear && s->terms == p->terms && bounds_alike(s->term, p->term, p->terms))))
			return s;
	}
	return NULL;
}

/* In a loop in a loop. Places with one address are as far from lane to lane. */
static void note_turn(struct loop *l, struct loop_block *c, const struct lane_place *p)
{
	struct loop_spot *spot;

	for (uint32_t k = 0; k < c->spots; k++)
		if (c->spot[k].address == p->address && c->spot[k].bytes == p->bytes)
			return;
	spot = &c->spot[c->spots++];
	*spot = (struct loop_spot){ .bytes = p->bytes, .loads = p->loads, .address = p->address };
	if (!log_note_ends(l, c, spot)) /* it is never tried */
		l->x.good = LLVMConstNull(l->e->i1);
}

/* The different addresses of the block's accesses. */
static void find_spots(struct loop *l, struct loop_block *c)
{
	for (uint32_t k = 0; k < l->x.places; k++) {
		const struct lane_place *p = &l->x.place[k];
		const struct state *s = &l->s[p->reg];
		struct loop_spot *spot = p->shared ? NULL : spot_like(c, p);

		if (p->shared)
			continue;
		if (!l->written[p->reg] && s->shape == SHAPE_LINE && !s->stride) {
			c->even += p->loads;
			continue;
		}
		c->loads += p->loads;
		if (is_line(l, p) && l->x.from[p->reg].stride != p->bytes)
			continue;
		if (spot) {
			spot->loads += p->loads;
			continue;
		}
		if (c->inner && !is_line(l, p) && !p->start) {
			note_turn(l, c, p);
			continue;
		}
		spot = &c->spot[c->spots++];
		*spot = (struct loop_spot){ .log = loop_effect_log(l, (uint32_t)(c - l->block), k),
					    .bytes = p->bytes,
					    .loads = p->loads,
					    .bound = p->bound,
					    .terms = p->terms,
					    .linear = p->start };
		memcpy(spot->term, p->term, sizeof(spot->term));
		if (is_line(l, p))
			spot->log = NULL;
		if (spot->log || is_line(l, p) || note_once(l, c, p, spot))
			continue;
		spot->log = log_places(l);
		note_place(l, spot->log, p->address, loop_round(l, c));
	}
}

/* NaNs get the device's bits where what follows takes them to have them. */
static void settle(struct loop *l, uint32_t to)
{
	struct emit *e = l->e;

	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		const bool nan = to > l->last ? l->end[r]
					      : l->block[loop_block_at(l, to)].nan[r] && (to != l->head || l->end[r]);
		LLVMValueRef v;

		if (!l->written[r] || !e->s[r].nan || nan)
			continue;
		v = LLVMBuildLoad2(e->b, lane_type(&l->x, r), l->x.slot[r], "");
		LLVMBuildStore(e->b, value_settle(e, v), l->x.slot[r]);
	}
}

/* Into a loop inside, or back to its head: a lane that has more rounds than are noted is given up. */
static void jump_inner(struct loop *l, struct loop_inner *inner, uint32_t from)
{
	struct emit *e = l->e;
	LLVMValueRef begun, limit;

	if (from < inner->head) {
		LLVMBuildBr(e->b, inner->enter);
		return;
	}
	begun = loop_get(l, e->i64, inner->begun);
	limit = loop_get(l, e->i64, inner->bounds.limit);
	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, begun, loop_number(l, 1), ""), inner->begun);
	LLVMBuildCondBr(e->b, expected(e, LLVMBuildICmp(e->b, LLVMIntULT, begun, limit, "")),
			l->block[loop_block_at(l, inner->head)].code, l->failed);
}

/* Back to the head: after as many rounds as are run at once the lane stays; where an address would not be in range, it
 * is given up. */
static void jump_head(struct loop *l)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef end = new_block(e);
	LLVMValueRef next = LLVMBuildAdd(e->b, loop_get(l, e->i64, l->round), loop_number(l, 1), "");
	LLVMValueRef limit = loop_get(l, e->i64, l->bounds.limit);

	LLVMBuildStore(e->b, next, l->round);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, next, limit, ""), end, l->block[0].code);
	LLVMPositionBuilderAtEnd(e->b, end);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, limit, loop_number(l, l->rounds), ""), l->stays,
			l->failed);
}

/* Where registers are as they must be there. */
static void go_to(struct loop *l, uint32_t from, uint32_t to)
{
	struct emit *e = l->e;
	struct loop_inner *inner = to <= l->last ? l->block[loop_block_at(l, to)].inner : NULL;

	if (inner && inner->head == to) {
		jump_inner(l, inner, from);
	} else if (to == l->head) {
		jump_head(l);
	} else if (to <= l->last) {
		LLVMBuildBr(e->b, l->block[loop_block_at(l, to)].code);
	} else {
		for (uint32_t k = 0; k < l->exits; k++)
			if ((l->exit[k].from == from || l->inners) && l->exit[k].to == to) {
				LLVMBuildBr(e->b, l->exit[k].code);
				break;
			}
	}
}

static void jump(struct loop *l, uint32_t from, uint32_t to)
{
	struct emit *e = l->e;
	struct loop_inner *inner = l->block[loop_block_at(l, from)].inner;

	settle(l, to);
	if (!inner || (to >= inner->head && to <= inner->last)) {
		go_to(l, from, to);
		return;
	}
	inner->way[inner->ways++] = (struct loop_way){ new_block(e), from, to };
	LLVMBuildBr(e->b, inner->way[inner->ways - 1].code);
}

static void branch(struct loop *l, uint32_t b)
{
	struct emit *e = l->e;
	const struct block_of_code *n = &e->flow->block[b];
	const struct compile_op *o = &e->flow->request->op[n->end - 1];
	LLVMBasicBlockRef yes, no;
	LLVMValueRef guard;
	struct value v;

	if (o->kind != COMPILE_BRANCH || o->guard.place == COMPILE_NONE || n->next_count < 2) {
		jump(l, b, n->next[0]);
		return;
	}
	yes = new_block(e);
	no = new_block(e);
	v = lane_operand(&l->x, &o->guard, false);
	guard = lane_of(&l->x, &v);
	guard = LLVMBuildICmp(e->b, o->guard_not ? LLVMIntEQ : LLVMIntNE, guard, LLVMConstNull(LLVMTypeOf(guard)), "");
	LLVMBuildCondBr(e->b, guard, yes, no);
	LLVMPositionBuilderAtEnd(e->b, yes);
	jump(l, b, n->next[0]);
	LLVMPositionBuilderAtEnd(e->b, no);
	jump(l, b, n->next[1]);
}

static void make_block(struct loop *l, uint32_t b)
{
	struct emit *e = l->e;
	const struct flow *f = e->flow;
	const struct block_of_code *n = &f->block[b];
	struct loop_block *c = &l->block[loop_block_at(l, b)];
	struct lane *x = &l->x;
	struct plan p;

	LLVMPositionBuilderAtEnd(e->b, c->code);
	x->begin = n->begin;
	x->end = n->end;
	x->places = 0;
	bounds_begin(x->bounds);
	x->odd = LLVMConstNull(e->i8);
	memcpy(x->now, x->fixed, f->reg_count * sizeof(*x->now));
	loop_states_begin(f, l, b, e->s);
	loop_local_begin(l, b);
	log_visit(l, c);
	for (e->at = n->begin; e->at < n->end; e->at++) {
		if (operation(e)->kind == COMPILE_BRANCH)
			break;
		plan_make(f, e->at, e->s, NULL, &p);
		if (l->owns && p.how == HOW_STORE && l->local[flow_reg(f, &operation(e)->operand[1])])
			lane_store(x, &p);
		else if (p.how == HOW_LOAD)
			lane_load(x, &p);
		else if (p.how == HOW_INLINE)
			lane_compute(x, &p);
		else if (atomic_is_probe(f, e->at, &p))
			lane_probe(x, &p);
		else if (p.how == HOW_STORE || p.how == HOW_ATOMIC)
			loop_effect_note(l, loop_block_at(l, b), &p);
		loop_states_apply(f, e->at, &p, e->s);
		loop_local_apply(f, operation(e), l->local);
	}
	find_spots(l, c);
	add_bits(l, e->i8, l->odd, x->odd);
	branch(l, b);
}

static bool is_read(const struct flow *f, const struct loop *l, uint32_t r)
{
	for (uint32_t i = f->block[l->head].begin; i < f->block[l->last].end; i++) {
		const struct compile_op *o = &f->request->op[i];

		if (flow_reg(f, &o->guard) == r)
			return true;
		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			if (!(o->defs >> k & 1) && flow_reg(f, &o->operand[k]) == r)
				return true;
	}
	return false;
}

/* Of f32, given as bits. */
static LLVMValueRef is_number(struct loop *l, LLVMValueRef v)
{
	v = LLVMBuildAnd(l->e->b, v, LLVMConstInt(l->e->i32, 0x7fffffffu, false), "");
	return LLVMBuildICmp(l->e->b, LLVMIntULE, v, LLVMConstInt(l->e->i32, 0x7f800000u, false), "");
}

/* What the lane has in front of the loop. A NaN whose bits are to be kept must not meet those that may change. */
static void begin_lane(struct loop *l)
{
	struct emit *e = l->e;
	const struct flow *f = e->flow;
	struct lane *x = &l->x;
	LLVMValueRef v;

	x->number = group_first_of(e, loop_get(l, e->i32, l->left));
	x->number64 = LLVMBuildZExt(e->b, x->number, e->i64, "");
	l->lane_bit = LLVMBuildShl(e->b, LLVMConstInt(e->i32, 1, false), x->number, "");
	LLVMBuildStore(e->b, loop_number(l, 0), l->round);
	for (uint32_t r = 0; r < f->reg_count; r++) {
		const bool has = x->from[r].shape != SHAPE_UNKNOWN;

		if (!l->written[r]) {
			if (!has || !is_read(f, l, r))
				continue;
			lane_take(x, r);
			x->fixed[r] = x->now[r];
			if (l->s[r].shape == SHAPE_LANES)
				x->fixed[r] = all_lanes(lane_of(x, &x->now[r]));
			continue;
		}
		v = LLVMConstNull(lane_type(x, r));
		if (has && f->block[l->head].live[r]) {
			lane_take(x, r);
			v = lane_of(x, &x->now[r]);
			if (x->from[r].nan && !l->block[0].nan[r])
				v = value_settle(e, v);
			if (!x->from[r].nan && l->block[0].nan[r])
				l->bounds.good = LLVMBuildAnd(e->b, l->bounds.good, is_number(l, v), "");
		}
		LLVMBuildStore(e->b, v, x->slot[r]);
	}
}

static void end_lane(struct loop *l)
{
	struct emit *e = l->e;
	LLVMValueRef round = LLVMBuildTrunc(e->b, loop_get(l, e->i64, l->round), e->i32, "");

	value_store(e, round, lane_element(&l->x, l->ends, e->i32), 4);
}

/* What a lane writes that somebody needs behind the loop. */
static bool is_left(const struct emit *e, const struct loop *l, uint32_t r)
{
	bool needed = e->kept && e->kept[r];

	for (uint32_t k = 0; k < l->exits; k++)
		needed = needed || e->flow->block[l->exit[k].to].live[r];
	return needed && l->written[r];
}

/* Into the arrays of all lanes: what is needed outside, or only in the next round. */
static void keep_written(struct loop *l, bool outside)
{
	struct emit *e = l->e;
	struct lane *x = &l->x;

	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		if (x->made[r] && is_left(e, l, r) == outside)
			value_store(e, loop_get(l, lane_type(x, r), x->slot[r]),
				    lane_element(x, lane_array(x, r), lane_type(x, r)), e->flow->reg_lane[r]);
}

static void make_exits(struct loop *l)
{
	struct emit *e = l->e;

	for (uint32_t k = 0; k < l->exits; k++) {
		LLVMPositionBuilderAtEnd(e->b, l->exit[k].code);
		add_bits(l, e->i32, l->exit[k].lanes, l->lane_bit);
		LLVMBuildBr(e->b, l->done);
	}
	LLVMPositionBuilderAtEnd(e->b, l->stays);
	add_bits(l, e->i32, l->stay, l->lane_bit);
	keep_written(l, false);
	LLVMBuildBr(e->b, l->done);
}

/* ---- behind the last lane ---- */

static LLVMValueRef reduced(struct loop *l, const char *name, LLVMValueRef v)
{
	return LLVMBuildZExt(l->e->b, value_intrinsic(l->e, name, LLVMTypeOf(v), &v, 1), l->e->i64, "");
}

LLVMValueRef loop_first_of(struct loop *l, LLVMValueRef lanes)
{
	struct emit *e = l->e;
	LLVMValueRef never = value_number(type_lanes(e->i32), INT32_MAX);

	return reduced(l, "llvm.vector.reduce.umin",
		       LLVMBuildSelect(e->b, group_lanes_in(e, lanes), l->left_in, never, ""));
}

/* When the lanes have left: all of them have. */
static void find_ends(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMValueRef last, left = LLVMBuildNot(e->b, loop_get(l, e->i32, l->stay), "");

	l->left_in = value_load(e, type_lanes(e->i32), l->ends, VECTOR_ALIGN);
	l->latest = reduced(l, "llvm.vector.reduce.umax", l->left_in);
	l->earliest = loop_first_of(l, here);
	last = value_spread(e, LLVMBuildTrunc(e->b, l->latest, e->i32, ""));
	last = LLVMBuildICmp(e->b, LLVMIntEQ, l->left_in, last, "");
	l->latest_lanes = LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, last, e->i32, ""), here, "");
	/* who has left has begun one more round than it has jumped back */
	left = LLVMBuildAnd(e->b, left, here, "");
	l->visits = LLVMBuildAdd(e->b, reduced(l, "llvm.vector.reduce.add", l->left_in), reduced(l, "llvm.ctpop", left),
				 "");
}

static void begin_slots(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;

	l->left = begin_slot(e, e->i32, 0);
	LLVMBuildStore(e->b, here, l->left);
	l->round = begin_slot(e, e->i64, 0);
	l->odd = begin_slot(e, e->i8, 0);
	l->executed = begin_slot(e, e->i64, 0);
	l->work = begin_slot(e, e->i64, 0);
	l->touched = begin_slot(e, e->i64, 0);
	l->marked = begin_slot(e, e->i64, 0);
	l->fewer = begin_slot(e, e->i64, 0);
	l->stay = begin_slot(e, e->i32, 0);
	for (uint32_t k = 0; k < l->exits; k++)
		l->exit[k].lanes = begin_slot(e, e->i32, 0);
	l->ends = value_array(e, &e->log_ends, e->i32);
	value_store(e, LLVMConstNull(type_lanes(e->i32)), l->ends, VECTOR_ALIGN);
	for (uint32_t k = 0; k < l->inners; k++) {
		l->inner[k].enter = new_block(e);
		l->inner[k].begun = slot_new(e, e->i64);
		l->inner[k].turned = begin_slot(e, e->i64, 0);
		l->inner[k].visited = begin_slot(e, e->i64, 0);
	}
	if (l->inners) {
		l->nowhere = slot_new(e, e->i64);
		l->spun = slot_new(e, e->i32);
		LLVMBuildStore(e->b, value_load(e, e->i32, e->spins, 4), l->spun);
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		l->x.slot[r] = l->written[r] ? slot_new(e, lane_type(&l->x, r)) : NULL;
}

/* ---- loops inside ---- */

static void begin_inner(struct loop *l, struct loop_inner *inner, LLVMBasicBlockRef outer)
{
	struct emit *e = l->e;

	LLVMPositionBuilderAtEnd(e->b, inner->enter);
	LLVMBuildStore(e->b, loop_number(l, 1), inner->begun);
	inner->bounds = (struct bounds){ .lane = &l->x,
					 .enter = inner->enter,
					 .outer = outer,
					 .rounds = l->turns,
					 .step = inner->step,
					 .written = inner->written,
					 .from = e->flow->block[inner->head].begin,
					 .last = e->flow->block[inner->last].begin };
	bounds_enter(&inner->bounds);
	log_enter(l, inner);
	l->x.bounds = &inner->bounds;
}

static void end_inner(struct loop *l, struct loop_inner *inner)
{
	struct emit *e = l->e;

	LLVMPositionBuilderAtEnd(e->b, inner->enter);
	LLVMBuildCondBr(e->b, expected(e, inner->bounds.good), l->block[loop_block_at(l, inner->head)].code, l->failed);
	l->x.bounds = &l->bounds;
	for (uint32_t k = 0; k < inner->ways; k++) {
		const struct loop_way *w = &inner->way[k];
		LLVMValueRef turn;

		LLVMPositionBuilderAtEnd(e->b, w->code);
		turn = LLVMBuildSub(e->b, loop_get(l, e->i64, inner->begun), loop_number(l, 1), "");
		lane_reach_tails(&l->x, &inner->bounds, turn);
		log_leave(l, inner, w->from);
		go_to(l, w->from, w->to);
	}
}

/* ---- what a lane writes to its own memory ---- */

/* Where this lane's memory begins. */
static void begin_local(struct loop *l)
{
	struct emit *e = l->e;
	const uint32_t bytes = e->flow->request->local;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(e->b);
	LLVMValueRef first;

	if (!l->owns)
		return;
	LLVMPositionBuilderAtEnd(e->b, l->x.before);
	first = value_field(e, e->warp, offsetof(struct warp, local), e->i64);
	LLVMPositionBuilderAtEnd(e->b, here);
	l->x.local = l->local;
	l->x.local_bytes = bytes;
	l->x.local_at = LLVMBuildAdd(e->b, first, LLVMBuildMul(e->b, l->x.number64, loop_number(l, bytes), ""), "");
}

/* All lanes' memory, which lies side by side, is saved or put back; goes on in block `to`. */
static void copy_local(struct loop *l, bool back, LLVMBasicBlockRef to)
{
	struct emit *e = l->e;
	LLVMTypeRef t = LLVMVectorType(e->i64, 8);
	const uint32_t count = LANES * e->flow->request->local / 64;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), each = new_block(e);
	LLVMValueRef own = value_field(e, e->warp, offsetof(struct warp, local), e->bytes), k, from, place[2];
	LLVMValueRef next = loop_number(l, 0);

	l->saved = value_array_of(e, &e->log_local, e->i8, LANES * LOCAL_MAX);
	LLVMBuildBr(e->b, each);
	LLVMPositionBuilderAtEnd(e->b, each);
	k = LLVMBuildPhi(e->b, e->i64, "");
	LLVMAddIncoming(k, &next, &before, 1);
	from = LLVMBuildMul(e->b, k, loop_number(l, 64), "");
	place[0] = LLVMBuildGEP2(e->b, e->i8, own, &from, 1, "");
	place[1] = LLVMBuildGEP2(e->b, e->i8, l->saved, &from, 1, "");
	value_store(e, value_load(e, t, value_at(e, place[back], 0, t), 1), value_at(e, place[!back], 0, t), 1);
	next = LLVMBuildAdd(e->b, k, loop_number(l, 1), "");
	LLVMAddIncoming(k, &next, &each, 1);
	LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, loop_number(l, count), ""), each, to);
}

/* In front of the first lane; where lanes are given up, what they have written is taken back. */
static void end_before(struct loop *l, LLVMBasicBlockRef head)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef save = l->owns ? new_block(e) : head;

	LLVMPositionBuilderAtEnd(e->b, l->x.before);
	LLVMBuildCondBr(e->b, expected(e, l->x.good), save, l->refused);
	if (!l->owns)
		return;
	LLVMPositionBuilderAtEnd(e->b, save);
	copy_local(l, false, head);
	LLVMPositionBuilderAtEnd(e->b, l->failed);
	copy_local(l, true, l->refused);
}

/* All lanes; the builder goes on where the last of them has run. */
void loop_lanes(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef head = new_block(e), after = new_block(e);
	LLVMValueRef left;

	LLVMPositionBuilderAtEnd(e->b, l->x.before);
	l->x.good = LLVMConstInt(e->i1, 1, false);
	l->here = here;
	log_begin(l);
	begin_slots(l, here);
	loop_effects_begin(l);
	for (uint32_t i = 0; i <= l->last - l->head; i++)
		l->block[i].code = new_block(e);
	for (uint32_t k = 0; k < l->exits; k++)
		l->exit[k].code = new_block(e);
	LLVMPositionBuilderAtEnd(e->b, head);
	l->bounds = (struct bounds){ .lane = &l->x,
				     .enter = head,
				     .rounds = l->rounds,
				     .step = l->step,
				     .written = l->written,
				     .from = e->flow->block[l->head].begin,
				     .last = e->flow->block[l->last].begin };
	bounds_enter(&l->bounds);
	l->x.bounds = &l->bounds;
	begin_lane(l);
	begin_local(l);
	for (uint32_t b = l->head; b <= l->last; b++) {
		struct loop_inner *inner = l->block[loop_block_at(l, b)].inner;

		if (inner && b == inner->head)
			begin_inner(l, inner, head);
		make_block(l, b);
		if (inner && b == inner->last)
			end_inner(l, inner);
	}
	LLVMPositionBuilderAtEnd(e->b, head);
	LLVMBuildCondBr(e->b, expected(e, l->bounds.good), l->block[0].code, l->failed);
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		l->x.made[r] = l->written[r] && (is_left(e, l, r) || e->flow->block[l->head].live[r]);
	make_exits(l);
	LLVMPositionBuilderAtEnd(e->b, l->done);
	lane_reach_tails(&l->x, &l->bounds, loop_get(l, e->i64, l->round));
	end_lane(l);
	keep_written(l, true);
	left = loop_get(l, e->i32, l->left);
	left = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), ""), "");
	LLVMBuildStore(e->b, left, l->left);
	LLVMBuildCondBr(e->b, loop_is_zero(l, left), after, head);
	end_before(l, head);
	LLVMPositionBuilderAtEnd(e->b, after);
	lane_unless(&l->x, loop_is_zero(l, loop_get(l, e->i8, l->odd)));
	find_ends(l, here);
	loop_effects_end(l);
}
