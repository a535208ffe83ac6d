/*
 * lex.c: cuts a PTX text into tokens. A text is of known size and need not end in NUL; a NUL ends it early.
 *
 * Numbers are read here in all spellings of PTX: 12, 0x1f, 017, 0b101, an optional U, 0f3F800000 and 0d3FF0000000000000
 * (bits of a float), 1.5e3.
 */
#include "softdev/ptx/lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char peek(const struct lexer *l, size_t ahead)
{
	return (size_t)(l->end - l->p) > ahead ? l->p[ahead] : 0;
}

static void skip_blank(struct lexer *l)
{
	for (;;) {
		char c = peek(l, 0);

		if (c == '\n') {
			l->line++;
			l->p++;
		} else if (c == ' ' || (c >= '\t' && c <= '\r')) {
			l->p++;
		} else if (c == '/' && peek(l, 1) == '/') {
			while (l->p < l->end && *l->p && *l->p != '\n')
				l->p++;
		} else if (c == '/' && peek(l, 1) == '*') {
			l->p += 2;
			while (l->p < l->end && *l->p && !(*l->p == '*' && peek(l, 1) == '/'))
				l->line += *l->p++ == '\n';
			l->p += peek(l, 0) == '*' ? 2 : 0;
		} else {
			return;
		}
	}
}

/* Digits of `base`; value and how many were read. */
static size_t read_digits(struct lexer *l, unsigned base, uint64_t *ret)
{
	size_t n = 0;
	uint64_t v = 0;

	for (int d; (d = hex_value(peek(l, 0))) >= 0 && (unsigned)d < base; l->p++, n++)
		v = v * base + (unsigned)d;
	*ret = v;
	return n;
}

static void read_bits(struct lexer *l, enum token_kind kind, size_t digits)
{
	l->p += 2;
	l->now.kind = read_digits(l, 16, &l->now.value) == digits ? kind : TOK_BAD;
}

/* A decimal fraction is a 64-bit float in PTX; the operand's type may narrow it later. */
static void read_decimal(struct lexer *l, const char *start)
{
	char text[64];
	size_t n;
	double v;

	while (is_digit(peek(l, 0)) || peek(l, 0) == '.')
		l->p++;
	if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
		l->p++;
		if (peek(l, 0) == '-' || peek(l, 0) == '+')
			l->p++;
		while (is_digit(peek(l, 0)))
			l->p++;
	}
	n = (size_t)(l->p - start);
	if (n >= sizeof(text)) {
		l->now.kind = TOK_BAD;
		return;
	}
	memcpy(text, start, n);
	text[n] = 0;
	v = strtod(text, NULL);
	memcpy(&l->now.value, &v, sizeof(v));
	l->now.kind = TOK_F64;
}

static void read_number(struct lexer *l)
{
	const char *start = l->p;
	char c = peek(l, 1);

	l->now.kind = TOK_INT;
	if (peek(l, 0) == '0' && (c == 'f' || c == 'F')) {
		read_bits(l, TOK_F32, 8);
		return;
	}
	if (peek(l, 0) == '0' && (c == 'd' || c == 'D')) {
		read_bits(l, TOK_F64, 16);
		return;
	}
	if (peek(l, 0) == '0' && (c == 'x' || c == 'X' || c == 'b' || c == 'B')) {
		l->p += 2;
		if (!read_digits(l, c == 'x' || c == 'X' ? 16 : 2, &l->now.value))
			l->now.kind = TOK_BAD;
	} else {
		read_digits(l, 10, &l->now.value);
		if (peek(l, 0) == '.' || peek(l, 0) == 'e' || peek(l, 0) == 'E') {
			read_decimal(l, start);
			return;
		}
		if (*start == '0' && l->p - start > 1) {
			l->p = start;
			read_digits(l, 8, &l->now.value);
		}
	}
	if (peek(l, 0) == 'U' || peek(l, 0) == 'u')
		l->p++;
	if (is_name(peek(l, 0)))
		l->now.kind = TOK_BAD;
}

void lex_next(struct lexer *l)
{
	const char *start;
	char c;

	skip_blank(l);
	l->now = (struct token){ .line = l->line };
	start = l->p;
	c = peek(l, 0);
	if (!c) {
		l->now.kind = TOK_END;
	} else if (is_digit(c)) {
		read_number(l);
		l->now.name = (struct name){ start, (uint32_t)(l->p - start) };
	} else if (is_name(c) || (c == '%' && is_name(peek(l, 1)))) {
		l->p++;
		while (is_name(peek(l, 0)))
			l->p++;
		l->now.kind = TOK_NAME;
		l->now.name = (struct name){ start, (uint32_t)(l->p - start) };
	} else if (c == '.' && is_name(peek(l, 1))) {
		l->p++;
		while (is_name(peek(l, 0)) || (peek(l, 0) == ':' && peek(l, 1) == ':') ||
		       (peek(l, 0) == ':' && l->p[-1] == ':'))
			l->p++;
		l->now.kind = TOK_DOT;
		l->now.name = (struct name){ start + 1, (uint32_t)(l->p - start - 1) };
	} else if (c == '"') {
		l->p++;
		while (l->p < l->end && *l->p && *l->p != '"' && *l->p != '\n')
			l->p++;
		l->now.kind = peek(l, 0) == '"' ? TOK_STRING : TOK_BAD;
		l->now.name = (struct name){ start + 1, (uint32_t)(l->p - start - 1) };
		l->p += l->p < l->end;
	} else {
		l->p++;
		l->now.kind = TOK_PUNCT;
		l->now.punct = c;
	}
}

struct name lex_opcode(struct lexer *l)
{
	struct name n = l->now.name;

	/* `now` has just been read, so l->p stands right behind it. */
	while (is_name(peek(l, 0)) || peek(l, 0) == '.' || (peek(l, 0) == ':' && peek(l, 1) == ':') ||
	       (peek(l, 0) == ':' && l->p[-1] == ':'))
		l->p++;
	n.bytes = (uint32_t)(l->p - n.p);
	lex_next(l);
	return n;
}

void lex_begin(struct lexer *l, const char *text, size_t bytes)
{
	*l = (struct lexer){ .p = text, .end = text + bytes, .line = 1 };
	lex_next(l);
}
