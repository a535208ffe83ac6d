/*
 * flow.c: see flow.h.
 *
 * Shapes are found by going over the blocks until nothing changes: a register begins unknown, and where paths meet with
 * different strides its lanes are taken to differ.
 */
#include "compile/part.h"
#include "compile/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_BYTES (LANES * 4u)
#define SPILLS_FEW 2000u /* that many cost a fast loop less than to write all that it computes */
#define SPILLS_MAX 6000u
#define WAYS_MAX 2000u	 /* of code for groups of lanes, of which each is some instructions */
#define ACCESSES_FEW 48u /* elements of loads and stores */
#define GRAIN_STEP 50u

/* Whether the interpreter may have to take over at the operation. A scattered access calls the interpreter's function
 * instead (scatter.c). */
static bool plan_leaves(const struct plan *p)
{
	const bool moves = p->how == HOW_LOAD || p->how == HOW_STORE;

	if (p->known)
		return p->checks;
	return (moves && !p->scattered) || p->how == HOW_MEET || p->how == HOW_LEAVE || p->how == HOW_BRANCH ||
	       p->checks || p->how == HOW_SPECIAL;
}

static int refuse(char *why, size_t why_bytes, const char *text)
{
	snprintf(why, why_bytes, "%s", text);
	return -E2BIG;
}

uint32_t flow_reg(const struct flow *f, const struct compile_operand *o)
{
	if (o->place != COMPILE_REG || o->lane > 8 || o->at / PLACE_BYTES >= f->reg_of_count)
		return UINT32_MAX;
	return f->reg_of[o->at / PLACE_BYTES];
}

/* False: too many, or one place with two widths. */
static bool reg_add(struct flow *f, const struct compile_operand *o)
{
	uint32_t *of;

	if (o->place != COMPILE_REG || o->lane > 8)
		return true;
	of = &f->reg_of[o->at / PLACE_BYTES];
	if (*of != UINT32_MAX)
		return f->reg_lane[*of] == o->lane && f->reg_at[*of] == o->at;
	if (f->reg_count == COMPILE_REGS_MAX)
		return false;
	*of = f->reg_count;
	f->reg_at[f->reg_count] = o->at;
	f->reg_lane[f->reg_count++] = o->lane;
	return true;
}

static int find_registers(struct flow *f, char *why, size_t why_bytes)
{
	const struct compile_request *q = f->request;
	uint32_t most = 0;

	for (uint32_t i = 0; i < q->count; i++) {
		const struct compile_op *o = &q->op[i];

		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			if (o->operand[k].place == COMPILE_REG && o->operand[k].at > most)
				most = o->operand[k].at;
		for (uint32_t k = 0; k < o->more_count; k++)
			if (o->more[k].place == COMPILE_REG && o->more[k].at > most)
				most = o->more[k].at;
		if (o->guard.place == COMPILE_REG && o->guard.at > most)
			most = o->guard.at;
	}
	f->reg_of_count = most / PLACE_BYTES + 1;
	f->reg_of = malloc(f->reg_of_count * sizeof(*f->reg_of));
	if (!f->reg_of)
		return -ENOMEM;
	memset(f->reg_of, 0xff, f->reg_of_count * sizeof(*f->reg_of));
	for (uint32_t i = 0; i < q->count; i++) {
		const struct compile_op *o = &q->op[i];
		bool good = reg_add(f, &o->guard);

		for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
			good = good && reg_add(f, &o->operand[k]);
		for (uint32_t k = 0; k < o->more_count; k++)
			good = good && reg_add(f, &o->more[k]);
		if (!good)
			return refuse(why, why_bytes, "it has more registers than are compiled");
	}
	return 0;
}

static bool ends_block(const struct compile_op *o)
{
	return o->kind != COMPILE_PLAIN;
}

/* A barrier of a block that consists of this warp. */
static bool is_meeting(const struct compile_op *o)
{
	return o->name && !strcmp(o->name, "%meet");
}

/* A jump backwards to a barrier: some of a warp's lanes may come to it long before the others, and the interpreter lets
 * them wait. What follows is a place to take over again. */
static bool meets_early(const struct compile_request *q, uint32_t i)
{
	const uint32_t to = q->op[i].to;

	return q->op[i].kind == COMPILE_BRANCH && to <= i && is_meeting(&q->op[to]);
}

/* The places of lanes that wait at barriers. */
static void find_meetings(struct flow *f)
{
	uint32_t v = f->block_count;

	for (uint32_t b = 0; b + 1 < f->block_count; b++) {
		if (!is_meeting(&f->request->op[f->block[b].end - 1]))
			continue;
		f->block[b].meet = v;
		f->block[v].begin = f->block[v].end = f->block[b + 1].begin;
		f->block[v].live = f->block[b + 1].live;
		f->block[v++].behind = b + 1;
	}
	f->wait_count = v;
}

static int find_blocks(struct flow *f)
{
	const struct compile_request *q = f->request;
	uint8_t *leader = calloc(q->count + 1, 1);
	uint32_t b = 0;

	if (!leader)
		return -ENOMEM;
	leader[0] = 1;
	for (uint32_t i = 0; i < q->count; i++) {
		if (q->op[i].kind == COMPILE_BRANCH)
			leader[q->op[i].to] = 1;
		if (ends_block(&q->op[i]))
			leader[i + 1] = 1;
		if (is_meeting(&q->op[i]))
			leader[i + 1] = 1;
		if (q->op[i].wild)
			leader[i] = 1;
	}
	for (uint32_t i = 0; i < q->count; i++) {
		f->block_count += leader[i];
		f->wait_count += leader[i] + is_meeting(&q->op[i]);
	}
	f->block = calloc(f->wait_count, sizeof(*f->block));
	f->block_of = calloc(q->count + 1, sizeof(*f->block_of));
	if (!f->block || !f->block_of) {
		free(leader);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < q->count; i++) {
		if (leader[i] && i)
			b++;
		if (leader[i])
			f->block[b].begin = i;
		f->block[b].end = i + 1;
		f->block_of[i] = b;
	}
	free(leader);
	for (b = 0; b < f->block_count; b++) {
		f->block[b].live = calloc(f->reg_count + 1, 1);
		f->block[b].in = calloc(f->reg_count + 1, sizeof(struct state));
		if (!f->block[b].live || !f->block[b].in)
			return -ENOMEM;
	}
	find_meetings(f);
	return 0;
}

static void find_edges(struct flow *f)
{
	const struct compile_request *q = f->request;

	for (uint32_t b = 0; b < f->block_count; b++) {
		struct block_of_code *c = &f->block[b];
		const struct compile_op *last = &q->op[c->end - 1];

		if (last->kind == COMPILE_BRANCH)
			c->next[c->next_count++] = f->block_of[last->to];
		if ((last->kind == COMPILE_BRANCH && last->guard.place == COMPILE_NONE) || last->kind == COMPILE_END ||
		    c->end == q->count)
			continue;
		c->next[c->next_count++] = b + 1;
	}
}

/* Inside a loop, to come back at its head is soon enough, and a loop with one entry is worth more. */
static void find_entries(struct flow *f)
{
	const struct compile_request *q = f->request;
	int32_t *depth = calloc(f->block_count + 1, sizeof(*depth));

	f->block[0].entry = true;
	for (uint32_t b = 0; depth && b < f->block_count; b++)
		for (uint32_t k = 0; k < f->block[b].next_count; k++)
			if (f->block[b].next[k] <= b) {
				depth[f->block[b].next[k]]++;
				depth[b + 1]--;
			}
	for (uint32_t b = 0, inside = 0; b < f->block_count; b++) {
		const struct compile_op *last = &q->op[f->block[b].end - 1];

		inside += depth ? (uint32_t)depth[b] : 0;
		for (uint32_t k = 0; k < f->block[b].next_count; k++) {
			struct block_of_code *to = &f->block[f->block[b].next[k]];

			if (f->block[b].next[k] <= b || last->kind == COMPILE_STOP || last->kind == COMPILE_BARRIER)
				to->entry = true;
			if (meets_early(q, f->block[b].end - 1))
				f->block[f->block[b].next[0] + 1].entry = true;
			if (f->block[b].next[k] <= b ||
			    (last->kind == COMPILE_BARRIER && last->guard.place != COMPILE_NONE))
				to->group_entry = true;
		}
		if (!inside && b && f->block[b - 1].end == f->block[b].begin)
			f->block[b].entry = true;
	}
	/* where all warps begin with 32 lanes, groups are seldom handed over elsewhere, and each entry takes LLVM time
	 */
	for (uint32_t b = 0; b < f->block_count; b++)
		f->block[b].group_entry |= f->block[b].entry && (q->partial || q->op[f->block[b].begin].wild);
	free(depth);
}

void flow_live_before(const struct flow *f, uint32_t i, uint8_t *live)
{
	const struct compile_op *o = &f->request->op[i];
	const bool guarded = o->guard.place != COMPILE_NONE;
	uint32_t r;

	if (o->kind == COMPILE_STOP) {
		memset(live, 1, f->reg_count);
		return;
	}
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (o->defs >> k & 1 && (r = flow_reg(f, &o->operand[k])) != UINT32_MAX)
			live[r] = guarded;
	for (uint32_t k = 0; k < o->more_count; k++)
		if ((r = flow_reg(f, &o->more[k])) != UINT32_MAX)
			live[r] = k >= o->more_defs; /* sources come last */
	for (uint32_t k = 0; k < COMPILE_OPERANDS; k++)
		if (!(o->defs >> k & 1) && (r = flow_reg(f, &o->operand[k])) != UINT32_MAX)
			live[r] = 1;
	if ((r = flow_reg(f, &o->guard)) != UINT32_MAX)
		live[r] = 1;
}

static int find_live(struct flow *f)
{
	uint8_t *live = malloc(f->reg_count + 1);
	bool changed = true;

	if (!live)
		return -ENOMEM;
	while (changed) {
		changed = false;
		for (uint32_t b = f->block_count; b-- > 0;) {
			struct block_of_code *c = &f->block[b];

			memset(live, 0, f->reg_count + 1);
			for (uint32_t k = 0; k < c->next_count; k++)
				for (uint32_t r = 0; r < f->reg_count; r++)
					live[r] |= f->block[c->next[k]].live[r];
			for (uint32_t i = c->end; i-- > c->begin;)
				flow_live_before(f, i, live);
			if (memcmp(live, c->live, f->reg_count)) {
				memcpy(c->live, live, f->reg_count);
				changed = true;
			}
		}
	}
	free(live);
	return 0;
}

uint8_t state_same(const struct state *s)
{
	return s->shape >= SHAPE_PATTERN  ? s->same
	       : s->stride		  ? 0
	       : s->shape == SHAPE_HALVES ? LANES / 2 - 1
					  : LANES - 1;
}

bool state_in_frame(const struct state *s)
{
	return s->synced || (s->brief && s->shape != SHAPE_LANES);
}

bool flow_meets_briefly(const struct flow *f, uint32_t i)
{
	const struct compile_op *o = &f->request->op[i];

	return o->kind == COMPILE_BARRIER && o->guard.place == COMPILE_NONE && i + 1 < f->request->count;
}

bool state_join(struct state *to, const struct state *from)
{
	const struct state before = *to;
	const uint8_t same = state_same(to) & state_same(from);

	if (to->shape == SHAPE_UNKNOWN) {
		*to = *from;
		return from->shape != SHAPE_UNKNOWN;
	}
	if (from->shape == SHAPE_UNKNOWN)
		return false;
	if (to->shape == SHAPE_LANES || from->shape == SHAPE_LANES || to->stride != from->stride ||
	    to->pattern != from->pattern || ((to->split || from->split) && to->shape != from->shape)) {
		to->shape = SHAPE_LANES;
		to->stride = 0;
		to->pattern = 0;
	} else if (from->shape > to->shape) {
		to->shape = from->shape;
	}
	to->split = (to->split || from->split) && to->shape == SHAPE_LINE;
	if (to->known && (!from->known || from->value != to->value)) {
		to->known = false;
		to->value = 0;
	}
	to->same = to->shape >= SHAPE_PATTERN ? same : 0;
	to->low = to->low < from->low ? to->low : from->low;
	to->high = to->high <= from->high ? to->high : 0; /* at once: it would shrink with each round of a loop */
	if (to->shape == SHAPE_LANES)
		to->low = to->high = 0;
	to->whole &= from->whole && to->shape == SHAPE_LINE;
	to->nan &= from->nan;
	to->flat &= from->flat;
	if (from->grain < to->grain) /* by large steps, for the same reason */
		to->grain = (uint8_t)(from->grain / GRAIN_STEP * GRAIN_STEP);
	to->small &= from->small;
	to->synced &= from->synced;
	to->brief &= from->brief && to->shape == before.shape && to->shape == from->shape;
	return memcmp(&before, to, sizeof(before)) != 0;
}

static bool block_pass(struct flow *f, uint32_t b, struct state *s)
{
	const struct block_of_code *c = &f->block[b];
	const struct compile_op *last = &f->request->op[c->end - 1];
	bool changed = false, parts = false;
	struct plan p;

	memcpy(s, c->in, f->reg_count * sizeof(*s));
	for (uint32_t i = c->begin; i < c->end; i++) {
		parts = i + 1 == c->end && part_may(f, b, s);
		plan_make(f, i, s, NULL, &p);
		plan_apply(f, i, &p, s);
	}
	if (parts)
		changed |= part_begin(f, b, s);
	if (f->parts && last->kind == COMPILE_BARRIER && last->guard.place != COMPILE_NONE && c->next_count)
		changed |= part_root(f, c->next[0], s); /* some have ended */
	for (uint32_t k = 0; k < c->next_count; k++) {
		struct block_of_code *to = &f->block[c->next[k]];

		changed |= !to->reached;
		to->reached = true;
		for (uint32_t r = 0; r < f->reg_count; r++)
			if (to->live[r])
				changed |= state_join(&to->in[r], &s[r]);
	}
	return changed;
}

/* The same of one block; `kept`: of a group of lanes. */
static uint64_t block_spills(const struct flow *f, uint32_t b, const uint8_t *live, const uint8_t *kept,
			     struct state *s)
{
	const struct block_of_code *c = &f->block[b];
	const size_t ops = c->end - c->begin, regs = f->reg_count + 1;
	uint64_t spills = 0;
	struct plan p;

	memcpy(s, kept ? c->part.in : c->in, f->reg_count * sizeof(*s));
	for (size_t i = 0; i < ops; i++) {
		plan_make(f, c->begin + (uint32_t)i, s, kept, &p);
		for (uint32_t k = 0; plan_leaves(&p) && k < f->reg_count; k++)
			spills += (live[i * regs + k] || (kept && kept[k])) && !state_in_frame(&s[k]);
		plan_apply(f, c->begin + (uint32_t)i, &p, s);
	}
	return spills;
}

/* How many registers are put into the frame by all places together where compiled code is left. */
static int count_spills(const struct flow *f, uint64_t *ret)
{
	struct state *s = calloc(f->reg_count + 1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	*ret = 0;
	for (uint32_t b = 0; !r && b < f->block_count; b++) {
		uint8_t *live = flow_live(f, b);

		r = live ? 0 : -ENOMEM;
		if (live && f->block[b].reached)
			*ret += block_spills(f, b, live, NULL, s);
		if (live && f->block[b].part.reached)
			*ret += block_spills(f, b, live, f->block[b].part.kept, s);
		free(live);
	}
	free(s);
	return r;
}

uint8_t *flow_live(const struct flow *f, uint32_t b)
{
	const struct block_of_code *n = &f->block[b];
	const size_t regs = f->reg_count + 1, ops = n->end - n->begin;
	uint8_t *live = calloc(ops + 1, regs);

	if (!live)
		return NULL;
	for (uint32_t k = 0; k < n->next_count; k++)
		for (uint32_t r = 0; r < f->reg_count; r++)
			live[ops * regs + r] |= f->block[n->next[k]].live[r];
	for (size_t i = ops; i-- > 0;) {
		memcpy(live + i * regs, live + (i + 1) * regs, regs);
		flow_live_before(f, n->begin + (uint32_t)i, live + i * regs);
	}
	return live;
}

static bool pass(struct flow *f, uint32_t b, struct state *s)
{
	bool changed = false;

	if (f->block[b].reached)
		changed |= block_pass(f, b, s);
	if (f->block[b].part.comes)
		changed |= part_come(f, b);
	if (f->block[b].part.reached)
		changed |= part_run(f, b, s);
	return changed;
}

static int find_shapes(struct flow *f)
{
	struct state *s = calloc(f->reg_count + 1, sizeof(*s));
	bool changed = true;

	if (!s)
		return -ENOMEM;
	part_reset(f);
	/* what nothing has been written to is whatever the frame holds */
	for (uint32_t b = 0; b < f->block_count; b++) {
		f->block[b].reached = false;
		memset(f->block[b].in, 0, f->reg_count * sizeof(*s));
		if (b && !f->request->op[f->block[b].begin].wild)
			continue;
		f->block[b].reached = !f->few;
		f->block[b].entry = f->block[b].group_entry = true;
		for (uint32_t r = 0; r < f->reg_count; r++)
			f->block[b].in[r] = (struct state){ .shape = SHAPE_LANES, .synced = true };
		if (f->parts && (b || f->request->partial))
			part_root(f, b, f->block[b].in);
	}
	while (changed) {
		changed = false;
		for (uint32_t b = 0; b < f->wait_count; b++)
			changed |= pass(f, b, s);
	}
	free(s);
	return 0;
}

static int shapes_and_spills(struct flow *f, uint64_t *ret_spills)
{
	const int r = find_shapes(f);

	return r ? r : count_spills(f, ret_spills);
}

/* Ways from one group of lanes to another: from each block to where lanes wait meanwhile. */
static uint64_t count_ways(const struct flow *f)
{
	uint64_t n = 0;

	for (uint32_t b = 0; b < f->wait_count; b++)
		for (uint32_t w = 0; w < f->set_words; w++)
			n += (uint64_t)__builtin_popcountll(f->block[b].part.at_come[w]);
	return n;
}

int flow_init(struct flow *f, const struct compile_request *request, char *why, size_t why_bytes)
{
	uint64_t spills = 0;
	int r;

	memset(f, 0, sizeof(*f));
	f->request = request;
	if (!request->count || request->count > COMPILE_OPS_MAX)
		return refuse(why, why_bytes, "it has more instructions than are compiled");
	r = find_registers(f, why, why_bytes);
	if (!r && (uint64_t)request->count * f->reg_count > COMPILE_LIVE_MAX)
		r = refuse(why, why_bytes, "it has more instructions and registers than are compiled");
	if (!r)
		r = find_blocks(f);
	if (r)
		return r;
	for (uint32_t i = 0; i < request->count; i++)
		f->elements += access_form(request->op[i].name).good ? access_form(request->op[i].name).count : 0;
	f->many_accesses = f->elements > ACCESSES_FEW;
	for (uint32_t i = 0; i < request->count; i++)
		f->strong |= request->op[i].name && !strcmp(request->op[i].name, "%strong");
	find_edges(f);
	find_entries(f);
	r = pattern_init(f);
	if (!r)
		r = find_live(f);
	if (!r)
		r = part_init(f);
	f->few = request->partial && request->alone;
	f->parts = f->few || (uint64_t)request->count * f->reg_count <= COMPILE_PARTS_MAX;
	if (!r)
		r = shapes_and_spills(f, &spills);
	if (!r && f->parts && count_ways(f) > WAYS_MAX) { /* as many as the square of the jumps */
		f->parts = false;
		r = shapes_and_spills(f, &spills);
	}
	if (r || spills <= SPILLS_FEW)
		return r;
	f->through = true;
	r = shapes_and_spills(f, &spills);
	if (!r && f->parts && !f->few && spills > SPILLS_MAX) { /* without groups there are fewer */
		f->parts = false;
		r = shapes_and_spills(f, &spills);
	}
	return !r && spills > SPILLS_MAX ? refuse(why, why_bytes, "it is left in more ways than are compiled") : r;
}

void flow_deinit(struct flow *f)
{
	part_deinit(f);
	pattern_deinit(f);
	for (uint32_t b = 0; f->block && b < f->block_count; b++) {
		free(f->block[b].live);
		free(f->block[b].in);
	}
	free(f->block);
	free(f->block_of);
	free(f->reg_of);
}
