/*
 * describe.c: a function's operations as compile.h wants them: by the names of their rows, with what each reads and
 * writes. What a row does not say of its operands is left to the interpreter.
 */
#include "softdev/ptx/count.h"
#include "softdev/ptx/hot.h"
#include "softdev/ptx/matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct compile_operand operand(const struct function *f, uint32_t loc, uint32_t lane)
{
	struct compile_operand r = { .lane = (uint8_t)lane };
	const uint8_t *at;

	if (loc == LOC_NONE)
		return r;
	r.at = loc & ~LOC_CONST;
	r.place = COMPILE_REG;
	if (!(loc & LOC_CONST))
		return r;
	at = f->constants + r.at;
	r.place = COMPILE_LANES;
	for (uint32_t i = 1; i < LANES; i++)
		if (memcmp(at, at + i * lane, lane) != 0)
			return r;
	r.place = lane > 8 ? COMPILE_LANES : COMPILE_CONSTANT;
	if (lane > 8 || module_constant_moves(f->module, r.at))
		return r;
	r.place = COMPILE_FIXED;
	memcpy(&r.value, at, lane);
	return r;
}

static uint32_t loc_of(const struct op *o, uint32_t i)
{
	const uint32_t loc[COMPILE_OPERANDS] = { o->d, o->a, o->b, o->c, o->e, o->f };

	return loc[i];
}

static void add(const struct function *f, const struct op *o, struct compile_op *c, uint32_t i, enum type t, bool def)
{
	c->operand[i] = operand(f, loc_of(o, i), type_lane_bytes(t));
	if (def && c->operand[i].place == COMPILE_REG)
		c->defs |= (uint8_t)(1u << i);
}

/* Result and sources in order, as decode_plain() takes them. */
static void plain(const struct function *f, const struct op *o, const struct row *row, struct compile_op *c)
{
	const bool sync = row->form == FORM_SYNC;

	if (row->type[0] != TY_none)
		add(f, o, c, 0, (enum type)row->type[0], true);
	for (uint32_t i = 1; i < row->count; i++)
		add(f, o, c, sync && i + 1u == row->count ? 5 : i, (enum type)row->type[i], false);
	if (sync && o->e != LOC_NONE)
		add(f, o, c, 4, TY_pred, true);
	c->lanewise = !sync && row->full != row->masked && row->type[0] != TY_none;
}

static enum type lane_type(const char *name)
{
	const char *type = strrchr(name, '.') + 1;

	return strstr(type, "128") ? TY_b128 : strstr(type, "64") ? TY_b64 : TY_b32;
}

static void access_operands(const struct function *f, const struct op *o, struct compile_op *c)
{
	static const uint8_t element[2][4] = { { 0, 2, 3, 4 }, { 2, 0, 3, 4 } };
	const bool store = c->name[1] == 's', narrow = strstr(c->name, ".shared") != NULL;
	const uint32_t n = strstr(c->name, ".v4.") ? 4 : strstr(c->name, ".v2.") ? 2 : 1;

	if (!strstr(c->name, ".kparam") && !strstr(c->name, ".frame"))
		add(f, o, c, 1, narrow ? TY_b32 : TY_b64, false);
	for (uint32_t k = 0; k < n; k++)
		add(f, o, c, element[store][k], lane_type(c->name), !store);
}

static void atomic_operands(const struct function *f, const struct op *o, struct compile_op *c)
{
	const enum type t = lane_type(c->name);

	add(f, o, c, 0, t, true);
	add(f, o, c, 1, strstr(c->name, ".shared") ? TY_b32 : TY_b64, false);
	add(f, o, c, 2, t, false);
	add(f, o, c, 3, t, false);
}

/* Has a list of operands. */
static bool is_matrix(const struct row *row)
{
	static const char *const names[] = { "%mma", "%ldmatrix", "%stmatrix", "%wmma.load", "%wmma.store" };

	for (size_t i = 0; row && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], row->pattern))
			return true;
	return false;
}

static const struct row *row_of(const struct function *f, const struct op *o)
{
	const struct isa *isa = module_isa(f->module);
	const uint32_t n = count_row(isa, o);

	return n == UINT32_MAX ? NULL : isa_row(isa, n);
}

static struct compile_product product_of(const struct op_list *l, const struct matrix_use *u)
{
	const uint32_t rows = u->m / 8u, deep = rows ? u->a.tiles / rows : 0, b = rows * 2 + u->a.tiles;

	if ((u->a.element != EL_s8 && u->a.element != EL_u8) || u->b.element != EL_s8 || u->n != 8 || u->saturate ||
	    u->sparse || u->group || rows > 2 || deep > 2 || u->b.tiles != deep || u->d.first || l->defs != rows * 2 ||
	    u->a.first != l->defs || u->b.first != b || u->c.first != b + deep || l->count != b + deep + rows * 2)
		return (struct compile_product){ 0 };
	return (struct compile_product){ (uint8_t)rows, (uint8_t)deep, u->a.element == EL_s8 };
}

/* Fragments, and what lies beside them: an address or two descriptors, and whether C counts or how far rows are apart.
 */
static void matrix_operands(const struct function *f, const struct op *o, struct compile_op *c,
			    struct compile_operand **more)
{
	const struct matrix_use *u = o->list->what;
	const bool memory = strcmp(c->name, "%mma") != 0;

	if (o->a != LOC_NONE)
		add(f, o, c, 1, memory && u->shared ? TY_b32 : TY_b64, false);
	if (o->b != LOC_NONE)
		add(f, o, c, 2, memory ? TY_b32 : TY_b64, false);
	if (o->c != LOC_NONE)
		add(f, o, c, 3, TY_pred, false);
	c->imm = o->list->imm;
	c->more = *more;
	c->more_count = o->list->count;
	c->more_defs = o->list->defs;
	if (!memory && o->a == LOC_NONE && o->c == LOC_NONE)
		c->product = product_of(o->list, u);
	for (uint32_t k = 0; k < o->list->count; k++)
		*(*more)++ = operand(f, o->list->loc[k], u->d.element == EL_f64 ? 8 : 4);
}

/* Rows that the decoder chooses itself. False: their operands are not known here. */
static bool internal(const struct function *f, const struct op *o, struct compile_op *c)
{
	static const struct {
		const char *name;
		enum type result, source;
	} known[] = {
		{ "%special.b32", TY_b32, TY_none },	    { "%special.b64", TY_b64, TY_none },
		{ "%dynamic_shared.b32", TY_b32, TY_none }, { "%local_address.b64", TY_b64, TY_none },
		{ "%param_address.b64", TY_b64, TY_none },  { "%local_offset.b32", TY_b32, TY_none },
		{ "%isspacep", TY_pred, TY_b64 },	    { "%strong", TY_none, TY_none },
		{ "%nothing", TY_none, TY_none },	    { "%shared.generic", TY_b64, TY_b32 },
	};

	if (!strncmp(c->name, "%ld.", 4) || !strncmp(c->name, "%st.", 4)) {
		access_operands(f, o, c);
		return true;
	}
	if (!strncmp(c->name, "%atom.", 6)) {
		atomic_operands(f, o, c);
		return true;
	}
	if (!strcmp(c->name, "%cp.async")) { /* to, from, bytes that are read, whether nothing is */
		add(f, o, c, 1, TY_b64, false);
		add(f, o, c, 2, TY_b64, false);
		add(f, o, c, 3, TY_b32, false);
		add(f, o, c, 4, TY_pred, false);
		return true;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].name, c->name) != 0)
			continue;
		if (known[i].result != TY_none)
			add(f, o, c, 0, known[i].result, true);
		if (known[i].source != TY_none)
			add(f, o, c, 1, known[i].source, false);
		return true;
	}
	return false;
}

static void control_operands(const struct function *f, const struct op *o, struct compile_op *c)
{
	c->kind = COMPILE_STOP;
	if (o->control == CTL_BRA) {
		c->kind = COMPILE_BRANCH;
		c->to = (uint32_t)o->imm;
	} else if (o->control == CTL_EXIT && o->guard == LOC_NONE) {
		c->kind = COMPILE_END;
	} else if (o->control == CTL_EXIT || o->control == CTL_BAR) {
		c->kind = COMPILE_BARRIER;
		for (uint32_t i = 0; o->control == CTL_BAR && i < 4; i++)
			add(f, o, c, i, TY_b32, i == 0);
	}
}

static void operation(const struct function *f, uint32_t i, struct compile_op *c, struct compile_operand **more)
{
	const struct op *o = &f->code[i];
	const struct row *row = row_of(f, o);

	*c = (struct compile_op){ .name = row ? row->pattern : "", .imm = o->imm };
	c->weight = (uint8_t)(o->run > 1 ? o->weight - o[1].weight : o->weight);
	c->guard = operand(f, o->guard, 4);
	c->guard_not = o->flags & OP_GUARD_NOT;
	c->sync = o->control == CTL_SYNC;
	if (o->control && o->control != CTL_SYNC) {
		c->imm = 0; /* of others than branches a pointer */
		control_operands(f, o, c);
		return;
	}
	if (!row || (o->control == CTL_SYNC && o->guard != LOC_NONE))
		c->kind = COMPILE_STOP;
	else if (row->form == FORM_PLAIN || row->form == FORM_SETP || row->form == FORM_SYNC)
		plain(f, o, row, c);
	else if (is_matrix(row))
		matrix_operands(f, o, c, more);
	else if (row->form != FORM_INTERNAL || !internal(f, o, c))
		c->kind = COMPILE_STOP;
	if (c->kind == COMPILE_STOP) {
		memset(c->operand, 0, sizeof(c->operand));
		c->defs = 0;
		c->imm = 0;
	}
}

static void mark_wild(const struct function *f, struct compile_op *c)
{
	for (uint32_t i = 0; i < f->count; i++)
		for (uint32_t k = 1; f->code[i].control == CTL_BRX && k <= f->code[i].targets[0]; k++)
			c[f->code[i].targets[k]].wild = true;
}

/* A barrier for all threads of the block, which the warp's lanes are where it is the only one. */
static bool is_meeting(const struct function *f, const struct op *o)
{
	const struct compile_operand number = operand(f, o->a, 4);

	return o->control == CTL_BAR && o->guard == LOC_NONE && o->bar->kind == BAR_SYNC && o->b == LOC_NONE &&
	       number.place == COMPILE_FIXED && number.value < BARRIERS;
}

static size_t count_more(const struct function *f)
{
	size_t n = 0;

	for (uint32_t i = 0; i < f->count; i++)
		if (f->code[i].control == CTL_SYNC && is_matrix(row_of(f, &f->code[i])))
			n += f->code[i].list->count;
	return n;
}

int describe(const struct function *f, bool alone, struct compile_op **ret, bool *ret_good)
{
	struct compile_operand *more;
	struct compile_op *c = NULL;

	*ret_good = f->count && f->count <= COMPILE_OPS_MAX;
	if (*ret_good)
		c = calloc(1, (f->count + 1) * sizeof(*c) + count_more(f) * sizeof(*more));
	*ret = c;
	if (!c)
		return *ret_good ? -ENOMEM : 0;
	more = (struct compile_operand *)(c + f->count + 1);
	for (uint32_t i = 0; i < f->count; i++)
		operation(f, i, &c[i], &more);
	for (uint32_t i = 0; alone && i < f->count; i++)
		if (is_meeting(f, &f->code[i]))
			c[i] = (struct compile_op){ .name = "%meet",
						    .weight = c[i].weight,
						    .imm = operand(f, f->code[i].a, 4).value };
	if (*ret_good)
		mark_wild(f, c);
	return 0;
}
