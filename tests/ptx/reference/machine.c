/*
 * machine.c: threads, frames, control and barriers of the reference executor. See reference.h.
 *
 * Every thread of a block gets a turn of some instructions until all have ended. A thread that waits, for its warp or
 * at a barrier, is passed over until what it waits for has happened.
 */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN = 50 };

static const struct ref_type u32 = { 'u', 32, 1 }, u64 = { 'u', 64, 1 };

static bool is(const struct ref_op *op, const char *name)
{
	return !strcmp(op->word[0], name);
}

void machine_fail(struct machine *x, const struct thread *t, const char *format, ...)
{
	va_list args;
	int n = 0;

	if (x->failed)
		return;
	x->failed = true;
	if (t && t->depth) {
		const struct frame *f = &t->frame[t->depth - 1];

		n = snprintf(x->l->error, sizeof(x->l->error), "thread %u, line %d: ", t->id[0],
			     f->pc < f->f->insns ? f->f->insn[f->pc].line : 0);
	}
	va_start(args, format);
	vsnprintf(x->l->error + n, sizeof(x->l->error) - (size_t)n, format, args);
	va_end(args);
}

static bool special(const struct machine *x, const struct thread *t, const char *name, wide *ret)
{
	static const char axes[] = "xyz";
	static const char *const sets[] = { "%tid.", "%ntid.", "%ctaid.", "%nctaid." };
	const uint32_t *const values[] = { t->id, x->l->block, x->block, x->l->grid };
	const wide bit = (wide)1 << t->lane;

	for (int i = 0; i < 4; i++) {
		const size_t n = strlen(sets[i]);

		if (!strncmp(name, sets[i], n) && name[n] && strchr(axes, name[n])) {
			*ret = values[i][name[n] - 'x'];
			return true;
		}
	}
	if (!strcmp(name, "%laneid"))
		*ret = t->lane;
	else if (!strcmp(name, "%warpid"))
		*ret = t->warp;
	else if (!strcmp(name, "%lanemask_eq"))
		*ret = bit;
	else if (!strcmp(name, "%lanemask_lt"))
		*ret = bit - 1;
	else if (!strcmp(name, "%lanemask_le"))
		*ret = bit | (bit - 1);
	else if (!strcmp(name, "%lanemask_gt"))
		*ret = ~(bit | (bit - 1)) & ref_mask(32);
	else if (!strcmp(name, "%lanemask_ge"))
		*ret = ~(bit - 1) & ref_mask(32);
	else if (!strcmp(name, "WARP_SZ"))
		*ret = WARP;
	else
		return false;
	return true;
}

/* A vector as a source is the concatenation of its elements, the first one lowest. */
static wide concatenated(struct machine *x, struct thread *t, const struct ref_operand *o, const struct ref_type *as)
{
	const struct ref_type part = { 'b', as->bits * as->lanes / (o->items ? o->items : 1), 1 };
	wide v = 0;

	for (int i = 0; i < o->items; i++)
		v |= (machine_value(x, t, &o->item[i], &part) & ref_mask(part.bits)) << part.bits * i;
	return v;
}

wide machine_value(struct machine *x, struct thread *t, const struct ref_operand *o, const struct ref_type *as)
{
	const struct ref_function *f;
	wide v = 0;

	switch (o->kind) {
	case OPERAND_REG:
		if (!frame_of(t)->written[o->reg])
			machine_fail(x, t, "%s is read before it is written", o->name);
		v = frame_of(t)->reg[o->reg];
		break;
	case OPERAND_NUMBER:
		v = o->number;
		break;
	case OPERAND_VECTOR:
		v = concatenated(x, t, o, as);
		break;
	case OPERAND_NAME:
		if (o->variable && o->variable->space == 's')
			v = o->variable->offset;
		else if (o->variable && o->variable->space == 'l')
			v = LOCAL_BASE + frame_of(t)->local_from + o->variable->offset;
		else if (o->variable)
			v = MODULE_BASE + o->variable->offset;
		else if (special(x, t, o->name, &v))
			break;
		else if ((f = ref_function_find(x->m, o->name)))
			for (int i = 0; i < x->m->functions; i++)
				v = x->m->function[i] == f ? FUNCTION_BASE + (wide)i : v;
		else
			machine_fail(x, t, "unknown name %s", o->name);
		break;
	default:
		machine_fail(x, t, "an operand that has no value");
	}
	return o->negate ? !(v & 1) : v;
}

void machine_write(struct machine *x, struct thread *t, const struct ref_operand *o, wide v)
{
	if (o->kind == OPERAND_REG)
		machine_set(t, o->reg, v);
	else if (o->kind != OPERAND_SINK)
		machine_fail(x, t, "a result that is no register");
}

static int label_at(struct machine *x, struct thread *t, const char *name)
{
	for (const struct ref_label *l = frame_of(t)->f->labels; l; l = l->next)
		if (!strcmp(l->name, name))
			return l->at;
	machine_fail(x, t, "no label %s", name);
	return 0;
}

static void branch_indexed(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	const uint32_t i = (uint32_t)machine_value(x, t, &in->operand[0], &u32);

	for (const struct ref_label *l = frame_of(t)->f->labels; l; l = l->next)
		if (!strcmp(l->name, in->operand[1].name)) {
			if (i < (uint32_t)l->target_count)
				frame_of(t)->pc = label_at(x, t, l->targets[i]);
			else
				machine_fail(x, t, "branch target %u of %d", i, l->target_count);
			return;
		}
	machine_fail(x, t, "no branch targets %s", in->operand[1].name);
}

static bool frame_push(struct machine *x, struct thread *t, struct ref_function *f, const struct ref_insn *call)
{
	const uint64_t from = t->depth ? frame_of(t)->local_from + frame_of(t)->f->local_bytes : 0;
	struct frame *n = &t->frame[t->depth];

	if (t->depth == FRAMES_MAX || from + f->local_bytes + 16 > LOCAL_MAX) {
		machine_fail(x, t, "the stack is full");
		return false;
	}
	*n = (struct frame){ .f = f, .call = call, .local_from = (from + 15) / 16 * 16 };
	n->reg = calloc((size_t)f->registers + 1, sizeof(*n->reg));
	n->written = calloc((size_t)f->registers + 1, sizeof(*n->written));
	n->params = calloc(1, f->param_bytes + 16);
	t->depth++;
	if (!n->reg || !n->written || !n->params)
		machine_fail(x, t, "no memory");
	return !x->failed;
}

static void frame_pop(struct thread *t)
{
	free(frame_of(t)->reg);
	free(frame_of(t)->written);
	free(frame_of(t)->params);
	t->depth--;
}

/* call (results), function, (arguments){, prototype}; parameters are copied by value. */
static void call(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	const struct ref_operand *o = in->operand, *end = o + in->operands, *target;
	struct ref_function *f = NULL;
	struct frame *from = frame_of(t);

	if (o < end && o->kind == OPERAND_LIST)
		o++;
	target = o++;
	if (target->kind == OPERAND_REG) {
		const wide i = machine_value(x, t, target, &u64) - FUNCTION_BASE;

		f = i < (wide)x->m->functions ? x->m->function[i] : NULL;
	} else {
		f = ref_function_find(x->m, target->name);
	}
	if (!f || !f->has_body) {
		machine_fail(x, t, "call of no function");
		return;
	}
	from->pc++;
	if (!frame_push(x, t, f, in))
		return;
	for (int i = 0; o < end && i < o->items && i < f->formals; i++) {
		const struct ref_variable *v = o->item[i].variable;

		if (v && v->space == 'p')
			memcpy(frame_of(t)->params + f->formal[i]->offset, from->params + v->offset,
			       f->formal[i]->size);
		else
			machine_fail(x, t, "an argument that is no parameter");
	}
}

static void leave(struct machine *x, struct thread *t)
{
	struct frame *from = frame_of(t);
	const struct ref_insn *in = from->call;

	if (!in) {
		t->state = ENDED;
		return;
	}
	if (in->operand[0].kind == OPERAND_LIST && from->f->results)
		for (int i = 0; i < in->operand[0].items && i < from->f->results; i++) {
			const struct ref_variable *v = in->operand[0].item[i].variable;

			if (v)
				memcpy((from - 1)->params + v->offset, from->params + from->f->result[i]->offset,
				       v->size);
			else
				machine_fail(x, t, "a result that is no parameter");
		}
	frame_pop(t);
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, c */
static void barrier_arrive(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	const bool red = ref_has(&in->op, "red");
	const struct ref_operand *o = &in->operand[red ? 1 : 0];
	const int rest = in->operands - (red ? 2 : 0); /* id and, perhaps, the count */
	const uint32_t id = (uint32_t)machine_value(x, t, &o[0], &u32);
	struct barrier *b = &x->barrier[id % BARRIERS_MAX];

	if (rest == 2)
		b->expected = (uint32_t)machine_value(x, t, &o[1], &u32);
	if (red) {
		b->yes += (uint32_t)machine_value(x, t, &in->operand[in->operands - 1], &u32) & 1;
		b->asked++;
	}
	b->arrived++;
	if (ref_has(&in->op, "arrive")) {
		frame_of(t)->pc++;
		return;
	}
	t->state = AT_BARRIER;
	t->barrier = (int)id;
	t->at = in;
}

/* Lets the threads at barriers that are complete go on. */
static bool barriers_release(struct machine *x)
{
	uint32_t live = 0;
	bool any = false;

	for (uint32_t i = 0; i < x->threads; i++)
		live += x->thread[i].state != ENDED;
	for (int k = 0; k < BARRIERS_MAX; k++) {
		struct barrier *b = &x->barrier[k];

		if (!b->arrived || b->arrived < (b->expected ? b->expected : live))
			continue;
		for (uint32_t i = 0; i < x->threads; i++) {
			struct thread *t = &x->thread[i];
			const struct ref_op *op;

			if (t->state != AT_BARRIER || t->barrier != k)
				continue;
			op = &t->at->op;
			if (ref_has(op, "red"))
				machine_write(x, t, &t->at->operand[0],
					      ref_has(op, "popc")  ? b->yes
					      : ref_has(op, "and") ? b->yes == b->asked
								   : b->yes != 0);
			t->state = RUNS;
			frame_of(t)->pc++;
		}
		*b = (struct barrier){ 0 };
		any = true;
	}
	return any;
}

static void move(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	const struct ref_type *type = &in->op.type[in->op.types - 1];
	const struct ref_operand *to = &in->operand[0];
	const wide v = machine_value(x, t, &in->operand[1], type);
	const int bits = to->kind == OPERAND_VECTOR ? type->bits * type->lanes / to->items : 0;

	if (to->kind != OPERAND_VECTOR)
		machine_write(x, t, to, v & ref_mask(type->bits * type->lanes));
	for (int i = 0; i < to->items && to->kind == OPERAND_VECTOR; i++)
		machine_write(x, t, &to->item[i], v >> bits * i & ref_mask(bits));
}

/* A narrow result in a wider register is extended as its type asks. */
static wide widened(const struct ref_op *op, wide v)
{
	return is(op, "cvt") && !ref_has(op, "pack") && op->type[0].kind == 's' ? (wide)ref_int(&op->type[0], v) : v;
}

static void compute(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	struct ref_result r;
	wide src[5];
	bool carry = t->carry;

	for (int i = 1; i < in->operands; i++)
		src[i - 1] = machine_value(x, t, &in->operand[i], &in->op.type[in->op.types ? in->op.types - 1 : 0]);
	switch (ref_compute(&in->op, src, in->operands - 1, &carry, &r)) {
	case REF_DONE:
		break;
	case REF_UNDEFINED:
		machine_fail(x, t, "%s with values that it is not defined for", in->op.word[0]);
		return;
	default:
		machine_fail(x, t, "unknown instruction %s", in->op.word[0]);
		return;
	}
	t->carry = carry;
	machine_write(x, t, &in->operand[0], widened(&in->op, r.d));
	if (in->operand[0].pair >= 0)
		machine_set(t, in->operand[0].pair, r.q);
}

static bool control(struct machine *x, struct thread *t, const struct ref_insn *in)
{
	struct frame *f = frame_of(t);

	if (is(&in->op, "bra")) {
		f->pc = label_at(x, t, in->operand[0].name);
	} else if (is(&in->op, "brx")) {
		branch_indexed(x, t, in);
	} else if (is(&in->op, "call")) {
		call(x, t, in);
	} else if (is(&in->op, "ret")) {
		leave(x, t);
	} else if (is(&in->op, "exit")) {
		t->state = ENDED;
	} else if (machine_is_warp_wide(&in->op)) {
		t->state = AT_WARP;
		t->at = in;
	} else if (is(&in->op, "bar") || is(&in->op, "barrier")) {
		barrier_arrive(x, t, in);
	} else {
		return false;
	}
	return true;
}

static bool changes_nothing(const struct ref_op *op)
{
	static const char *const names[] = { "membar",	   "fence",   "prefetch",     "prefetchu",
					     "nanosleep",  "pmevent", "brkpt",	      "griddepcontrol",
					     "setmaxnreg", "discard", "applypriority" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(op, names[i]))
			return true;
	return false;
}

static void step(struct machine *x, struct thread *t)
{
	struct frame *f = frame_of(t);
	const struct ref_insn *in = &f->f->insn[f->pc];

	if (f->pc >= f->f->insns) {
		leave(x, t);
		return;
	}
	if (!x->left--) {
		machine_fail(x, t, "too many instructions");
		return;
	}
	if (in->guard >= 0 && !f->written[in->guard])
		machine_fail(x, t, "a guard is read before it is written");
	if (in->guard >= 0 && (f->reg[in->guard] & 1) == (wide)in->guard_not) {
		f->pc++;
		return;
	}
	if (control(x, t, in))
		return;
	if (changes_nothing(&in->op))
		;
	else if (is(&in->op, "mov"))
		move(x, t, in);
	else if (!machine_access(x, t, in))
		compute(x, t, in);
	f->pc++;
}

static bool turn(struct machine *x)
{
	bool any = false;

	for (uint32_t i = 0; i < x->threads && !x->failed; i++)
		for (int n = 0; n < TURN && x->thread[i].state == RUNS && !x->failed; n++) {
			step(x, &x->thread[i]);
			any = true;
		}
	for (uint32_t i = 0; i < x->threads && !x->failed; i += WARP)
		any |= machine_join_warp(x, &x->thread[i], x->threads - i < WARP ? x->threads - i : WARP);
	return barriers_release(x) || any;
}

static bool ended(const struct machine *x)
{
	for (uint32_t i = 0; i < x->threads; i++)
		if (x->thread[i].state != ENDED)
			return false;
	return true;
}

static void run_block(struct machine *x, struct ref_function *f)
{
	memset(x->barrier, 0, sizeof(x->barrier));
	memset(x->shared, 0, sizeof(x->shared));
	for (uint32_t i = 0; i < x->threads && !x->failed; i++) {
		struct thread *t = &x->thread[i];
		uint8_t *local = t->local;

		memset(t, 0, sizeof(*t));
		memset(local, 0, LOCAL_MAX);
		t->local = local;
		t->id[0] = i % x->l->block[0];
		t->id[1] = i / x->l->block[0] % x->l->block[1];
		t->id[2] = i / x->l->block[0] / x->l->block[1];
		t->lane = i % WARP;
		t->warp = i / WARP;
		if (frame_push(x, t, f, NULL))
			memcpy(frame_of(t)->params, x->l->params, f->param_bytes);
	}
	while (!x->failed && !ended(x))
		if (!turn(x))
			machine_fail(x, NULL, "every thread waits");
	for (uint32_t i = 0; i < x->threads; i++)
		while (x->thread[i].depth)
			frame_pop(&x->thread[i]);
}

int ref_run(struct ref_module *m, struct ref_launch *l)
{
	struct ref_function *f = ref_function_find(m, l->kernel);
	struct machine *x = calloc(1, sizeof(*x));

	if (!x || !f || m->shared_bytes > sizeof(x->shared)) {
		snprintf(l->error, sizeof(l->error), "no kernel %s", l->kernel);
		free(x);
		return -1;
	}
	*x = (struct machine){ .m = m, .l = l, .threads = l->block[0] * l->block[1] * l->block[2] };
	x->left = l->instructions_max ? l->instructions_max : 10000000;
	x->thread = calloc(x->threads, sizeof(*x->thread));
	for (uint32_t i = 0; x->thread && i < x->threads; i++)
		x->thread[i].local = malloc(LOCAL_MAX);
	for (x->block[2] = 0; x->block[2] < l->grid[2] && !x->failed; x->block[2]++)
		for (x->block[1] = 0; x->block[1] < l->grid[1] && !x->failed; x->block[1]++)
			for (x->block[0] = 0; x->block[0] < l->grid[0] && !x->failed; x->block[0]++)
				run_block(x, f);
	for (uint32_t i = 0; i < x->threads; i++)
		free(x->thread[i].local);
	const int r = x->failed ? -1 : 0;

	free(x->thread);
	free(x);
	return r;
}
