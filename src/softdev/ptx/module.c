/*
 * module.c: loads, links and binds modules.
 *
 * Static shared memory is laid out per kernel: the variables that functions use come first, at the same place for every
 * kernel that calls functions, then the kernel's own, then the dynamic part.
 */
#include "softdev/ptx/decode.h"
#include "softdev/ptx/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_DEPTH_MAX 200u /* longer chains of calls are treated as recursion: they get the stack that is asked for   \
			     */
#define STACK_BYTES_DEFAULT 16384u

struct kernel {
	struct ptx_kernel shown; /* first: a kernel is found from it */
	struct function *function;
};

struct ptx_module {
	struct arena arena;
	const struct isa *isa;
	uint32_t quantum;
	struct kernel *kernel;
	size_t kernel_count;
	struct ptx_variable *variable;
	struct symbol **variable_symbol;
	size_t variable_count;
	struct function *function;
	size_t function_count;
	struct constant_relocation *relocation;
	struct table names; /* of kernels and visible variables */
	bool bound;
};

/* Names visible to other texts. The first definition of a weak name counts, a second strong one is an error. */
struct linker {
	struct program *program;
	struct table names;
};

static const char *copy_name(struct program *p, struct name n)
{
	char *s = arena_take(&p->arena, (size_t)n.bytes + 1);

	if (s)
		memcpy(s, n.p, n.bytes);
	return s;
}

static bool is_definition(const struct symbol *s)
{
	if (s->kind == SYM_FUNCTION)
		return s->body != NULL;
	return s->linkage != LINK_EXTERN;
}

static int link_define(struct linker *l, struct symbol *s)
{
	struct entry *e;

	if (s->linkage == LINK_FILE || !is_definition(s))
		return 0;
	e = table_find(&l->names, s->name, false);
	if (!e) {
		e = arena_take(&l->program->arena, sizeof(*e));
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

/* Builtins are resolved by the decoder; functions that are only declared and never called do not matter. */
static int link_check(struct linker *l, const struct symbol *s)
{
	if (is_definition(s->definition) || s->kind == SYM_FUNCTION || !s->used || s->open_array)
		return 0;
	complain(l->program->complaint, PTX_UNRESOLVED, s->line, NULL, "no variable %.*s in this module",
		 (int)s->name.bytes, s->name.p);
	return PTX_UNRESOLVED;
}

static int link_texts(struct program *p)
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

static int list_variables(struct ptx_module *m, struct program *p)
{
	size_t n = 0;

	for (struct symbol *s = p->variable; s; s = s->next)
		n += s->definition == s && is_definition(s);
	m->variable = calloc(n + 1, sizeof(*m->variable));
	m->variable_symbol = calloc(n + 1, sizeof(struct symbol *));
	if (!m->variable || !m->variable_symbol)
		return -ENOMEM;
	for (struct symbol *s = p->variable; s; s = s->next) {
		if (s->definition != s || !is_definition(s))
			continue;
		s->index = m->variable_count;
		m->variable_symbol[m->variable_count] = s;
		m->variable[m->variable_count++] = (struct ptx_variable){
			.name = copy_name(p, s->name),
			.space = (enum ptx_variable_space)s->space,
			.bytes = s->bytes,
			.align = s->align,
			.managed = s->managed,
			.visible = s->linkage != LINK_FILE,
		};
		if (s->reference)
			m->variable[s->index].reference = *s->reference;
		if (!m->variable[m->variable_count - 1].name)
			return -ENOMEM;
	}
	return 0;
}

static void count_shared(const struct operand *o, uint32_t count, void (*visit)(struct symbol *s, void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < count; i++) {
		if (o[i].symbol && o[i].symbol->kind == SYM_SHARED)
			visit(o[i].symbol->definition, ctx);
		if (o[i].item)
			count_shared(o[i].item, o[i].count, visit, ctx);
	}
}

struct layout {
	uint64_t bytes;
	struct symbol *owner;	/* what marks the variables that have a place */
	uint32_t dynamic_align; /* 0: no dynamic array in use */
	bool uses_common;	/* variables of functions */
};

/* The mark of variables that functions use, which have one place in all kernels. */
static struct symbol common_mark;

static void place_shared(struct symbol *s, void *ctx)
{
	struct layout *l = ctx;

	if (s->open_array) {
		l->dynamic_align = s->align > l->dynamic_align ? s->align : l->dynamic_align;
		l->dynamic_align = l->dynamic_align < 16 ? 16 : l->dynamic_align;
		return;
	}
	if (s->mark == &common_mark || s->mark == l->owner) {
		l->uses_common |= s->mark == &common_mark;
		return;
	}
	s->mark = l->owner;
	s->offset = (l->bytes + s->align - 1) & ~((uint64_t)s->align - 1);
	l->bytes = s->offset + s->bytes;
}

static void see_common(struct symbol *s, void *ctx)
{
	((struct layout *)ctx)->uses_common |= s->mark == &common_mark;
}

static void see_dynamic(struct symbol *s, void *ctx)
{
	struct layout *l = ctx;

	if (s->open_array)
		s->offset = l->bytes;
}

static bool calls(const struct body *b)
{
	for (uint32_t i = 0; i < b->count; i++)
		if (b->insn[i].opcode.bytes >= 4 && !memcmp(b->insn[i].opcode.p, "call", 4))
			return true;
	return false;
}

static void each_shared(const struct body *b, void (*visit)(struct symbol *s, void *ctx), void *ctx)
{
	for (uint32_t i = 0; i < b->count; i++)
		count_shared(b->insn[i].operand, b->insn[i].count, visit, ctx);
}

/* Shared variables of one kernel; `common` is the part of functions. Value: static bytes, or UINT32_MAX: too many. */
static uint32_t lay_out_shared(struct body *b, const struct layout *common)
{
	struct layout l = { .owner = b->symbol };

	each_shared(b, see_common, &l);
	if (l.uses_common || calls(b)) {
		l.bytes = common->bytes;
		l.dynamic_align = common->dynamic_align;
	}
	each_shared(b, place_shared, &l);
	if (l.bytes > SHARED_BYTES_MAX || l.dynamic_align > SHARED_BYTES_MAX)
		return UINT32_MAX;
	if (l.dynamic_align > 16)
		l.bytes = (l.bytes + l.dynamic_align - 1) & ~((uint64_t)l.dynamic_align - 1);
	struct layout dynamic = { .bytes = (l.bytes + 15) & ~15ull };
	each_shared(b, see_dynamic, &dynamic);
	return (uint32_t)l.bytes;
}

static int lay_out_params(struct program *p, struct body *b, struct ptx_kernel *k)
{
	uint64_t at = 0, most = 0;
	struct ptx_param *param;
	uint32_t n = 0;

	for (struct symbol *s = b->param; s; s = s->next)
		n++;
	param = arena_take(&p->arena, (n + 1) * sizeof(*param));
	if (!param)
		return -ENOMEM;
	n = 0;
	for (struct symbol *s = b->param; s; s = s->next) {
		at = (at + s->align - 1) & ~((uint64_t)s->align - 1);
		s->offset = at;
		at += s->bytes;
		if (s->bytes > 32764 || at > 32764) {
			complain(p->complaint, PTX_INVALID, s->line, k->name, "parameters of more than 32764 bytes");
			return PTX_INVALID;
		}
		param[n++] = (struct ptx_param){ (uint32_t)s->offset, (uint32_t)s->bytes, s->align };
		most = s->align > most ? s->align : most;
	}
	k->param = param;
	k->param_count = n;
	k->param_bytes = (uint32_t)at;
	return 0;
}

static uint32_t at_most(uint64_t v, uint32_t most)
{
	return v > most ? most : (uint32_t)v;
}

static int describe_kernel(struct ptx_module *m, struct program *p, struct body *b, struct kernel *k)
{
	const uint32_t *t = b->max_threads, *r = b->required;
	uint64_t threads = (uint64_t)t[0] * t[1];

	k->function = b->function;
	k->shown.module = m;
	k->shown.name = b->function->name;
	memcpy(k->shown.cluster, b->cluster, sizeof(k->shown.cluster));
	k->shown.ptx_version = b->version;
	k->shown.target = b->target;
	if (r[0]) {
		memcpy(k->shown.required_threads, r, sizeof(k->shown.required_threads));
		threads = (uint64_t)r[0] * r[1];
		t = r;
	}
	threads = threads > 1024 ? 1024 : threads * t[2];
	k->shown.max_threads = t[0] ? at_most(threads, 1024) : 1024;
	for (size_t i = 0; i < m->variable_count; i++)
		if (m->variable[i].space == PTX_CONST)
			k->shown.const_bytes = at_most(k->shown.const_bytes + m->variable[i].bytes, UINT32_MAX);
	return lay_out_params(p, b, &k->shown);
}

static int decode_one(struct ptx_module *m, struct program *p, struct body *b)
{
	struct decoder d = { .program = p,
			     .module = m,
			     .isa = m->isa,
			     .table = insn_table_get(m->isa),
			     .body = b,
			     .function = b->function,
			     .relocation = &m->relocation,
			     .guard = LOC_NONE };

	if (!d.table)
		return -ENOMEM;
	return decode_body(&d);
}

static int list_functions(struct ptx_module *m, struct program *p)
{
	size_t functions = 0, kernels = 0;

	for (struct body *b = p->body; b; b = b->next) {
		functions++;
		kernels += b->kernel && b->symbol->definition == b->symbol;
	}
	m->function = calloc(functions + 1, sizeof(*m->function));
	m->kernel = calloc(kernels + 1, sizeof(*m->kernel));
	if (!m->function || !m->kernel)
		return -ENOMEM;
	for (struct body *b = p->body; b; b = b->next) {
		struct function *f = &m->function[m->function_count];

		f->module = m;
		f->name = copy_name(p, b->symbol->name);
		f->text = b->text;
		f->id = (uint32_t)m->function_count++;
		b->function = f;
		if (!f->name)
			return -ENOMEM;
	}
	return 0;
}

static int decode_all(struct ptx_module *m, struct program *p)
{
	struct layout common = { .owner = &common_mark };
	uint32_t shared;
	int r = 0;

	for (struct body *b = p->body; b; b = b->next)
		if (!b->kernel)
			each_shared(b, place_shared, &common);
	for (struct body *b = p->body; b && !r; b = b->next) {
		struct kernel *k = &m->kernel[m->kernel_count];

		if (!b->kernel) {
			r = decode_one(m, p, b);
			continue;
		}
		if (b->symbol->definition != b->symbol)
			continue;
		shared = lay_out_shared(b, &common);
		if (shared == UINT32_MAX) {
			complain(p->complaint, PTX_INVALID, b->symbol->line, b->function->name,
				 "more than %u bytes of static shared memory", SHARED_BYTES_MAX);
			return PTX_INVALID;
		}
		k->shown.shared_bytes = shared;
		r = describe_kernel(m, p, b, k);
		if (!r)
			r = decode_one(m, p, b);
		m->kernel_count += !r;
	}
	return r;
}

/* Local memory of a thread that runs f and all that it calls. False: recursion, or calls nobody can follow. */
static bool find_stack(struct function *f, uint32_t depth)
{
	uint64_t most = 0;

	if (f->stack_bytes)
		return !f->recursive;
	if (depth > CALL_DEPTH_MAX || f->calls_unknown) {
		f->recursive = true;
		f->stack_bytes = f->local_bytes + 16;
		return false;
	}
	f->stack_bytes = f->local_bytes + 16; /* seen again below: recursion */
	f->recursive = true;
	for (uint32_t i = 0; i < f->callee_count; i++) {
		struct function *c = f->callee[i];

		if (!find_stack(c, depth + 1))
			return false;
		most = c->stack_bytes > most ? c->stack_bytes : most;
	}
	f->recursive = false;
	f->stack_bytes = at_most(f->local_bytes + 16 + most, UINT32_MAX / 2);
	return true;
}

static int name_things(struct ptx_module *m, struct program *p)
{
	int r = table_init(&m->names);

	for (size_t n = 0; n < m->kernel_count + 2 * m->variable_count && !r; n++) {
		/* kernels, visible variables, the others */
		const size_t i = n < m->kernel_count + m->variable_count ? n : n - m->variable_count;
		const bool kernel = i < m->kernel_count, late = n != i;
		const char *name = kernel ? m->kernel[i].shown.name : m->variable[i - m->kernel_count].name;
		struct entry *e;

		/* what a text keeps to itself can be found too, by its first bearer: the host asks for static variables
		 */
		if (!kernel && m->variable[i - m->kernel_count].visible == late)
			continue;
		if (table_find(&m->names, (struct name){ name, (uint32_t)strlen(name) }, false))
			continue;
		e = arena_take(&p->arena, sizeof(*e));
		if (!e)
			return -ENOMEM;
		*e = (struct entry){ .name = { name, (uint32_t)strlen(name) },
				     .kind = kernel ? ENT_SYMBOL : ENT_REG,
				     .reg = (uint32_t)(kernel ? i : i - m->kernel_count) };
		r = table_add(&m->names, e);
	}
	return r;
}

static void finish_kernels(struct ptx_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct kernel *k = &m->kernel[i];
		const uint32_t regs = k->function->frame_bytes / (4 * LANES) + 8;

		find_stack(k->function, 0);
		k->shown.local_bytes = k->function->local_bytes;
		k->shown.registers = regs < 16 ? 16 : regs > 255 ? 255 : regs;
	}
}

static int load(struct ptx_module *m, struct program *p, const struct ptx_text *text, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && !r; p->text = (uint32_t)++i)
		r = text_parse(p, &text[i]);
	if (!r)
		r = link_texts(p);
	if (!r)
		r = list_variables(m, p);
	if (!r)
		r = list_functions(m, p);
	if (!r)
		r = decode_all(m, p);
	if (!r)
		finish_kernels(m);
	return r ? r : name_things(m, p);
}

int ptx_module_load(const struct ptx_text *text, size_t count, const struct ptx_options *options,
		    struct ptx_module **ret, char *log, size_t log_bytes)
{
	static const struct ptx_options defaults;
	struct complaint complaint = { log, log_bytes, 0 };
	struct program p = { .complaint = &complaint };
	struct ptx_module *m;
	int r;

	options = options ? options : &defaults;
	if (log && log_bytes)
		log[0] = 0;
	p.arch = options->arch ? options->arch : 90;
	p.variable_end = &p.variable;
	p.shared_end = &p.shared;
	p.function_end = &p.function;
	p.body_end = &p.body;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->quantum = options->quantum ? options->quantum : 32;
	m->isa = isa_find(options->isa);
	if (!m->isa) {
		complain(&complaint, PTX_INVALID, 0, NULL, "no instruction set %s on this machine", options->isa);
		r = PTX_INVALID;
	} else {
		r = load(m, &p, text, count);
	}
	m->arena = p.arena;
	arena_deinit(&p.scratch);
	if (r) {
		ptx_module_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void ptx_module_free(struct ptx_module *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->function_count; i++) {
		free(m->function[i].code);
		free(m->function[i].line);
		free(m->function[i].constants);
		free(m->function[i].callee);
	}
	free(m->function);
	free(m->kernel);
	free(m->variable);
	free(m->variable_symbol);
	table_deinit(&m->names);
	arena_deinit(&m->arena);
	free(m);
}

void ptx_module_table_size(const struct ptx_module *m, struct ptx_table_size *ret)
{
	*ret = (struct ptx_table_size){ .bytes = arena_bytes(&m->arena) };
	for (size_t i = 0; i < m->function_count; i++) {
		const struct function *f = &m->function[i];

		ret->instructions += f->instructions;
		ret->operands += f->operands;
		ret->operations += f->count;
		ret->bytes += sizeof(*f) + f->count * (sizeof(*f->code) + sizeof(*f->line)) + f->constant_bytes +
			      f->callee_count * sizeof(void *);
	}
}

static uint64_t symbol_value(const struct ptx_module *m, const struct symbol *s)
{
	s = s->definition;
	if (s->kind == SYM_FUNCTION)
		return s->body ? FUNCTION_ADDRESS(s->body->function->id) : 0;
	return m->variable[s->index].address;
}

int ptx_module_bind(struct ptx_module *m, const uint64_t *address)
{
	for (size_t i = 0; i < m->variable_count; i++)
		if (m->variable[i].bytes && (!address[i] || address[i] & (m->variable[i].align - 1)))
			return -EINVAL;
	for (size_t i = 0; i < m->variable_count; i++)
		m->variable[i].address = address[i];
	for (size_t i = 0; i < m->variable_count; i++) {
		const struct symbol *s = m->variable_symbol[i];
		uint8_t *to = (uint8_t *)(uintptr_t)address[i];

		if (!s->bytes || s->space >= PTX_TEXREF)
			continue;
		memset(to, 0, s->bytes);
		if (s->init_bytes)
			memcpy(to, s->init, s->init_bytes);
		for (const struct relocation *r = s->relocation; r; r = r->next) {
			const uint64_t v = (symbol_value(m, r->symbol) + r->addend) >> r->shift;

			memcpy(to + r->at, &v, r->bytes);
		}
	}
	for (const struct constant_relocation *r = m->relocation; r; r = r->next) {
		const uint64_t v = symbol_value(m, r->symbol) + r->addend;

		for (uint32_t i = 0; i < LANES; i++)
			memcpy(r->function->constants + r->offset + i * 8, &v, 8);
	}
	m->bound = true;
	return 0;
}

size_t ptx_module_kernel_count(const struct ptx_module *m)
{
	return m->kernel_count;
}

const struct ptx_kernel *ptx_module_kernel_at(const struct ptx_module *m, size_t i)
{
	return &m->kernel[i].shown;
}

static const struct entry *find_thing(const struct ptx_module *m, const char *name, enum entry_kind kind)
{
	const struct entry *e = table_find(&m->names, (struct name){ name, (uint32_t)strlen(name) }, false);

	return e && e->kind == kind ? e : NULL;
}

const struct ptx_kernel *ptx_module_kernel_find(const struct ptx_module *m, const char *name)
{
	const struct entry *e = find_thing(m, name, ENT_SYMBOL);

	return e ? &m->kernel[e->reg].shown : NULL;
}

size_t ptx_module_variable_count(const struct ptx_module *m)
{
	return m->variable_count;
}

const struct ptx_variable *ptx_module_variable_at(const struct ptx_module *m, size_t i)
{
	return &m->variable[i];
}

const struct ptx_variable *ptx_module_variable_find(const struct ptx_module *m, const char *name)
{
	const struct entry *e = find_thing(m, name, ENT_REG);

	return e ? &m->variable[e->reg] : NULL;
}

const struct function *module_function_at(const struct ptx_module *m, uint64_t address)
{
	const uint64_t id = address / 16 - 1;

	return address % 16 || id >= m->function_count || !m->function[id].code ? NULL : &m->function[id];
}

const struct function *kernel_function(const struct ptx_kernel *k)
{
	return ((const struct kernel *)k)->function;
}

uint32_t kernel_stack_bytes(const struct ptx_kernel *k, uint32_t asked)
{
	const struct function *f = kernel_function(k);
	const uint64_t stack = f->recursive ? (uint64_t)f->local_bytes + 16 + (asked ? asked : STACK_BYTES_DEFAULT)
			       : f->callee_count || f->local_bytes ? f->stack_bytes
								   : 0;

	return at_most((stack + 15) & ~15ull, 1u << 24);
}

const struct isa *module_isa(const struct ptx_module *m)
{
	return m->isa;
}

uint32_t module_quantum(const struct ptx_module *m)
{
	return m->quantum;
}

bool module_bound(const struct ptx_module *m)
{
	return m->bound;
}
