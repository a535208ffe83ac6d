/* part.c: see part.h. */
#include "compile/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int part_init(struct flow *f)
{
	f->set_words = (f->wait_count + SET_BITS - 1) / SET_BITS;
	for (uint32_t b = 0; b < f->wait_count; b++) {
		struct part *p = &f->block[b].part;

		p->at_come = calloc(f->set_words, sizeof(*p->at_come));
		p->at_run = calloc(f->set_words, sizeof(*p->at_run));
		p->needed = calloc(f->reg_count + 1, 1);
		p->kept = calloc(f->reg_count + 1, 1);
		p->in_come = calloc(f->reg_count + 1, sizeof(struct state));
		p->in = calloc(f->reg_count + 1, sizeof(struct state));
		if (!p->at_come || !p->at_run || !p->needed || !p->kept || !p->in_come || !p->in)
			return -ENOMEM;
	}
	return 0;
}

void part_reset(struct flow *f)
{
	for (uint32_t b = 0; b < f->wait_count; b++) {
		struct part *p = &f->block[b].part;

		p->comes = p->reached = false;
		memset(p->at_come, 0, f->set_words * sizeof(*p->at_come));
		memset(p->at_run, 0, f->set_words * sizeof(*p->at_run));
		memcpy(p->needed, f->block[b].live, f->reg_count);
		memset(p->kept, 0, f->reg_count);
		memset(p->in_come, 0, f->reg_count * sizeof(struct state));
		memset(p->in, 0, f->reg_count * sizeof(struct state));
	}
}

void part_deinit(struct flow *f)
{
	for (uint32_t b = 0; f->block && b < f->wait_count; b++) {
		struct part *p = &f->block[b].part;

		free(p->at_come);
		free(p->at_run);
		free(p->needed);
		free(p->kept);
		free(p->in_come);
		free(p->in);
	}
}

/* Block w into a set of blocks where lanes wait, whose registers somebody needs then. */
static bool wait_add(const struct flow *f, uint64_t *set, uint8_t *needed, uint32_t w)
{
	if (set_has(set, w))
		return false;
	set[w / SET_BITS] |= 1ull << (w % SET_BITS);
	for (uint32_t r = 0; r < f->reg_count; r++)
		needed[r] |= f->block[w].live[r];
	return true;
}

/* Those of a set that are behind block b. */
static bool waits_add_behind(const struct flow *f, uint64_t *set, uint8_t *needed, const uint64_t *more, uint32_t b)
{
	bool changed = false;

	for (uint32_t w = b + 1; w < f->wait_count; w++)
		if (set_has(more, w))
			changed |= wait_add(f, set, needed, w);
	return changed;
}

/* A line that only the group has: with what those have who wait, it is lanes. */
static void state_merge(struct state *s)
{
	*s = (struct state){ .shape = SHAPE_LANES,
			     .nan = s->nan,
			     .flat = s->flat,
			     .grain = s->grain,
			     .small = s->small,
			     .synced = s->synced };
}

/* What comes from s: of registers that are needed. `others`: those that lanes which wait meanwhile need; NULL: none do.
 */
static bool states_join(const struct flow *f, struct state *to, const uint8_t *a, const uint8_t *b,
			const uint8_t *others, bool meet, const struct state *s)
{
	bool changed = false;

	for (uint32_t r = 0; r < f->reg_count; r++) {
		struct state x = s[r];

		x.split = x.split && others && others[r];
		if (x.split && meet)
			state_merge(&x);
		if (x.shape == SHAPE_LANES)
			x.same = 0; /* is known of all lanes together only */
		x.whole = false;
		if (a[r] || b[r])
			changed |= state_join(&to[r], &x);
	}
	return changed;
}

static bool run_enter(struct flow *f, uint32_t b, const struct state *s)
{
	struct part *p = &f->block[b].part;
	const bool first = !p->reached;

	p->reached = true;
	return states_join(f, p->in, f->block[b].live, p->kept, p->kept, false, s) || first;
}

bool part_may(const struct flow *f, uint32_t b, const struct state *s)
{
	const struct block_of_code *c = &f->block[b];
	const struct compile_op *o = &f->request->op[c->end - 1];

	if (!f->parts || o->kind != COMPILE_BRANCH || o->guard.place == COMPILE_NONE || c->next_count < 2 ||
	    c->next[0] == c->next[1])
		return false;
	return operand_state(f, &o->guard, s).shape >= SHAPE_HALVES;
}

bool part_begin(struct flow *f, uint32_t b, const struct state *s)
{
	const struct block_of_code *c = &f->block[b];
	const uint32_t low = c->next[0] < c->next[1] ? c->next[0] : c->next[1], high = c->next[0] + c->next[1] - low;
	struct part *p = &f->block[low].part;
	bool changed = wait_add(f, p->at_run, p->kept, high);

	return run_enter(f, low, s) || changed;
}

bool part_root(struct flow *f, uint32_t b, const struct state *s)
{
	return run_enter(f, b, s);
}

bool part_checks(const struct state *from, const struct state *to)
{
	return (to->stride || to->pattern) &&
	       (from->shape != to->shape || from->stride != to->stride || from->pattern != to->pattern);
}

/* Who waits at block b or before it joins those who come, or runs with the registers as they leave them. */
static bool meets_at(const struct flow *f, uint32_t b)
{
	for (uint32_t w = 0; w <= b; w++)
		if (set_has(f->block[b].part.at_come, w))
			return true;
	return false;
}

static bool waits_while(const struct flow *f, uint32_t b)
{
	for (uint32_t w = 0; w < f->set_words; w++)
		if (f->block[b].part.at_come[w])
			return true;
	return false;
}

static bool come_to(struct flow *f, uint32_t b, const uint64_t *waits, uint32_t also, const struct state *s)
{
	static const uint8_t none[COMPILE_REGS_MAX];
	struct part *p = &f->block[b].part;
	bool changed = !p->comes, meet;

	p->comes = true;
	for (uint32_t w = 0; w < f->wait_count; w++)
		if (w == also || set_has(waits, w))
			changed |= wait_add(f, p->at_come, p->needed, w);
	meet = meets_at(f, b);
	for (uint32_t r = 0; meet && r < f->reg_count; r++)
		if (p->in_come[r].split) {
			state_merge(&p->in_come[r]);
			changed = true;
		}
	return states_join(f, p->in_come, p->needed, none, waits_while(f, b) ? p->needed : NULL, meet, s) || changed;
}

bool part_meets(const struct flow *f, uint32_t b)
{
	bool waits = false;

	for (uint32_t w = 0; w < f->set_words; w++)
		waits |= f->block[b].part.at_run[w];
	return waits && f->block[b].meet;
}

bool part_run(struct flow *f, uint32_t b, struct state *s)
{
	const struct block_of_code *c = &f->block[b];
	const struct part *p = &c->part;
	bool changed = false, parts = false;
	struct plan plan;

	memcpy(s, p->in, f->reg_count * sizeof(*s));
	for (uint32_t i = c->begin; i < c->end; i++) {
		parts = i + 1 == c->end && part_may(f, b, s);
		plan_make(f, i, s, p->kept, &plan);
		plan_apply(f, i, &plan, s);
	}
	if (part_meets(f, b))
		return come_to(f, c->meet, p->at_run, UINT32_MAX, s);
	for (uint32_t k = 0; k < c->next_count; k++) {
		const uint32_t to = c->next[k], other = c->next[1 - k];

		changed |= come_to(f, to, p->at_run, parts && to < other ? other : UINT32_MAX, s);
	}
	return changed;
}

bool part_come(struct flow *f, uint32_t b)
{
	const bool meet = b >= f->block_count;
	struct block_of_code *c = &f->block[meet ? f->block[b].behind : b];
	struct part *p = &f->block[b].part;
	bool changed = false;

	for (uint32_t w = 0; w < b && w < f->block_count; w++) {
		struct part *other = &f->block[w].part;

		if (!set_has(p->at_come, w))
			continue;
		changed |= waits_add_behind(f, other->at_run, other->kept, p->at_come, w);
		changed |= wait_add(f, other->at_run, other->kept, b);
		changed |= run_enter(f, w, p->in_come);
	}
	if (!meet) /* behind a barrier that all have come to, nobody waits */
		changed |= waits_add_behind(f, p->at_run, p->kept, p->at_come, b);
	changed |= run_enter(f, (uint32_t)(c - f->block), p->in_come);
	if ((!set_has(p->at_come, b) && !c->group_entry && !meet) || f->few)
		return changed;
	changed |= !c->reached; /* all may be together again */
	c->reached = true;
	for (uint32_t r = 0; r < f->reg_count; r++) {
		if (c->live[r] && !part_checks(&p->in_come[r], &c->in[r])) {
			struct state x = p->in_come[r];

			x.split = false; /* nobody waits then */
			changed |= state_join(&c->in[r], &x);
			continue;
		}
		changed |= c->in[r].whole || c->in[r].low || c->in[r].high;
		c->in[r].whole = false;
		c->in[r].low = c->in[r].high = 0;
	}
	return changed;
}
