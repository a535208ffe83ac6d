/* parse.h: the parser's state and the small steps (parser.c) that parse.c, variable.c, function.c and body.c share. */
#pragma once

#include "softdev/ptx/lex.h"
#include "softdev/ptx/table.h"

/* A branch to a label that is not defined yet. */
struct pending {
	struct symbol **where;
	struct name name;
	uint32_t level, line;
};

struct parser {
	struct lexer lex;
	struct table table;
	struct program *program;
	struct body *body; /* the one being read, for messages */
	uint32_t version, target;
	uint64_t init_room;
	struct symbol *late[1]; /* a function's name, entered when the scope of its parameters is closed */
	uint32_t late_count;
	struct pending *pending;
	uint32_t pending_count, pending_room;
	struct operand *scratch; /* operands of the instruction being read */
	uint32_t scratch_count, scratch_room;
};

__attribute__((format(printf, 2, 3))) void parse_fail(struct parser *p, const char *fmt, ...);
void parse_no_memory(struct parser *p);
void parse_stop(struct parser *p);
bool parse_failed(const struct parser *p);
void parse_unexpected(struct parser *p, const char *wanted);
const char *parse_shown(const struct parser *p, char *text, size_t bytes);
/* Zeroed, freed when the module has been loaded; NULL: the parser has failed. */
void *parse_scratch(struct parser *p, size_t bytes);
bool parse_is(const struct parser *p, char c);
bool parse_accept(struct parser *p, char c);
void parse_expect(struct parser *p, char c);
bool parse_dot(struct parser *p, const char *name); /* takes .name if it is next */
struct name parse_name(struct parser *p);
uint64_t parse_int(struct parser *p);
uint32_t parse_small(struct parser *p, uint64_t most, const char *what);
enum type parse_type(struct parser *p);
bool parse_remark(struct parser *p);
void parse_enter(struct parser *p, struct symbol *s);
void symbol_init(struct parser *p, struct symbol *s, struct name name, enum symbol_kind kind);
struct symbol *parse_symbol_new(struct parser *p, struct name name, enum symbol_kind kind);
/* What follows .version and .target (target.c). */
void parse_version(struct parser *p);
void parse_target(struct parser *p);
/* Variables of one declaration at module level. */
void parse_variable(struct parser *p, enum symbol_kind kind, enum ptx_variable_space space, enum linkage linkage);
void parse_old_texture(struct parser *p, enum linkage linkage);
void parse_function(struct parser *p, bool kernel, enum linkage linkage);
struct symbol *parse_declarator(struct parser *p, enum symbol_kind kind, bool with_init);

void body_parse(struct parser *p, struct body *b);
uint32_t body_reg_new(struct parser *p, struct body *b, struct name name, enum type t);
void body_deinit(struct parser *p);
