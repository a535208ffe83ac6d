/*
 * body.c: reads the body of a kernel or function into a list of instructions whose operands are resolved names.
 *
 * Scopes nest (inline assembly brings its own), so registers and labels are looked up where they stand. A branch may
 * come before its label: it is kept as pending and resolved when the scope that holds the label closes.
 */
#include "softdev/ptx/parse.h"

#include <stdlib.h>
#include <string.h>

#define REGISTERS_MAX (1u << 20)
#define OPERANDS_MAX 160u /* a product of four warps has 128 registers in one group */

/* Labels are forgotten with the instructions, once these are decoded. */
static struct symbol *label_new(struct parser *p, struct name name, enum symbol_kind kind)
{
	struct symbol *s = parse_scratch(p, sizeof(*s));

	if (s)
		symbol_init(p, s, name, kind);
	return s;
}

/* Registers of one range are numbered on: value is the first. */
static uint32_t regs_new(struct parser *p, struct body *b, enum type t, uint32_t count)
{
	uint32_t room = b->reg_room, first = b->reg_count;
	uint8_t *grown;

	if (count > REGISTERS_MAX || b->reg_count + count > REGISTERS_MAX) {
		parse_fail(p, "more than %u registers", REGISTERS_MAX);
		return 0;
	}
	while (b->reg_count + count > room)
		room = room ? room * 2 : 64;
	if (room != b->reg_room) {
		grown = parse_scratch(p, room);
		if (!grown)
			return 0;
		if (b->reg_count)
			memcpy(grown, b->reg_type, b->reg_count);
		b->reg_type = grown;
		b->reg_room = room;
	}
	if (count)
		memset(b->reg_type + first, (int)t, count);
	b->reg_count += count;
	return first;
}

static void reg_enter(struct parser *p, struct name name, enum entry_kind kind, uint32_t first, uint32_t count)
{
	struct entry *e = parse_scratch(p, sizeof(*e));

	if (!e)
		return;
	*e = (struct entry){ .name = name, .kind = (uint8_t)kind, .reg = first, .reg_count = count };
	if (table_add(&p->table, e))
		parse_no_memory(p);
}

uint32_t body_reg_new(struct parser *p, struct body *b, struct name name, enum type t)
{
	uint32_t reg = regs_new(p, b, t, 1);

	reg_enter(p, name, ENT_REG, reg, 1);
	return reg;
}

/* .reg .b32 %r<10>, %x; */
static void parse_regs(struct parser *p, struct body *b)
{
	enum type t = parse_type(p);
	struct name name;
	uint64_t count;

	do {
		name = parse_name(p);
		if (parse_accept(p, '<')) {
			count = parse_int(p);
			parse_expect(p, '>');
			if (count > REGISTERS_MAX)
				count = REGISTERS_MAX + 1;
			reg_enter(p, name, ENT_REG_RANGE, regs_new(p, b, t, (uint32_t)count), (uint32_t)count);
		} else {
			body_reg_new(p, b, name, t);
		}
	} while (parse_accept(p, ','));
	parse_expect(p, ';');
}

static bool reg_find(const struct parser *p, struct name n, uint32_t *ret)
{
	const struct entry *e = table_find(&p->table, n, false);
	uint32_t digits = n.bytes, number = 0;

	if (e) {
		*ret = e->reg;
		return e->kind == ENT_REG;
	}
	while (digits && n.p[digits - 1] >= '0' && n.p[digits - 1] <= '9')
		digits--;
	/* %r01 is another name than %r1, and a prefix may itself end in digits: try the longest number first */
	for (; digits < n.bytes && n.bytes - digits <= 9; digits++) {
		if (n.p[digits] == '0' && n.bytes - digits > 1)
			continue;
		number = 0;
		for (uint32_t i = digits; i < n.bytes; i++)
			number = number * 10 + (uint32_t)(n.p[i] - '0');
		e = table_find(&p->table, (struct name){ n.p, digits }, true);
		if (e && number < e->reg_count) {
			*ret = e->reg + number;
			return true;
		}
	}
	return false;
}

static struct operand parse_operand(struct parser *p, struct name opcode, uint32_t depth);

static struct operand parse_group(struct parser *p, struct name opcode, char close, enum operand_kind kind,
				  uint32_t depth)
{
	struct operand o = { .kind = (uint8_t)kind }, item[OPERANDS_MAX];

	lex_next(&p->lex);
	while (!parse_is(p, close) && p->lex.now.kind != TOK_END) {
		if (o.count == OPERANDS_MAX || depth > 2) {
			parse_fail(p, "too many operands in one group");
			return o;
		}
		item[o.count++] = parse_operand(p, opcode, depth + 1);
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, close);
	o.item = o.count ? parse_scratch(p, o.count * sizeof(*item)) : NULL;
	if (o.item)
		memcpy(o.item, item, o.count * sizeof(*item));
	return o;
}

/* The joined name of a special register: the lexer gives %tid and .x apart. */
static struct name special_name(struct parser *p, struct name n)
{
	const struct token *t = &p->lex.now;

	if (t->kind == TOK_DOT && t->name.bytes == 1 && t->name.p == n.p + n.bytes + 1) {
		n.bytes += 2;
		lex_next(&p->lex);
	}
	return n;
}

static void parse_offset(struct parser *p, struct operand *o)
{
	for (;;) {
		bool minus = parse_is(p, '-');

		if (!minus && !parse_accept(p, '+'))
			return;
		o->value += parse_int(p);
	}
}

/* x[3], x[%r], x[%r - 1]: an element's address, or in a load or store the element (PTX ISA, Arrays as Operands). */
static void parse_element(struct parser *p, struct operand *o)
{
	struct operand index = { .kind = OPD_INT, .reg = LOC_NONE };

	if (!parse_accept(p, '['))
		return;
	if (p->lex.now.kind == TOK_NAME) {
		struct name n = parse_name(p);

		if (!reg_find(p, n, &index.reg))
			parse_fail(p, "unknown register %.*s in a subscript", (int)n.bytes, n.p);
		parse_offset(p, &index);
	} else {
		index.value = parse_int(p);
	}
	o->element = true;
	o->reg = index.reg;
	o->value += index.value * o->symbol->element_bytes;
	parse_expect(p, ']');
}

static bool is_branch(struct name opcode)
{
	return opcode.bytes >= 3 && opcode.p[0] == 'b' && opcode.p[1] == 'r' &&
	       (opcode.p[2] == 'a' || opcode.p[2] == 'x');
}

static struct operand parse_named(struct parser *p, struct name opcode)
{
	struct operand o = { .kind = OPD_REG };
	struct name n = parse_name(p);
	struct entry *e;
	enum special s;

	if (n.bytes == 1 && n.p[0] == '_') {
		o.kind = OPD_SINK;
		return o;
	}
	if (reg_find(p, n, &o.reg)) {
		if (opcode.p[0] == 'v' && p->lex.now.kind == TOK_DOT) {
			o.select = p->lex.now.name;
			lex_next(&p->lex);
		}
		return o;
	}
	if (n.p[0] == '%') {
		n = special_name(p, n);
		if (special_reserved(n, &o.value)) {
			p->program->reserved_bytes = SHARED_RESERVED;
			o.kind = OPD_INT;
			return o;
		}
		s = special_find(n);
		if (s == SP_none)
			parse_fail(p, "unknown register %.*s", (int)n.bytes, n.p);
		o.kind = OPD_SPECIAL;
		o.value = s;
		return o;
	}
	o.kind = OPD_SYMBOL;
	e = table_find(&p->table, n, false);
	if (e) {
		o.symbol = e->symbol;
		o.symbol->used = true;
		if (o.symbol->kind == SYM_REG_PARAM) {
			o.kind = OPD_REG;
			o.reg = (uint32_t)o.symbol->index;
		}
		return o;
	}
	if (!is_branch(opcode)) {
		if (name_is(n, "WARP_SZ")) {
			o.kind = OPD_INT;
			o.value = LANES;
			return o;
		}
		parse_fail(p, "unknown name %.*s", (int)n.bytes, n.p);
	}
	/* a label that is still to come: the name goes with the operand until it is found */
	o.symbol = label_new(p, n, SYM_OTHER);
	return o;
}

static struct operand parse_address(struct parser *p, struct name opcode, uint32_t depth)
{
	struct operand o = { .kind = OPD_ADDRESS, .reg = LOC_NONE }, base;

	lex_next(&p->lex);
	if (p->lex.now.kind == TOK_NAME) {
		base = parse_named(p, opcode);
		if (base.kind == OPD_REG)
			o.reg = base.reg;
		else if (base.kind == OPD_SYMBOL)
			o.symbol = base.symbol;
		else
			parse_fail(p, "an address takes a register or a variable");
	} else {
		o.value = parse_int(p);
	}
	parse_offset(p, &o);
	if (parse_is(p, ',')) { /* [texture, coordinates] */
		base = parse_group(p, opcode, ']', OPD_ADDRESS, depth);
		o.item = base.item;
		o.count = base.count;
		return o;
	}
	parse_expect(p, ']');
	return o;
}

/* The second result in p|q and {a, b}|q. */
static void parse_pair(struct parser *p, struct name opcode, struct operand *o)
{
	if (!parse_accept(p, '|'))
		return;
	o->pair = parse_scratch(p, sizeof(*o->pair));
	if (o->pair)
		*o->pair = parse_named(p, opcode);
}

static struct operand parse_operand(struct parser *p, struct name opcode, uint32_t depth)
{
	struct operand o = { .kind = OPD_INT };
	bool minus;

	if (parse_is(p, '{')) {
		o = parse_group(p, opcode, '}', OPD_VECTOR, depth);
		parse_pair(p, opcode, &o);
		return o;
	}
	if (parse_is(p, '('))
		return parse_group(p, opcode, ')', OPD_LIST, depth);
	if (parse_is(p, '['))
		return parse_address(p, opcode, depth);
	if (parse_accept(p, '!')) {
		o = parse_named(p, opcode);
		o.negate = true;
		return o;
	}
	minus = parse_accept(p, '-');
	if (p->lex.now.kind == TOK_NAME && (!minus || opcode.p[0] == 'v')) {
		o = parse_named(p, opcode);
		o.negate = minus;
		if (o.kind == OPD_SYMBOL) {
			parse_element(p, &o);
			parse_offset(p, &o);
		}
		parse_pair(p, opcode, &o);
		return o;
	}
	o.value = p->lex.now.value;
	switch (p->lex.now.kind) {
	case TOK_INT:
		o.value = minus ? -o.value : o.value;
		break;
	case TOK_F32:
		o.kind = OPD_F32;
		o.value ^= minus ? 1u << 31 : 0;
		break;
	case TOK_F64:
		o.kind = OPD_F64;
		o.value ^= minus ? 1ull << 63 : 0;
		break;
	default:
		parse_unexpected(p, "an operand");
		return o;
	}
	lex_next(&p->lex);
	return o;
}

static bool pending_add(struct parser *p, struct symbol **where, uint32_t line)
{
	struct pending *grown;
	uint32_t room;

	if (p->pending_count == p->pending_room) {
		room = p->pending_room ? p->pending_room * 2 : 64;
		grown = realloc(p->pending, room * sizeof(*grown));
		if (!grown) {
			parse_no_memory(p);
			return false;
		}
		p->pending = grown;
		p->pending_room = room;
	}
	p->pending[p->pending_count++] = (struct pending){ where, (*where)->name, p->table.level, line };
	return true;
}

/* Resolves what waits for labels of the scope that is about to close; the rest waits for the scope around it. */
static void pending_resolve(struct parser *p, bool last)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->pending_count; i++) {
		struct pending *w = &p->pending[i];
		struct entry *e;

		if (w->level == p->table.level) {
			e = table_find(&p->table, w->name, false);
			if (e && e->kind == ENT_SYMBOL &&
			    (e->symbol->kind == SYM_LABEL || e->symbol->kind == SYM_TARGETS)) {
				*w->where = e->symbol;
				continue;
			}
			if (last) {
				p->lex.now.line = w->line;
				parse_fail(p, "unknown label %.*s", (int)w->name.bytes, w->name.p);
				break;
			}
			w->level--;
		}
		p->pending[kept++] = *w;
	}
	p->pending_count = parse_failed(p) ? 0 : kept;
}

static struct insn *insn_new(struct parser *p, struct body *b)
{
	uint32_t room = b->room;
	struct insn *grown;

	if (b->count == room) {
		room = room ? room * 2 : 64;
		grown = parse_scratch(p, (size_t)room * sizeof(*grown));
		if (!grown)
			return NULL;
		if (b->count)
			memcpy(grown, b->insn, b->count * sizeof(*grown));
		b->insn = grown;
		b->room = room;
	}
	return &b->insn[b->count++];
}

static void parse_insn(struct parser *p, struct body *b, uint32_t guard, bool guard_not)
{
	struct insn in = { .guard = guard, .guard_not = guard_not, .line = p->lex.now.line }, *place;
	struct operand operand[OPERANDS_MAX];

	if (p->lex.now.kind != TOK_NAME) {
		parse_unexpected(p, "an instruction");
		return;
	}
	in.opcode = lex_opcode(&p->lex);
	while (!parse_is(p, ';') && p->lex.now.kind != TOK_END) {
		if (in.count == OPERANDS_MAX) {
			parse_fail(p, "too many operands");
			return;
		}
		operand[in.count++] = parse_operand(p, in.opcode, 0);
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, ';');
	in.operand = in.count ? parse_scratch(p, in.count * sizeof(*operand)) : NULL;
	place = parse_failed(p) ? NULL : insn_new(p, b);
	if (!place)
		return;
	if (in.count)
		memcpy(in.operand, operand, in.count * sizeof(*operand));
	for (uint32_t i = 0; i < in.count; i++)
		if (in.operand[i].kind == OPD_SYMBOL && in.operand[i].symbol &&
		    in.operand[i].symbol->kind == SYM_OTHER && is_branch(in.opcode))
			pending_add(p, &in.operand[i].symbol, in.line);
	*place = in;
}

/* name: .branchtargets a, b; */
static void parse_targets(struct parser *p, struct symbol *s)
{
	struct symbol *target[4096];

	s->kind = SYM_TARGETS;
	do {
		if (s->target_count == 4096) {
			parse_fail(p, "too many branch targets");
			return;
		}
		target[s->target_count] = label_new(p, parse_name(p), SYM_OTHER);
		if (!target[s->target_count])
			return;
		s->target_count++;
	} while (parse_accept(p, ','));
	parse_expect(p, ';');
	s->targets = parse_scratch(p, s->target_count * sizeof(*target));
	if (!s->targets)
		return;
	memcpy(s->targets, target, s->target_count * sizeof(*target));
	for (uint32_t i = 0; i < s->target_count; i++)
		pending_add(p, &s->targets[i], p->lex.now.line);
}

/* Behind `name:` */
static void parse_label(struct parser *p, struct body *b, struct name name)
{
	struct symbol *s = label_new(p, name, SYM_LABEL);

	if (!s)
		return;
	s->offset = b->count;
	if (parse_dot(p, "branchtargets")) {
		parse_targets(p, s);
	} else if (parse_dot(p, "callprototype") || parse_dot(p, "calltargets")) {
		s->kind = SYM_PROTOTYPE;
		while (p->lex.now.kind != TOK_END && !parse_is(p, ';'))
			lex_next(&p->lex);
		parse_expect(p, ';');
	}
	parse_enter(p, s);
}

/* Arrays and variables that are declared inside a body. */
static bool parse_local(struct parser *p, struct body *b)
{
	enum symbol_kind kind;
	enum ptx_variable_space space = PTX_GLOBAL;
	struct symbol *s;

	(void)(parse_dot(p, "visible") || parse_dot(p, "weak"));
	if (parse_dot(p, "local"))
		kind = SYM_LOCAL;
	else if (parse_dot(p, "param"))
		kind = SYM_PARAM;
	else if (parse_dot(p, "shared"))
		kind = SYM_SHARED;
	else if (parse_dot(p, "global"))
		kind = SYM_VARIABLE;
	else if (parse_dot(p, "const")) {
		kind = SYM_VARIABLE;
		space = PTX_CONST;
	} else {
		return false;
	}
	s = parse_declarator(p, kind, true);
	parse_expect(p, ';');
	if (!s || parse_failed(p))
		return true;
	if (s->space < PTX_TEXREF)
		s->space = (uint8_t)space;
	if (s->kind == SYM_SHARED) {
		*p->program->shared_end = s;
		p->program->shared_end = &s->next;
	} else if (s->kind == SYM_VARIABLE) {
		*p->program->variable_end = s;
		p->program->variable_end = &s->next;
	} else {
		*b->local_end = s;
		b->local_end = &s->next;
	}
	return true;
}

static void parse_statement(struct parser *p, struct body *b)
{
	uint32_t guard = LOC_NONE;
	bool guard_not = false;
	struct lexer before;
	struct name name;

	if (parse_remark(p) || parse_accept(p, ';'))
		return;
	if (parse_dot(p, "reg")) {
		parse_regs(p, b);
		return;
	}
	if (p->lex.now.kind == TOK_DOT) {
		if (!parse_local(p, b))
			parse_unexpected(p, "an instruction");
		return;
	}
	if (parse_accept(p, '@')) {
		guard_not = parse_accept(p, '!');
		name = parse_name(p);
		if (!reg_find(p, name, &guard) || guard >= b->reg_count || b->reg_type[guard] != TY_pred) {
			parse_fail(p, "%.*s is not a predicate", (int)name.bytes, name.p);
			return;
		}
	} else if (p->lex.now.kind == TOK_NAME) {
		before = p->lex;
		name = parse_name(p);
		if (parse_accept(p, ':')) {
			parse_label(p, b, name);
			return;
		}
		p->lex = before;
	}
	parse_insn(p, b, guard, guard_not);
}

void body_parse(struct parser *p, struct body *b)
{
	uint32_t outer = p->table.level;

	p->pending_count = 0;
	parse_expect(p, '{');
	table_open(&p->table);
	while (p->table.level > outer && !parse_failed(p)) {
		if (p->lex.now.kind == TOK_END) {
			parse_unexpected(p, "}");
		} else if (parse_accept(p, '{')) {
			table_open(&p->table);
		} else if (parse_is(p, '}')) {
			pending_resolve(p, p->table.level == outer + 1);
			if (parse_failed(p))
				break;
			table_close(&p->table);
			lex_next(&p->lex);
		} else {
			parse_statement(p, b);
		}
	}
	while (p->table.level > outer)
		table_close(&p->table);
}

void body_deinit(struct parser *p)
{
	free(p->pending);
	p->pending = NULL;
}
