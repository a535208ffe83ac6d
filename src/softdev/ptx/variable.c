/* variable.c: reads declarations of variables with their initial values, textures and samplers included. */
#include "softdev/ptx/parse.h"

#include <string.h>

#define VARIABLE_BYTES_MAX ((uint64_t)1 << 40)
#define INIT_BYTES_MAX ((uint64_t)1 << 30)
#define DIMENSIONS_MAX 8u

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
	s->element_bytes = (uint8_t)bytes;
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
void parse_variable(struct parser *p, enum symbol_kind kind, enum ptx_variable_space space, enum linkage linkage)
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
void parse_old_texture(struct parser *p, enum linkage linkage)
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
