/* uses.c: see uses.h. */
#include "remote/worker/uses.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define SECTION_YIELDS 64u
#define SECTION_NAP_NS 50000

void uses_begin(struct worker *worker)
{
	/* Before anything is looked up; pairs with section_pass(). */
	atomic_fetch_add(&worker->section, 1);
}

void uses_end(struct work *work)
{
	if (!work->holds)
		atomic_fetch_add(&work->worker->section, 1);
}

/* Who has looked something up before it was hidden has ended or yielded. */
static void section_pass(struct worker *worker)
{
	uint64_t section = atomic_load(&worker->section);

	for (unsigned int i = 0; section % 2 && atomic_load(&worker->section) == section; i++)
		if (i < SECTION_YIELDS)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = SECTION_NAP_NS }, NULL);
}

static bool note(struct work *work, struct id_entry *e)
{
	if (work->used_count < WORK_USES_MOST)
		work->used[work->used_count++] = e;
	else
		work->used_over = true;
	return !work->used_over;
}

struct id_entry *uses_find(struct work *work, enum remote_kind kind, uint64_t id)
{
	struct ids *ids = &work->worker->ids;
	struct id_entry *e = ids_find(ids, kind, id);

	if (!e)
		return NULL;
	if (!work->holds) {
		note(work, e);
		return e;
	}
	if (!ids_use_found(ids, e, id))
		return NULL;
	if (note(work, e))
		return e;
	ids_leave(ids, e);
	return NULL;
}

static void hold(struct work *work)
{
	struct id_entry *context = NULL;

	if (work->holds)
		return;
	if (work->head.context)
		context = ids_look(&work->worker->ids, KIND_CONTEXT, work->head.context);
	if (context)
		work->used[work->used_count++] = context;
	for (unsigned int i = 0; i < work->used_count; i++)
		ids_use(work->used[i]);
	work->holds = true;
}

bool uses_hold(struct work *work)
{
	bool held = work->holds;

	for (struct work *w = work; w; w = w->outer)
		if (w->used_over)
			return false;
	for (struct work *w = work; w; w = w->outer)
		hold(w);
	if (!held)
		atomic_fetch_add(&work->worker->section, 1);
	return true;
}

void uses_leave(struct work *work)
{
	while (work->holds && work->used_count)
		ids_leave(&work->worker->ids, work->used[--work->used_count]);
}

void uses_await(struct work *work, uint64_t id)
{
	section_pass(work->worker);
	ids_await(&work->worker->ids, id, work->used, work->used_count);
}

/* ---- an end that is left to others ---- */

struct later {
	struct ids_end end;
	const struct cuda_table *driver;
	CUcontext context; /* that it was made in; NULL: it belongs to none */
	worker_end call;
	void *handle;
};

static void run(struct ids_end *end)
{
	struct later *l = (struct later *)end;
	bool in = l->context && l->driver->cuCtxPushCurrent_v2(l->context) == CUDA_SUCCESS;
	CUcontext context;

	if (in || !l->context)
		l->call(l->handle);
	if (in)
		l->driver->cuCtxPopCurrent_v2(&context);
	free(l);
}

static CUcontext context_of(struct work *work, uint64_t id)
{
	struct ids *ids = &work->worker->ids;
	const struct id_entry *e = ids_look(ids, ids_kind(id), id);

	if (!e || ids_kind(e->owner) != KIND_CONTEXT)
		return NULL;
	e = ids_look(ids, KIND_CONTEXT, e->owner);
	return e ? atomic_load_explicit(&e->handle, memory_order_relaxed) : NULL;
}

bool worker_later(struct work *work, uint64_t id, worker_end end, void *handle)
{
	struct later *l;
	int r;

	if (work->holds)
		return false;
	l = malloc(sizeof(*l));
	if (l)
		*l = (struct later){ { .run = run }, work->driver, context_of(work, id), end, handle };
	r = l ? ids_later(&work->worker->ids, id, &l->end) : -ENOMEM;
	if (r <= 0)
		free(l);
	if (r < 0) {
		worker_stays(work, id);
		work->result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return r;
}
