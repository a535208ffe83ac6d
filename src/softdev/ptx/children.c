/*
 * children.c: kernels that launch kernels: what a kernel calls for it, and the order in which its children run.
 *
 * A kernel asks for a parameter buffer, which is memory of the device's heap, fills it in and launches. Children start
 * when the grid that launched them has ended, one after the other in the order of their launches: that satisfies every
 * stream and every event, for a kernel cannot wait for its children. A grid is complete when all that it has launched
 * is: its children come before whatever else is still to run, tail launches behind the children. So the launches that
 * are left form one list, and no nesting is needed to run them.
 */
#include "softdev/ptx/builtin.h"
#include "softdev/ptx/children.h"

#include "base/clock.h"

#include <stdlib.h>

#define STREAM_TAIL 3u
#define DEPTH_MOST 24u

/* Numbers of the runtime API. */
enum {
	RUNTIME_INVALID_VALUE = 1,
	RUNTIME_MEMORY = 2,
	RUNTIME_CONFIGURATION = 9,
	RUNTIME_DEPTH = 65,
	RUNTIME_FUNCTION = 98,
};

struct child {
	struct child *next;
	const struct ptx_kernel *kernel;
	uint32_t grid[3], block[3], shared_bytes, depth;
	uint64_t params; /* the buffer */
};

struct launch_error {
	struct launch_error *next;
	uint32_t block[3], thread, code;
};

void children_begin(struct children *c, uint32_t depth)
{
	*c = (struct children){ .depth = depth };
	c->end = &c->first;
	c->tail_end = &c->tail;
	pthread_mutex_init(&c->lock, NULL);
}

static void children_drop(const struct ptx_memory *m, struct child *list)
{
	for (struct child *c; (c = list);) {
		list = c->next;
		m->heap_free(m->ctx, c->params);
		free(c);
	}
}

struct child *children_end(struct children *c, const struct ptx_memory *m, struct child *after)
{
	*c->tail_end = after;
	*c->end = c->tail;
	children_drop(m, c->filling);
	for (struct launch_error *e; (e = c->error);) {
		c->error = e->next;
		free(e);
	}
	pthread_mutex_destroy(&c->lock);
	return c->first;
}

/* Whether the launch must end here: a child that is short never looks. */
static bool run_ends(struct ptx_launch *l, uint64_t deadline)
{
	const bool cancelled = l->cancel && atomic_load_explicit(l->cancel, memory_order_relaxed);

	if (!cancelled && !(deadline && clock_now_ns() > deadline))
		return false;
	l->fault = (struct ptx_fault){ .kind = cancelled ? PTX_FAULT_CANCELLED : PTX_FAULT_TIMEOUT,
				       .function = l->kernel->name };
	return true;
}

int children_run(struct ptx_pool *pool, struct ptx_launch *parent, struct child *list, int r)
{
	const uint64_t deadline = parent->timeout_ns ? clock_now_ns() + parent->timeout_ns : 0;

	while (list && !r) {
		struct child *c = list;
		struct ptx_launch l = *parent;
		const uint64_t now = deadline ? clock_now_ns() : 0;

		l.kernel = c->kernel;
		l.params = (const void *)(uintptr_t)c->params;
		l.shared_bytes = c->shared_bytes;
		l.cooperative = false;
		l.timeout_ns = deadline ? (deadline > now ? deadline - now : 1) : 0;
		memcpy(l.grid, c->grid, sizeof(l.grid));
		memcpy(l.block, c->block, sizeof(l.block));
		memset(l.cluster, 0, sizeof(l.cluster));
		list = c->next;
		r = run_ends(&l, deadline) ? 1 : launch_grid(pool, &l, c->depth, &list);
		parent->stats.blocks += l.stats.blocks;
		parent->stats.warp_instructions += l.stats.warp_instructions;
		parent->stats.lane_instructions += l.stats.lane_instructions;
		parent->stats.sectors += l.stats.sectors;
		if (r > 0) { /* the report is about the child */
			parent->fault = l.fault;
			parent->kernel = l.kernel;
			memcpy(parent->grid, l.grid, sizeof(l.grid));
			memcpy(parent->block, l.block, sizeof(l.block));
		}
		c->next = NULL;
		children_drop(&parent->memory, c);
	}
	children_drop(&parent->memory, list);
	return r;
}

/* The thread's entry; a new one when `make`. NULL: none, or no memory for one. The lock is held. */
static struct launch_error *find_error(struct children *all, const struct warp *w, uint32_t lane, bool make)
{
	const uint32_t *block = w->block->id, thread = w->index * LANES + lane;
	struct launch_error *e = all->error;

	while (e && (e->thread != thread || memcmp(e->block, block, sizeof(e->block))))
		e = e->next;
	if (e || !make)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->next = all->error;
	e->thread = thread;
	memcpy(e->block, block, sizeof(e->block));
	all->error = e;
	return e;
}

static void set_error(struct warp *w, uint32_t lane, uint32_t error)
{
	struct children *all = run_children(w->block->run);
	struct launch_error *e;

	pthread_mutex_lock(&all->lock);
	e = find_error(all, w, lane, true);
	if (e)
		e->code = error;
	pthread_mutex_unlock(&all->lock);
}

static uint32_t get_error(struct warp *w, uint32_t lane, bool forget)
{
	struct children *all = run_children(w->block->run);
	struct launch_error *e;
	uint32_t code;

	pthread_mutex_lock(&all->lock);
	e = find_error(all, w, lane, false);
	code = e ? e->code : 0;
	if (e && forget)
		e->code = 0;
	pthread_mutex_unlock(&all->lock);
	return code;
}

static uint32_t child_check(const struct warp *w, const struct child *c)
{
	struct ptx_launch l = *w->block->launch;

	if (!c->kernel)
		return RUNTIME_FUNCTION;
	l.kernel = c->kernel;
	l.shared_bytes = c->shared_bytes;
	l.cooperative = false;
	l.params = &l;
	memcpy(l.grid, c->grid, sizeof(l.grid));
	memcpy(l.block, c->block, sizeof(l.block));
	memset(l.cluster, 0, sizeof(l.cluster));
	if (!launch_is_valid(&l))
		return RUNTIME_CONFIGURATION;
	return w->block->launch->memory.heap_alloc ? 0 : RUNTIME_MEMORY;
}

static uint64_t buffer_new(struct warp *w, const struct op *o, uint32_t lane)
{
	const struct ptx_memory *m = &w->block->launch->memory;
	struct children *all = run_children(w->block->run);
	struct child *c = calloc(1, sizeof(*c));
	const struct ptx_module *module = w->frame->function->module;
	uint32_t error = c ? 0 : RUNTIME_MEMORY;

	if (c) {
		c->kernel = module_kernel_of(module, builtin_argument(w, lane, o->a, 8));
		for (uint32_t k = 0; k < 3; k++) {
			c->grid[k] = (uint32_t)builtin_argument(w, lane, o->b + 4 * k, 4);
			c->block[k] = (uint32_t)builtin_argument(w, lane, o->c + 4 * k, 4);
		}
		c->shared_bytes = (uint32_t)builtin_argument(w, lane, o->e, 4);
		error = child_check(w, c);
	}
	if (!error) {
		c->params = m->heap_alloc(m->ctx, c->kernel->param_bytes + 16u);
		error = c->params ? 0 : RUNTIME_MEMORY;
	}
	if (error) {
		set_error(w, lane, error);
		free(c);
		return 0;
	}
	pthread_mutex_lock(&all->lock);
	c->next = all->filling;
	all->filling = c;
	pthread_mutex_unlock(&all->lock);
	return c->params;
}

void launch_buffer(struct warp *w, const struct op *o)
{
	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		builtin_result(w, o, i, buffer_new(w, o, i), 8);
	}
}

static uint32_t child_launch(struct children *all, uint64_t params, uint64_t stream)
{
	const bool tail = stream == STREAM_TAIL;
	struct child **at, *c;
	uint32_t error = 0;

	pthread_mutex_lock(&all->lock);
	for (at = &all->filling; *at && (*at)->params != params; at = &(*at)->next)
		;
	c = *at;
	if (!c) {
		error = RUNTIME_INVALID_VALUE;
	} else if (!tail && all->depth == DEPTH_MOST) {
		error = RUNTIME_DEPTH;
	} else {
		*at = c->next;
		c->next = NULL;
		c->depth = all->depth + !tail;
		*(tail ? all->tail_end : all->end) = c;
		*(tail ? &all->tail_end : &all->end) = &c->next;
	}
	pthread_mutex_unlock(&all->lock);
	return error;
}

void launch_device(struct warp *w, const struct op *o)
{
	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const uint32_t error = child_launch(run_children(w->block->run), builtin_argument(w, i, o->a, 8),
						    builtin_argument(w, i, o->b, 8));

		if (error)
			set_error(w, i, error);
		builtin_result(w, o, i, error, 4);
	}
}

/* imm 1: and forgets it. */
void launch_error(struct warp *w, const struct op *o)
{
	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);

		builtin_result(w, o, i, get_error(w, i, o->imm), 4);
	}
}

/* Work runs in the order of its launch: a stream or an event is a number that nobody looks up. */
void launch_handle(struct warp *w, const struct op *o)
{
	static const uint64_t handle = 0x5ca1e0;

	for (uint32_t left = w->mask; left; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctz(left);
		const uint64_t to = builtin_argument(w, i, o->a, 8);
		bool good;

		w->checked = i;
		good = to + 8 >= to && warp_reach(w, to, to + 8, true);
		w->checked = LANES;
		if (!good) {
			warp_fault_access(w, PTX_FAULT_ILLEGAL_ADDRESS, o, i, PTX_SPACE_DEVICE, to, 8);
			return;
		}
		memcpy((void *)(uintptr_t)to, &handle, sizeof(handle));
		builtin_result(w, o, i, 0, 4);
	}
}

void launch_nothing(struct warp *w, const struct op *o)
{
	for (uint32_t left = w->mask; left; left &= left - 1)
		builtin_result(w, o, (uint32_t)__builtin_ctz(left), 0, 4);
}
