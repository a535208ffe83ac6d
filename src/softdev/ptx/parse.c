/*
 * parse.c: reads the directives of a PTX text, or names the file that reads them.
 *
 * The first error ends the reading: the lexer is set to the end of the text, so that every loop here comes to its end
 * without looking at a flag of its own.
 */
#include "softdev/ptx/parse.h"

#include <errno.h>

#define TEXT_BYTES_MAX ((size_t)1 << 30)

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
	if (!parse_failed(&p) && !p.target)
		parse_fail(&p, "no .target directive");
	if (!parse_failed(&p) && p.lex.p != p.lex.end && *p.lex.p)
		parse_fail(&p, "unreadable text");
	table_deinit(&p.table);
	body_deinit(&p);
	return program->complaint->outcome;
}
