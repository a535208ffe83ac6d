/*
 * decode.c: chooses the row of each instruction and takes its operands. The forms that need more than "operands in
 * order" (moves, memory, calls, barriers, comparisons) are in forms.c.
 *
 * Where a register is not of the width that the instruction works with, a narrowing or widening step is put in front or
 * behind: ld, st and cvt may name wider registers than their type.
 */
#include "softdev/ptx/forms.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT_BYTES_MAX (1u << 30)

struct constant_slot {
	uint64_t value;
	const struct symbol *symbol; /* the value is its address plus `value` */
	uint32_t offset;	     /* 0: free; offsets are kept plus one */
	uint32_t lane;
};

void decode_fail(struct decoder *d, const char *fmt, ...)
{
	const struct name *n = &d->body->symbol->name;
	char text[400], who[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(who, sizeof(who), "%s %.*s", d->body->kernel ? "kernel" : "function",
		 (int)(n->bytes > 96 ? 96 : n->bytes), n->p);
	complain(d->program->complaint, PTX_INVALID, d->insn ? d->insn->line : 0, who, "%s", text);
	d->failed = true;
}

void decode_no_memory(struct decoder *d)
{
	complain(d->program->complaint, -ENOMEM, 0, NULL, "out of memory");
	d->failed = true;
}

static void *take_from(struct decoder *d, struct arena *a, size_t bytes)
{
	void *p = arena_take(a, bytes);

	if (!p)
		decode_no_memory(d);
	return p;
}

void *decode_take(struct decoder *d, size_t bytes)
{
	return take_from(d, &d->program->arena, bytes);
}

void *decode_scratch(struct decoder *d, size_t bytes)
{
	return take_from(d, &d->program->scratch, bytes);
}

const struct row *decode_row(struct decoder *d, const char *name)
{
	struct insn_match m;

	if (insn_find(d->table, (struct name){ name, (uint32_t)strlen(name) }, &m))
		return m.row;
	decode_fail(d, "%s is not supported", name);
	return NULL;
}

struct step *decode_step(struct decoder *d, const struct row *row)
{
	static struct step nowhere;
	struct step *s;

	if (d->step_count == d->step_room) {
		uint32_t room = d->step_room ? d->step_room * 2 : 256;
		struct step *grown = realloc(d->step, room * sizeof(*grown));

		if (!grown) {
			decode_no_memory(d);
			return &nowhere;
		}
		d->step = grown;
		d->step_room = room;
	}
	s = &d->step[d->step_count++];
	*s = (struct step){
		.row = row, .guard = d->guard, .guard_not = d->guard_not, .line = d->insn ? d->insn->line : 0,
		.weight = d->weight
	};
	d->weight = 0;
	for (uint32_t i = 0; i < STEP_OPERANDS; i++)
		s->operand[i] = LOC_NONE;
	return s;
}

/* A step that prepares operands: it runs for all lanes, the guard is for the instruction itself. */
static struct step *step_before(struct decoder *d, const struct row *row)
{
	struct step *s = decode_step(d, row);

	s->guard = LOC_NONE;
	return s;
}

void step_use(struct step *s, uint32_t i, uint32_t reg)
{
	s->operand[i] = reg;
	s->role[i] = reg == LOC_NONE ? ROLE_NONE : ROLE_USE;
}

void step_def(struct step *s, uint32_t i, uint32_t reg)
{
	s->operand[i] = reg;
	s->role[i] = reg == LOC_NONE ? ROLE_NONE : ROLE_DEF;
}

uint32_t decode_temp(struct decoder *d, enum type t)
{
	if (d->reg_count == d->reg_room) {
		uint32_t room = d->reg_room * 2 + 64;
		uint8_t *lane = realloc(d->reg_lane, room), *pred;

		if (lane)
			d->reg_lane = lane;
		pred = lane ? realloc(d->reg_pred, room) : NULL;
		if (pred)
			d->reg_pred = pred;
		if (!lane || !pred) {
			decode_no_memory(d);
			return 0;
		}
		d->reg_room = room;
	}
	d->reg_lane[d->reg_count] = (uint8_t)type_lane_bytes(t);
	d->reg_pred[d->reg_count] = t == TY_pred;
	return d->reg_count++;
}

static bool slots_grow(struct decoder *d)
{
	struct constant_pool *c = d->constants;
	uint32_t room = c->slot_room ? c->slot_room * 2 : 64;
	struct constant_slot *grown = calloc(room, sizeof(*grown));

	if (!grown) {
		decode_no_memory(d);
		return false;
	}
	for (uint32_t i = 0; i < c->slot_room; i++) {
		if (!c->slot[i].offset)
			continue;
		uint32_t j = (uint32_t)(c->slot[i].value * 0x9e3779b97f4a7c15ull >> 32) & (room - 1);

		while (grown[j].offset)
			j = (j + 1) & (room - 1);
		grown[j] = c->slot[i];
	}
	free(c->slot);
	c->slot = grown;
	c->slot_room = room;
	return true;
}

/* Bytes at the end of the constants, aligned for vectors; value: their offset. */
static uint32_t constant_room(struct decoder *d, uint32_t bytes)
{
	struct constant_pool *c = d->constants;
	uint32_t offset = c->count;

	if (c->count + bytes > c->room) {
		uint32_t room = c->room ? c->room * 2 : 8192;
		uint8_t *grown = room > CONSTANT_BYTES_MAX ? NULL : aligned_alloc(64, room);

		if (!grown) {
			decode_no_memory(d);
			return 0;
		}
		if (offset)
			memcpy(grown, c->bytes, offset);
		free(c->bytes);
		c->bytes = grown;
		c->room = room;
	}
	c->count += bytes;
	return offset;
}

static uint32_t constant_find(struct decoder *d, uint64_t value, const struct symbol *symbol, uint32_t lane,
			      bool *fresh)
{
	struct constant_pool *c = d->constants;
	uint32_t i;

	*fresh = false;
	if (c->slot_count * 2 >= c->slot_room && !slots_grow(d))
		return LOC_CONST;
	i = (uint32_t)(value * 0x9e3779b97f4a7c15ull >> 32) & (c->slot_room - 1);
	for (; c->slot[i].offset; i = (i + 1) & (c->slot_room - 1))
		if (c->slot[i].value == value && c->slot[i].symbol == symbol && c->slot[i].lane == lane)
			return LOC_CONST | (c->slot[i].offset - 1);
	*fresh = true;
	c->slot[i] = (struct constant_slot){ value, symbol, constant_room(d, lane * LANES) + 1, lane };
	c->slot_count++;
	return LOC_CONST | (c->slot[i].offset - 1);
}

uint32_t decode_constant(struct decoder *d, uint64_t value, uint32_t lane)
{
	bool fresh;
	uint32_t loc;

	if (lane == 4)
		value = (uint32_t)value;
	loc = constant_find(d, value, NULL, lane, &fresh);
	if (fresh && !d->failed)
		for (uint32_t i = 0; i < LANES; i++) {
			uint8_t *p = d->constants->bytes + (loc & ~LOC_CONST) + i * lane;

			memset(p, 0, lane);
			memcpy(p, &value, lane < 8 ? lane : 8);
		}
	return loc;
}

/* The address of a variable or function: filled in when the module is bound. */
uint32_t decode_address_constant(struct decoder *d, struct symbol *symbol, uint64_t addend)
{
	struct constant_relocation *r;
	bool fresh;
	uint32_t loc = constant_find(d, addend, symbol, 8, &fresh);

	if (!fresh || d->failed)
		return loc;
	r = decode_scratch(d, sizeof(*r));
	if (!r)
		return loc;
	memset(d->constants->bytes + (loc & ~LOC_CONST), 0, 8 * LANES);
	*r = (struct constant_relocation){ d->constants->relocation, loc & ~LOC_CONST, symbol, addend };
	d->constants->relocation = r;
	return loc;
}

static uint64_t float_bits(struct decoder *d, const struct operand *o, enum type t)
{
	uint32_t low = (uint32_t)o->value;
	uint64_t r = o->value;
	double v;
	float f;

	if (o->kind == OPD_F32 && (t == TY_f64)) {
		memcpy(&f, &low, sizeof(f));
		v = f;
		memcpy(&r, &v, sizeof(r));
	} else if (o->kind == OPD_F64 && type_bytes(t) <= 4) {
		if (t != TY_f32 && t != TY_b32 && t != TY_u32 && t != TY_s32)
			decode_fail(d, "a float literal for a type that is not a float");
		memcpy(&v, &o->value, sizeof(v));
		f = (float)v;
		memcpy(&low, &f, sizeof(low));
		r = low;
	} else if (o->kind == OPD_INT && t == TY_f32) {
		f = (float)(int64_t)o->value;
		memcpy(&low, &f, sizeof(low));
		r = low;
	} else if (o->kind == OPD_INT && t == TY_f64) {
		v = (double)(int64_t)o->value;
		memcpy(&r, &v, sizeof(r));
	}
	return r;
}

static uint32_t literal(struct decoder *d, const struct operand *o, enum type t)
{
	uint64_t v = float_bits(d, o, t);
	uint32_t bytes = type_bytes(t);

	if (t == TY_pred)
		v = v ? ~0ull : 0;
	else if (bytes < 8)
		v &= ((uint64_t)1 << bytes * 8) - 1;
	return decode_constant(d, v, type_lane_bytes(t));
}

/* A register as type t: itself, or a temporary that holds its lower half. */
static uint32_t reg_as(struct decoder *d, uint32_t reg, enum type t)
{
	uint32_t have = d->reg_lane[reg], want = type_lane_bytes(t), temp;
	const char *row = have == 8 ? "%low.b32" : want == 8 ? "%low128.b64" : "%low128.b32";
	struct step *s;

	if ((t == TY_pred) != (d->reg_pred[reg] != 0)) {
		decode_fail(d, "a predicate where a value is expected, or the other way round");
		return LOC_NONE;
	}
	if (have == want)
		return reg;
	if (have < want) {
		decode_fail(d, "a register of %u bits where %u are needed", have * 8, want * 8);
		return LOC_NONE;
	}
	temp = decode_temp(d, t);
	s = step_before(d, decode_row(d, row));
	step_def(s, 0, temp);
	step_use(s, 1, reg);
	return temp;
}

uint32_t decode_special(struct decoder *d, enum special s)
{
	enum type t = special_type(s);
	uint32_t temp = decode_temp(d, t);
	const char *row = s >= SP_cluster_explicit ? "%cluster.special"
			  : type_lane_bytes(t) == 8 ? "%special.b64"
						    : "%special.b32";
	struct step *step = step_before(d, decode_row(d, row));

	step_def(step, 0, temp);
	step->imm = s;
	return temp;
}

/* The address of a symbol plus an offset, as a register or constant of type t. */
static uint32_t symbol_address(struct decoder *d, struct symbol *symbol, uint64_t offset, enum type t)
{
	struct symbol *def = symbol->definition;
	struct step *s;
	uint32_t temp;

	switch (symbol->kind) {
	case SYM_SHARED:
		if (def->open_array && !d->body->kernel) {
			temp = decode_temp(d, TY_u32);
			s = step_before(d, decode_row(d, "%dynamic_shared.b32"));
			step_def(s, 0, temp);
			s->imm = offset;
			if (type_lane_bytes(t) == 4)
				return temp;
			step_use(s = step_before(d, decode_row(d, "cvt.u64.u32")), 1, temp);
			temp = decode_temp(d, TY_u64);
			step_def(s, 0, temp);
			return temp;
		}
		return decode_constant(d, (uint32_t)(def->offset + offset), type_lane_bytes(t));
	case SYM_VARIABLE:
	case SYM_FUNCTION:
		if (type_lane_bytes(t) == 8)
			return decode_address_constant(d, def, offset);
		break;
	case SYM_LOCAL:
	case SYM_PARAM:
	case SYM_KERNEL_PARAM:
		if (type_lane_bytes(t) > 8)
			break;
		/* in 32 bits: the offset from where the thread's local memory, or the kernel's parameters, begin */
		if (type_lane_bytes(t) == 4 && symbol->kind == SYM_KERNEL_PARAM)
			return decode_constant(d, (uint32_t)(def->offset + offset), 4);
		temp = decode_temp(d, type_lane_bytes(t) == 4 ? TY_u32 : TY_u64);
		s = step_before(d, decode_row(d, type_lane_bytes(t) == 4	  ? "%local_offset.b32"
						 : symbol->kind == SYM_KERNEL_PARAM ? "%param_address.b64"
										    : "%local_address.b64"));
		step_def(s, 0, temp);
		s->imm = def->offset + offset;
		return temp;
	default:
		decode_fail(d, "%.*s cannot be used here", (int)symbol->name.bytes, symbol->name.p);
		return LOC_NONE;
	}
	decode_fail(d, "the address of %.*s needs 64 bits", (int)symbol->name.bytes, symbol->name.p);
	return LOC_NONE;
}

/* name[register]: the symbol's address at `base` plus the register times the size of an element. */
static uint32_t element_address(struct decoder *d, const struct operand *o, uint32_t base, enum type t)
{
	const enum type own = (enum type)d->body->reg_type[o->reg];
	const uint32_t wide = type_lane_bytes(t), bytes = type_bytes(own);
	const char *row = wide == 4	   ? "mad.lo.u32"
			  : bytes == 8	   ? "mad.lo.u64"
			  : own == TY_s32 ? "mad.wide.s32"
					   : "mad.wide.u32";
	uint32_t temp, index;
	struct step *s;

	if ((bytes != 4 && bytes != 8) || bytes > wide) {
		decode_fail(d, "a subscript of %.*s is a register of %s", (int)o->symbol->name.bytes, o->symbol->name.p,
			    wide == 4 ? "32 bits" : "32 or 64 bits");
		return LOC_NONE;
	}
	index = reg_as(d, o->reg, bytes == 8 ? TY_u64 : TY_u32);
	temp = decode_temp(d, wide == 4 ? TY_u32 : TY_u64);
	s = step_before(d, decode_row(d, row));
	step_def(s, 0, temp);
	step_use(s, 1, index);
	step_use(s, 2, decode_constant(d, o->symbol->element_bytes, bytes));
	step_use(s, 3, base);
	return temp;
}

uint32_t decode_source(struct decoder *d, const struct operand *o, enum type t)
{
	uint32_t loc = LOC_NONE, temp;
	struct step *s;

	switch (o->kind) {
	case OPD_REG:
		loc = reg_as(d, o->reg, t);
		break;
	case OPD_INT:
	case OPD_F32:
	case OPD_F64:
		loc = literal(d, o, t);
		break;
	case OPD_SPECIAL:
		loc = reg_as(d, decode_special(d, (enum special)o->value), t);
		break;
	case OPD_SYMBOL:
		loc = symbol_address(d, o->symbol, o->value, t);
		if (o->element && o->reg != LOC_NONE && !d->failed)
			loc = element_address(d, o, loc, t);
		break;
	default:
		decode_fail(d, "an operand of the wrong kind for %.*s", (int)d->insn->opcode.bytes, d->insn->opcode.p);
	}
	if (!o->negate || d->failed)
		return loc;
	if (t != TY_pred) {
		decode_fail(d, "! is for predicates");
		return loc;
	}
	temp = decode_temp(d, TY_pred);
	s = step_before(d, decode_row(d, "not.pred"));
	step_def(s, 0, temp);
	step_use(s, 1, loc);
	return temp;
}

uint32_t decode_dest(struct decoder *d, const struct operand *o, enum type t)
{
	uint32_t have, want = type_lane_bytes(t), temp;

	if (o->kind == OPD_SINK)
		return decode_temp(d, t);
	if (o->kind != OPD_REG) {
		decode_fail(d, "the result of %.*s is not a register", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		return LOC_NONE;
	}
	have = d->reg_lane[o->reg];
	if ((t == TY_pred) != (d->reg_pred[o->reg] != 0) || have < want) {
		decode_fail(d, "the result register of %.*s is of the wrong width", (int)d->insn->opcode.bytes,
			    d->insn->opcode.p);
		return LOC_NONE;
	}
	if (have == want)
		return o->reg;
	if (have != 8 || want != 4 || d->after_count == STEP_OPERANDS) {
		decode_fail(d, "the result register of %.*s is too wide", (int)d->insn->opcode.bytes,
			    d->insn->opcode.p);
		return LOC_NONE;
	}
	temp = decode_temp(d, t);
	d->after[d->after_count][0] = o->reg;
	d->after[d->after_count][1] = temp;
	d->after[d->after_count++][2] = type_is_signed(t);
	return temp;
}

static void finish_widths(struct decoder *d)
{
	for (uint32_t i = 0; i < d->after_count; i++) {
		struct step *s = decode_step(d, decode_row(d, d->after[i][2] ? "cvt.s64.s32" : "cvt.u64.u32"));

		step_def(s, 0, d->after[i][0]);
		step_use(s, 1, d->after[i][1]);
	}
	d->after_count = 0;
}

bool decode_count(struct decoder *d, uint32_t least, uint32_t most)
{
	if (d->insn->count >= least && d->insn->count <= most)
		return true;
	decode_fail(d, "%.*s with %u operands", (int)d->insn->opcode.bytes, d->insn->opcode.p, d->insn->count);
	return false;
}

/* Result and sources in order; the last operand of a sync form is the member mask. */
void decode_plain(struct decoder *d, const struct row *row, uint32_t variant)
{
	const struct insn *in = d->insn;
	uint32_t loc[STEP_OPERANDS], first = row->type[0] == TY_none, second = LOC_NONE;
	struct step *s;

	if (!decode_count(d, row->count - first, row->count - first))
		return;
	agree_operands(d, row);
	for (uint32_t i = 1; i < row->count; i++)
		loc[i] = decode_source(d, &in->operand[i - first], (enum type)row->type[i]);
	loc[0] = first ? LOC_NONE : decode_dest(d, &in->operand[0], (enum type)row->type[0]);
	if (!first && in->operand[0].pair && row->form == FORM_SYNC)
		second = decode_dest(d, in->operand[0].pair, TY_pred);
	else if (!first && in->operand[0].pair)
		decode_fail(d, "%.*s has one result", (int)in->opcode.bytes, in->opcode.p);
	if (d->failed)
		return;
	s = decode_step(d, row);
	step_def(s, 0, loc[0]);
	for (uint32_t i = 1; i < row->count; i++)
		step_use(s, row->form == FORM_SYNC && i + 1 == row->count ? 5 : i, loc[i]);
	if (second != LOC_NONE)
		step_def(s, 4, second);
	s->imm = variant;
	s->control = row->form == FORM_SYNC ? CTL_SYNC : CTL_NONE;
}

static void unknown_instruction(struct decoder *d)
{
	const char *reason = form_refusal(d->insn->opcode);
	const uint32_t version = d->body->version, bytes = d->insn->opcode.bytes;
	char newer[128] = "";

	if (!reason && version > PTX_VERSION_KNOWN)
		snprintf(newer, sizeof(newer),
			 "the text is of PTX %u.%u, and this device knows the instructions up to %u.%u", version / 10,
			 version % 10, PTX_VERSION_KNOWN / 10, PTX_VERSION_KNOWN % 10);
	if (*newer)
		reason = newer;
	decode_fail(d, "%s instruction %.*s%s%s", reason && !*newer ? "unsupported" : "unknown",
		    (int)(bytes > 80 ? 80 : bytes), d->insn->opcode.p, reason ? ": " : "", reason ? reason : "");
}

static void decode_insn(struct decoder *d)
{
	struct insn_match m;
	struct form_words words;

	form_words(d->insn->opcode, &words);
	if (!insn_find(d->table, words.key, &m)) {
		unknown_instruction(d);
		return;
	}
	words.key = m.name;
	switch (m.row->form) {
	case FORM_PLAIN:
	case FORM_SYNC:
		if (!form_plain_other(d, &m))
			decode_plain(d, m.row, m.variant);
		break;
	case FORM_NOTHING:
		break;
	case FORM_INTERNAL:
		decode_fail(d, "unknown instruction %.*s", (int)d->insn->opcode.bytes, d->insn->opcode.p);
		break;
	default:
		form_decode(d, &m, &words);
	}
	finish_widths(d);
}

/* Offsets of local arrays, call areas and parameters in a thread's local memory. */
static void lay_out_locals(struct decoder *d)
{
	struct symbol *list[] = { d->body->local, d->body->kernel ? NULL : d->body->param,
				  d->body->kernel ? NULL : d->body->result };
	uint64_t at = 0;

	for (uint32_t i = 0; i < 3; i++)
		for (struct symbol *s = list[i]; s; s = s->next) {
			if (s->kind == SYM_REG_PARAM)
				continue;
			at = (at + s->align - 1) & ~((uint64_t)s->align - 1);
			s->offset = at;
			at += s->bytes;
			if (at > 1u << 22) {
				decode_fail(d, "more than 4 MiB of local memory");
				return;
			}
		}
	d->function->local_bytes = (uint32_t)((at + 15) & ~15ull);
}

/* Old-style parameters are defined when the function is entered. */
static void define_params(struct decoder *d)
{
	uint32_t n = 0;
	struct step *s;

	for (struct symbol *p = d->body->param; p; p = p->next)
		n += p->kind == SYM_REG_PARAM;
	if (!n || d->body->kernel)
		return;
	s = decode_step(d, decode_row(d, "%nothing"));
	s->def = decode_scratch(d, (n + 1) * sizeof(*s->def));
	if (!s->def)
		return;
	n = 0;
	for (struct symbol *p = d->body->param; p; p = p->next)
		if (p->kind == SYM_REG_PARAM)
			s->def[n++] = (uint32_t)p->index + 1;
}

static void resolve_branches(struct decoder *d)
{
	for (uint32_t i = 0; i < d->step_count; i++) {
		struct step *s = &d->step[i];

		if (s->control == CTL_BRA)
			s->imm = d->first_step[s->imm];
		else if (s->control == CTL_BRX)
			for (uint32_t k = 1; k <= s->targets[0]; k++)
				s->targets[k] = d->first_step[s->targets[k]];
	}
}

static void mark_leaders(struct function *f)
{
	f->code[0].flags |= OP_LEADER; /* where compiled code begins */
	for (uint32_t i = 0; i < f->count; i++) {
		const struct op *o = &f->code[i];

		if (o->control == CTL_BRA)
			f->code[o->imm].flags |= OP_LEADER;
		if (o->control == CTL_BRX)
			for (uint32_t k = 1; k <= o->targets[0]; k++)
				f->code[o->targets[k]].flags |= OP_LEADER;
		if (o->control && i + 1 < f->count)
			f->code[i + 1].flags |= OP_LEADER;
	}
}

/* Counts the run of plain operations up to the next leader or control operation, and the instructions that it is. */
static void mark_runs(struct function *f)
{
	for (uint32_t i = f->count; i-- > 0;) {
		struct op *o = &f->code[i];
		const bool ends = i + 1 == f->count || o[1].control || o[1].flags & OP_LEADER;

		if (o->control) {
			o->weight = o->weight ? o->weight : 1;
			continue;
		}
		o->run = 1;
		if (ends || o[1].run == UINT8_MAX || o->weight + o[1].weight > UINT8_MAX)
			continue;
		o->run = (uint8_t)(o[1].run + 1);
		o->weight = (uint8_t)(o->weight + o[1].weight);
	}
}

static int make_code(struct decoder *d)
{
	struct function *f = d->function;

	f->count = d->step_count;
	f->code = aligned_alloc(64, (size_t)d->step_count * sizeof(struct op));
	f->line = malloc(d->step_count * sizeof(*f->line));
	if (!f->code || !f->line)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->step_count; i++) {
		const struct step *s = &d->step[i];
		struct op *o = &f->code[i];

		*o = (struct op){ .d = s->operand[0],
				  .a = s->operand[1],
				  .b = s->operand[2],
				  .c = s->operand[3],
				  .e = s->operand[4],
				  .f = s->operand[5],
				  .guard = s->guard,
				  .control = s->control,
				  .weight = (uint8_t)(s->weight > UINT8_MAX ? UINT8_MAX : s->weight),
				  .flags = (uint8_t)((s->guard_not ? OP_GUARD_NOT : 0) |
						     (s->atomic ? OP_ATOMIC : 0)),
				  .imm = s->imm };
		if (s->row) {
			o->full = s->row->full;
			o->masked = s->row->masked;
			if (s->guard != LOC_NONE && !s->control) {
				o->inner = o->masked;
				o->full = o->masked = d->isa->guarded;
			}
		}
		if (s->call)
			o->call = s->call;
		else if (s->bar)
			o->bar = s->bar;
		else if (s->targets)
			o->targets = s->targets;
		else if (s->list)
			o->list = s->list;
		f->line[i] = s->line;
	}
	mark_leaders(f);
	mark_runs(f);
	return 0;
}

static int make_params(struct decoder *d, struct symbol *list, struct call_value **ret, uint32_t *ret_count)
{
	uint32_t n = 0;

	for (struct symbol *s = list; s; s = s->next)
		n++;
	*ret = n ? decode_take(d, n * sizeof(**ret)) : NULL;
	if (n && !*ret)
		return -ENOMEM;
	*ret_count = n;
	n = 0;
	for (struct symbol *s = list; s; s = s->next, n++)
		(*ret)[n] = (struct call_value){ s->kind == SYM_REG_PARAM ? (uint32_t)s->index : LOC_NONE,
						 s->kind == SYM_REG_PARAM ? (uint32_t)s->bytes : 0, (uint32_t)s->offset,
						 (uint32_t)s->bytes };
	return 0;
}

static void decode_steps(struct decoder *d)
{
	struct body *b = d->body;
	struct function *f = d->function;

	lay_out_locals(d);
	define_params(d);
	form_stack_begin(d);
	for (uint32_t i = 0; i < b->count && !d->failed; i++) {
		d->insn = &b->insn[i];
		d->first_step[i] = d->step_count;
		f->instructions++;
		d->weight++;
		f->operands += d->insn->count;
		d->guard = d->insn->guard;
		d->guard_not = d->insn->guard_not;
		decode_insn(d);
	}
	d->insn = NULL;
	d->guard = LOC_NONE;
	d->first_step[b->count] = d->step_count;
	form_return(d); /* the end of a body returns */
}

int decode_body(struct decoder *d)
{
	struct body *b = d->body;
	struct function *f = d->function;

	d->first_step = malloc((b->count + 1) * sizeof(*d->first_step));
	if (!d->first_step)
		decode_no_memory(d);
	for (uint32_t i = 0; i < b->reg_count && !d->failed; i++)
		decode_temp(d, (enum type)b->reg_type[i]);
	if (!d->failed)
		decode_steps(d);
	if (!d->failed)
		resolve_branches(d);
	if (!d->failed && improve_steps(d))
		decode_no_memory(d);
	if (!d->failed && !b->kernel &&
	    (make_params(d, b->param, &f->param, &f->param_count) ||
	     make_params(d, b->result, &f->result, &f->result_count)))
		d->failed = true;
	if (!d->failed && (alloc_registers(d) || make_code(d)))
		decode_no_memory(d);
	if (!d->failed) {
		f->callee = d->callee;
		f->callee_count = d->callee_count;
		d->callee = NULL;
	}
	free(d->first_step);
	free(d->step);
	free(d->reg_lane);
	free(d->reg_pred);
	free(d->callee);
	return d->failed ? d->program->complaint->outcome : 0;
}

void constant_pool_deinit(struct constant_pool *c)
{
	free(c->bytes);
	free(c->slot);
}
