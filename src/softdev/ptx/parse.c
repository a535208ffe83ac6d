/*
 * parse.c: reads the directives of a PTX text: versions, variables, kernels, functions. Bodies are read by body.c.
 *
 * The first error ends the reading: the lexer is set to the end of the text, so that every loop here comes to its end
 * without looking at a flag of its own.
 */
#include "softdev/ptx/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)1 << 30)
#define VARIABLE_BYTES_MAX ((uint64_t)1 << 40)
#define INIT_BYTES_MAX ((uint64_t)1 << 30)
#define DIMENSIONS_MAX 8u
#define ARENA_PIECE ((size_t)16384)

struct arena_piece {
	struct arena_piece *next;
	size_t used, room;
	_Alignas(16) uint8_t data[];
};

void *arena_take(struct arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15, room;
	struct arena_piece *piece = a->piece;
	void *p;

	/* a small module keeps little */
	room = piece ? piece->room * 2 : ARENA_PIECE / 64;
	room = room > ARENA_PIECE ? ARENA_PIECE : room;
	room = need > room ? need : room;
	if (need < bytes)
		return NULL;
	if (!piece || piece->room - piece->used < need) {
		piece = calloc(1, sizeof(*piece) + room);
		if (!piece)
			return NULL;
		piece->room = room;
		piece->next = a->piece;
		a->piece = piece;
	}
	p = piece->data + piece->used;
	piece->used += need;
	return p;
}

size_t arena_bytes(const struct arena *a)
{
	size_t sum = 0;

	for (const struct arena_piece *p = a->piece; p; p = p->next)
		sum += sizeof(*p) + p->room;
	return sum;
}

void arena_deinit(struct arena *a)
{
	for (struct arena_piece *next; a->piece; a->piece = next) {
		next = a->piece->next;
		free(a->piece);
	}
}

void complain(struct complaint *c, int outcome, uint32_t line, const char *function, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (c->outcome)
		return;
	c->outcome = outcome;
	if (!c->text || !c->bytes)
		return;
	n = function && *function ? snprintf(c->text, c->bytes, "line %u, %s: ", line, function)
				  : snprintf(c->text, c->bytes, "line %u: ", line);
	if (n < 0 || (size_t)n >= c->bytes)
		return;
	va_start(ap, fmt);
	vsnprintf(c->text + n, c->bytes - (size_t)n, fmt, ap);
	va_end(ap);
}

void parse_fail(struct parser *p, const char *fmt, ...)
{
	char text[512], who[128] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (p->body)
		snprintf(who, sizeof(who), "%s %.*s", p->body->kernel ? "kernel" : "function",
			 (int)(p->body->symbol->name.bytes > 96 ? 96 : p->body->symbol->name.bytes),
			 p->body->symbol->name.p);
	complain(p->program->complaint, PTX_INVALID, p->lex.now.line, who, "%s", text);
	parse_stop(p);
}

void parse_no_memory(struct parser *p)
{
	complain(p->program->complaint, -ENOMEM, p->lex.now.line, NULL, "out of memory");
	parse_stop(p);
}

void parse_stop(struct parser *p)
{
	p->lex.p = p->lex.end;
	p->lex.now = (struct token){ .kind = TOK_END, .line = p->lex.line };
}

bool parse_failed(const struct parser *p)
{
	return p->program->complaint->outcome != 0;
}

void *parse_scratch(struct parser *p, size_t bytes)
{
	void *m = parse_failed(p) ? NULL : arena_take(&p->program->scratch, bytes);

	if (!m)
		parse_no_memory(p);
	return m;
}

bool parse_is(const struct parser *p, char c)
{
	return p->lex.now.kind == TOK_PUNCT && p->lex.now.punct == c;
}

bool parse_accept(struct parser *p, char c)
{
	if (!parse_is(p, c))
		return false;
	lex_next(&p->lex);
	return true;
}

const char *parse_shown(const struct parser *p, char *text, size_t bytes)
{
	const struct token *t = &p->lex.now;

	switch (t->kind) {
	case TOK_END:
		return "the end of the text";
	case TOK_NAME:
	case TOK_STRING:
		snprintf(text, bytes, "%.*s", (int)(t->name.bytes > 60 ? 60 : t->name.bytes), t->name.p);
		return text;
	case TOK_DOT:
		snprintf(text, bytes, ".%.*s", (int)(t->name.bytes > 60 ? 60 : t->name.bytes), t->name.p);
		return text;
	case TOK_PUNCT:
		snprintf(text, bytes, t->punct > ' ' && t->punct < 127 ? "%c" : "byte 0x%02x", (uint8_t)t->punct);
		return text;
	default:
		return "a malformed number or string";
	}
}

void parse_unexpected(struct parser *p, const char *wanted)
{
	char text[80];

	parse_fail(p, "expected %s, found %s", wanted, parse_shown(p, text, sizeof(text)));
}

void parse_expect(struct parser *p, char c)
{
	char wanted[2] = { c, 0 };

	if (!parse_accept(p, c))
		parse_unexpected(p, wanted);
}

bool parse_dot(struct parser *p, const char *name)
{
	if (p->lex.now.kind != TOK_DOT || !name_is(p->lex.now.name, name))
		return false;
	lex_next(&p->lex);
	return true;
}

struct name parse_name(struct parser *p)
{
	struct name n = p->lex.now.name;

	if (p->lex.now.kind != TOK_NAME) {
		parse_unexpected(p, "a name");
		return (struct name){ "", 0 };
	}
	lex_next(&p->lex);
	return n;
}

uint64_t parse_int(struct parser *p)
{
	bool minus = parse_accept(p, '-');
	uint64_t v = p->lex.now.value;

	if (p->lex.now.kind != TOK_INT) {
		parse_unexpected(p, "a number");
		return 0;
	}
	lex_next(&p->lex);
	return minus ? -v : v;
}

static uint32_t parse_small(struct parser *p, uint64_t most, const char *what)
{
	uint64_t v = parse_int(p);

	if (v > most) {
		parse_fail(p, "%s %llu is too large (at most %llu)", what, (unsigned long long)v,
			   (unsigned long long)most);
		return 0;
	}
	return (uint32_t)v;
}

enum type parse_type(struct parser *p)
{
	enum type t = p->lex.now.kind == TOK_DOT ? type_find(p->lex.now.name.p, p->lex.now.name.bytes) : TY_none;

	if (t == TY_none)
		parse_unexpected(p, "a type");
	else
		lex_next(&p->lex);
	return t;
}

void parse_enter(struct parser *p, struct symbol *s)
{
	struct entry *e = parse_scratch(p, sizeof(*e));

	if (!e)
		return;
	*e = (struct entry){ .name = s->name, .kind = ENT_SYMBOL, .symbol = s };
	if (table_add(&p->table, e))
		parse_no_memory(p);
}

void symbol_init(struct parser *p, struct symbol *s, struct name name, enum symbol_kind kind)
{
	*s = (struct symbol){ .name = name, .kind = (uint8_t)kind, .line = p->lex.now.line, .align = 1 };
	s->definition = s;
}

struct symbol *parse_symbol_new(struct parser *p, struct name name, enum symbol_kind kind)
{
	struct symbol *s = parse_scratch(p, sizeof(*s));

	if (s)
		symbol_init(p, s, name, kind);
	return s;
}

/* A quoted text or a directive up to its semicolon or the end of its line holds nothing that is needed to run. */
static void skip_line(struct parser *p)
{
	uint32_t line = p->lex.now.line;

	while (p->lex.now.kind != TOK_END && p->lex.now.line == line)
		lex_next(&p->lex);
}

static void skip_braces(struct parser *p)
{
	uint64_t depth = 0;

	while (p->lex.now.kind != TOK_END && !parse_is(p, '{'))
		lex_next(&p->lex);
	do {
		depth += parse_is(p, '{');
		depth -= parse_is(p, '}');
		lex_next(&p->lex);
	} while (depth && p->lex.now.kind != TOK_END);
}

/* .file, .loc, .pragma and friends, which may stand anywhere. False: something else. */
bool parse_remark(struct parser *p)
{
	if (p->lex.now.kind != TOK_DOT)
		return false;
	if (name_is(p->lex.now.name, "file") || name_is(p->lex.now.name, "loc")) {
		skip_line(p);
		return true;
	}
	if (parse_dot(p, "section")) {
		skip_braces(p);
		return true;
	}
	if (name_is(p->lex.now.name, "pragma")) {
		while (p->lex.now.kind != TOK_END && !parse_is(p, ';'))
			lex_next(&p->lex);
		parse_accept(p, ';');
		return true;
	}
	return false;
}

/* Room for the initial bytes [at, at + bytes). */
static uint8_t *init_room(struct parser *p, struct symbol *s, uint64_t at, uint32_t bytes)
{
	uint64_t end, room;
	uint8_t *grown;

	if (__builtin_add_overflow(at, bytes, &end) || end > INIT_BYTES_MAX || (!s->open_array && end > s->bytes)) {
		parse_fail(p, "too many initial values for %.*s", (int)s->name.bytes, s->name.p);
		return NULL;
	}
	if (end > p->init_room) {
		room = end < 4096 ? 8192 : end * 2;
		grown = parse_scratch(p, room);
		if (!grown)
			return NULL;
		if (s->init_bytes)
			memcpy(grown, s->init, s->init_bytes);
		s->init = grown;
		p->init_room = room;
	}
	if (end > s->init_bytes)
		s->init_bytes = end;
	return s->init + at;
}

static void init_symbol(struct parser *p, struct symbol *s, uint64_t at, uint32_t bytes, uint32_t shift)
{
	struct relocation *r = parse_scratch(p, sizeof(*r));
	struct entry *e;
	struct name n = parse_name(p);

	if (!r)
		return;
	if (name_is(n, "generic") && parse_accept(p, '(')) {
		n = parse_name(p);
		parse_expect(p, ')');
	}
	e = table_find(&p->table, n, false);
	if (!e || e->kind != ENT_SYMBOL || (e->symbol->kind != SYM_VARIABLE && e->symbol->kind != SYM_FUNCTION)) {
		parse_fail(p, "initial value of %.*s: no variable or function %.*s", (int)s->name.bytes, s->name.p,
			   (int)n.bytes, n.p);
		return;
	}
	*r = (struct relocation){ s->relocation, e->symbol, 0, at, bytes, shift, p->lex.now.line };
	if (parse_accept(p, '+'))
		r->addend = parse_int(p);
	else if (parse_is(p, '-'))
		r->addend = parse_int(p);
	s->relocation = r;
}

static uint64_t float_as(enum type t, const struct token *now)
{
	double v;
	float f;
	uint64_t r = 0;
	uint32_t b = (uint32_t)now->value;

	if (now->kind == TOK_F32) {
		if (t != TY_f64)
			return now->value;
		memcpy(&f, &b, sizeof(f));
		v = f;
		memcpy(&r, &v, sizeof(r));
		return r;
	}
	if (t != TY_f32)
		return now->value;
	memcpy(&v, &now->value, sizeof(v));
	f = (float)v;
	memcpy(&b, &f, sizeof(b));
	return b;
}

static void init_value(struct parser *p, struct symbol *s, uint64_t at)
{
	uint32_t bytes = type_bytes(s->element), shift = 0;
	bool minus = parse_accept(p, '-');
	uint8_t *room = init_room(p, s, at, bytes);
	uint64_t v;

	if (!room)
		return;
	if (p->lex.now.kind == TOK_NAME) {
		init_symbol(p, s, at, bytes, 0);
		return;
	}
	if (p->lex.now.kind == TOK_INT) {
		v = p->lex.now.value;
		lex_next(&p->lex);
		if (parse_accept(p, '(')) { /* 0xFF00(name): one byte of an address */
			shift = v ? (uint32_t)__builtin_ctzll(v) & ~7u : 0;
			init_symbol(p, s, at, bytes, shift);
			parse_expect(p, ')');
			return;
		}
		v = minus ? -v : v;
		if (s->element == TY_f32) {
			float f = (float)(int64_t)v;

			memcpy(&v, &f, sizeof(f));
		} else if (s->element == TY_f64) {
			double d = (double)(int64_t)v;

			memcpy(&v, &d, sizeof(d));
		}
	} else if (p->lex.now.kind == TOK_F32 || p->lex.now.kind == TOK_F64) {
		v = float_as(s->element, &p->lex.now);
		if (minus)
			v ^= s->element == TY_f64 ? 1ull << 63 : 1ull << 31;
		lex_next(&p->lex);
	} else {
		parse_unexpected(p, "an initial value");
		return;
	}
	memcpy(room, &v, bytes > 8 ? 8 : bytes);
}

/* Values from `at` on; inner braces fill rows of `row[level]` bytes. */
static void init_list(struct parser *p, struct symbol *s, uint64_t at, const uint64_t *row, uint32_t level)
{
	uint64_t step = row[level];

	parse_expect(p, '{');
	while (!parse_is(p, '}') && p->lex.now.kind != TOK_END) {
		if (parse_is(p, '{')) {
			if (level + 1 >= DIMENSIONS_MAX || !row[level + 1]) {
				parse_fail(p, "initial values of %.*s: braces too deep", (int)s->name.bytes, s->name.p);
				return;
			}
			init_list(p, s, at, row, level + 1);
			if (__builtin_add_overflow(at, step, &at))
				parse_fail(p, "initial values too large");
		} else {
			init_value(p, s, at);
			at += type_bytes(s->element);
		}
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, '}');
}

static void parse_init(struct parser *p, struct symbol *s, const uint64_t *row)
{
	p->init_room = 0;
	if (parse_is(p, '{'))
		init_list(p, s, 0, row, 0);
	else
		init_value(p, s, 0);
	if (s->open_array && s->init_bytes)
		s->bytes = s->init_bytes;
}

/* One of the names that an initial value of a reference may have; -1 for those that say nothing here. */
static int8_t reference_word(struct name n)
{
	static const char *const word[] = { "wrap", "clamp_to_edge", "mirror", "clamp_to_border" };
	static const char *const filter[] = { "nearest", "linear" };

	for (int8_t i = 0; i < 4; i++)
		if (name_is(n, word[i]))
			return i;
	for (int8_t i = 0; i < 2; i++)
		if (name_is(n, filter[i]))
			return i;
	return name_is(n, "clamp_ogl") ? 1 : -1;
}

/* = { filter_mode = linear, addr_mode_0 = wrap } */
static void parse_reference(struct parser *p, struct symbol *s)
{
	s->reference = parse_scratch(p, sizeof(*s->reference));
	if (!s->reference)
		return;
	*s->reference = (struct ptx_reference){ { -1, -1, -1 }, -1, -1 };
	if (!parse_accept(p, '='))
		return;
	parse_expect(p, '{');
	while (!parse_is(p, '}') && p->lex.now.kind != TOK_END) {
		struct name field = parse_name(p);
		int8_t v;

		parse_expect(p, '=');
		v = p->lex.now.kind == TOK_NAME ? reference_word(parse_name(p)) : (int8_t)!!parse_int(p);
		if (name_is(field, "filter_mode"))
			s->reference->linear = v;
		else if (name_is(field, "normalized_coords"))
			s->reference->normalized = v;
		else if (name_is(field, "force_unnormalized_coords"))
			s->reference->normalized = v == 1 ? 0 : s->reference->normalized;
		else if (field.bytes == 11 && !memcmp(field.p, "addr_mode_", 10) && field.p[10] >= '0' &&
			 field.p[10] <= '2')
			s->reference->address[field.p[10] - '0'] = v;
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, '}');
}

/* `.align 4 .v2 .type name[a][b]` after the space; fills in the symbol. */
struct symbol *parse_declarator(struct parser *p, enum symbol_kind kind, bool with_init)
{
	uint64_t dim[DIMENSIONS_MAX] = { 0 }, row[DIMENSIONS_MAX + 1] = { 0 }, bytes;
	uint32_t dims = 0, vector = 1, align = 0;
	bool managed = false, open = false;
	enum ptx_variable_space reference = PTX_GLOBAL;
	struct symbol *s;
	enum type t;

	for (;;) {
		if (parse_dot(p, "align")) {
			align = parse_small(p, 1024, "alignment");
			if (!align || align & (align - 1))
				parse_fail(p, "alignment %u is not a power of two", align);
		} else if (parse_dot(p, "attribute")) {
			parse_expect(p, '(');
			while (!parse_is(p, ')') && p->lex.now.kind != TOK_END) {
				managed |= parse_dot(p, "managed");
				if (!parse_is(p, ')'))
					lex_next(&p->lex);
			}
			parse_expect(p, ')');
		} else if (parse_dot(p, "v2")) {
			vector = 2;
		} else if (parse_dot(p, "v4")) {
			vector = 4;
		} else if (parse_dot(p, "ptr")) {
			/* describes what a parameter points at */
			(void)(parse_dot(p, "global") || parse_dot(p, "const") || parse_dot(p, "shared") ||
			       parse_dot(p, "local") || parse_dot(p, "generic"));
			if (parse_dot(p, "align"))
				parse_small(p, UINT32_MAX, "alignment");
		} else {
			break;
		}
	}
	if (parse_dot(p, "texref"))
		reference = PTX_TEXREF;
	else if (parse_dot(p, "surfref"))
		reference = PTX_SURFREF;
	else if (parse_dot(p, "samplerref"))
		reference = PTX_SAMPLERREF;
	t = reference ? TY_u64 : parse_type(p);
	if (reference && kind != SYM_VARIABLE && kind != SYM_KERNEL_PARAM)
		kind = SYM_OTHER;
	/* `.param .u64 .ptr .global .align 4 name` */
	if (parse_dot(p, "ptr")) {
		(void)(parse_dot(p, "global") || parse_dot(p, "const") || parse_dot(p, "shared") ||
		       parse_dot(p, "local") || parse_dot(p, "generic"));
		if (parse_dot(p, "align"))
			parse_small(p, UINT32_MAX, "alignment");
	}
	s = parse_symbol_new(p, parse_name(p), kind);
	if (!s)
		return NULL;
	s->element = (uint8_t)t;
	s->managed = managed;
	s->space = (uint8_t)reference;
	bytes = type_bytes(t) * vector;
	s->align = align ? align : (uint32_t)(bytes ? bytes : 1);
	while (parse_accept(p, '[')) {
		if (dims >= DIMENSIONS_MAX) {
			parse_fail(p, "more than %u dimensions", DIMENSIONS_MAX);
			return NULL;
		}
		if (parse_is(p, ']'))
			open = true;
		else
			dim[dims] = parse_int(p);
		dims++;
		parse_expect(p, ']');
	}
	for (uint32_t i = dims; i-- > 0;) {
		row[i] = bytes;
		if (i == 0 && open)
			dim[0] = 0;
		if (__builtin_mul_overflow(bytes, dim[i], &bytes) || bytes > VARIABLE_BYTES_MAX) {
			parse_fail(p, "%.*s is too large", (int)s->name.bytes, s->name.p);
			return NULL;
		}
	}
	if (!dims)
		row[0] = bytes;
	s->open_array = open;
	s->bytes = bytes;
	if (reference && (dims || vector > 1))
		parse_fail(p, "%.*s: arrays of references are not supported", (int)s->name.bytes, s->name.p);
	if (with_init) {
		parse_enter(p, s); /* an initial value may be its own address */
		if (reference)
			parse_reference(p, s);
		else if (parse_accept(p, '='))
			parse_init(p, s, row);
	}
	return s;
}

/* Variables of one declaration at module level. */
static void parse_variable(struct parser *p, enum symbol_kind kind, enum ptx_variable_space space, enum linkage linkage)
{
	struct symbol *s = parse_declarator(p, kind, true);

	if (!s || parse_failed(p))
		return;
	if (s->space < PTX_TEXREF)
		s->space = (uint8_t)space;
	s->linkage = (uint8_t)linkage;
	if (s->kind == SYM_SHARED) {
		*p->program->shared_end = s;
		p->program->shared_end = &s->next;
	} else if (s->kind == SYM_VARIABLE) {
		*p->program->variable_end = s;
		p->program->variable_end = &s->next;
	}
	if (parse_is(p, ','))
		parse_fail(p, "several variables in one declaration: declare them one by one");
	parse_expect(p, ';');
}

/* .tex .u32 name: the oldest way to write .global .texref name */
static void parse_old_texture(struct parser *p, enum linkage linkage)
{
	struct symbol *s;

	parse_type(p);
	s = parse_symbol_new(p, parse_name(p), SYM_VARIABLE);
	if (!s)
		return;
	s->element = TY_u64;
	s->bytes = s->align = 8;
	s->space = PTX_TEXREF;
	s->linkage = (uint8_t)linkage;
	parse_enter(p, s);
	parse_reference(p, s);
	*p->program->variable_end = s;
	p->program->variable_end = &s->next;
	parse_expect(p, ';');
}

/* (.param .u64 a, .param .align 8 .b8 b[16]) of a kernel or function. */
static void parse_params(struct parser *p, struct body *b, bool result)
{
	struct symbol ***end = result ? &b->result_end : &b->param_end;
	struct symbol *s;

	if (!parse_accept(p, '('))
		return;
	while (!parse_is(p, ')') && p->lex.now.kind != TOK_END) {
		if (parse_dot(p, "reg")) {
			enum type t = parse_type(p);

			s = parse_symbol_new(p, parse_name(p), SYM_REG_PARAM);
			if (!s)
				return;
			s->element = (uint8_t)t;
			s->bytes = type_lane_bytes(t);
			s->index = body_reg_new(p, b, s->name, t);
		} else if (parse_dot(p, "param")) {
			s = parse_declarator(p, b->kernel ? SYM_KERNEL_PARAM : SYM_PARAM, false);
			if (!s)
				return;
			if (s->kind != SYM_OTHER)
				parse_enter(p, s);
		} else {
			parse_unexpected(p, ".param");
			return;
		}
		**end = s;
		*end = &s->next;
		if (!parse_accept(p, ','))
			break;
	}
	parse_expect(p, ')');
}

static void parse_triple(struct parser *p, uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		v[i] = i && !parse_accept(p, ',') ? 1 : parse_small(p, 1u << 30, "thread count");
}

/* Directives between the parameters of a function and its body. */
static void parse_tuning(struct parser *p, struct body *b)
{
	while (p->lex.now.kind == TOK_DOT) {
		if (parse_dot(p, "maxntid"))
			parse_triple(p, b->max_threads);
		else if (parse_dot(p, "reqntid"))
			parse_triple(p, b->required);
		else if (parse_dot(p, "minnctapersm") || parse_dot(p, "maxnctapersm") || parse_dot(p, "maxnreg") ||
			 parse_dot(p, "maxclusterrank") || parse_dot(p, "abi_preserve") ||
			 parse_dot(p, "abi_preserve_control"))
			parse_int(p);
		else if (parse_dot(p, "reqnctapercluster"))
			parse_triple(p, b->cluster);
		else if (parse_dot(p, "noreturn") || parse_dot(p, "explicitcluster") || parse_dot(p, "unique") ||
			 parse_dot(p, "blocksareclusters"))
			;
		else if (parse_dot(p, "attribute")) {
			while (p->lex.now.kind != TOK_END && !parse_accept(p, ')'))
				lex_next(&p->lex);
		} else if (!parse_remark(p)) {
			parse_unexpected(p, "a body");
		}
	}
}

static void parse_function(struct parser *p, bool kernel, enum linkage linkage)
{
	struct body *b = parse_scratch(p, sizeof(*b));
	struct entry *e;
	struct symbol *s;
	struct name name;

	if (!b)
		return;
	*b = (struct body){ .kernel = kernel, .version = p->version, .target = p->target, .text = p->program->text };
	b->local_end = &b->local;
	b->param_end = &b->param;
	b->result_end = &b->result;
	table_open(&p->table);
	if (!kernel) {
		(void)parse_dot(p, "attribute");
		parse_params(p, b, true);
	}
	name = parse_name(p);
	parse_params(p, b, false);
	if (parse_failed(p))
		return;
	/* The name belongs to the text, not to the scope of the parameters: take it from, or put it into, the outer
	 * one. */
	e = table_find(&p->table, name, false);
	if (e && e->kind == ENT_SYMBOL && e->symbol->kind == SYM_FUNCTION) {
		s = e->symbol;
		if (linkage != LINK_EXTERN && s->linkage == LINK_EXTERN)
			s->linkage = (uint8_t)linkage;
		else if (linkage == LINK_WEAK || linkage == LINK_VISIBLE)
			s->linkage = (uint8_t)linkage;
	} else {
		s = parse_symbol_new(p, name, SYM_FUNCTION);
		if (!s)
			return;
		s->linkage = (uint8_t)linkage;
		*p->program->function_end = s;
		p->program->function_end = &s->next;
		p->late[p->late_count++] = s;
	}
	b->symbol = s;
	p->body = b;
	parse_tuning(p, b);
	if (parse_is(p, '{')) {
		if (s->body) {
			parse_fail(p, "defined a second time");
			return;
		}
		s->body = b;
		*p->program->body_end = b;
		p->program->body_end = &b->next;
		if (p->late_count) { /* a function may call itself */
			parse_enter(p, s);
		}
		body_parse(p, b);
	} else {
		if (!s->body && linkage == LINK_EXTERN)
			s->linkage = LINK_EXTERN;
		parse_expect(p, ';');
	}
	p->body = NULL;
	table_close(&p->table);
	while (p->late_count)
		parse_enter(p, p->late[--p->late_count]);
}

static void parse_version(struct parser *p)
{
	/* "9.0" reads as a fraction */
	double v = 0;

	if (p->lex.now.kind == TOK_F64)
		memcpy(&v, &p->lex.now.value, sizeof(v));
	else if (p->lex.now.kind == TOK_INT)
		v = (double)p->lex.now.value;
	else
		parse_unexpected(p, "a version");
	if (!(v >= 0 && v < 100000))
		v = 100000;
	p->version = (uint32_t)(v * 10 + 0.5);
	lex_next(&p->lex);
	if (p->version > PTX_VERSION_MAX) {
		complain(p->program->complaint, PTX_TOO_NEW_VERSION, p->lex.now.line, NULL,
			 "PTX version %u.%u is newer than %u.%u, the newest that this device reads", p->version / 10,
			 p->version % 10, PTX_VERSION_MAX / 10, PTX_VERSION_MAX % 10);
		parse_stop(p);
	}
}

/* .target sm_90a, texmode_unified, debug */
static void parse_target(struct parser *p)
{
	uint32_t arch = 0, i = 3;
	struct name n;
	bool exact;

	do {
		n = parse_name(p);
		if (n.bytes < 4 || memcmp(n.p, "sm_", 3))
			continue;
		for (i = 3; i < n.bytes && n.p[i] >= '0' && n.p[i] <= '9' && arch < 10000; i++)
			arch = arch * 10 + (uint32_t)(n.p[i] - '0');
		exact = i < n.bytes && n.p[i] == 'a';
		if (arch > p->program->arch || (exact && arch != p->program->arch)) {
			complain(p->program->complaint, PTX_TOO_NEW_TARGET, p->lex.now.line, NULL,
				 "target %.*s does not run on this device (sm_%u); METE_SOFT_CC=%u.%u makes one "
				 "on which it does",
				 (int)n.bytes, n.p, p->program->arch, arch / 10, arch % 10);
			parse_stop(p);
		}
		p->target = arch;
	} while (parse_accept(p, ','));
}

/* .alias a, b; */
static void parse_alias(struct parser *p)
{
	struct entry *a = table_find(&p->table, parse_name(p), false), *b;

	parse_expect(p, ',');
	b = table_find(&p->table, parse_name(p), false);
	if (!a || !b || a->kind != ENT_SYMBOL || b->kind != ENT_SYMBOL || a->symbol == b->symbol ||
	    a->symbol->kind != SYM_FUNCTION || b->symbol->kind != SYM_FUNCTION || a->symbol->body) {
		parse_fail(p, ".alias takes a declared and a defined function");
		return;
	}
	a->symbol->body = b->symbol->body;
	parse_expect(p, ';');
}

static void parse_item(struct parser *p)
{
	enum linkage linkage = LINK_FILE;

	if (parse_remark(p))
		return;
	for (;;) {
		if (parse_dot(p, "visible"))
			linkage = LINK_VISIBLE;
		else if (parse_dot(p, "weak") || parse_dot(p, "common"))
			linkage = LINK_WEAK;
		else if (parse_dot(p, "extern"))
			linkage = LINK_EXTERN;
		else
			break;
	}
	if (parse_dot(p, "version"))
		parse_version(p);
	else if (parse_dot(p, "target"))
		parse_target(p);
	else if (parse_dot(p, "address_size")) {
		if (parse_int(p) != 64)
			parse_fail(p, "only .address_size 64 is supported");
	} else if (parse_dot(p, "entry"))
		parse_function(p, true, linkage == LINK_FILE ? LINK_VISIBLE : linkage);
	else if (parse_dot(p, "func"))
		parse_function(p, false, linkage);
	else if (parse_dot(p, "global"))
		parse_variable(p, SYM_VARIABLE, PTX_GLOBAL, linkage);
	else if (parse_dot(p, "const"))
		parse_variable(p, SYM_VARIABLE, PTX_CONST, linkage);
	else if (parse_dot(p, "shared"))
		parse_variable(p, SYM_SHARED, PTX_GLOBAL, linkage);
	else if (parse_dot(p, "alias"))
		parse_alias(p);
	else if (parse_dot(p, "tex"))
		parse_old_texture(p, linkage);
	else if (!parse_accept(p, ';'))
		parse_unexpected(p, "a directive");
}

int text_parse(struct program *program, const struct ptx_text *text)
{
	struct parser p = { .program = program };

	if (text->bytes > TEXT_BYTES_MAX) {
		complain(program->complaint, PTX_INVALID, 0, NULL, "a text of %zu bytes is too large", text->bytes);
		return program->complaint->outcome;
	}
	if (table_init(&p.table)) {
		complain(program->complaint, -ENOMEM, 0, NULL, "out of memory");
		return -ENOMEM;
	}
	lex_begin(&p.lex, text->text, text->bytes);
	while (p.lex.now.kind != TOK_END)
		parse_item(&p);
	if (!parse_failed(&p) && !p.version)
		parse_fail(&p, "no .version directive: this is not PTX");
	if (!parse_failed(&p) && p.lex.p != p.lex.end && *p.lex.p)
		parse_fail(&p, "unreadable text");
	table_deinit(&p.table);
	body_deinit(&p);
	return program->complaint->outcome;
}
