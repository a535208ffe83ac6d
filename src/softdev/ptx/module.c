/*
 * module.c: loads and binds modules.
 *
 * What a load keeps: operations, constants, names, and how to fill in the variables. Symbols are gone when it ends.
 *
 * Static shared memory is laid out per kernel: the variables that functions use come first, at the same place for every
 * kernel that calls functions, then the kernel's own, then the dynamic part. Where a module asks for the reserved part,
 * that comes before all, in each of its kernels.
 */
#include "softdev/ptx/children.h"
#include "softdev/ptx/decode.h"
#include "softdev/ptx/hot.h"
#include "softdev/ptx/limits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_DEPTH_MAX                                                                                                 \
	200u /* longer chains of calls are treated as recursion: they get the stack that is asked for                  \
	      */
#define STACK_BYTES_DEFAULT 16384u

#define QUANTUM_DEFAULT 32u /* compiled code takes longer turns: who wants others gets the interpreter */

struct kernel {
	struct ptx_kernel shown; /* first: a kernel is found from it */
	struct function *function;
	uint32_t max_registers; /* 0: no limit */
};

#define VALUE_FUNCTION 0x80000000u
#define VALUE_NONE UINT32_MAX

/* An address to be written when the module is bound. */
struct patch {
	uint64_t at; /* in the variable or the constants */
	uint64_t addend;
	uint32_t value; /* number of a variable; VALUE_FUNCTION | number of a function; VALUE_NONE: 0 */
	uint8_t bytes, shift;
};

/* What a variable contains at first; zeroes behind `bytes`. */
struct initial {
	const uint8_t *data;
	uint64_t bytes;
	const struct patch *patch;
	size_t patch_count;
};

struct ptx_module {
	struct arena arena, initial_data;
	const struct isa *isa;
	uint32_t quantum, max_registers;
	struct kernel *kernel;
	size_t kernel_count;
	struct ptx_variable *variable;
	struct initial *initial; /* of each variable */
	size_t variable_count;
	struct function *function;
	size_t function_count;
	uint8_t *constants;
	uint32_t constant_bytes;
	struct patch *constant_patch;
	size_t constant_patch_count;
	const struct kernel **kernel_by_name;
	const struct ptx_variable **variable_by_name;
	bool bound;
};

static const char *copy_name(struct program *p, struct name n)
{
	char *s = arena_take(&p->arena, (size_t)n.bytes + 1);

	if (s)
		memcpy(s, n.p, n.bytes);
	return s;
}

static int list_variables(struct ptx_module *m, struct program *p)
{
	size_t n = 0;

	for (struct symbol *s = p->variable; s; s = s->next)
		n += s->definition == s && symbol_is_definition(s);
	m->variable = calloc(n + 1, sizeof(*m->variable));
	m->initial = calloc(n + 1, sizeof(*m->initial));
	if (!m->variable || !m->initial)
		return -ENOMEM;
	for (struct symbol *s = p->variable; s; s = s->next) {
		if (s->definition != s || !symbol_is_definition(s))
			continue;
		s->index = m->variable_count;
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
static uint32_t lay_out_shared(struct body *b, uint32_t reserved, const struct layout *common)
{
	struct layout l = { .bytes = reserved, .owner = b->symbol };

	each_shared(b, see_common, &l);
	if (l.uses_common || calls(b)) {
		l.bytes = common->bytes;
		l.dynamic_align = common->dynamic_align;
	}
	each_shared(b, place_shared, &l);
	if (l.bytes > SHARED_BYTES_MAX + reserved || l.dynamic_align > SHARED_BYTES_MAX)
		return UINT32_MAX;
	if (l.dynamic_align > 16)
		l.bytes = (l.bytes + l.dynamic_align - 1) & ~((uint64_t)l.dynamic_align - 1);
	struct layout dynamic = { .bytes = (l.bytes + 15) & ~15ull };
	each_shared(b, see_dynamic, &dynamic);
	return (uint32_t)l.bytes - reserved;
}

static int lay_out_params(struct program *p, struct body *b, struct ptx_kernel *k)
{
	struct ptx_param *param;
	uint64_t at = 0;
	uint32_t n = 0;
	int r = 0;

	for (struct symbol *s = b->param; s; s = s->next)
		n++;
	param = arena_take(&p->arena, (n + 1) * sizeof(*param));
	if (!param)
		return -ENOMEM;
	n = 0;
	for (struct symbol *s = b->param; s && !r; s = s->next) {
		at = (at + s->align - 1) & ~((uint64_t)s->align - 1);
		s->offset = at;
		at += s->bytes; /* of a variable: 2^40 at most */
		param[n++] = (struct ptx_param){ (uint32_t)s->offset, (uint32_t)s->bytes, s->align };
		r = limits_check_params(b, at, k->name, p->complaint);
	}
	k->param = param;
	k->param_count = n;
	k->param_bytes = (uint32_t)at;
	return r;
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
	k->max_registers = registers_least(b->max_registers, registers_least(p->max_registers, m->max_registers));
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

static int decode_one(struct ptx_module *m, struct program *p, struct body *b, struct constant_pool *constants)
{
	struct decoder d = { .program = p,
			     .module = m,
			     .isa = m->isa,
			     .table = insn_table_get(m->isa),
			     .body = b,
			     .function = b->function,
			     .constants = constants,
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

static int decode_all(struct ptx_module *m, struct program *p, struct constant_pool *constants)
{
	struct layout common = { .bytes = p->reserved_bytes, .owner = &common_mark };
	uint32_t shared;
	int r = 0;

	for (struct body *b = p->body; b; b = b->next)
		if (!b->kernel)
			each_shared(b, place_shared, &common);
	for (struct body *b = p->body; b && !r; b = b->next) {
		struct kernel *k = &m->kernel[m->kernel_count];

		if (!b->kernel) {
			r = decode_one(m, p, b, constants);
			continue;
		}
		if (b->symbol->definition != b->symbol)
			continue;
		shared = lay_out_shared(b, p->reserved_bytes, &common);
		if (shared == UINT32_MAX) {
			complain(p->complaint, PTX_INVALID, b->symbol->line, b->function->name,
				 "more than %u bytes of static shared memory", SHARED_BYTES_MAX);
			return PTX_INVALID;
		}
		k->shown.shared_bytes = shared;
		k->shown.reserved_bytes = p->reserved_bytes;
		r = limits_check_shared(b, shared, b->function->name, p->complaint);
		if (!r)
			r = describe_kernel(m, p, b, k);
		if (!r)
			r = decode_one(m, p, b, constants);
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
	if (depth > CALL_DEPTH_MAX || f->calls_unknown || f->takes_stack) {
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

static struct patch patch_to(const struct symbol *s, uint64_t addend, uint64_t at, uint32_t bytes, uint32_t shift)
{
	struct patch p = { at, addend, VALUE_NONE, (uint8_t)bytes, (uint8_t)shift };

	s = s->definition;
	if (s->kind != SYM_FUNCTION)
		p.value = (uint32_t)s->index;
	else if (s->body)
		p.value = VALUE_FUNCTION | s->body->function->id;
	return p;
}

static int keep_constants(struct ptx_module *m, const struct constant_pool *c)
{
	const struct constant_relocation *r;
	size_t n = 0;

	for (r = c->relocation; r; r = r->next)
		n++;
	m->constant_patch = calloc(n + 1, sizeof(*m->constant_patch));
	m->constants = aligned_alloc(64, (c->count + 64) & ~63u);
	if (!m->constant_patch || !m->constants)
		return -ENOMEM;
	for (r = c->relocation; r; r = r->next)
		m->constant_patch[m->constant_patch_count++] = patch_to(r->symbol, r->addend, r->offset, 8, 0);
	m->constant_bytes = c->count;
	if (c->count)
		memcpy(m->constants, c->bytes, c->count);
	for (size_t i = 0; i < m->function_count; i++)
		m->function[i].constants = m->constants;
	return 0;
}

static int keep_initial(struct ptx_module *m, const struct symbol *s)
{
	struct initial *v = &m->initial[s->index];
	struct patch *patch;
	uint8_t *data;

	if (!s->bytes || s->space >= PTX_TEXREF)
		return 0;
	for (const struct relocation *r = s->relocation; r; r = r->next)
		v->patch_count++;
	if (v->patch_count) {
		v->patch = patch = arena_take(&m->initial_data, v->patch_count * sizeof(*patch));
		if (!patch)
			return -ENOMEM;
		for (const struct relocation *r = s->relocation; r; r = r->next)
			*patch++ = patch_to(r->symbol, r->addend, r->at, r->bytes, r->shift);
	}
	if (!s->init_bytes)
		return 0;
	v->data = data = arena_take(&m->initial_data, s->init_bytes);
	if (!data)
		return -ENOMEM;
	memcpy(data, s->init, s->init_bytes);
	v->bytes = s->init_bytes;
	return 0;
}

static int kernel_order(const void *a, const void *b)
{
	return strcmp((*(const struct kernel *const *)a)->shown.name, (*(const struct kernel *const *)b)->shown.name);
}

/* What a text keeps to itself can be found too, by its first bearer: the host asks for static variables. */
static int variable_order(const void *a, const void *b)
{
	const struct ptx_variable *x = *(const struct ptx_variable *const *)a;
	const struct ptx_variable *y = *(const struct ptx_variable *const *)b;
	const int r = strcmp(x->name, y->name);

	return r ? r : x->visible != y->visible ? y->visible - x->visible : (x > y) - (x < y);
}

static int name_things(struct ptx_module *m)
{
	m->kernel_by_name = calloc(m->kernel_count + 1, sizeof(void *));
	m->variable_by_name = calloc(m->variable_count + 1, sizeof(void *));
	if (!m->kernel_by_name || !m->variable_by_name)
		return -ENOMEM;
	for (size_t i = 0; i < m->kernel_count; i++)
		m->kernel_by_name[i] = &m->kernel[i];
	for (size_t i = 0; i < m->variable_count; i++)
		m->variable_by_name[i] = &m->variable[i];
	qsort(m->kernel_by_name, m->kernel_count, sizeof(void *), kernel_order);
	qsort(m->variable_by_name, m->variable_count, sizeof(void *), variable_order);
	return 0;
}

static void finish_kernels(struct ptx_module *m)
{
	for (size_t i = 0; i < m->kernel_count; i++) {
		struct kernel *k = &m->kernel[i];
		const uint32_t regs = k->function->frame_bytes / (4 * LANES) + 8;

		find_stack(k->function, 0);
		k->shown.local_bytes = k->function->local_bytes;
		k->shown.registers = registers_least(k->max_registers, regs < 16 ? 16 : regs > 255 ? 255 : regs);
	}
}

static int load(struct ptx_module *m, struct program *p, const struct ptx_text *text, size_t count)
{
	struct constant_pool constants = { 0 };
	int r = 0;

	for (size_t i = 0; i < count && !r; p->text = (uint32_t)++i)
		r = text_parse(p, &text[i]);
	if (!r && device_runtime_text(p))
		r = text_parse(p, device_runtime_text(p)); /* of no text of the caller's: its number is `count` */
	if (!r)
		r = link_texts(p);
	if (!r)
		r = list_variables(m, p);
	if (!r)
		r = limits_check_const(m, p->complaint);
	if (!r)
		r = list_functions(m, p);
	if (!r)
		r = decode_all(m, p, &constants);
	if (!r)
		r = keep_constants(m, &constants);
	constant_pool_deinit(&constants);
	for (const struct symbol *s = p->variable; s && !r; s = s->next)
		if (s->definition == s && symbol_is_definition(s))
			r = keep_initial(m, s);
	if (r)
		return r;
	finish_kernels(m);
	return name_things(m);
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
	p.chosen = options->chosen;
	p.variable_end = &p.variable;
	p.shared_end = &p.shared;
	p.function_end = &p.function;
	p.body_end = &p.body;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->max_registers = options->max_registers;
	m->quantum = options->quantum ? options->quantum : QUANTUM_DEFAULT;
	m->isa = isa_find(options->isa);
	if (!m->isa) {
		complain(&complaint, PTX_INVALID, 0, NULL,
			 "mete was built for another processor (%s is not there): "
			 "build it on this machine, or with -Disa=all",
			 options->isa ? options->isa : "its instruction set");
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
	for (size_t i = 0; m->quantum == QUANTUM_DEFAULT && i < m->kernel_count; i++)
		if (!m->kernel[i].function->hot)
			m->kernel[i].function->hot = hot_new(options->compile);
	*ret = m;
	return 0;
}

void ptx_module_free(struct ptx_module *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->function_count; i++) {
		hot_unref(m->function[i].hot);
		free(m->function[i].code);
		free(m->function[i].line);
		free(m->function[i].callee);
	}
	free(m->function);
	free(m->kernel);
	free(m->variable);
	free(m->initial);
	free(m->constants);
	free(m->constant_patch);
	free(m->kernel_by_name);
	free(m->variable_by_name);
	arena_deinit(&m->arena);
	arena_deinit(&m->initial_data);
	free(m);
}

void ptx_module_table_size(const struct ptx_module *m, struct ptx_table_size *ret)
{
	*ret = (struct ptx_table_size){ .bytes = sizeof(*m) + arena_bytes(&m->arena) + m->constant_bytes +
						 m->constant_patch_count * sizeof(*m->constant_patch) +
						 m->kernel_count * (sizeof(*m->kernel) + sizeof(void *)),
					.initial_bytes = arena_bytes(&m->initial_data) +
							 m->variable_count * (sizeof(*m->variable) +
									      sizeof(*m->initial) + sizeof(void *)) };
	for (size_t i = 0; i < m->function_count; i++) {
		const struct function *f = &m->function[i];

		ret->instructions += f->instructions;
		ret->operands += f->operands;
		ret->operations += f->count;
		ret->bytes += sizeof(*f) + f->count * (sizeof(*f->code) + sizeof(*f->line)) +
			      f->callee_count * sizeof(void *);
	}
}

static void patch_apply(const struct ptx_module *m, const struct patch *p, uint8_t *to)
{
	uint64_t v = p->value == VALUE_NONE	 ? 0
		     : p->value & VALUE_FUNCTION ? FUNCTION_ADDRESS(p->value & ~VALUE_FUNCTION)
						 : m->variable[p->value].address;

	v = (v + p->addend) >> p->shift;
	memcpy(to + p->at, &v, p->bytes);
}

int ptx_module_bind(struct ptx_module *m, const uint64_t *address)
{
	for (size_t i = 0; i < m->variable_count; i++)
		if (m->variable[i].bytes && (!address[i] || address[i] & (m->variable[i].align - 1)))
			return -EINVAL;
	for (size_t i = 0; i < m->variable_count; i++)
		m->variable[i].address = address[i];
	for (size_t i = 0; i < m->variable_count; i++) {
		const struct initial *v = &m->initial[i];
		uint8_t *to = (uint8_t *)(uintptr_t)address[i];

		if (!m->variable[i].bytes || m->variable[i].space >= PTX_TEXREF)
			continue;
		memset(to, 0, m->variable[i].bytes);
		if (v->bytes)
			memcpy(to, v->data, v->bytes);
		for (size_t k = 0; k < v->patch_count; k++)
			patch_apply(m, &v->patch[k], to);
	}
	for (size_t i = 0; i < m->constant_patch_count; i++)
		for (uint32_t k = 0; k < LANES; k++)
			patch_apply(m, &m->constant_patch[i], m->constants + (size_t)k * 8);
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

const struct ptx_kernel *ptx_module_kernel_find(const struct ptx_module *m, const char *name)
{
	size_t low = 0, high = m->kernel_count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (strcmp(m->kernel_by_name[mid]->shown.name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->kernel_count && !strcmp(m->kernel_by_name[low]->shown.name, name)
		       ? &m->kernel_by_name[low]->shown
		       : NULL;
}

size_t ptx_module_variable_count(const struct ptx_module *m)
{
	return m->variable_count;
}

const struct ptx_variable *ptx_module_variable_at(const struct ptx_module *m, size_t i)
{
	return &m->variable[i];
}

/* The first of its name: visible ones stand before the others. */
const struct ptx_variable *ptx_module_variable_find(const struct ptx_module *m, const char *name)
{
	size_t low = 0, high = m->variable_count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (strcmp(m->variable_by_name[mid]->name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->variable_count && !strcmp(m->variable_by_name[low]->name, name) ? m->variable_by_name[low]
											: NULL;
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

const struct ptx_kernel *module_kernel_of(const struct ptx_module *m, uint64_t address)
{
	const struct function *f = module_function_at(m, address);

	for (size_t i = 0; f && i < m->kernel_count; i++)
		if (m->kernel[i].function == f)
			return &m->kernel[i].shown;
	return NULL;
}

uint32_t kernel_stack_bytes(const struct ptx_kernel *k, uint32_t asked)
{
	const struct function *f = kernel_function(k);
	const uint64_t stack = f->recursive	 ? (uint64_t)f->local_bytes + 16 + (asked ? asked : STACK_BYTES_DEFAULT)
			       : f->callee_count ? f->stack_bytes
						 : f->local_bytes;

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

bool module_constant_moves(const struct ptx_module *m, uint32_t offset)
{
	for (size_t i = 0; i < m->constant_patch_count; i++)
		if (m->constant_patch[i].at == offset)
			return true;
	return false;
}

bool module_bound(const struct ptx_module *m)
{
	return m->bound;
}
