/*
 * hot.c: see hot.h.
 *
 * One thread compiles, for the whole process, one function after the other; it is made when the first function is hot.
 * What it needs is copied when it is asked, so that a module may go meanwhile. Blocks of a multiple of 32 threads and
 * others have code of their own: where a row of threads is a warp, or half of one, more is known.
 *
 * When the process ends, what is being compiled is waited for: LLVM's own end comes behind ours, and must not find it
 * at work.
 */
#include "softdev/ptx/hot.h"

#include "softdev/ptx/count.h"
#include "softdev/ptx/rounds.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAT_INSTRUCTIONS 300000u /* of warps: some milliseconds of interpreting */
#define HEAT_LAUNCH 300u	  /* what a launch counts at least: a thousand of them make a kernel hot */
#define QUEUE_MAX 256u
#define WHY_BYTES 300u
#define FORMS (4 * COMPILE_LAYOUTS) /* layouts, times warps that are not full, times blocks of one */

struct hot {
	enum ptx_compile when;
	atomic_uint references;
	_Atomic uint64_t heat;
	struct {
		atomic_int state; /* enum asked */
		struct machine *_Atomic machine;
	} form[FORMS];
};

enum asked { ASKED_NOT, ASKED, ASKED_DONE };

struct job {
	struct job *next;
	struct hot *hot;
	struct compile_op *op;
	struct compile_request request;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct job *first, **end;   /* under lock */
	uint32_t count;		    /* under lock */
	bool started, ending, busy; /* under lock */
	pid_t pid;		    /* of the process that the thread is in */
	compile_fn *compile;	    /* of the thread */
	bool looked;		    /* of the thread: for the library */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

struct hot *hot_new(enum ptx_compile when)
{
	struct hot *h = when == PTX_COMPILE_NEVER ? NULL : calloc(1, sizeof(*h));

	if (h) {
		h->when = when;
		h->references = 1;
	}
	return h;
}

void hot_unref(struct hot *h)
{
	if (!h || atomic_fetch_sub(&h->references, 1) != 1)
		return;
	for (int i = 0; i < (int)FORMS; i++)
		if (h->form[i].machine) {
			object_unload(h->form[i].machine);
			free(h->form[i].machine);
		}
	free(h);
}

static void job_free(struct job *j)
{
	hot_unref(j->hot);
	free(j->op);
	free(j);
}

/* ---- the thread ---- */

static bool reach_any(struct warp *w, uint64_t begin, uint64_t end, bool write, uint8_t *hint)
{
	struct block *b = w->block;
	bool good;

	w->checked = LANES;
	good = end > begin && warp_reach(w, begin, end, write);
	if (good && begin >= b->range[b->range_last].begin && end <= b->range[b->range_last].end)
		*hint = (uint8_t)b->range_last;
	return good;
}

/* The barrier at which all lanes wait that wait at one, and which compiled code knows; BARRIERS: it is none. */
static uint32_t bar_of_all(const struct warp *w)
{
	const struct block *b = w->block;
	const uint32_t id = b->bars_used ? (uint32_t)__builtin_ctz(b->bars_used) : BARRIERS;
	const struct barrier *bar = &b->bar[id % BARRIERS];

	return id < BARRIERS && b->bars_used == 1u << id && w->bar_lanes[id] == w->wait_bar && !bar->expected &&
			       !bar->arrived && !bar->results
		       ? id
		       : BARRIERS;
}

/* Lanes that wait at one of the operations are taken out of the warp's places. */
static bool take_waits(struct warp *w, struct compiled_wait *wait, uint32_t count)
{
	const uint32_t bar = w->wait_bar ? bar_of_all(w) + 1 : 0;

	if (w->wait_sync || w->force || bar > BARRIERS)
		return false;
	for (uint32_t k = 0; k < count; k++)
		wait[k].lanes = 0;
	for (uint32_t i = 0; i < w->place_count; i++) {
		const struct place *p = &w->place[i];
		uint32_t k = 0;

		const uint32_t at = p->lanes & w->wait_bar ? bar : 0;

		while (k < count && (p->frame != w->frame || wait[k].pc != (uint32_t)p->key || wait[k].bar != at))
			k++;
		if (k == count || (!at && w->other == ~0ull)) /* or those have their turn that have waited too long */
			return false;
		wait[k].lanes |= p->lanes;
		wait[k].since = (int64_t)(int32_t)(p->stamp - w->stamp) - 1;
	}
	if (bar) {
		w->bar_lanes[bar - 1] = w->wait_bar = w->block->bars_used = 0;
		w->block->bar[bar - 1] = (struct barrier){ 0 };
	}
	w->place_count = 0;
	w->other = ~0ull;
	return true;
}

static void part_warp(struct warp *w, uint32_t lanes, struct compiled_wait *wait, uint32_t count, uint32_t spins)
{
	for (;;) {
		struct compiled_wait *first = NULL;

		for (uint32_t k = 0; k < count; k++)
			if (wait[k].lanes && (!first || wait[k].since < first->since))
				first = &wait[k];
		if (!first)
			break;
		if (first->bar)
			warp_wait_bar(w, first->bar - 1, first->lanes);
		warp_save(w, first->lanes, first->pc);
		if (!first->bar && (w->key_base | first->pc) < w->other)
			w->other = w->key_base | first->pc;
		first->lanes = 0;
	}
	warp_set_group(w, w->frame, w->pc, lanes);
	w->spins = spins;
}

/* Where the library is, from the software device's folder: as it is installed, and in a build's folder. */
static const char *const library_places[] = { "../compiler/" COMPILE_LIBRARY, "../compile/" COMPILE_LIBRARY };

static void *library_open_at(const char *folder, int length, const char *place)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%.*s%s", length, folder, place);

	if (n <= 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The library in the folder beside the software device's, or the one that METE_SOFT_COMPILER names ("none": none). */
static void *library_open(void)
{
	const char *set = secure_getenv("METE_SOFT_COMPILER");
	void *library = NULL;
	const char *slash;
	Dl_info self;

	if (set && *set)
		return strcmp(set, "none") ? dlopen(set, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
	if (!dladdr(&all, &self) || !self.dli_fname || !(slash = strrchr(self.dli_fname, '/')))
		return NULL;
	for (size_t i = 0; i < sizeof(library_places) / sizeof(*library_places) && !library; i++)
		library = library_open_at(self.dli_fname, (int)(slash + 1 - self.dli_fname), library_places[i]);
	return library;
}

static void wait_for_end(void)
{
	if (all.pid != getpid())
		return;
	pthread_mutex_lock(&all.lock);
	all.ending = true;
	while (all.busy)
		pthread_cond_wait(&all.done, &all.lock);
	pthread_mutex_unlock(&all.lock);
}

/*
 * LLVM makes objects when it first needs them, which exit() destroys before it calls a handler that was registered
 * earlier. So it compiles a function that only returns, and the handler that waits for the compiler comes after that.
 */
static void warm_up(compile_fn *compile)
{
	const struct compile_op end = { .name = "", .kind = COMPILE_END };
	const struct compile_request request = {
		.abi = COMPILE_ABI, .count = 1, .op = &end, .isa = isa_find(NULL)->name, .layout = COMPILE_ROWS
	};
	void *object = NULL;
	size_t bytes;
	char why[200];

	if (!compile(&request, &object, &bytes, why, sizeof(why)))
		free(object);
}

static compile_fn *compiler(void)
{
	void *library;

	if (all.looked)
		return all.compile;
	all.looked = true;
	library = library_open();
	all.compile = library ? (compile_fn *)dlsym(library, COMPILE_SYMBOL) : NULL;
	if (all.compile)
		warm_up(all.compile);
	if (all.compile && atexit(wait_for_end))
		all.compile = NULL;
	return all.compile;
}

static struct machine *machine_of(const struct job *j, void *object, size_t bytes)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (m && object_load(object, bytes, j->request.count, m)) {
		free(m);
		return NULL;
	}
	if (m) {
		m->env.reach = reach_any;
		m->env.take = take_waits;
		m->env.part = part_warp;
		m->env.alike = rounds_alike;
	}
	return m;
}

static struct machine *job_run(const struct job *j)
{
	char why[WHY_BYTES] = "";
	struct machine *m = NULL;
	compile_fn *compile;
	size_t bytes = 0;
	void *object = keep_find(&j->request, &bytes);

	if (object)
		m = machine_of(j, object, bytes);
	free(object);
	if (m)
		return m;
	compile = compiler();
	if (!compile || compile(&j->request, &object, &bytes, why, sizeof(why)))
		return NULL;
	m = machine_of(j, object, bytes);
	if (m)
		keep_store(&j->request, object, bytes);
	free(object);
	return m;
}

static uint32_t form_index(uint32_t layout, bool partial, bool alone)
{
	return layout + (partial ? COMPILE_LAYOUTS : 0) + (alone ? 2 * COMPILE_LAYOUTS : 0);
}

static void job_end(struct job *j, struct machine *m)
{
	const uint32_t form = form_index(j->request.layout, j->request.partial, j->request.alone);

	if (m)
		atomic_store_explicit(&j->hot->form[form].machine, m, memory_order_release);
	atomic_store_explicit(&j->hot->form[form].state, ASKED_DONE, memory_order_release);
}

static void *compile_thread(void *unused)
{
	struct machine *m;
	struct job *j;

	pthread_mutex_lock(&all.lock);
	while (!all.ending) {
		j = all.first;
		if (!j) {
			pthread_cond_wait(&all.work, &all.lock);
			continue;
		}
		all.first = j->next;
		if (!all.first)
			all.end = &all.first;
		all.count--;
		all.busy = true;
		pthread_mutex_unlock(&all.lock);
		m = job_run(j);
		job_end(j, m);
		job_free(j);
		pthread_mutex_lock(&all.lock);
		all.busy = false;
		pthread_cond_broadcast(&all.done);
	}
	pthread_mutex_unlock(&all.lock);
	return NULL;
}

/* Signals belong to the program's own threads. */
static bool thread_start_locked(void)
{
	sigset_t none, before;
	pthread_t thread;
	pthread_attr_t a;

	if (all.started)
		return true;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 16u << 20);
	sigfillset(&none);
	pthread_sigmask(SIG_SETMASK, &none, &before);
	all.end = &all.first;
	all.pid = getpid();
	all.started = !pthread_create(&thread, &a, compile_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&a);
	return all.started;
}

/* ---- asking ---- */

static uint32_t layout_of(const struct ptx_launch *l)
{
	const bool one_row = l->block[1] == 1 && l->block[2] == 1;

	return l->block[0] % LANES == 0 || one_row ? COMPILE_ROWS
	       : l->block[0] == LANES / 2	   ? COMPILE_HALVES
						   : COMPILE_ANY;
}

static bool is_partial(const struct ptx_launch *l)
{
	return l->block[0] * l->block[1] * l->block[2] % LANES;
}

static bool is_alone(const struct ptx_launch *l)
{
	return l->block[0] * l->block[1] * l->block[2] <= LANES;
}

static uint32_t form_of(const struct ptx_launch *l)
{
	return form_index(layout_of(l), is_partial(l), is_alone(l));
}

static struct job *job_new(const struct function *f, const struct ptx_launch *l)
{
	struct job *j = calloc(1, sizeof(*j));
	bool good = false;

	if (!j)
		return NULL;
	if (describe(f, is_alone(l), &j->op, &good) || !good) {
		free(j->op);
		free(j);
		return NULL;
	}
	j->hot = f->hot;
	j->request = (struct compile_request){ .abi = COMPILE_ABI,
					       .count = f->count,
					       .op = j->op,
					       .isa = module_isa(f->module)->name,
					       .dots = isa_has_dots(module_isa(f->module)),
					       .layout = layout_of(l),
					       .partial = is_partial(l),
					       .alone = is_alone(l),
					       .local = f->recursive ? 0 : kernel_stack_bytes(l->kernel, 0) };
	return j;
}

static void ask(const struct function *f, const struct ptx_launch *l)
{
	const uint32_t form = form_of(l);
	struct hot *h = f->hot;
	struct job *j;
	int not = ASKED_NOT;

	if (atomic_load_explicit(&h->form[form].state, memory_order_relaxed) != ASKED_NOT ||
	    !atomic_compare_exchange_strong(&h->form[form].state, &not, ASKED))
		return;
	j = strcmp(module_isa(f->module)->name, "base") ? job_new(f, l) : NULL;
	if (!j) {
		atomic_store(&h->form[form].state, ASKED_DONE);
		return;
	}
	atomic_fetch_add(&h->references, 1);
	pthread_mutex_lock(&all.lock);
	if (all.ending || all.count >= QUEUE_MAX || !thread_start_locked()) {
		pthread_mutex_unlock(&all.lock);
		atomic_store(&h->form[form].state, ASKED_DONE);
		job_free(j);
		return;
	}
	*all.end = j;
	all.end = &j->next;
	all.count++;
	pthread_cond_signal(&all.work);
	pthread_mutex_unlock(&all.lock);
}

void hot_add(const struct function *f, const struct ptx_launch *l, uint64_t instructions)
{
	const uint64_t more = instructions > HEAT_LAUNCH ? instructions : HEAT_LAUNCH;

	if (!f->hot || l->exact || l->forms)
		return;
	if (atomic_fetch_add_explicit(&f->hot->heat, more, memory_order_relaxed) + more >= HEAT_INSTRUCTIONS)
		ask(f, l);
}

void hot_wait(const struct function *f, const struct ptx_launch *l)
{
	const uint32_t form = form_of(l);

	if (!f->hot || f->hot->when != PTX_COMPILE_ALWAYS || l->exact || l->forms)
		return;
	ask(f, l);
	pthread_mutex_lock(&all.lock);
	while (!all.ending && all.pid == getpid() &&
	       atomic_load_explicit(&f->hot->form[form].state, memory_order_acquire) != ASKED_DONE)
		pthread_cond_wait(&all.done, &all.lock);
	pthread_mutex_unlock(&all.lock);
}

bool ptx_kernel_is_compiled(const struct ptx_kernel *k)
{
	const struct hot *h = kernel_function(k)->hot;
	bool any = false;

	for (uint32_t i = 0; h && i < FORMS; i++)
		any = any || atomic_load_explicit(&h->form[i].machine, memory_order_acquire);
	return any;
}

const struct machine *hot_machine(const struct function *f, const struct ptx_launch *l)
{
	if (!f->hot || l->exact || l->forms)
		return NULL;
	return atomic_load_explicit(&f->hot->form[form_of(l)].machine, memory_order_acquire);
}
