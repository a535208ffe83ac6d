/* forms_control.c: where threads go and where they wait: branches, calls, returns, barriers. */
#include "softdev/ptx/forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t branch_target(struct decoder *d, const struct symbol *s)
{
	if (!s || s->kind != SYM_LABEL) {
		decode_fail(d, "%.*s is not a label", s ? (int)s->name.bytes : 0, s ? s->name.p : "");
		return 0;
	}
	return s->offset;
}

void form_bra(struct decoder *d)
{
	struct step *s;

	if (!decode_count(d, 1, 1))
		return;
	s = decode_step(d, NULL);
	s->control = CTL_BRA;
	s->imm = d->insn->operand[0].kind == OPD_SYMBOL ? branch_target(d, d->insn->operand[0].symbol)
							: branch_target(d, NULL);
}

void form_brx(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	struct symbol *list;
	uint32_t *targets, index;
	struct step *s;

	if (!decode_count(d, 2, 2))
		return;
	list = o[1].kind == OPD_SYMBOL ? o[1].symbol : NULL;
	if (!list || list->kind != SYM_TARGETS) {
		decode_fail(d, "brx.idx without a list of branch targets");
		return;
	}
	index = decode_source(d, &o[0], TY_u32);
	targets = decode_take(d, (list->target_count + 1) * sizeof(*targets));
	if (!targets)
		return;
	targets[0] = list->target_count;
	for (uint32_t i = 0; i < list->target_count; i++)
		targets[i + 1] = (uint32_t)branch_target(d, list->targets[i]);
	s = decode_step(d, NULL);
	s->control = CTL_BRX;
	s->targets = targets;
	step_use(s, 1, index);
}

/* Registers that hold the results of an old-style function are read when it returns. */
void form_return(struct decoder *d)
{
	struct step *s;
	uint32_t n = 0;

	form_stack_end(d);
	s = decode_step(d, NULL);
	s->control = d->body->kernel ? CTL_EXIT : CTL_RET;
	for (struct symbol *r = d->body->result; r; r = r->next)
		n += r->kind == SYM_REG_PARAM;
	if (!n)
		return;
	s->use = decode_scratch(d, (n + 1) * sizeof(*s->use));
	if (!s->use)
		return;
	n = 0;
	for (struct symbol *r = d->body->result; r; r = r->next)
		if (r->kind == SYM_REG_PARAM)
			s->use[n++] = (uint32_t)r->index + 1;
}

void form_exit(struct decoder *d)
{
	decode_step(d, NULL)->control = CTL_EXIT;
}

/* One argument or result of a call. Registers are listed for liveness; their places are known after allocation. */
static struct call_value call_value(struct decoder *d, const struct operand *o, bool result)
{
	struct call_value v = { .loc = LOC_NONE };

	if (o->kind == OPD_SYMBOL && (o->symbol->kind == SYM_PARAM || o->symbol->kind == SYM_LOCAL)) {
		v.offset = (uint32_t)o->symbol->offset;
		v.bytes = (uint32_t)o->symbol->bytes;
	} else if (o->kind == OPD_REG) {
		v.loc = o->reg;
		v.lane_bytes = v.bytes = d->reg_lane[o->reg];
	} else if (!result && (o->kind == OPD_INT || o->kind == OPD_F64 || o->kind == OPD_F32)) {
		v.lane_bytes = v.bytes = o->kind == OPD_F32 ? 4 : 8;
		v.loc = decode_constant(d, o->value, v.lane_bytes);
	} else if (o->kind == OPD_SINK) {
		v.bytes = 0;
	} else {
		decode_fail(d, "an argument of the wrong kind");
	}
	return v;
}

static struct call_value *call_values(struct decoder *d, const struct operand *list, bool result, uint32_t *ret_count)
{
	struct call_value *v;

	*ret_count = list ? list->count : 0;
	v = decode_take(d, (*ret_count + 1) * sizeof(*v));
	for (uint32_t i = 0; v && i < *ret_count; i++)
		v[i] = call_value(d, &list->item[i], result);
	return v;
}

static uint32_t *call_registers(struct decoder *d, const struct call_value *v, uint32_t count)
{
	uint32_t *list = decode_scratch(d, (count + 1) * sizeof(*list)), n = 0;

	for (uint32_t i = 0; list && i < count; i++)
		if (v[i].loc != LOC_NONE && !(v[i].loc & LOC_CONST))
			list[n++] = v[i].loc + 1;
	return list;
}

/* The runtime library's functions in kernels have several names: cudaLaunchDeviceV2, __cudaCDP2LaunchDeviceV2. */
static struct name runtime_name(struct name n)
{
	const uint32_t front = name_starts(n, "__cudaCDP2") ? 10 : name_starts(n, "cuda") ? 4 : 0;
	const uint32_t back = n.bytes > 5 && !memcmp(n.p + n.bytes - 5, "_ptsz", 5) ? 5 : 0;

	return front ? (struct name){ n.p + front, n.bytes - front - back } : n;
}

/* vprintf and the like: plain steps whose operands are offsets in the frame's local memory. */
static bool call_builtin(struct decoder *d, const struct symbol *callee, const struct call *call)
{
	const struct name runtime = runtime_name(callee->name);
	static const struct {
		const char *name, *row;
		uint32_t args, imm;
	} builtin[] = { { "vprintf", "%vprintf", 2, 0 },
			{ "malloc", "%malloc", 1, 0 },
			{ "free", "%free", 1, 0 },
			{ "__assertfail", "%assertfail", 5, 0 },
			{ "cudaGraphSetConditional", "%setcondition", 2, 0 },
			{ SOFT_NATIVE_NAME, "%native", 1, 0 },
			{ "GetParameterBufferV2", "%launch.buffer", 4, 0 },
			{ "LaunchDeviceV2", "%launch.device", 2, 0 },
			{ "GetLastError", "%launch.error", 0, 1 },
			{ "PeekAtLastError", "%launch.error", 0, 0 },
			{ "StreamCreateWithFlags", "%launch.handle", 2, 0 },
			{ "StreamDestroy", "%launch.nothing", 1, 0 },
			{ "StreamWaitEvent", "%launch.nothing", 3, 0 },
			{ "EventCreateWithFlags", "%launch.handle", 2, 0 },
			{ "EventRecord", "%launch.nothing", 2, 0 },
			{ "EventRecordWithFlags", "%launch.nothing", 3, 0 },
			{ "EventDestroy", "%launch.nothing", 1, 0 } };

	for (size_t i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++) {
		struct step *s;

		if (!name_is(builtin[i].row[1] == 'l' ? runtime : callee->name, builtin[i].name))
			continue;
		if (call->arg_count != builtin[i].args || call->result_count > 1) {
			decode_fail(d, "%s takes %u arguments", builtin[i].name, builtin[i].args);
			return true;
		}
		for (uint32_t k = 0; k < call->arg_count; k++)
			if (call->arg[k].loc != LOC_NONE || call->arg[k].bytes < 4) {
				decode_fail(d, "the arguments of %s must be .param variables", builtin[i].name);
				return true;
			}
		s = decode_step(d, decode_row(d, builtin[i].row));
		s->imm = builtin[i].imm;
		if (call->result_count && call->result[0].loc == LOC_NONE)
			s->operand[0] = call->result[0].offset;
		for (uint32_t k = 0; k < call->arg_count && k < 5; k++)
			s->operand[k + 1] = call->arg[k].offset;
		return true;
	}
	return false;
}

static void callee_add(struct decoder *d, struct function *f)
{
	if (d->callee_count == d->callee_room) {
		uint32_t room = d->callee_room * 2 + 8;
		struct function **grown = realloc(d->callee, room * sizeof(struct function *));

		if (!grown) {
			decode_no_memory(d);
			return;
		}
		d->callee = grown;
		d->callee_room = room;
	}
	d->callee[d->callee_count++] = f;
}

/* Functions of the device runtime are known by name: without them a kernel cannot launch another. */
static void unresolved(struct decoder *d, const struct symbol *callee)
{
	static const char *const runtime[] = { "cuda", "__cudaCDP" };
	const struct name *n = &d->body->symbol->name;
	bool launches = false;
	char who[128];

	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		launches = launches || name_starts(callee->name, runtime[i]);
	snprintf(who, sizeof(who), "%s %.*s", d->body->kernel ? "kernel" : "function",
		 (int)(n->bytes > 96 ? 96 : n->bytes), n->p);
	complain(d->program->complaint, PTX_UNRESOLVED, d->insn->line, who, "no function %.*s in this module%s",
		 (int)callee->name.bytes, callee->name.p,
		 launches ? ": this part of the runtime library in kernels is not supported" : "");
	d->failed = true;
}

/* call{.uni} (results), function, (arguments){, prototype}; */
static uint32_t list_length(const struct symbol *s)
{
	uint32_t n = 0;

	for (; s; s = s->next)
		n++;
	return n;
}

/* A function of another text may differ from the prototype that the caller has; such a call is made all the same. */
static bool call_fits(struct decoder *d, const struct symbol *callee, const struct call *call)
{
	const struct body *b = callee->body;
	const uint32_t takes = list_length(b->param), gives = list_length(b->result);

	if (b->text != d->body->text || (takes == call->arg_count && gives == call->result_count))
		return true;
	decode_fail(d, "%.*s has parameters: %u, results: %u; the call has %u and %u", (int)callee->name.bytes,
		    callee->name.p, takes, gives, call->arg_count, call->result_count);
	return false;
}

void form_call(struct decoder *d)
{
	const struct insn *in = d->insn;
	const struct operand *target, *result = NULL, *arg = NULL;
	struct call *call = decode_take(d, sizeof(*call));
	uint32_t i = 0, through = LOC_NONE;
	struct symbol *callee;
	struct step *s;

	if (!call || !decode_count(d, 1, 4))
		return;
	if (in->operand[i].kind == OPD_LIST)
		result = &in->operand[i++];
	target = i < in->count ? &in->operand[i++] : NULL;
	if (i < in->count && in->operand[i].kind == OPD_LIST)
		arg = &in->operand[i];
	if (!target || (target->kind != OPD_SYMBOL && target->kind != OPD_REG)) {
		decode_fail(d, "call of what is not a function");
		return;
	}
	call->arg = call_values(d, arg, false, &call->arg_count);
	call->result = call_values(d, result, true, &call->result_count);
	if (d->failed)
		return;
	if (target->kind == OPD_REG) {
		through = decode_source(d, target, TY_u64);
		d->function->calls_unknown = true;
	} else {
		callee = target->symbol->definition;
		if (callee->kind != SYM_FUNCTION) {
			decode_fail(d, "%.*s is not a function", (int)callee->name.bytes, callee->name.p);
			return;
		}
		if (!callee->body && call_builtin(d, callee, call))
			return;
		if (!callee->body || callee->body->kernel) {
			unresolved(d, callee);
			return;
		}
		if (!call_fits(d, callee, call))
			return;
		call->function = callee->body->function;
		callee_add(d, callee->body->function);
	}
	s = decode_step(d, NULL);
	s->control = CTL_CALL;
	s->call = call;
	step_use(s, 1, through);
	s->use = call_registers(d, call->arg, call->arg_count);
	s->def = call_registers(d, call->result, call->result_count);
}

/* bar.sync a{, b}; bar.arrive a, b; bar.red.op d, a{, b}, {!}c */
/* What a number of a barrier, or of threads (`count` may be NULL), cannot be when the text says it. */
static void check_barrier(struct decoder *d, const struct operand *id, const struct operand *count)
{
	if (id->kind == OPD_INT && id->value >= BARRIERS)
		decode_fail(d, "barrier %lld: a block has barriers 0 to %u", (long long)id->value, BARRIERS - 1);
	else if (count && count->kind == OPD_INT && count->value % LANES)
		decode_fail(d, "a barrier of %llu threads: give a multiple of %u", (unsigned long long)count->value,
			    LANES);
}

void form_bar(struct decoder *d, const struct insn_match *m)
{
	const struct operand *o = d->insn->operand;
	struct barrier_use *use = decode_take(d, sizeof(*use));
	bool red = m->row->count == 1;
	uint32_t id, count = LOC_NONE, source = LOC_NONE, dest = LOC_NONE;
	struct operand plain;
	struct step *s;

	if (!use)
		return;
	use->aligned =
		name_starts(d->insn->opcode, "bar.") || memmem(d->insn->opcode.p, d->insn->opcode.bytes, ".aligned", 8);
	use->kind = red ? (enum bar_kind)(BAR_POPC + m->variant) : m->variant ? BAR_ARRIVE : BAR_SYNC;
	if (red) {
		if (!decode_count(d, 3, 4))
			return;
		id = decode_source(d, &o[1], TY_u32);
		check_barrier(d, &o[1], d->insn->count == 4 ? &o[2] : NULL);
		if (d->insn->count == 4)
			count = decode_source(d, &o[2], TY_u32);
		plain = o[d->insn->count - 1];
		use->negate = plain.negate;
		plain.negate = false;
		source = decode_source(d, &plain, TY_pred);
		dest = decode_dest(d, &o[0], use->kind == BAR_POPC ? TY_u32 : TY_pred);
	} else {
		if (!decode_count(d, 1, 2))
			return;
		id = decode_source(d, &o[0], TY_u32);
		check_barrier(d, &o[0], d->insn->count == 2 ? &o[1] : NULL);
		if (d->insn->count == 2)
			count = decode_source(d, &o[1], TY_u32);
	}
	if (d->failed)
		return;
	s = decode_step(d, NULL);
	s->control = CTL_BAR;
	s->bar = use;
	step_def(s, 0, dest);
	step_use(s, 1, id);
	step_use(s, 2, count);
	step_use(s, 3, source);
}
