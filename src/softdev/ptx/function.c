/* function.c: reads the heads of kernels and functions: results, parameters, tuning. Bodies are read by body.c. */
#include "softdev/ptx/parse.h"

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

/* A number of 1 or more. `what` is the directive. */
static uint32_t parse_positive(struct parser *p, uint32_t most, const char *what)
{
	uint32_t v = parse_small(p, most, what);

	if (!v && !parse_failed(p))
		parse_fail(p, "%s 0: give 1 or more", what);
	return v;
}

/* Of threads. */
static void parse_triple(struct parser *p, uint32_t v[3], const char *what)
{
	for (int i = 0; i < 3; i++)
		v[i] = i && !parse_accept(p, ',') ? 1 : parse_positive(p, 1u << 30, what);
}

/* Of blocks; 0: as the launch says. */
static void parse_cluster(struct parser *p, uint32_t v[3])
{
	for (int i = 0; i < 3; i++)
		v[i] = i && !parse_accept(p, ',') ? 1 : parse_small(p, 1u << 30, "block count");
}

/* Pairs of directives of which a kernel has one. */
static void check_tuning(struct parser *p, const struct body *b, bool cluster_most)
{
	if (b->max_threads[0] && b->required[0])
		parse_fail(p, ".maxntid and .reqntid exclude each other");
	else if (b->cluster[0] && cluster_most)
		parse_fail(p, ".reqnctapercluster and .maxclusterrank exclude each other");
}

/* Directives between the parameters of a function and its body. */
static void parse_tuning(struct parser *p, struct body *b)
{
	bool cluster_most = false;

	while (p->lex.now.kind == TOK_DOT) {
		if (parse_dot(p, "maxntid"))
			parse_triple(p, b->max_threads, ".maxntid");
		else if (parse_dot(p, "reqntid"))
			parse_triple(p, b->required, ".reqntid");
		else if (parse_dot(p, "maxnreg"))
			b->max_registers = parse_positive(p, UINT32_MAX, ".maxnreg");
		else if (parse_dot(p, "minnctapersm"))
			parse_positive(p, UINT32_MAX, ".minnctapersm");
		else if (parse_dot(p, "maxclusterrank")) {
			parse_int(p);
			cluster_most = true;
		} else if (parse_dot(p, "maxnctapersm") || parse_dot(p, "abi_preserve") ||
			   parse_dot(p, "abi_preserve_control"))
			parse_int(p);
		else if (parse_dot(p, "reqnctapercluster"))
			parse_cluster(p, b->cluster);
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
	check_tuning(p, b, cluster_most);
}

void parse_function(struct parser *p, bool kernel, enum linkage linkage)
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
