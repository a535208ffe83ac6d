/* lex.h: tokens of a PTX text. */
#pragma once

#include "softdev/ptx/text.h"

enum token_kind {
	TOK_END,
	TOK_NAME, /* abc, %r1, $L__BB0_1 */
	TOK_DOT,  /* .visible: the name without the dot */
	TOK_INT,
	TOK_F32,
	TOK_F64,
	TOK_STRING,
	TOK_PUNCT, /* one character */
	TOK_BAD,
};

struct token {
	enum token_kind kind;
	struct name name; /* NAME, DOT, STRING; a number as it is written */
	uint64_t value;	  /* INT; bits of F32, F64 */
	char punct;
	uint32_t line;
};

struct lexer {
	const char *p, *end;
	uint32_t line;
	struct token now; /* looked at, not taken */
};

void lex_begin(struct lexer *l, const char *text, size_t bytes);
void lex_next(struct lexer *l);
/* `now` is a name that begins an instruction: takes its suffixes too (".lo.s32"), and the token after them. */
struct name lex_opcode(struct lexer *l);
