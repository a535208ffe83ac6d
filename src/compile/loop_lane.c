/* loop_lane.c: the code of one lane of a loop (loop.h), with scalars. */
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

/* Memory on the function's stack, made when it is first needed. */
static LLVMValueRef memory(struct emit *e, LLVMValueRef *place, size_t bytes)
{
	if (!*place)
		*place = value_on_stack(e, LLVMArrayType(e->i8, (unsigned)bytes), e->bytes);
	return *place;
}

LLVMValueRef loop_visits(struct loop *l, uint32_t i)
{
	return value_at(l->e, memory(l->e, &l->e->visits, BLOCKS_MAX * sizeof(struct compiled_visits)),
			i * sizeof(struct compiled_visits), l->e->i8);
}

LLVMValueRef loop_spot(struct loop *l, uint32_t k)
{
	return value_at(l->e, memory(l->e, &l->e->spots, SPOTS_MAX * sizeof(struct compiled_spot)),
			k * sizeof(struct compiled_spot), l->e->i8);
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

/* Element `index`, an i64, of an array at `offset`. */
static LLVMValueRef element_at(struct loop *l, LLVMValueRef base, size_t offset, LLVMValueRef index, LLVMTypeRef t)
{
	LLVMValueRef at = value_at(l->e, base, offset, t);

	return LLVMBuildGEP2(l->e->b, t, at, &index, 1, "");
}

/* ---- one lane ---- */

/* A lane's addresses in this round beside those of the first lane of its half. */
static void compare(struct loop *l, struct loop_block *c, LLVMValueRef at, LLVMValueRef far)
{
	struct emit *e = l->e;
	LLVMValueRef bit = loop_get(l, e->i64, l->bit), known = bit, zero = loop_number(l, 0);

	for (uint32_t k = 0; k < c->spots; k++) {
		const struct loop_spot *s = &c->spot[k];
		LLVMValueRef place = loop_spot(l, s->index), gap, apart[2];

		gap = element_at(l, place, offsetof(struct compiled_spot, at), at, e->i64);
		gap = LLVMBuildSub(e->b, s->address, value_load(e, e->i64, gap, 8), "");
		apart[0] = LLVMBuildSelect(e->b, loop_is_zero(l, gap), zero, bit, "");
		gap = LLVMBuildSub(e->b, gap, LLVMBuildMul(e->b, far, loop_number(l, s->bytes), ""), "");
		apart[1] = LLVMBuildSelect(e->b, loop_is_zero(l, gap), zero, bit, "");
		for (uint32_t way = 0; way < 2; way++) {
			LLVMValueRef all = value_at(e, place, offsetof(struct compiled_spot, apart) + way * 8, e->i64);

			apart[way] = LLVMBuildOr(e->b, apart[way], value_load(e, e->i64, all, 8), "");
			value_store(e, apart[way], all, 8);
			known = LLVMBuildAnd(e->b, known, apart[way], "");
		}
	}
	add_bits(l, e->i64, c->known, known);
}

/* Where lanes may still lie at one place or in a row in this round, this one is compared with those before it. */
static void track(struct loop *l, uint32_t i)
{
	struct emit *e = l->e;
	struct loop_block *c = &l->block[i];
	LLVMBasicBlockRef look = new_block(e), first = new_block(e), other = new_block(e), on = new_block(e);
	LLVMValueRef bit = loop_get(l, e->i64, l->bit), half, seen, both, place = loop_visits(l, i), at, count, from, n;

	LLVMBuildCondBr(e->b, loop_is_zero(l, LLVMBuildAnd(e->b, loop_get(l, e->i64, c->known), bit, "")), look, on);
	LLVMPositionBuilderAtEnd(e->b, look);
	both = LLVMBuildOr(e->b, value_field(e, place, 0, e->i64), value_field(e, place, 8, e->i64), "");
	add_bits(l, e->i64, c->more, LLVMBuildAnd(e->b, both, bit, ""));
	half = LLVMBuildLShr(e->b, l->x.number64, loop_number(l, 4), "");
	seen = element_at(l, place, offsetof(struct compiled_visits, seen), half, e->i64);
	at = LLVMBuildAdd(e->b, LLVMBuildMul(e->b, half, loop_number(l, COMPILE_ROUNDS), ""), group_first_of(e, bit),
			  "");
	count = element_at(l, place, offsetof(struct compiled_visits, count), at, e->i8);
	from = element_at(l, place, offsetof(struct compiled_visits, first), at, e->i8);
	both = value_load(e, e->i64, seen, 8);
	LLVMBuildCondBr(e->b, loop_is_zero(l, LLVMBuildAnd(e->b, both, bit, "")), first, other);

	LLVMPositionBuilderAtEnd(e->b, first);
	value_store(e, LLVMBuildOr(e->b, both, bit, ""), seen, 8);
	value_store(e, LLVMConstInt(e->i8, 1, false), count, 1);
	value_store(e, LLVMBuildTrunc(e->b, l->x.number, e->i8, ""), from, 1);
	for (uint32_t k = 0; k < c->spots; k++)
		value_store(
			e, c->spot[k].address,
			element_at(l, loop_spot(l, c->spot[k].index), offsetof(struct compiled_spot, at), at, e->i64),
			8);
	LLVMBuildBr(e->b, on);

	LLVMPositionBuilderAtEnd(e->b, other);
	n = LLVMBuildAdd(e->b, value_load(e, e->i8, count, 1), LLVMConstInt(e->i8, 1, false), "");
	value_store(e, n, count, 1);
	n = LLVMBuildZExt(e->b, value_load(e, e->i8, from, 1), e->i64, "");
	compare(l, c, at, LLVMBuildSub(e->b, l->x.number64, n, ""));
	LLVMBuildBr(e->b, on);
	LLVMPositionBuilderAtEnd(e->b, on);
}

/* The different addresses of the block's loads. */
static void find_spots(struct loop *l, struct loop_block *c)
{
	for (uint32_t k = 0; k < l->x.places; k++) {
		const struct lane_place *p = &l->x.place[k];
		const struct state *s = &l->s[p->reg];

		if (p->shared)
			continue;
		if (!l->written[p->reg] && s->shape == SHAPE_LINE && !s->stride) {
			c->even += p->loads;
			continue;
		}
		c->spot[c->spots++] = (struct loop_spot){
			.index = l->spots++, .bytes = p->bytes, .loads = p->loads, .address = p->address
		};
		c->loads += p->loads;
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

static void jump(struct loop *l, uint32_t from, uint32_t to)
{
	struct emit *e = l->e;
	LLVMValueRef next;

	settle(l, to);
	if (to == l->head) {
		next = LLVMBuildShl(e->b, loop_get(l, e->i64, l->bit), loop_number(l, 1), "");
		LLVMBuildStore(e->b, next, l->bit);
		next = LLVMBuildICmp(e->b, LLVMIntEQ, next, loop_number(l, 1ull << l->rounds), "");
		LLVMBuildCondBr(e->b, next, l->stays, l->block[0].code);
	} else if (to <= l->last) {
		LLVMBuildBr(e->b, l->block[loop_block_at(l, to)].code);
	} else {
		for (uint32_t k = 0; k < l->exits; k++)
			if (l->exit[k].from == from && l->exit[k].to == to) {
				LLVMBuildBr(e->b, l->exit[k].code);
				break;
			}
	}
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

void loop_add_work(struct loop *l, LLVMValueRef times, const struct loop_block *c)
{
	struct emit *e = l->e;
	LLVMValueRef n = LLVMBuildMul(e->b, times, loop_number(l, c->weight | (uint64_t)c->loads << 32), "");

	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, loop_get(l, e->i64, l->work), n, ""), l->work);
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
	bounds_begin(&l->bounds);
	x->odd = LLVMConstNull(e->i8);
	memcpy(x->now, x->fixed, f->reg_count * sizeof(*x->now));
	loop_states_begin(f, l, b, e->s);
	if (b != l->head) /* that block is run in all rounds */
		add_bits(l, e->i64, c->rounds, loop_get(l, e->i64, l->bit));
	for (e->at = n->begin; e->at < n->end; e->at++) {
		if (operation(e)->kind == COMPILE_BRANCH)
			break;
		plan_make(f, e->at, e->s, NULL, &p);
		if (p.how == HOW_LOAD)
			lane_load(x, &p);
		else if (p.how == HOW_INLINE)
			lane_compute(x, &p);
		loop_states_apply(f, e->at, &p, e->s);
	}
	find_spots(l, c);
	add_bits(l, e->i8, l->odd, x->odd);
	if (b != l->head)
		loop_add_work(l, loop_number(l, 1), c);
	if (c->spots)
		track(l, loop_block_at(l, b));
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
	LLVMBuildStore(e->b, loop_number(l, 1), l->bit);
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
	LLVMValueRef bit = loop_get(l, e->i64, l->bit), latest = loop_get(l, e->i64, l->latest),
		     zero = LLVMConstNull(e->i32);
	LLVMValueRef earliest = loop_get(l, e->i64, l->earliest), lanes = loop_get(l, e->i32, l->latest_lanes), v;

	v = LLVMBuildAdd(e->b, group_first_of(e, bit), loop_get(l, e->i64, l->rest), "");
	LLVMBuildStore(e->b, LLVMBuildAdd(e->b, loop_get(l, e->i64, l->visits), v, ""), l->visits);
	v = LLVMBuildSelect(e->b, loop_is_more(l, latest, bit), zero, l->lane_bit, "");
	lanes = LLVMBuildSelect(e->b, loop_is_more(l, bit, latest), zero, lanes, "");
	LLVMBuildStore(e->b, LLVMBuildOr(e->b, lanes, v, ""), l->latest_lanes);
	LLVMBuildStore(e->b, LLVMBuildSelect(e->b, loop_is_more(l, bit, latest), bit, latest, ""), l->latest);
	LLVMBuildStore(e->b, LLVMBuildSelect(e->b, loop_is_more(l, earliest, bit), bit, earliest, ""), l->earliest);
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
		const struct loop_exit *x = &l->exit[k];
		LLVMValueRef bit, first;

		LLVMPositionBuilderAtEnd(e->b, x->code);
		bit = loop_get(l, e->i64, l->bit);
		first = loop_get(l, e->i64, x->first);
		add_bits(l, e->i32, x->lanes, l->lane_bit);
		LLVMBuildStore(e->b, loop_number(l, 1),
			       l->rest); /* it has begun one more round than it has jumped back */
		LLVMBuildStore(e->b, LLVMBuildSelect(e->b, loop_is_more(l, first, bit), bit, first, ""), x->first);
		LLVMBuildBr(e->b, l->done);
	}
	LLVMPositionBuilderAtEnd(e->b, l->stays);
	add_bits(l, e->i32, l->stay, l->lane_bit);
	keep_written(l, false);
	LLVMBuildStore(e->b, loop_number(l, 0), l->rest);
	LLVMBuildBr(e->b, l->done);
}

static void begin_slots(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMValueRef alone = LLVMBuildSub(e->b, here, LLVMConstInt(e->i32, 1, false), "");

	alone = loop_is_zero(l, LLVMBuildAnd(e->b, here, alone, ""));
	l->left = begin_slot(e, e->i32, 0);
	LLVMBuildStore(e->b, here, l->left);
	l->bit = begin_slot(e, e->i64, 1);
	l->odd = begin_slot(e, e->i8, 0);
	l->work = begin_slot(e, e->i64, 0);
	l->visits = begin_slot(e, e->i64, 0);
	l->rest = begin_slot(e, e->i64, 0);
	l->fewer = begin_slot(e, e->i64, 0);
	l->stay = begin_slot(e, e->i32, 0);
	l->latest = begin_slot(e, e->i64, 0);
	l->latest_lanes = begin_slot(e, e->i32, 0);
	l->earliest = begin_slot(e, e->i64, ~0ull);
	for (uint32_t k = 0; k < l->exits; k++) {
		l->exit[k].lanes = begin_slot(e, e->i32, 0);
		l->exit[k].first = begin_slot(e, e->i64, ~0ull);
	}
	for (uint32_t i = 0; i <= l->last - l->head; i++) {
		l->block[i].rounds = begin_slot(e, e->i64, 0);
		l->block[i].more = begin_slot(e, e->i64, 0);
		l->block[i].known = begin_slot(e, e->i64, 0);
		/* a lane by itself shares with nobody */
		LLVMBuildStore(e->b, LLVMBuildSExt(e->b, alone, e->i64, ""), l->block[i].known);
		value_store(e, loop_number(l, 0), value_at(e, loop_visits(l, i), 0, e->i64), 8);
		value_store(e, loop_number(l, 0), value_at(e, loop_visits(l, i), 8, e->i64), 8);
	}
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		l->x.slot[r] = l->written[r] ? slot_new(e, lane_type(&l->x, r)) : NULL;
}

/* All lanes; the builder goes on where the last of them has run. */
void loop_lanes(struct loop *l, LLVMValueRef here)
{
	struct emit *e = l->e;
	LLVMBasicBlockRef head = new_block(e), after = new_block(e);
	LLVMValueRef left;

	LLVMPositionBuilderAtEnd(e->b, l->x.before);
	l->x.good = LLVMConstInt(e->i1, 1, false);
	begin_slots(l, here);
	for (uint32_t i = 0; i <= l->last - l->head; i++)
		l->block[i].code = new_block(e);
	for (uint32_t k = 0; k < l->exits; k++)
		l->exit[k].code = new_block(e);
	LLVMPositionBuilderAtEnd(e->b, head);
	l->bounds = (struct bounds){ .lane = &l->x,
				     .enter = head,
				     .good = LLVMConstInt(e->i1, 1, false),
				     .rounds = l->rounds,
				     .step = l->step };
	l->x.bounds = &l->bounds;
	begin_lane(l);
	for (uint32_t b = l->head; b <= l->last; b++)
		make_block(l, b);
	LLVMPositionBuilderAtEnd(e->b, head);
	LLVMBuildCondBr(e->b, expected(e, l->bounds.good), l->block[0].code, l->failed);
	for (uint32_t r = 0; r < e->flow->reg_count; r++)
		l->x.made[r] = l->written[r] && (is_left(e, l, r) || e->flow->block[l->head].live[r]);
	make_exits(l);
	LLVMPositionBuilderAtEnd(e->b, l->done);
	end_lane(l);
	keep_written(l, true);
	left = loop_get(l, e->i32, l->left);
	left = LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, LLVMConstInt(e->i32, 1, false), ""), "");
	LLVMBuildStore(e->b, left, l->left);
	LLVMBuildCondBr(e->b, loop_is_zero(l, left), after, head);
	LLVMPositionBuilderAtEnd(e->b, l->x.before);
	for (uint32_t k = 0; k < l->spots; k++)
		for (uint32_t way = 0; way < 2; way++)
			value_store(
				e, loop_number(l, 0),
				value_at(e, loop_spot(l, k), offsetof(struct compiled_spot, apart) + way * 8, e->i64),
				8);
	LLVMBuildCondBr(e->b, expected(e, l->x.good), head, l->failed);
	LLVMPositionBuilderAtEnd(e->b, after);
	lane_unless(&l->x, loop_is_zero(l, loop_get(l, e->i8, l->odd)));
}
