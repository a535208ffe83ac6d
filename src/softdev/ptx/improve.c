/*
 * improve.c: takes out steps that need not run, before registers get their places.
 *
 * It looks at one stretch of steps between branches at a time, where every lane that runs one step runs all, so that
 * no data flow is needed: a copy's source stands for the copy as long as neither is written again; a copy that nobody
 * reads any more goes; a product whose only use is a sum becomes one step with it, and so do an integer's conversion,
 * its scaling and the sum that takes it. The instructions of a step that goes are counted with the next one.
 *
 * An atomic whose result nobody reads tells its thread nothing of others: its loop does not wait for anybody, and the
 * mark that says so goes.
 *
 * What a register holds where nothing has been written to it is left as it is: only reads that the copy itself precedes
 * are changed.
 */
#include "softdev/ptx/forms.h"

#include <errno.h>
#include <stdlib.h>

#define COPIES_MAX 16u
#define FUSE_DISTANCE 16u /* steps between a product and its sum */
#define FUSIONS 6u
#define SCALINGS 2u

struct copy {
	uint32_t to, from;
};

struct improve {
	struct decoder *d;
	uint32_t *uses;	 /* of each register, reads in the whole body */
	uint8_t *leader; /* of each step: somebody may jump here */
	uint8_t *gone;	 /* of each step */
	struct copy copy[COPIES_MAX];
	uint32_t copy_count;
	const struct row *mov[4], *product; /* product: of matrices */
	struct fusion {
		const struct row *first, *sum, *both;
		uint32_t sources; /* of the first */
	} fusion[FUSIONS];
	const struct row *convert; /* an integer to f32 */
	const struct row *strong;  /* the mark of memory that others change */
	struct scaling {
		const struct row *scale, *sum, *all;
	} scaling[SCALINGS];
};

static bool is_reg(uint32_t operand)
{
	return operand != LOC_NONE && !(operand & LOC_CONST);
}

static void count_uses(struct improve *m)
{
	for (uint32_t i = 0; i < m->d->step_count; i++) {
		const struct step *s = &m->d->step[i];

		if (s->guard != LOC_NONE)
			m->uses[s->guard]++;
		for (uint32_t k = 0; k < STEP_OPERANDS; k++)
			if (s->role[k] == ROLE_USE && is_reg(s->operand[k]))
				m->uses[s->operand[k]]++;
		for (const uint32_t *r = s->use; r && *r; r++)
			m->uses[*r - 1]++;
		for (uint32_t k = s->list ? s->list->defs : 0; s->list && k < s->list->count; k++)
			if (is_reg(s->list->loc[k]))
				m->uses[s->list->loc[k]]++;
	}
}

static void find_leaders(struct improve *m)
{
	for (uint32_t i = 0; i < m->d->step_count; i++) {
		const struct step *s = &m->d->step[i];

		if (s->control == CTL_BRA)
			m->leader[s->imm] = 1;
		for (uint32_t k = 1; s->control == CTL_BRX && k <= s->targets[0]; k++)
			m->leader[s->targets[k]] = 1;
		if (s->control)
			m->leader[i + 1] = 1;
	}
}

static bool defines(const struct step *s, uint32_t reg)
{
	for (uint32_t k = 0; k < STEP_OPERANDS; k++)
		if (s->role[k] == ROLE_DEF && s->operand[k] == reg)
			return true;
	for (const uint32_t *r = s->def; r && *r; r++)
		if (*r - 1 == reg)
			return true;
	for (uint32_t k = 0; s->list && k < s->list->defs; k++)
		if (s->list->loc[k] == reg)
			return true;
	return false;
}

static bool is_copy(const struct improve *m, const struct step *s)
{
	for (uint32_t k = 0; k < 4; k++)
		if (s->row == m->mov[k] && !s->control)
			return s->guard == LOC_NONE;
	return false;
}

static void copy_kill(struct improve *m, const struct step *s)
{
	for (uint32_t i = m->copy_count; i-- > 0;)
		if (defines(s, m->copy[i].to) || defines(s, m->copy[i].from))
			m->copy[i] = m->copy[--m->copy_count];
}

static void copy_add(struct improve *m, const struct step *s)
{
	if (s->operand[0] == s->operand[1] || m->copy_count == COPIES_MAX)
		return;
	m->copy[m->copy_count++] = (struct copy){ s->operand[0], s->operand[1] };
}

/* In a list of operands: what a matrix product adds to. Its other operands are of the same kind. */
static void list_replace(struct improve *m, struct op_list *l, const struct copy *c)
{
	for (uint32_t k = l->defs; k < l->count; k++) {
		if (l->loc[k] != c->to)
			continue;
		l->loc[k] = c->from;
		m->uses[c->to]--;
		if (is_reg(c->from))
			m->uses[c->from]++;
	}
}

/* Not every step takes a constant where it takes a register. */
static bool takes_constant(const struct step *s)
{
	return s->row && !s->control && (s->row->form == FORM_PLAIN || s->row->form == FORM_SETP);
}

static void reads_replace(struct improve *m, struct step *s)
{
	for (uint32_t i = 0; i < m->copy_count; i++) {
		const struct copy *c = &m->copy[i];

		if (s->list && s->row == m->product)
			list_replace(m, s->list, c);
		if (s->guard == c->to && is_reg(c->from)) {
			s->guard = c->from;
			m->uses[c->to]--;
			m->uses[c->from]++;
		}
		for (uint32_t k = 0; k < STEP_OPERANDS; k++) {
			if (s->role[k] != ROLE_USE || s->operand[k] != c->to)
				continue;
			if (!is_reg(c->from) && !takes_constant(s))
				continue;
			s->operand[k] = c->from;
			m->uses[c->to]--;
			if (is_reg(c->from))
				m->uses[c->from]++;
		}
	}
}

static void copies_follow(struct improve *m)
{
	for (uint32_t i = 0; i < m->d->step_count; i++) {
		struct step *s = &m->d->step[i];

		if (m->leader[i])
			m->copy_count = 0;
		reads_replace(m, s);
		copy_kill(m, s);
		if (is_copy(m, s))
			copy_add(m, s);
	}
}

static void copies_drop(struct improve *m)
{
	for (uint32_t i = m->d->step_count; i-- > 0;) {
		const struct step *s = &m->d->step[i];

		if (!is_copy(m, s) || m->uses[s->operand[0]])
			continue;
		m->gone[i] = 1;
		if (is_reg(s->operand[1]))
			m->uses[s->operand[1]]--;
	}
}

/* The sum that alone reads the product of step i, when nothing in between changes what the product is made of. */
static struct step *sum_find(struct improve *m, uint32_t i, const struct row *sum, uint32_t *ret_place)
{
	const struct step *p = &m->d->step[i];
	const uint32_t end = m->d->step_count - i > FUSE_DISTANCE ? i + FUSE_DISTANCE : m->d->step_count;

	for (uint32_t j = i + 1; j < end && !m->leader[j]; j++) {
		struct step *s = &m->d->step[j];

		if (m->gone[j])
			continue;
		if (s->row == sum && !s->control && s->guard == LOC_NONE) {
			*ret_place = s->operand[1] == p->operand[0] ? 1 : 2;
			if (s->operand[*ret_place] == p->operand[0])
				return s;
		}
		if (defines(s, p->operand[0]) || defines(s, p->operand[1]) || defines(s, p->operand[2]))
			return NULL;
	}
	return NULL;
}

/* Whether no step between them writes what step p reads. */
static bool unwritten(const struct improve *m, const struct step *p, const struct step *end)
{
	for (const struct step *s = p + 1; s < end; s++)
		if (!m->gone[s - m->d->step] && defines(s, p->operand[1]))
			return false;
	return true;
}

static const struct fusion *fusion_find(const struct improve *m, const struct row *first)
{
	for (uint32_t k = 0; k < FUSIONS; k++)
		if (m->fusion[k].first == first)
			return &m->fusion[k];
	return NULL;
}

static void products_fuse(struct improve *m)
{
	for (uint32_t i = 0; i < m->d->step_count; i++) {
		struct step *p = &m->d->step[i], *s;
		const struct fusion *f = fusion_find(m, p->row);
		uint32_t place, other;

		if (!f || p->control || p->guard != LOC_NONE || m->gone[i] || m->uses[p->operand[0]] != 1)
			continue;
		s = sum_find(m, i, f->sum, &place);
		if (!s)
			continue;
		other = s->operand[3 - place];
		for (uint32_t k = 1; k <= f->sources; k++)
			step_use(s, k, p->operand[k]);
		step_use(s, f->sources + 1, other);
		s->row = f->both;
		m->gone[i] = 1;
	}
}

/* Quantized models: sum + integer * scale * scale. */
static void scalings_fuse(struct improve *m, const struct scaling *f)
{
	for (uint32_t i = 0; i < m->d->step_count; i++) {
		struct step *p = &m->d->step[i], *scale, *sum;
		uint32_t place, other;

		if (p->row != m->convert || p->control || p->guard != LOC_NONE || m->gone[i] ||
		    m->uses[p->operand[0]] != 1)
			continue;
		scale = sum_find(m, i, f->scale, &place);
		if (!scale || m->uses[scale->operand[0]] != 1)
			continue;
		other = scale->operand[3 - place];
		sum = sum_find(m, (uint32_t)(scale - m->d->step), f->sum, &place);
		if (!sum || !unwritten(m, p, sum))
			continue;
		step_use(sum, 4, sum->operand[3]);
		step_use(sum, 3, sum->operand[3 - place]);
		step_use(sum, 2, other);
		step_use(sum, 1, p->operand[1]);
		sum->row = f->all;
		m->gone[i] = m->gone[scale - m->d->step] = 1;
	}
}

/* Whether step i and the atomics that follow it, which a mark stands in front of, find out what others do. */
static bool atomics_ask(const struct improve *m, uint32_t i)
{
	const uint32_t begin = i;

	for (; i < m->d->step_count && m->d->step[i].atomic; i++)
		if (is_reg(m->d->step[i].operand[0]) && m->uses[m->d->step[i].operand[0]])
			return true;
	return i == begin;
}

static void marks_drop(struct improve *m)
{
	for (uint32_t i = 0; i < m->d->step_count; i++)
		if (m->d->step[i].row == m->strong && !m->d->step[i].control && !atomics_ask(m, i + 1))
			m->gone[i] = 1;
}

/* Closes the gaps and tells the branches. */
static void steps_close_up(struct improve *m, uint32_t *place)
{
	struct decoder *d = m->d;
	uint32_t n = 0, weight = 0;

	for (uint32_t i = 0; i < d->step_count; i++) {
		place[i] = n;
		if (m->gone[i]) {
			weight += d->step[i].weight;
			continue;
		}
		d->step[n] = d->step[i];
		d->step[n++].weight += weight;
		weight = 0;
	}
	d->step_count = n;
	for (uint32_t i = 0; i < n; i++) {
		struct step *s = &d->step[i];

		if (s->control == CTL_BRA)
			s->imm = place[s->imm];
		for (uint32_t k = 1; s->control == CTL_BRX && k <= s->targets[0]; k++)
			s->targets[k] = place[s->targets[k]];
	}
}

int improve_steps(struct decoder *d)
{
	const struct row *const add_32 = decode_row(d, "add.s32"), *const add_64 = decode_row(d, "add.s64");
	struct improve m = { .d = d,
			     .mov = { decode_row(d, "%mov.b32"), decode_row(d, "%mov.b64"), decode_row(d, "%mov.pred"),
				      decode_row(d, "%mov.b128") },
			     .fusion = {
				     { decode_row(d, "mul.wide.s32"), add_64, decode_row(d, "mad.wide.s32"), 2 },
				     { decode_row(d, "mul.wide.u32"), add_64, decode_row(d, "mad.wide.u32"), 2 },
				     { decode_row(d, "cvt.s64.s32"), add_64, decode_row(d, "%addwide.s32"), 1 },
				     { decode_row(d, "cvt.u64.u32"), add_64, decode_row(d, "%addwide.u32"), 1 },
				     { decode_row(d, "shl.b64"), add_64, decode_row(d, "%shladd.b64"), 2 },
				     { decode_row(d, "shl.b32"), add_32, decode_row(d, "%shladd.b32"), 2 },
			     },
			     .product = decode_row(d, "%mma"),
			     .convert = decode_row(d, "cvt.rn.f32.s32"),
			     .strong = decode_row(d, "%strong"),
			     .scaling = {
				     { decode_row(d, "mul.ftz.f32"), decode_row(d, "fma.rn.ftz.f32"),
				       decode_row(d, "%scaleadd.ftz.f32") },
				     { decode_row(d, "mul.f32"), decode_row(d, "fma.rn.f32"),
				       decode_row(d, "%scaleadd.f32") },
			     } };
	uint32_t *place = malloc((d->step_count + 1) * sizeof(*place));
	int r = -ENOMEM;

	m.uses = calloc(d->reg_count + 1, sizeof(*m.uses));
	m.leader = calloc(d->step_count + 1, 1);
	m.gone = calloc(d->step_count + 1, 1);
	if (place && m.uses && m.leader && m.gone) {
		count_uses(&m);
		find_leaders(&m);
		copies_follow(&m);
		copies_drop(&m);
		products_fuse(&m);
		for (uint32_t k = 0; k < SCALINGS; k++)
			scalings_fuse(&m, &m.scaling[k]);
		marks_drop(&m);
		steps_close_up(&m, place);
		r = 0;
	}
	free(place);
	free(m.uses);
	free(m.leader);
	free(m.gone);
	return r;
}
