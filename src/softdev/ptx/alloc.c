/*
 * alloc.c: gives virtual registers their places in the frame.
 *
 * A lane follows a path through the code like a scalar thread does, so liveness is that of the scalar program, found by
 * data flow over basic blocks (the order of the text says nothing: compilers put the end of a loop before its head).
 * Intervals that cover it are then packed greedily. There is one pool of places per lane width, so places of different
 * width never overlap, and an operation that reads and writes one place does so lane by lane.
 *
 * A position is 2 * step for reads and 2 * step + 1 for writes: a result may take the place of a source that ends
 * there.
 */
#include "softdev/ptx/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BITS_BYTES_MAX ((size_t)64 << 20) /* above it: every register keeps a place of its own */
#define PASSES_MAX 100u			  /* loops nest less deeply */

struct flow_block {
	uint32_t begin, end; /* steps */
	uint32_t next[2], next_count;
	const uint32_t *targets; /* of an indexed branch: count, steps */
};

struct alloc {
	struct decoder *d;
	uint32_t regs, steps;
	struct flow_block *block;
	uint32_t block_count;
	uint32_t *block_of; /* step -> block */
	uint64_t *bits;	    /* per block: use, def, in, out */
	size_t words;
	uint32_t *start, *end; /* of each register, positions; end 0: never live */
	uint32_t *place;       /* offset in the frame */
};

typedef void visit_fn(struct alloc *a, uint32_t step, uint32_t reg, bool def, bool kills);

/* All registers that a step reads, then all that it writes. */
static void step_visit(struct alloc *a, uint32_t i, visit_fn *visit)
{
	const struct step *s = &a->d->step[i];
	const bool guarded = s->guard != LOC_NONE;

	if (guarded)
		visit(a, i, s->guard, false, false);
	for (uint32_t k = 0; k < STEP_OPERANDS; k++)
		if (s->role[k] == ROLE_USE && !(s->operand[k] & LOC_CONST))
			visit(a, i, s->operand[k], false, false);
	for (const uint32_t *r = s->use; r && *r; r++)
		visit(a, i, *r - 1, false, false);
	for (uint32_t k = s->list ? s->list->defs : 0; s->list && k < s->list->count; k++)
		if (!(s->list->loc[k] & LOC_CONST))
			visit(a, i, s->list->loc[k], false, false);
	for (uint32_t k = 0; k < STEP_OPERANDS; k++)
		if (s->role[k] == ROLE_DEF)
			/* a temporary lives under one guard only, so nothing of it survives from before */
			visit(a, i, s->operand[k], true, !guarded || s->operand[k] >= a->d->body->reg_count);
	for (const uint32_t *r = s->def; r && *r; r++)
		visit(a, i, *r - 1, true, !guarded);
	for (uint32_t k = 0; s->list && k < s->list->defs; k++)
		visit(a, i, s->list->loc[k], true, !guarded || s->list->loc[k] >= a->d->body->reg_count);
}

static uint64_t *bits(const struct alloc *a, uint32_t block, uint32_t which)
{
	return a->bits + ((size_t)block * 4 + which) * a->words;
}

static void visit_local(struct alloc *a, uint32_t step, uint32_t reg, bool def, bool kills)
{
	const uint32_t b = a->block_of[step];
	const uint64_t bit = 1ull << (reg & 63);
	uint64_t *use = bits(a, b, 0), *kill = bits(a, b, 1);

	if (def && kills)
		kill[reg >> 6] |= bit;
	else if (!(kill[reg >> 6] & bit))
		use[reg >> 6] |= bit;
}

static void extend(struct alloc *a, uint32_t reg, uint32_t from, uint32_t to)
{
	if (!a->end[reg]) {
		a->start[reg] = from;
		a->end[reg] = to;
		return;
	}
	if (from < a->start[reg])
		a->start[reg] = from;
	if (to > a->end[reg])
		a->end[reg] = to;
}

static void visit_extend(struct alloc *a, uint32_t step, uint32_t reg, bool def, bool kills)
{
	if (def)
		extend(a, reg, 2 * step + 1, 2 * step + 2);
	else
		extend(a, reg, 2 * step, 2 * step + 1);
}

static void visit_everywhere(struct alloc *a, uint32_t step, uint32_t reg, bool def, bool kills)
{
	extend(a, reg, 0, 2 * a->steps + 2);
}

static int find_blocks(struct alloc *a)
{
	uint8_t *leader = calloc(a->steps + 1, 1);

	if (!leader)
		return -ENOMEM;
	leader[0] = 1;
	for (uint32_t i = 0; i < a->steps; i++) {
		const struct step *s = &a->d->step[i];

		if (s->control == CTL_BRA)
			leader[s->imm] = 1;
		for (uint32_t k = 1; s->control == CTL_BRX && k <= s->targets[0]; k++)
			leader[s->targets[k]] = 1;
		if (s->control == CTL_BRA || s->control == CTL_BRX || s->control == CTL_RET || s->control == CTL_EXIT)
			leader[i + 1] = 1;
	}
	for (uint32_t i = 0; i < a->steps; i++)
		a->block_count += leader[i];
	a->block = calloc(a->block_count, sizeof(*a->block));
	a->block_of = malloc((a->steps + 1) * sizeof(*a->block_of));
	if (!a->block || !a->block_of) {
		free(leader);
		return -ENOMEM;
	}
	for (uint32_t i = 0, b = 0; i < a->steps; i++) {
		if (leader[i]) {
			b += i != 0;
			a->block[b].begin = i;
		}
		a->block[b].end = i + 1;
		a->block_of[i] = b;
	}
	free(leader);
	return 0;
}

static void find_edges(struct alloc *a)
{
	for (uint32_t b = 0; b < a->block_count; b++) {
		struct flow_block *f = &a->block[b];
		const struct step *last = &a->d->step[f->end - 1];
		bool falls = last->guard != LOC_NONE || last->control == CTL_NONE || last->control == CTL_CALL ||
			     last->control == CTL_BAR || last->control == CTL_SYNC;

		if (falls && f->end < a->steps)
			f->next[f->next_count++] = a->block_of[f->end];
		if (last->control == CTL_BRA)
			f->next[f->next_count++] = a->block_of[last->imm];
		if (last->control == CTL_BRX)
			f->targets = last->targets;
	}
}

/* out |= in of `next`; value: whether something came. */
static bool flow_in(struct alloc *a, uint64_t *out, uint32_t next)
{
	const uint64_t *in = bits(a, next, 2);
	uint64_t fresh = 0;

	for (size_t w = 0; w < a->words; w++) {
		fresh |= in[w] & ~out[w];
		out[w] |= in[w];
	}
	return fresh != 0;
}

/* False: no end in sight (a text made to be slow), the caller does without. */
static bool solve(struct alloc *a)
{
	bool changed = true;
	uint32_t passes = 0;

	for (uint32_t i = 0; i < a->steps; i++)
		step_visit(a, i, visit_local);
	for (uint32_t b = 0; b < a->block_count; b++)
		memcpy(bits(a, b, 2), bits(a, b, 0), a->words * sizeof(uint64_t));
	while (changed) {
		if (++passes > PASSES_MAX)
			return false;
		changed = false;
		for (uint32_t b = a->block_count; b-- > 0;) {
			const struct flow_block *f = &a->block[b];
			uint64_t *out = bits(a, b, 3), *in = bits(a, b, 2);
			const uint64_t *kill = bits(a, b, 1);
			bool fresh = false;

			for (uint32_t k = 0; k < f->next_count; k++)
				fresh |= flow_in(a, out, f->next[k]);
			for (uint32_t k = 1; f->targets && k <= f->targets[0]; k++)
				fresh |= flow_in(a, out, a->block_of[f->targets[k]]);
			if (!fresh)
				continue;
			changed = true;
			for (size_t w = 0; w < a->words; w++)
				in[w] |= out[w] & ~kill[w];
		}
	}
	return true;
}

static void spread(struct alloc *a, uint32_t b, uint32_t which, uint32_t from, uint32_t to)
{
	const uint64_t *set = bits(a, b, which);

	for (size_t w = 0; w < a->words; w++)
		for (uint64_t left = set[w]; left; left &= left - 1)
			extend(a, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left), from, to);
}

static int find_intervals(struct alloc *a)
{
	a->words = (a->regs + 63) / 64;
	if (find_blocks(a))
		return -ENOMEM;
	find_edges(a);
	if ((size_t)a->block_count * 4 * a->words * 8 > BITS_BYTES_MAX) {
		for (uint32_t i = 0; i < a->steps; i++)
			step_visit(a, i, visit_everywhere);
		return 0;
	}
	a->bits = calloc((size_t)a->block_count * 4 * a->words + 1, sizeof(uint64_t));
	if (!a->bits)
		return -ENOMEM;
	if (!solve(a)) {
		for (uint32_t i = 0; i < a->steps; i++)
			step_visit(a, i, visit_everywhere);
		return 0;
	}
	for (uint32_t i = 0; i < a->steps; i++)
		step_visit(a, i, visit_extend);
	for (uint32_t b = 0; b < a->block_count; b++) {
		spread(a, b, 2, 2 * a->block[b].begin, 2 * a->block[b].begin + 1);
		spread(a, b, 3, 2 * a->block[b].end - 1, 2 * a->block[b].end);
		/* live through the block: both ends, and the interval covers what is between */
	}
	return 0;
}

/* Greedy packing: registers by start; a place is free again when its register has ended. */
static int pack_places(struct alloc *a)
{
	const uint32_t last = 2 * a->steps + 4;
	uint32_t *by_start = calloc(last + 1, sizeof(uint32_t)), *by_end = calloc(last + 1, sizeof(uint32_t));
	uint32_t *next_start = malloc((a->regs + 1) * sizeof(uint32_t)),
		 *next_end = malloc((a->regs + 1) * sizeof(uint32_t));
	uint32_t *free_place[3], free_count[3] = { 0 }, used[3] = { 0 }, base[3];
	static const uint32_t lane[3] = { 16, 8, 4 };
	int r = -ENOMEM;

	for (int c = 0; c < 3; c++)
		free_place[c] = malloc((a->regs + 1) * sizeof(uint32_t));
	if (!by_start || !by_end || !next_start || !next_end || !free_place[0] || !free_place[1] || !free_place[2])
		goto out;
	for (uint32_t i = a->regs; i-- > 0;) {
		if (!a->end[i])
			continue;
		next_start[i] = by_start[a->start[i]];
		by_start[a->start[i]] = i + 1;
		next_end[i] = by_end[a->end[i]];
		by_end[a->end[i]] = i + 1;
	}
	for (uint32_t at = 0; at <= last; at++) {
		for (uint32_t i = by_end[at]; i; i = next_end[i - 1]) {
			const int c = a->d->reg_lane[i - 1] == 16 ? 0 : a->d->reg_lane[i - 1] == 8 ? 1 : 2;

			free_place[c][free_count[c]++] = a->place[i - 1];
		}
		for (uint32_t i = by_start[at]; i; i = next_start[i - 1]) {
			const int c = a->d->reg_lane[i - 1] == 16 ? 0 : a->d->reg_lane[i - 1] == 8 ? 1 : 2;

			a->place[i - 1] = free_count[c] ? free_place[c][--free_count[c]] : used[c]++;
		}
	}
	base[0] = 0;
	base[1] = used[0] * 16 * LANES;
	base[2] = base[1] + used[1] * 8 * LANES;
	for (uint32_t i = 0; i < a->regs; i++) {
		const int c = a->d->reg_lane[i] == 16 ? 0 : a->d->reg_lane[i] == 8 ? 1 : 2;

		a->place[i] = a->end[i] ? base[c] + a->place[i] * lane[c] * LANES : 0;
	}
	a->d->function->frame_bytes = base[2] + used[2] * 4 * LANES;
	if (a->d->function->frame_bytes < 16 * LANES)
		a->d->function->frame_bytes = 16 * LANES;
	r = 0;
out:
	free(by_start);
	free(by_end);
	free(next_start);
	free(next_end);
	for (int c = 0; c < 3; c++)
		free(free_place[c]);
	return r;
}

static void rewrite_value(const struct alloc *a, struct call_value *v)
{
	if (v->loc != LOC_NONE && !(v->loc & LOC_CONST))
		v->loc = a->place[v->loc];
}

static void rewrite(struct alloc *a)
{
	struct function *f = a->d->function;

	for (uint32_t i = 0; i < a->steps; i++) {
		struct step *s = &a->d->step[i];

		for (uint32_t k = 0; k < STEP_OPERANDS; k++)
			if (s->role[k] != ROLE_NONE && !(s->operand[k] & LOC_CONST))
				s->operand[k] = a->place[s->operand[k]];
		for (uint32_t k = 0; s->list && k < s->list->count; k++)
			if (!(s->list->loc[k] & LOC_CONST))
				s->list->loc[k] = a->place[s->list->loc[k]];
		if (s->guard != LOC_NONE)
			s->guard = a->place[s->guard];
		for (uint32_t k = 0; s->call && k < s->call->arg_count; k++)
			rewrite_value(a, &s->call->arg[k]);
		for (uint32_t k = 0; s->call && k < s->call->result_count; k++)
			rewrite_value(a, &s->call->result[k]);
	}
	for (uint32_t k = 0; k < f->param_count; k++)
		rewrite_value(a, &f->param[k]);
	for (uint32_t k = 0; k < f->result_count; k++)
		rewrite_value(a, &f->result[k]);
}

int alloc_registers(struct decoder *d)
{
	struct alloc a = { .d = d, .regs = d->reg_count, .steps = d->step_count };
	int r = -ENOMEM;

	a.start = calloc(a.regs + 1, sizeof(uint32_t));
	a.end = calloc(a.regs + 1, sizeof(uint32_t));
	a.place = calloc(a.regs + 1, sizeof(uint32_t));
	if (a.start && a.end && a.place && !find_intervals(&a) && !pack_places(&a)) {
		rewrite(&a);
		r = 0;
	}
	free(a.block);
	free(a.block_of);
	free(a.bits);
	free(a.start);
	free(a.end);
	free(a.place);
	return r;
}
