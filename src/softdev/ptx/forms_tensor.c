/* forms_tensor.c: decodes copies through tensor maps, and changes of a map. The opcode's words are split off here. */
#include "softdev/ptx/forms.h"
#include "softdev/ptx/tensor.h"

#include <string.h>

/* [address, {coordinates}] */
static bool take_coordinates(struct decoder *d, const struct operand *o, uint32_t count, struct op_list *list)
{
	const struct operand *v = o->count == 1 ? o->item : NULL;

	if (o->kind != OPD_ADDRESS || !v || v->kind != OPD_VECTOR || v->count != count) {
		decode_fail(d, "%.*s takes [map, {%u coordinates}]", (int)d->insn->opcode.bytes, d->insn->opcode.p,
			    count);
		return false;
	}
	list->count = count;
	for (uint32_t i = 0; i < count; i++)
		list->loc[i] = decode_source(d, &v->item[i], TY_s32);
	return !d->failed;
}

/* {offsets}, of one dimension without a vector too; behind the coordinates */
static bool take_offsets(struct decoder *d, const struct operand *o, uint32_t count, struct op_list *list)
{
	const uint32_t given = o->kind == OPD_VECTOR ? o->count : 1;

	if (given != count) {
		decode_fail(d, "%.*s takes {%u offsets}", (int)d->insn->opcode.bytes, d->insn->opcode.p, count);
		return false;
	}
	for (uint32_t i = 0; i < count; i++)
		list->loc[list->count++] = decode_source(d, o->kind == OPD_VECTOR ? &o->item[i] : o, TY_u16);
	return !d->failed;
}

static uint32_t rank_of(struct name opcode)
{
	const char *p = memmem(opcode.p, opcode.bytes, ".tensor.", 8);

	return (uint32_t)(p[8] - '0');
}

static bool has(const struct decoder *d, const char *word)
{
	return memmem(d->insn->opcode.p, d->insn->opcode.bytes, word, strlen(word)) != NULL;
}

static enum tensor_mode mode_of(const struct decoder *d)
{
	if (has(d, ".im2col"))
		return TENSOR_IM2COL;
	return has(d, "tile::gather4") || has(d, "tile::scatter4") ? TENSOR_FOUR : TENSOR_TILE;
}

/* load: [to], [map, {..}], [barrier]{, offsets}{, blocks}{, policy}; otherwise: [map, {..}], [from]{, policy} */
void form_tensor_copy(struct decoder *d, enum tensor_way way)
{
	const struct operand *o = d->insn->operand;
	const enum tensor_mode mode = mode_of(d);
	const bool load = way == TENSOR_LOAD, many = has(d, "multicast::cluster"),
		   shifts = load && mode == TENSOR_IM2COL;
	const uint32_t count = (load ? 3u : 2u) + many + shifts + has(d, "L2::cache_hint"),
		       rank = rank_of(d->insn->opcode);
	const uint32_t coordinates = mode == TENSOR_FOUR ? 1 + TENSOR_ROWS : rank, offsets = shifts ? rank - 2 : 0;
	struct tensor_use *use = decode_take(d, sizeof(*use));
	struct op_list *list = decode_take(d, sizeof(*list) + 2 * TENSOR_RANK_MAX * sizeof(uint32_t));
	struct operand plain;
	uint32_t map, shared, barrier = LOC_NONE, blocks = LOC_NONE;
	struct step *s;

	if (!use || !list || !decode_count(d, count, count) || !take_coordinates(d, &o[load], coordinates, list))
		return;
	if (shifts && !take_offsets(d, &o[3], offsets, list))
		return;
	*use = (struct tensor_use){
		.way = (uint8_t)way, .rank = (uint8_t)rank, .mode = (uint8_t)mode, .offsets = (uint8_t)offsets
	};
	if (way == TENSOR_REDUCE)
		use->reduce = (uint8_t)form_reduction(d->insn->opcode);
	list->what = use;
	plain = o[load];
	plain.item = NULL;
	plain.count = 0;
	map = form_generic_address(d, &plain, 0);
	shared = form_generic_address(d, &o[load ? 0 : 1], 's');
	if (load)
		barrier = form_generic_address(d, &o[2], 's');
	if (many)
		blocks = decode_source(d, &o[3 + shifts], TY_u16);
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, "%tensor.copy"));
	step_use(s, 1, map);
	step_use(s, 2, shared);
	step_use(s, 3, barrier);
	step_use(s, 4, blocks);
	s->list = list;
}

static const char *const field_name[] = { "global_address", "rank",	      "box_dim",	  "global_dim",
					  "global_stride",  "element_stride", "elemtype",	  "interleave_layout",
					  "swizzle_mode",   "fill_mode",      "swizzle_atomicity" };

/* [map], {dimension,} value */
void form_tensor_replace(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	uint32_t field = 0, map, value, count;
	uint64_t which = 0;
	bool each;
	struct step *s;

	for (uint32_t i = 0; i < sizeof(field_name) / sizeof(field_name[0]); i++)
		field = has(d, field_name[i]) ? i : field;
	each = field >= TENSOR_FIELD_box && field <= TENSOR_FIELD_step;
	count = each ? 3 : 2;
	if (!decode_count(d, count, count))
		return;
	if (each) {
		which = o[1].value;
		if (o[1].kind != OPD_INT || which >= TENSOR_RANK_MAX - (field == TENSOR_FIELD_stride)) {
			decode_fail(d, "%.*s takes the number of a dimension", (int)d->insn->opcode.bytes,
				    d->insn->opcode.p);
			return;
		}
	}
	map = form_generic_address(d, &o[0], has(d, ".shared") ? 's' : 0);
	value = decode_source(d, &o[count - 1],
			      field == TENSOR_FIELD_address || field == TENSOR_FIELD_stride ? TY_b64 : TY_b32);
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, "%tensor.replace"));
	step_use(s, 1, map);
	step_use(s, 2, value);
	s->imm = field | which << 4;
}

/* [to], [from], 128: a map from shared to global memory */
void form_tensor_publish(struct decoder *d)
{
	const struct operand *o = d->insn->operand;
	uint32_t to, from;
	struct step *s;

	if (!decode_count(d, 3, 3))
		return;
	if (o[2].kind != OPD_INT || o[2].value != sizeof(struct tensor_map)) {
		decode_fail(d, "%.*s copies %zu bytes", (int)d->insn->opcode.bytes, d->insn->opcode.p,
			    sizeof(struct tensor_map));
		return;
	}
	to = form_generic_address(d, &o[0], 'g');
	from = form_generic_address(d, &o[1], 's');
	if (d->failed)
		return;
	s = decode_step(d, decode_row(d, "%cp.bulk"));
	step_use(s, 1, to);
	step_use(s, 2, from);
	step_use(s, 3, decode_constant(d, sizeof(struct tensor_map), 4));
	step_use(s, 4, LOC_NONE);
	step_use(s, 5, LOC_NONE);
}
