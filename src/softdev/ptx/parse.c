/*
 * parse.c: reads the directives of a PTX text: versions, targets, and which file reads the others.
 *
 * The first error ends the reading: the lexer is set to the end of the text, so that every loop here comes to its end
 * without looking at a flag of its own.
 */
#include "softdev/ptx/parse.h"

#include "wire/soft_capability.h"

#include <errno.h>
#include <string.h>

#define TEXT_BYTES_MAX ((size_t)1 << 30)

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
			 "PTX version %u.%u is newer than %u.x, the newest that this device reads", p->version / 10,
			 p->version % 10, PTX_VERSION_MAX / 10);
		parse_stop(p);
	}
}

/* METE_SOFT_CC sets what a device is, and nothing of an assembler's target. */
static void refuse_target(struct parser *p, struct name n, uint32_t arch)
{
	char remedy[SOFT_REMEDY_BYTES];

	if (p->program->chosen)
		complain(p->program->complaint, PTX_TOO_NEW_TARGET, p->lex.now.line, NULL,
			 "target %.*s does not run on sm_%u: %s", (int)n.bytes, n.p, p->program->arch,
			 soft_target_remedy(arch, remedy));
	else
		complain(p->program->complaint, PTX_TOO_NEW_TARGET, p->lex.now.line, NULL,
			 "target %.*s does not run on this device (sm_%u): %s", (int)n.bytes, n.p, p->program->arch,
			 soft_capability_remedy(arch, remedy));
	parse_stop(p);
}

/* .target sm_90a, texmode_unified, debug */
static void parse_target(struct parser *p)
{
	uint32_t arch = 0, i = 3;
	struct name n;
	bool exact, family;

	do {
		arch = 0;
		n = parse_name(p);
		if (n.bytes < 4 || memcmp(n.p, "sm_", 3))
			continue;
		for (i = 3; i < n.bytes && n.p[i] >= '0' && n.p[i] <= '9' && arch < 10000; i++)
			arch = arch * 10 + (uint32_t)(n.p[i] - '0');
		exact = i < n.bytes && n.p[i] == 'a';
		family = i < n.bytes && n.p[i] == 'f';
		if (arch > p->program->arch || (exact && arch != p->program->arch) ||
		    (family && arch / 10 != p->program->arch / 10))
			refuse_target(p, n, arch);
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
