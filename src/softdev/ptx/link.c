/* link.c: joins the texts of a module: which definition a name that crosses texts means, and what nobody defines. */
#include "softdev/ptx/table.h"

#include <errno.h>

/* Names visible to other texts. The first definition of a weak name counts, a second strong one is an error. */
struct linker {
	struct program *program;
	struct table names;
};

bool symbol_is_definition(const struct symbol *s)
{
	if (s->kind == SYM_FUNCTION)
		return s->body != NULL;
	return s->linkage != LINK_EXTERN;
}

static int link_define(struct linker *l, struct symbol *s)
{
	struct entry *e;

	if (s->linkage == LINK_FILE || !symbol_is_definition(s))
		return 0;
	e = table_find(&l->names, s->name, false);
	if (!e) {
		e = arena_take(&l->program->scratch, sizeof(*e));
		if (!e)
			return -ENOMEM;
		*e = (struct entry){ .name = s->name, .kind = ENT_SYMBOL, .symbol = s };
		return table_add(&l->names, e);
	}
	if (e->symbol->linkage != LINK_WEAK && s->linkage != LINK_WEAK) {
		complain(l->program->complaint, PTX_INVALID, s->line, NULL, "%.*s is defined twice", (int)s->name.bytes,
			 s->name.p);
		return PTX_INVALID;
	}
	if (e->symbol->linkage == LINK_WEAK && s->linkage != LINK_WEAK)
		e->symbol = s;
	return 0;
}

static void link_resolve(struct linker *l, struct symbol *s)
{
	struct entry *e = s->linkage == LINK_FILE ? NULL : table_find(&l->names, s->name, false);

	if (e && e->symbol->kind == s->kind)
		s->definition = e->symbol;
}

/*
 * Builtins are resolved by the decoder; functions that are only declared and never called do not matter. A text that
 * comes alone is the whole program: what it declares as external it has, as compilers of PTX take it, with a warning.
 */
static int link_check(struct linker *l, struct symbol *s)
{
	if (symbol_is_definition(s->definition) || s->kind == SYM_FUNCTION || !s->used || s->open_array)
		return 0;
	if (l->program->text == 1 && s->bytes) { /* texts that have been read */
		s->linkage = LINK_VISIBLE;
		return 0;
	}
	complain(l->program->complaint, PTX_UNRESOLVED, s->line, NULL, "no variable %.*s in this module",
		 (int)s->name.bytes, s->name.p);
	return PTX_UNRESOLVED;
}

int link_texts(struct program *p)
{
	struct symbol *list[] = { p->variable, p->shared, p->function };
	struct linker l = { .program = p };
	int r = table_init(&l.names);

	for (int i = 0; i < 3 && !r; i++)
		for (struct symbol *s = list[i]; s && !r; s = s->next)
			r = link_define(&l, s);
	for (int i = 0; i < 3 && !r; i++)
		for (struct symbol *s = list[i]; s; s = s->next)
			link_resolve(&l, s);
	for (struct symbol *s = p->variable; s && !r; s = s->next)
		for (struct relocation *x = s->relocation; x && !r; x = x->next)
			if (x->symbol->kind == SYM_VARIABLE)
				x->symbol->used = true;
	for (int i = 0; i < 2 && !r; i++)
		for (struct symbol *s = list[i]; s && !r; s = s->next)
			r = link_check(&l, s);
	table_deinit(&l.names);
	return r;
}
