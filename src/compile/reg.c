/* reg.c: see reg.h. */
#include "compile/reg.h"
#include "compile/group.h"
#include "compile/pattern.h"

struct value reg_value(struct emit *e, uint32_t r, const struct state *s, bool settle)
{
	LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]);
	struct value x = { .shape = s->shape, .stride = s->stride, .pattern = s->pattern };

	if (s->shape == SHAPE_LANES)
		x.v[0] = value_load(e, type_lanes(t), e->lanes[r], VECTOR_ALIGN);
	else
		x.v[0] = value_load(e, t, e->base[r], 8);
	if (s->shape == SHAPE_HALVES)
		x.v[1] = value_load(e, t, e->second[r], 8);
	for (uint32_t k = 0; settle && s->nan && k < 2; k++)
		if (x.v[k])
			x.v[k] = value_settle(e, x.v[k]);
	return x;
}

LLVMValueRef value_lanes(struct emit *e, const struct value *x)
{
	if (x->shape == SHAPE_PATTERN) {
		const struct state s = { .shape = SHAPE_PATTERN, .pattern = x->pattern };
		const struct pattern p = pattern_of(e->flow, &s);

		return value_apart(e, x->v[0], p.at);
	}
	return x->shape == SHAPE_LANES	? x->v[0]
	       : x->shape == SHAPE_LINE ? value_line(e, x->v[0], x->stride)
					: value_halves(e, x->v, x->stride);
}

struct value value_as(struct emit *e, struct value x, uint8_t shape)
{
	if (x.shape == shape)
		return x;
	if (shape == SHAPE_LINE || shape == SHAPE_PATTERN) { /* what lane 0 has */
		x.shape = shape;
		return x;
	}
	if (shape == SHAPE_HALVES) {
		LLVMValueRef step = LLVMConstInt(LLVMTypeOf(x.v[0]), (uint64_t)(x.stride * (int64_t)(LANES / 2)), true);

		x.v[1] = x.stride ? LLVMBuildAdd(e->b, x.v[0], step, "") : x.v[0];
	} else {
		x.v[0] = value_lanes(e, &x);
		x.v[1] = NULL;
		x.stride = 0;
		x.pattern = 0;
	}
	x.shape = shape;
	return x;
}

LLVMValueRef reg_others(struct emit *e, uint32_t r, const struct state *s, bool settle)
{
	struct state lanes = { .shape = SHAPE_LANES, .nan = s->nan };
	const struct value x = reg_value(e, r, s->split ? &lanes : s, settle);

	return value_lanes(e, &x);
}

void reg_split(struct emit *e, uint32_t r, const struct state *old, const struct value *x, bool settle)
{
	struct value others = { .shape = SHAPE_LANES };

	if (old->shape != SHAPE_UNKNOWN && ((old->shape != SHAPE_LANES && !old->split) || (old->nan && settle))) {
		others.v[0] = reg_others(e, r, old, settle);
		reg_store(e, r, &others);
	}
	reg_store(e, r, x);
}

/* All that the group has, and what those have who wait. */
static LLVMValueRef merged(struct emit *e, uint32_t r, const struct state *s, LLVMValueRef mine, bool settle)
{
	const struct value x = reg_value(e, r, s, settle);

	return LLVMBuildSelect(e->b, group_lanes_in(e, mine), value_lanes(e, &x), reg_others(e, r, s, settle), "");
}

void reg_save(struct emit *e, uint32_t r, const struct state *s, LLVMValueRef mine, bool settle)
{
	const struct value x = all_lanes(merged(e, r, s, mine, settle));

	reg_store(e, r, &x);
}

void reg_to_frame(struct emit *e, uint32_t r, const struct state *s)
{
	const struct value x = reg_value(e, r, s, true);
	LLVMValueRef v;

	if (s->split)
		v = merged(e, r, s, value_load(e, e->i32, e->mask, 4), true);
	else
		v = value_lanes(e, &x);
	value_store(e, v, value_at(e, e->frame, e->flow->reg_at[r], LLVMTypeOf(v)), VECTOR_ALIGN);
}

static bool is_brief(const struct emit *e, uint32_t i, uint32_t r)
{
	const struct block_of_code *next = &e->flow->block[e->flow->block_of[i + 1]];

	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (flow_reg(e->flow, &e->flow->request->op[i].operand[k]) == r)
			return false; /* the barrier itself reads it */
	return next->live[r] && next->in[r].shape != SHAPE_UNKNOWN && next->in[r].shape != SHAPE_LANES;
}

void reg_brief_find(const struct emit *e, uint32_t i, struct brief_regs *ret)
{
	const struct block_of_code *next = &e->flow->block[e->flow->block_of[i + 1]];
	uint32_t used, most;

	ret->in = UINT32_MAX;
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		ret->slot[r] = is_brief(e, i, r) ? BRIEF_OWN : BRIEF_NONE;
		if (ret->slot[r] == BRIEF_OWN &&
		    (ret->in == UINT32_MAX || e->flow->reg_lane[r] > e->flow->reg_lane[ret->in]))
			ret->in = r;
	}
	if (ret->in == UINT32_MAX)
		return;
	most = LANES * e->flow->reg_lane[ret->in] / 8;
	ret->slot[ret->in] = 0; /* first, since it is overwritten */
	used = next->in[ret->in].shape == SHAPE_HALVES ? 2 : 1;
	for (uint32_t r = 0; r < e->flow->reg_count; r++) {
		const uint32_t slots = next->in[r].shape == SHAPE_HALVES ? 2 : 1;

		if (ret->slot[r] != BRIEF_OWN || used + slots > most)
			continue;
		ret->slot[r] = (uint8_t)used;
		used += slots;
	}
}

static LLVMValueRef brief_place(struct emit *e, uint32_t r, const struct brief_regs *b, uint32_t half)
{
	const uint32_t lane = e->flow->reg_lane[r];
	const uint64_t own = e->flow->reg_at[r] + (uint64_t)half * (LANES / 2) * lane;

	return value_at(e, e->frame,
			b->slot[r] == BRIEF_OWN ? own : e->flow->reg_at[b->in] + 8ull * (b->slot[r] + half),
			type_int(e, lane));
}

void reg_to_frame_briefly(struct emit *e, uint32_t r, const struct brief_regs *b, const struct value *x)
{
	for (uint32_t half = 0; half < (x->shape == SHAPE_HALVES ? 2 : 1); half++)
		value_store(e, x->v[half], brief_place(e, r, b, half), e->flow->reg_lane[r]);
}

void reg_from_frame_briefly(struct emit *e, uint32_t r, const struct brief_regs *b, const struct state *s)
{
	LLVMTypeRef t = type_int(e, e->flow->reg_lane[r]);
	struct value x = { .shape = s->shape, .stride = s->stride, .pattern = s->pattern };

	if (s->shape == SHAPE_LANES) {
		t = type_lanes(t);
		x.v[0] = value_load(e, t, value_at(e, e->frame, e->flow->reg_at[r], t), VECTOR_ALIGN);
	} else if (b->slot[r] == BRIEF_NONE) {
		for (uint32_t half = 0; half < (s->shape == SHAPE_HALVES ? 2 : 1); half++)
			x.v[half] = value_field(
				e, e->frame, e->flow->reg_at[r] + (uint64_t)half * (LANES / 2) * e->flow->reg_lane[r],
				t);
	} else {
		for (uint32_t half = 0; half < (s->shape == SHAPE_HALVES ? 2 : 1); half++)
			x.v[half] = value_load(e, t, brief_place(e, r, b, half), e->flow->reg_lane[r]);
	}
	reg_store(e, r, &x);
}

struct value source(struct emit *e, const struct compile_operand *o, bool settle)
{
	const uint32_t r = flow_reg(e->flow, o);
	LLVMTypeRef t = type_int(e, o->lane);
	struct value x = { .shape = SHAPE_LINE };

	if (r != UINT32_MAX) {
		x = reg_value(e, r, &e->s[r], settle);
	} else if (o->place == COMPILE_FIXED) {
		x.v[0] = LLVMConstInt(t, o->value, false);
	} else if (o->place == COMPILE_CONSTANT) {
		x.v[0] = value_field(e, e->constants, o->at, t);
	} else {
		x.shape = SHAPE_LANES;
		x.v[0] = value_load(e, type_lanes(t), value_at(e, e->constants, o->at, type_lanes(t)), VECTOR_ALIGN);
	}
	return x;
}

LLVMValueRef source_lanes(struct emit *e, const struct compile_operand *o, bool settle)
{
	const struct value x = source(e, o, settle);

	return value_lanes(e, &x);
}

void reg_store(struct emit *e, uint32_t r, const struct value *x)
{
	if (x->shape == SHAPE_LANES) {
		value_store(e, x->v[0], e->lanes[r], VECTOR_ALIGN);
		return;
	}
	value_store(e, x->v[0], e->base[r], 8);
	if (x->shape == SHAPE_HALVES)
		value_store(e, x->v[1], e->second[r], 8);
}

/* `nan`: its bits may have to be put in order. */
void result(struct emit *e, const struct compile_operand *o, struct value x, bool nan)
{
	const uint32_t r = flow_reg(e->flow, o);

	if (r == UINT32_MAX)
		return;
	if (e->as_lanes)
		x = all_lanes(value_lanes(e, &x));
	if (e->kept && e->kept[r] && e->results[o - operation(e)->operand].split) {
		reg_split(e, r, &e->s[r], &x, !nan);
		return;
	}
	if (e->kept && e->kept[r])
		x = all_lanes(group_mix(e, value_lanes(e, &x), reg_others(e, r, &e->s[r], !nan)));
	if (e->flow->through && x.shape == SHAPE_LANES) {
		if (nan)
			x.v[0] = value_settle(e, x.v[0]);
		value_store(e, x.v[0], value_at(e, e->frame, e->flow->reg_at[r], LLVMTypeOf(x.v[0])), VECTOR_ALIGN);
	}
	reg_store(e, r, &x);
}

struct value scalar(LLVMValueRef v)
{
	return (struct value){ .shape = SHAPE_LINE, .v = { v } };
}

struct value all_lanes(LLVMValueRef v)
{
	return (struct value){ .shape = SHAPE_LANES, .v = { v } };
}
