/*
 * forms_tex.c: takes the operands of texture and surface instructions.
 *
 * They have more operands than an operation has room for, so an operation carries a list as calls do: struct
 * texture_use, whose first arguments are the handle, a sampler if there is one, the layer and the coordinates.
 */
#include "softdev/ptx/forms.h"
#include "softdev/ptx/sample.h"

#include <string.h>

#define ARGUMENTS_MAX 20u

struct shape {
	struct decoder *d;
	struct texture_use *use;
	struct call_value arg[ARGUMENTS_MAX], result[5];
};

/* Alternative `group` of `groups`, counted from the left, of the spelling. */
static uint32_t choice(const struct insn_match *m, uint32_t group, uint32_t groups)
{
	return m->variant >> 4 * (groups - 1 - group) & 15;
}

static void argument_add(struct shape *s, const struct operand *o, enum type t)
{
	const uint32_t loc = decode_source(s->d, o, t);

	if (s->use->call.arg_count < ARGUMENTS_MAX)
		s->arg[s->use->call.arg_count++] = (struct call_value){ .loc = loc, .bytes = type_lane_bytes(t) };
	else
		decode_fail(s->d, "too many operands");
}

static void result_add(struct shape *s, const struct operand *o, enum type t)
{
	s->result[s->use->call.result_count++] =
		(struct call_value){ .loc = decode_dest(s->d, o, t), .bytes = type_lane_bytes(t) };
}

/* The elements of a vector, or a single operand. */
static const struct operand *items(const struct operand *o, uint32_t *ret_count)
{
	*ret_count = o->kind == OPD_VECTOR ? o->count : 1;
	return o->kind == OPD_VECTOR ? o->item : o;
}

/* `count` values of a vector that may have a further element without meaning. */
static void arguments_add(struct shape *s, const struct operand *o, uint32_t count, enum type t)
{
	uint32_t have;
	const struct operand *item = items(o, &have);

	if (have < count || have > 4) {
		decode_fail(s->d, "%.*s takes %u coordinates, not %u", (int)s->d->insn->opcode.bytes,
			    s->d->insn->opcode.p, count, have);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		argument_add(s, &item[i], t);
}

static void results_add(struct shape *s, const struct operand *o, uint32_t count, enum type t)
{
	uint32_t have;
	const struct operand *item = items(o, &have);

	if (have != count) {
		decode_fail(s->d, "%.*s takes %u results", (int)s->d->insn->opcode.bytes, s->d->insn->opcode.p, count);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		result_add(s, &item[i], t);
	if (o->pair) {
		result_add(s, o->pair, TY_pred);
		s->use->resident = true;
	}
}

/* A handle: in a register, of a reference, or in a parameter of the kernel that is one. */
static void handle_add(struct shape *s, const struct operand *o)
{
	struct operand plain = *o;
	struct step *step;

	plain.item = NULL;
	plain.kind = o->symbol ? OPD_SYMBOL : OPD_REG;
	if ((o->kind != OPD_ADDRESS && o->kind != OPD_SYMBOL && o->kind != OPD_REG) ||
	    (!o->symbol && o->reg == LOC_NONE)) {
		decode_fail(s->d, "%.*s without a texture or surface", (int)s->d->insn->opcode.bytes,
			    s->d->insn->opcode.p);
		return;
	}
	if (o->symbol && o->symbol->kind == SYM_KERNEL_PARAM) {
		step = decode_step(s->d, decode_row(s->d, "%ld.kparam.b64"));
		step->guard = LOC_NONE;
		plain = (struct operand){ .kind = OPD_REG, .reg = decode_temp(s->d, TY_u64) };
		step_def(step, 0, plain.reg);
		step->imm = o->symbol->offset;
	} else if (o->symbol && o->symbol->kind == SYM_VARIABLE && o->symbol->space < PTX_TEXREF) {
		decode_fail(s->d, "%.*s is not a texture or surface reference", (int)o->symbol->name.bytes,
			    o->symbol->name.p);
		return;
	}
	argument_add(s, &plain, TY_u64);
}

static void geometry_set(struct texture_use *u, uint32_t geometry)
{
	static const uint8_t coordinates[] = { 1, 2, 3, 1, 2, 3, 3 };

	u->geometry = (uint8_t)geometry;
	u->coordinates = coordinates[geometry];
	u->layered = geometry == GEO_A1D || geometry == GEO_A2D || geometry == GEO_ACUBE;
}

/* [handle, {sampler,} {layer, coordinates}] */
static void place_add(struct shape *s, const struct operand *o, bool may_sample, enum type t)
{
	struct texture_use *u = s->use;
	const struct operand *c;
	uint32_t have;

	if (o->kind != OPD_ADDRESS || !o->item || o->count > 1u + may_sample) {
		decode_fail(s->d, "%.*s takes [handle, coordinates]", (int)s->d->insn->opcode.bytes,
			    s->d->insn->opcode.p);
		return;
	}
	handle_add(s, o);
	if (o->count == 2) {
		u->sampler = true;
		handle_add(s, &o->item[0]);
	}
	u->at_coordinate = (uint8_t)u->call.arg_count;
	c = &o->item[o->count - 1];
	if (u->layered) {
		struct operand rest = *c;

		c = items(c, &have);
		if (rest.kind != OPD_VECTOR || have < 2) {
			decode_fail(s->d, "a layer and coordinates are needed");
			return;
		}
		argument_add(s, c, TY_u32);
		rest.item++;
		rest.count--;
		arguments_add(s, &rest, u->coordinates, t);
	} else {
		arguments_add(s, c, u->coordinates, t);
	}
}

static void tex_add(struct shape *s, const struct insn_match *m)
{
	static const enum type result[] = { TY_f32, TY_s32, TY_u32, TY_f16 };
	const struct insn *in = s->d->insn;
	struct texture_use *u = s->use;
	uint32_t next = 2, axes;
	bool half = m->row->count == SHAPE_TEX_HALF;

	if (!decode_count(s->d, 2, 6))
		return;
	u->lod = (uint8_t)choice(m, 0, 4);
	u->integer = !choice(m, 3, 4);
	geometry_set(u, choice(m, 1, 4));
	if (u->geometry >= GEO_CUBE && u->integer)
		decode_fail(s->d, "the coordinates of a cube map are f32");
	u->half = half ? 1 : choice(m, 2, 4) == 3 ? 2 : 0;
	place_add(s, &in->operand[1], true, u->integer ? TY_s32 : TY_f32);
	axes = u->coordinates;
	u->at_lod = (uint8_t)u->call.arg_count;
	if (u->lod == LOD_LEVEL && next < in->count)
		arguments_add(s, &in->operand[next++], 1, u->integer ? TY_s32 : TY_f32);
	else if (u->lod == LOD_GRAD && next + 1 < in->count)
		for (int i = 0; i < 2; i++)
			arguments_add(s, &in->operand[next++], axes, TY_f32);
	else if (u->lod >= LOD_LEVEL)
		decode_fail(s->d, "%.*s without its level of detail", (int)in->opcode.bytes, in->opcode.p);
	u->at_offset = (uint8_t)u->call.arg_count;
	if (next < in->count && in->operand[next].kind == OPD_VECTOR) {
		u->offsets = (uint8_t)axes;
		arguments_add(s, &in->operand[next++], axes, TY_s32);
	}
	if (next < in->count)
		decode_fail(s->d, "%.*s: depth comparison is not supported", (int)in->opcode.bytes, in->opcode.p);
	results_add(s, &in->operand[0], half ? 2 : 4, half ? TY_f16x2 : result[choice(m, 2, 4)]);
}

static void gather_add(struct shape *s, const struct insn_match *m)
{
	const struct insn *in = s->d->insn;
	struct texture_use *u = s->use;

	if (!decode_count(s->d, 2, 4))
		return;
	u->component = (uint8_t)choice(m, 0, 4);
	u->integer = !choice(m, 3, 4);
	geometry_set(u, choice(m, 1, 4));
	place_add(s, &in->operand[1], true, u->integer ? TY_s32 : TY_f32);
	u->at_offset = (uint8_t)u->call.arg_count;
	if (in->count > 2 && in->operand[2].kind == OPD_VECTOR) {
		u->offsets = 2;
		arguments_add(s, &in->operand[2], 2, TY_s32);
	}
	if (in->count > 2u + !!u->offsets)
		decode_fail(s->d, "%.*s: depth comparison is not supported", (int)in->opcode.bytes, in->opcode.p);
	results_add(s, &in->operand[0], 4, TY_u32);
}

static void query_add(struct shape *s, const struct insn_match *m)
{
	const bool level = m->row->count == SHAPE_QUERY_LEVEL;
	const struct operand *o = s->d->insn->operand;

	if (!decode_count(s->d, 2 + level, 2 + level))
		return;
	s->use->query = (uint8_t)choice(m, 0, 1);
	s->use->border = m->row->count == SHAPE_QUERY_SURFACE;
	if (o[1].kind != OPD_ADDRESS || o[1].item) {
		decode_fail(s->d, "%.*s takes [handle]", (int)s->d->insn->opcode.bytes, s->d->insn->opcode.p);
		return;
	}
	handle_add(s, &o[1]);
	if (level)
		argument_add(s, &o[2], TY_u32);
	result_add(s, &o[0], TY_u32);
}

/* suld d, [a, b]; sust [a, b], c */
static void surface_add(struct shape *s, const struct insn_match *m, uint32_t vector)
{
	static const enum type types[] = { TY_b8, TY_b16, TY_b32, TY_b64 };
	const struct operand *o = s->d->insn->operand;
	const bool store = m->row->count == SHAPE_SUST;
	const uint32_t groups = 3 + store;
	const enum type t = types[choice(m, groups - 2, groups)];
	struct texture_use *u = s->use;
	uint32_t have;

	if (!decode_count(s->d, 2, 2))
		return;
	u->formatted = store && choice(m, 0, groups);
	geometry_set(u, choice(m, groups - 3, groups));
	u->border = (uint8_t)choice(m, groups - 1, groups);
	u->bytes = (uint8_t)type_bytes(t);
	u->vector = (uint8_t)vector;
	if (vector > 4 || (vector == 4 && t == TY_b64)) {
		decode_fail(s->d, "%.*s: a vector of more than 16 bytes", (int)s->d->insn->opcode.bytes,
			    s->d->insn->opcode.p);
		return;
	}
	place_add(s, &o[store ? 0 : 1], false, TY_s32);
	if (!store) {
		results_add(s, &o[0], vector, t);
		return;
	}
	u->at_value = (uint8_t)u->call.arg_count;
	items(&o[1], &have);
	if (have != vector)
		decode_fail(s->d, "%.*s takes %u values", (int)s->d->insn->opcode.bytes, s->d->insn->opcode.p, vector);
	else
		arguments_add(s, &o[1], vector, t);
}

static void reduction_add(struct shape *s, const struct insn_match *m)
{
	static const enum type types[] = { TY_u32, TY_s32, TY_b32, TY_u64, TY_s64, TY_b64 };
	const struct operand *o = s->d->insn->operand;
	struct texture_use *u = s->use;
	enum type t = types[choice(m, 3, 5)];
	bool bits = t == TY_b32 || t == TY_b64;

	if (!decode_count(s->d, 2, 2))
		return;
	u->formatted = choice(m, 0, 5);
	u->reduction = (uint8_t)choice(m, 1, 5);
	if (!u->formatted && bits != (u->reduction >= REDUCE_AND)) {
		decode_fail(s->d, "unknown instruction %.*s", (int)s->d->insn->opcode.bytes, s->d->insn->opcode.p);
		return;
	}
	geometry_set(u, choice(m, 2, 5));
	u->border = (uint8_t)choice(m, 4, 5);
	u->type = (uint8_t)t;
	u->bytes = (uint8_t)type_bytes(t);
	u->vector = 1;
	place_add(s, &o[0], false, TY_s32);
	u->at_value = (uint8_t)u->call.arg_count;
	arguments_add(s, &o[1], 1, t);
}

static void is_add(struct shape *s, const struct insn_match *m)
{
	static const uint8_t use[] = { PTX_USE_TEXTURE, PTX_USE_SAMPLER, PTX_USE_SURFACE };

	if (!decode_count(s->d, 2, 2))
		return;
	s->use->query = use[choice(m, 0, 1)];
	argument_add(s, &s->d->insn->operand[1], TY_u64);
	result_add(s, &s->d->insn->operand[0], TY_pred);
}

/* The list that the registers' places are written into, and the registers for liveness. */
static struct call_value *keep(struct decoder *d, const struct call_value *v, uint32_t count, uint32_t **ret_registers)
{
	struct call_value *kept = decode_take(d, (count + 1) * sizeof(*kept));
	uint32_t *list = decode_scratch(d, (count + 1) * sizeof(*list)), n = 0;

	*ret_registers = list;
	if (!kept || !list)
		return NULL;
	memcpy(kept, v, count * sizeof(*kept));
	for (uint32_t i = 0; i < count; i++)
		if (v[i].loc != LOC_NONE && !(v[i].loc & LOC_CONST))
			list[n++] = v[i].loc + 1;
	return kept;
}

void form_texture(struct decoder *d, const struct insn_match *m, const struct form_words *words)
{
	struct shape s = { .d = d, .use = decode_take(d, sizeof(*s.use)) };
	struct step *step;

	if (!s.use)
		return;
	switch ((enum texture_shape)m->row->count) {
	case SHAPE_TEX:
	case SHAPE_TEX_HALF:
		tex_add(&s, m);
		break;
	case SHAPE_GATHER:
		gather_add(&s, m);
		break;
	case SHAPE_QUERY:
	case SHAPE_QUERY_LEVEL:
	case SHAPE_QUERY_SURFACE:
		query_add(&s, m);
		break;
	case SHAPE_SULD:
	case SHAPE_SUST:
		surface_add(&s, m, words->vector);
		break;
	case SHAPE_SURED:
		reduction_add(&s, m);
		break;
	case SHAPE_IS:
		is_add(&s, m);
		break;
	}
	if (d->failed)
		return;
	step = decode_step(d, m->row);
	s.use->call.arg = keep(d, s.arg, s.use->call.arg_count, &step->use);
	s.use->call.result = keep(d, s.result, s.use->call.result_count, &step->def);
	step->call = &s.use->call;
}
