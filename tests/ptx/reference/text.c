/*
 * text.c: reads a PTX text into lists of instructions. Trusts the text: it is made by tests.
 */
#include "text.h"

#include "reference.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *p;
	int line;
	char token[256]; /* the current one; empty at the end */
	int depth;
	struct ref_module *m;
	struct ref_function *f;
	char *error;
	size_t error_bytes;
	jmp_buf out;
};

static void fail(struct reader *r, const char *format, ...)
{
	va_list args;
	int n = snprintf(r->error, r->error_bytes, "line %d: ", r->line);

	va_start(args, format);
	vsnprintf(r->error + n, r->error_bytes - (size_t)n, format, args);
	va_end(args);
	longjmp(r->out, 1);
}

static void *take(struct reader *r, size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		fail(r, "no memory");
	return p;
}

static bool in_word(const char *p)
{
	return isalnum((unsigned char)*p) || strchr("_$.%", *p) || (p[0] == ':' && p[1] == ':') ||
	       (p[0] == ':' && p[-1] == ':');
}

static void next(struct reader *r)
{
	size_t n = 0;

	while (*r->p && (isspace((unsigned char)*r->p) || !strncmp(r->p, "//", 2))) {
		if (*r->p == '/')
			r->p += strcspn(r->p, "\n");
		if (*r->p == '\n')
			r->line++;
		if (*r->p)
			r->p++;
	}
	if (*r->p && in_word(r->p) && *r->p != ':')
		while (*r->p && in_word(r->p) && n < sizeof(r->token) - 1)
			r->token[n++] = *r->p++;
	else if (*r->p)
		r->token[n++] = *r->p++;
	r->token[n] = 0;
}

static bool at(const struct reader *r, const char *token)
{
	return !strcmp(r->token, token);
}

static bool accept(struct reader *r, const char *token)
{
	if (!at(r, token))
		return false;
	next(r);
	return true;
}

static void expect(struct reader *r, const char *token)
{
	if (!accept(r, token))
		fail(r, "'%s' instead of '%s'", r->token, token);
}

static wide number(struct reader *r)
{
	const bool minus = accept(r, "-");
	const char *t = r->token;
	wide v = 0;

	if (t[0] == '0' && (t[1] == 'f' || t[1] == 'F' || t[1] == 'd' || t[1] == 'D') && strlen(t) > 9 - (t[1] == 'd'))
		v = strtoull(t + 2, NULL, 16);
	else if (isdigit((unsigned char)t[0]))
		v = strtoull(t, NULL, 0);
	else
		fail(r, "'%s' is not a number", t);
	next(r);
	return minus ? -v : v;
}

static uint64_t aligned(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

struct ref_function *ref_function_find(struct ref_module *m, const char *name)
{
	for (int i = 0; i < m->functions; i++)
		if (!strcmp(m->function[i]->name, name))
			return m->function[i];
	return NULL;
}

static struct ref_variable *variable_find(struct reader *r, const char *name)
{
	for (struct ref_variable *v = r->m->variables; v; v = v->next)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

static int register_find(struct reader *r, const char *name)
{
	for (struct ref_register *g = r->m->registers; g; g = g->next) {
		const size_t n = strlen(g->name);

		if (!g->count && !strcmp(g->name, name))
			return g->first;
		if (g->count && !strncmp(g->name, name, n) && isdigit((unsigned char)name[n]) &&
		    atoi(name + n) < g->count)
			return g->first + atoi(name + n);
	}
	return -1;
}

static void initial_values(struct reader *r, struct ref_variable *v, const struct ref_type *t)
{
	const bool list = accept(r, "{");
	uint64_t n = 0;

	do {
		wide x = number(r);

		if (n + (uint64_t)t->bits / 8 > v->size)
			fail(r, "too many values for %s", v->name);
		memcpy(r->m->data + v->offset + n, &x, (size_t)t->bits / 8);
		n += (uint64_t)t->bits / 8;
	} while (list && accept(r, ","));
	if (list)
		expect(r, "}");
}

/* {.align n} .type name{[size]} after the word of the space. */
static struct ref_variable *variable(struct reader *r, char space)
{
	struct ref_variable *v = take(r, sizeof(*v));
	uint64_t align = 0, count = 1, *end;
	struct ref_type t;

	while (*r->token == '.') {
		if (accept(r, ".align")) {
			align = (uint64_t)number(r);
			continue;
		}
		if (ref_type_parse(r->token + 1, &t) && align < (uint64_t)t.bits / 8)
			align = (uint64_t)t.bits / 8;
		next(r);
	}
	snprintf(v->name, sizeof(v->name), "%.71s", r->token);
	next(r);
	if (accept(r, "[")) {
		count = at(r, "]") ? 0 : (uint64_t)number(r);
		expect(r, "]");
	}
	v->space = space;
	v->depth = r->depth;
	v->size = (uint64_t)t.bits / 8 * count;
	end = space == 'p'   ? &r->f->param_bytes
	      : space == 'l' ? &r->f->local_bytes
	      : space == 's' ? &r->m->shared_bytes
			     : &r->m->data_bytes;
	*end = aligned(*end, align);
	v->offset = *end;
	*end += v->size;
	if (r->m->data_bytes > sizeof(r->m->data))
		fail(r, "too much data");
	v->next = r->m->variables;
	r->m->variables = v;
	if (accept(r, "="))
		initial_values(r, v, &t);
	return v;
}

/* .reg .type a, b<10>; */
static void registers(struct reader *r)
{
	next(r);
	do {
		struct ref_register *g = take(r, sizeof(*g));

		snprintf(g->name, sizeof(g->name), "%.71s", r->token);
		next(r);
		if (accept(r, "<")) {
			g->count = (int)number(r);
			expect(r, ">");
		}
		g->first = r->f->registers;
		r->f->registers += g->count ? g->count : 1;
		g->depth = r->depth;
		g->next = r->m->registers;
		r->m->registers = g;
	} while (accept(r, ","));
	expect(r, ";");
}

static void scope_close(struct reader *r)
{
	while (r->m->variables && r->m->variables->depth == r->depth) {
		struct ref_variable *v = r->m->variables;

		r->m->variables = v->next;
		v->next = r->m->closed;
		r->m->closed = v;
	}
	while (r->m->registers && r->m->registers->depth == r->depth) {
		struct ref_register *g = r->m->registers;

		r->m->registers = g->next;
		free(g);
	}
	r->depth--;
}

static void operand(struct reader *r, struct ref_operand *o);

static void operand_list(struct reader *r, struct ref_operand *o, enum ref_operand_kind kind, const char *end)
{
	o->kind = kind;
	next(r);
	o->item = take(r, 16 * sizeof(*o->item));
	while (!at(r, end)) {
		if (o->items == 16)
			fail(r, "more than 16 operands");
		operand(r, &o->item[o->items++]);
		if (!accept(r, ","))
			break;
	}
	expect(r, end);
}

static void address(struct reader *r, struct ref_operand *o)
{
	next(r);
	o->kind = OPERAND_ADDRESS;
	if (isdigit((unsigned char)*r->token)) {
		o->number = number(r);
	} else {
		o->reg = register_find(r, r->token);
		o->variable = o->reg < 0 ? variable_find(r, r->token) : NULL;
		if (o->reg < 0 && !o->variable)
			fail(r, "unknown name %s", r->token);
		next(r);
	}
	if (accept(r, "+"))
		o->number += number(r);
	else if (at(r, "-"))
		o->number += number(r);
	expect(r, "]");
}

static void operand(struct reader *r, struct ref_operand *o)
{
	*o = (struct ref_operand){ .reg = -1, .pair = -1 };
	if (accept(r, "!"))
		o->negate = true;
	if (at(r, "[")) {
		address(r, o);
	} else if (at(r, "{")) {
		operand_list(r, o, OPERAND_VECTOR, "}");
	} else if (at(r, "(")) {
		operand_list(r, o, OPERAND_LIST, ")");
	} else if (isdigit((unsigned char)*r->token) || at(r, "-")) {
		o->kind = OPERAND_NUMBER;
		o->number = number(r);
	} else if (accept(r, "_")) {
		o->kind = OPERAND_SINK;
	} else {
		o->reg = register_find(r, r->token);
		o->kind = o->reg >= 0 ? OPERAND_REG : OPERAND_NAME;
		o->variable = variable_find(r, r->token);
		snprintf(o->name, sizeof(o->name), "%.71s", r->token);
		next(r);
	}
	if (accept(r, "|")) {
		o->pair = at(r, "_") ? -1 : register_find(r, r->token);
		next(r);
	}
}

static void instruction(struct reader *r)
{
	struct ref_function *f = r->f;
	struct ref_insn *in;

	if (f->insns == f->room) {
		f->room = f->room * 2 + 64;
		f->insn = realloc(f->insn, (size_t)f->room * sizeof(*f->insn));
		if (!f->insn)
			fail(r, "no memory");
	}
	in = &f->insn[f->insns++];
	*in = (struct ref_insn){ .line = r->line, .guard = -1 };
	if (accept(r, "@")) {
		in->guard_not = accept(r, "!");
		in->guard = register_find(r, r->token);
		if (in->guard < 0)
			fail(r, "unknown predicate %s", r->token);
		next(r);
	}
	ref_op_parse(r->token, &in->op);
	next(r);
	while (!at(r, ";")) {
		if (in->operands == 6)
			fail(r, "more than 6 operands");
		operand(r, &in->operand[in->operands++]);
		if (!accept(r, ","))
			break;
	}
	expect(r, ";");
}

static struct ref_label *label_add(struct reader *r, const char *name)
{
	struct ref_label *l = take(r, sizeof(*l));

	snprintf(l->name, sizeof(l->name), "%.71s", name);
	l->at = r->f->insns;
	l->next = r->f->labels;
	r->f->labels = l;
	return l;
}

static void branch_targets(struct reader *r, struct ref_label *l)
{
	do {
		if (l->target_count == 64)
			fail(r, "too many branch targets");
		l->targets[l->target_count++] = strdup(r->token);
		next(r);
	} while (accept(r, ","));
	expect(r, ";");
}

/* name: {.branchtargets ... ; | .callprototype ... ;} */
static bool label(struct reader *r)
{
	const char *p = r->p;
	char name[72];

	p += strspn(p, " \t");
	if (*p != ':' || *r->token == '.')
		return false;
	snprintf(name, sizeof(name), "%.71s", r->token);
	next(r);
	next(r);
	if (accept(r, ".branchtargets")) {
		branch_targets(r, label_add(r, name));
	} else if (accept(r, ".callprototype")) {
		while (!at(r, ";"))
			next(r);
		next(r);
	} else {
		label_add(r, name);
	}
	return true;
}

static void body(struct reader *r)
{
	expect(r, "{");
	for (int open = 1; open;) {
		if (!*r->token)
			fail(r, "the text ends within a function");
		if (accept(r, "{")) {
			r->depth++;
			open++;
		} else if (at(r, "}")) {
			if (--open)
				scope_close(r);
			next(r);
		} else if (accept(r, ".reg")) {
			registers(r);
		} else if (at(r, ".param") || at(r, ".local") || at(r, ".shared")) {
			char space = r->token[1];

			next(r);
			do
				variable(r, space);
			while (accept(r, ","));
			expect(r, ";");
		} else if (*r->token == '.') { /* .loc, .pragma */
			while (!at(r, ";"))
				next(r);
			next(r);
		} else if (!label(r)) {
			instruction(r);
		}
	}
}

static int formals(struct reader *r, struct ref_variable **list, int most)
{
	int n = 0;

	while (!at(r, ")")) {
		if (n == most)
			fail(r, "too many parameters");
		expect(r, ".param");
		list[n++] = variable(r, 'p');
		if (!accept(r, ","))
			break;
	}
	expect(r, ")");
	return n;
}

static void function(struct reader *r, bool entry)
{
	struct ref_function *f = take(r, sizeof(*f)), *before;

	r->f = f;
	r->depth++;
	f->entry = entry;
	if (accept(r, "("))
		f->results = formals(r, f->result, 4);
	snprintf(f->name, sizeof(f->name), "%.71s", r->token);
	next(r);
	if (accept(r, "("))
		f->formals = formals(r, f->formal, 16);
	before = ref_function_find(r->m, f->name);
	if (!before) {
		if (r->m->functions == 64)
			fail(r, "too many functions");
		r->m->function[r->m->functions++] = f;
	} else {
		before->formals = f->formals;
		before->results = f->results;
		memcpy(before->formal, f->formal, sizeof(f->formal));
		memcpy(before->result, f->result, sizeof(f->result));
		before->param_bytes = f->param_bytes;
		free(f);
		f = r->f = before;
	}
	while (!at(r, "{") && !at(r, ";")) /* .maxntid and the like */
		next(r);
	if (at(r, "{")) {
		f->has_body = true;
		body(r);
	} else {
		next(r);
	}
	scope_close(r);
	r->f = NULL;
}

static void text(struct reader *r)
{
	while (*r->token) {
		if (accept(r, ".version") || accept(r, ".target") || accept(r, ".address_size"))
			next(r);
		else if (accept(r, ".visible") || accept(r, ".extern") || accept(r, ".weak"))
			;
		else if (accept(r, ".entry"))
			function(r, true);
		else if (accept(r, ".func"))
			function(r, false);
		else if (at(r, ".global") || at(r, ".const") || at(r, ".shared")) {
			char space = r->token[1];

			next(r);
			variable(r, space);
			expect(r, ";");
		} else {
			fail(r, "'%s' at the top", r->token);
		}
	}
}

struct ref_module *ref_module_load(const char *source, char *error, size_t error_bytes)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct reader){ .p = source, .line = 1, .error = error, .error_bytes = error_bytes };
	r->m = calloc(1, sizeof(*r->m));
	if (!r->m || setjmp(r->out)) {
		ref_module_free(r->m);
		free(r);
		return NULL;
	}
	next(r);
	text(r);
	struct ref_module *m = r->m;

	free(r);
	return m;
}

static void operand_free(struct ref_operand *o)
{
	for (int i = 0; i < o->items; i++)
		operand_free(&o->item[i]);
	free(o->item);
}

static void function_free(struct ref_function *f)
{
	for (int i = 0; i < f->insns; i++)
		for (int k = 0; k < f->insn[i].operands; k++)
			operand_free(&f->insn[i].operand[k]);
	for (struct ref_label *l = f->labels, *after; l; l = after) {
		after = l->next;
		for (int i = 0; i < l->target_count; i++)
			free(l->targets[i]);
		free(l);
	}
	free(f->insn);
	free(f);
}

static void variables_free(struct ref_variable *v)
{
	for (struct ref_variable *after; v; v = after) {
		after = v->next;
		free(v);
	}
}

void ref_module_free(struct ref_module *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->functions; i++)
		function_free(m->function[i]);
	variables_free(m->variables);
	variables_free(m->closed);
	for (struct ref_register *g = m->registers, *after; g; g = after) {
		after = g->next;
		free(g);
	}
	free(m);
}
