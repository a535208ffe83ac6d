/* parser.c: the small steps that reading a PTX text is made of, and what is said when one cannot be taken. */
#include "softdev/ptx/parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

uint32_t parse_small(struct parser *p, uint64_t most, const char *what)
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

/* A linker's limit of registers, which it leaves in the text that it makes (image/write.h). */
static void read_pragma(struct parser *p)
{
	const struct name n = p->lex.now.name;
	const size_t head = sizeof(PTX_REGISTERS_PRAGMA) - 1;
	uint32_t most = 0;

	if (p->lex.now.kind != TOK_STRING || n.bytes <= head || memcmp(n.p, PTX_REGISTERS_PRAGMA, head))
		return;
	for (size_t i = head; i < n.bytes && n.p[i] >= '0' && n.p[i] <= '9' && most < 1000; i++)
		most = most * 10 + (uint32_t)(n.p[i] - '0');
	p->program->max_registers = registers_least(p->program->max_registers, most);
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
	if (parse_dot(p, "pragma")) {
		read_pragma(p);
		while (p->lex.now.kind != TOK_END && !parse_is(p, ';'))
			lex_next(&p->lex);
		parse_accept(p, ';');
		return true;
	}
	return false;
}
