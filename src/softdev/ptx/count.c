/*
 * count.c: see count.h and ptx_launch.forms.
 *
 * An operation does not say which row it comes from: the table stays small that way. A hash from the functions that
 * execute operations to their rows is made when somebody counts for the first time, once per instruction set, and kept.
 * Rows that share a function are counted as the first of them.
 */
#include "softdev/ptx/count.h"

#include <pthread.h>
#include <stdlib.h>

#define SLOTS 16384u /* of a hash; there are some 3,000 rows */
#define SETS 4u

/* Of operations that move the loop itself and have no row. */
static const char *const control_name[] = {
	[CTL_NONE] = "other", [CTL_BRA] = "bra",   [CTL_BRX] = "brx.idx", [CTL_CALL] = "call",
	[CTL_RET] = "ret",    [CTL_EXIT] = "exit", [CTL_BAR] = "bar",
};
#define CONTROLS (sizeof(control_name) / sizeof(control_name[0]))

struct by_function {
	const struct isa *isa;
	struct {
		exec_fn *function;
		uint32_t row;
	} slot[SLOTS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct by_function *_Atomic sets[SETS]; /* written under lock, each once */

static uint32_t slot_of(const struct by_function *s, exec_fn *f)
{
	uint32_t i = (uint32_t)((uintptr_t)f * 0x9e3779b97f4a7c15ull >> 50);

	while (s->slot[i].function && s->slot[i].function != f)
		i = (i + 1) % SLOTS;
	return i;
}

static void add(struct by_function *s, exec_fn *f, uint32_t row)
{
	const uint32_t i = f ? slot_of(s, f) : 0;

	if (!f || s->slot[i].function)
		return;
	s->slot[i].function = f;
	s->slot[i].row = row;
}

static struct by_function *make(const struct isa *isa)
{
	struct by_function *s = calloc(1, sizeof(*s));
	const struct row *row;

	for (uint32_t i = 0; s && (row = isa_row(isa, i)); i++) {
		add(s, row->full, i);
		add(s, row->masked, i);
	}
	if (s)
		s->isa = isa;
	return s;
}

static const struct by_function *by_function(const struct isa *isa)
{
	struct by_function *s = NULL;

	for (uint32_t i = 0; i < SETS; i++) {
		s = atomic_load_explicit(&sets[i], memory_order_acquire);
		if (s && s->isa == isa)
			return s;
	}
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < SETS; i++) {
		s = atomic_load_explicit(&sets[i], memory_order_relaxed);
		if (s && s->isa == isa)
			break;
		if (s)
			continue;
		s = make(isa);
		atomic_store_explicit(&sets[i], s, memory_order_release);
		break;
	}
	pthread_mutex_unlock(&lock);
	return s;
}

uint32_t count_row(const struct isa *isa, const struct op *o)
{
	const struct by_function *s = by_function(isa);
	exec_fn *f = o->inner ? o->inner : o->full;
	uint32_t i;

	if (!s || !f)
		return UINT32_MAX;
	i = slot_of(s, f);
	return s->slot[i].function ? s->slot[i].row : UINT32_MAX;
}

static size_t row_count(const struct isa *isa)
{
	size_t n = 0;

	for (size_t k = 0; k < ISA_ROWS; k++)
		n += isa->rows[k]->count;
	return n;
}

void count_operations(const struct warp *w, const struct op *o, uint32_t n)
{
	const struct isa *isa = module_isa(w->frame->function->module);
	_Atomic uint64_t *forms = w->block->launch->forms;
	const size_t rows = row_count(isa);

	for (; n; n--, o++) {
		const uint32_t row = count_row(isa, o);
		const size_t i = row != UINT32_MAX ? row : rows + (o->control < CONTROLS ? o->control : CTL_NONE);

		atomic_fetch_add_explicit(&forms[i], 1, memory_order_relaxed);
	}
}

size_t ptx_form_count(const struct ptx_kernel *k)
{
	return row_count(module_isa(k->module)) + CONTROLS;
}

const char *ptx_form_name(const struct ptx_kernel *k, size_t i)
{
	const struct row *row = isa_row(module_isa(k->module), i);
	const size_t rows = row_count(module_isa(k->module));

	return row ? row->pattern : i - rows < CONTROLS ? control_name[i - rows] : NULL;
}
