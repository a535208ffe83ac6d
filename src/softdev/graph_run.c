/*
 * graph_run.c: runs the steps of a launched graph. See graph.h.
 *
 * The thread that runs the stream runs the graph. Each step counts those before it; who ends the last of them goes on
 * with it, or leaves it to others where several become ready. Others are a few helper threads, woken when what is left
 * to them took long enough the last time: waking costs more than a small kernel takes. A graph without branches is a
 * loop.
 *
 * A step that waits for an event or a value in memory is put aside until it is there, so it holds up nothing that does
 * not depend on it. So is a kernel that has been executed, until it has ended on the device's timeline.
 */
#include "softdev/graph.h"

#include "base/clock.h"
#include "softdev/thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NO_STEP UINT32_MAX
#define WORTH_WAKING_NS 20000u
#define HELPERS_MOST 16u
#define POLLS_QUICK 100u
#define POLL_PAUSE_NS 50000

struct run {
	struct graph_launch *launch;
	struct program *program;
	struct stream *stream;
	struct flight *flight;	  /* of a chain; or NULL */
	struct pace_kernel *pace; /* one per step of a graph with branches; or NULL */
	uint32_t device;	  /* of the stream */
	pthread_mutex_t mutex;	  /* guards the following, and the program's list of what is ready */
	pthread_cond_t cond;	  /* something is ready, or all is done */
	uint32_t head, tail;	  /* of the list: each step is in it once */
	uint32_t held_count;	  /* in the program's list of what waits */
	bool alone_waits;	  /* the first thread sleeps */
	bool alone_paces;	  /* it sleeps until a kernel has ended */
	_Atomic uint32_t left;	  /* steps not yet done */
	_Atomic uint32_t ready_count;
	/* help_mutex guards the following */
	bool listed;
	uint32_t helpers;
	struct run *next;
};

static pthread_mutex_t help_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t help_cond = PTHREAD_COND_INITIALIZER;  /* for helpers: there is work */
static pthread_cond_t quiet_cond = PTHREAD_COND_INITIALIZER; /* a run has no helper left */
static struct run *runs;
static uint32_t helpers, helpers_idle;
static __thread struct graph_launch *launch_here;

static void program_run(struct graph_launch *l, struct program *p, struct stream *s);

struct graph_launch *graph_launch_of_thread(void)
{
	return launch_here;
}

/* ---- conditions ---- */

void graph_condition_set(void *launch, uint64_t handle, uint32_t value)
{
	struct graph_launch *l = launch;

	for (uint32_t i = 0; l && i < l->plan->condition_count; i++)
		if (l->plan->condition[i].handle == handle)
			atomic_store(&l->exec->value[i], value);
}

static void conditional_run(struct graph_launch *l, const struct step *step, struct stream *s)
{
	const struct node *n = step->node;
	const _Atomic uint32_t *value = &l->exec->value[step->slot];
	const struct context *c = l->plan->at[step->number].task->work.context;
	uint32_t v = atomic_load(value);

	if (c->sticky || s->context->sticky)
		return;
	switch (n->conditional.type) {
	case CU_GRAPH_COND_TYPE_IF:
		if (v || n->conditional.count > 1)
			program_run(l, &step->body[v ? 0 : 1], s);
		break;
	case CU_GRAPH_COND_TYPE_WHILE:
		while (atomic_load(value) && !c->sticky && !s->context->sticky && !driver.ending)
			program_run(l, &step->body[0], s);
		break;
	default:
		if (v < n->conditional.count)
			program_run(l, &step->body[v], s);
		break;
	}
}

/* ---- one step ---- */

static void record_run(struct graph_launch *l, uint32_t slot, uint64_t at_ns)
{
	struct launch_record *r = &l->record[slot];

	if (!r->sequence)
		return; /* the event has been destroyed */
	work_record(&r->work, at_ns ? at_ns : clock_now_ns());
	stream_gate_reach(l->exec->gate[slot], r->sequence);
	r->done = true;
}

static void timed_run(struct step *step, struct work *w, struct stream *s)
{
	uint64_t begin = clock_now_ns(), ns;

	work_run(w, s);
	ns = clock_now_ns() - begin;
	atomic_store_explicit(&step->ns, ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX, memory_order_relaxed);
}

static void host_run(struct graph_launch *l, const struct work *work, struct stream *s)
{
	struct work w = *work;

	w.context = s->context;
	pthread_mutex_lock(&l->host_mutex);
	work_run(&w, s);
	pthread_mutex_unlock(&l->host_mutex);
}

static bool wait_over(const struct launch_wait *w, const struct stream *s)
{
	if (s->context->sticky || driver.ending)
		return true;
	return w->shared ? shared_record_reached(w->shared, w->record) : point_reached(&w->point);
}

/* Executes it, once. False: it has not ended on the timeline. */
static bool kernel_run(struct run *r, struct step *step, struct work *w)
{
	struct pace_kernel *k = &r->pace[step - r->program->step];

	if (!k->executed && !k->end_ns) {
		uint64_t begin = clock_now_ns(), ns;

		work_kernel_run(w, k, NULL);
		ns = clock_now_ns() - begin;
		atomic_store_explicit(&step->ns, ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX, memory_order_relaxed);
	}
	if (driver.ending && !k->end_ns)
		pace_wait_end(k);
	return driver.ending || atomic_load_explicit(&k->end_ns, memory_order_acquire);
}

/* False: what it waits for is not there yet. */
static bool step_run(struct run *r, struct step *step)
{
	struct graph_launch *l = r->launch;
	uint64_t ended_ns = 0;
	struct work *w;

	if (!step->node || !l->plan->at[step->number].enabled)
		return true;
	w = &l->plan->at[step->number].task->work;
	if (r->flight && step->node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		flight_run(r->flight, w);
		return true;
	}
	if (r->pace && step->node->type == CU_GRAPH_NODE_TYPE_KERNEL && w->context->device->index == r->device)
		return kernel_run(r, step, w);
	if (r->flight && step->node->type != CU_GRAPH_NODE_TYPE_EMPTY)
		ended_ns = flight_wait(r->flight);
	switch (step->node->type) {
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return wait_over(&l->wait[step->slot], r->stream);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		record_run(l, step->slot, ended_ns);
		return true;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return work_values_try(w, &step->at);
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		conditional_run(l, step, r->stream);
		return true;
	case CU_GRAPH_NODE_TYPE_HOST:
		host_run(l, w, r->stream);
		return true;
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		timed_run(step, w, r->stream);
		return true;
	default:
		return true;
	}
}

/* ---- helpers ---- */

static void run_steps(struct run *r, bool helper);

static void *helper_main(void *unused)
{
	pthread_mutex_lock(&help_mutex);
	for (;;) {
		struct run *r = runs;

		while (r && !atomic_load(&r->ready_count))
			r = r->next;
		if (!r) {
			helpers_idle++;
			pthread_cond_wait(&help_cond, &help_mutex);
			helpers_idle--;
			continue;
		}
		r->helpers++;
		pthread_mutex_unlock(&help_mutex);
		run_steps(r, true);
		pthread_mutex_lock(&help_mutex);
		if (!--r->helpers)
			pthread_cond_broadcast(&quiet_cond);
	}
	return NULL;
}

static uint32_t helpers_most(void)
{
	long cores = driver.threads ? (long)driver.threads : sysconf(_SC_NPROCESSORS_ONLN);

	return cores <= 1 ? 0 : cores - 1 < HELPERS_MOST ? (uint32_t)(cores - 1) : HELPERS_MOST;
}

static void helper_start_locked(void)
{
	helpers += thread_start(helper_main, NULL);
}

/* Somebody else may take what is ready. */
static void help_call(struct run *r)
{
	pthread_mutex_lock(&help_mutex);
	if (!r->listed) {
		r->next = runs;
		runs = r;
		r->listed = true;
	}
	if (helpers_idle)
		pthread_cond_signal(&help_cond);
	else if (helpers < helpers_most())
		helper_start_locked();
	pthread_mutex_unlock(&help_mutex);
}

static void help_end(struct run *r)
{
	if (!r->listed)
		return;
	pthread_mutex_lock(&help_mutex);
	for (struct run **at = &runs; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	while (r->helpers)
		pthread_cond_wait(&quiet_cond, &help_mutex);
	pthread_mutex_unlock(&help_mutex);
}

/* ---- branches ---- */

static bool worth_waking(const struct step *s)
{
	uint32_t ns;

	if (!s->node)
		return false;
	switch (s->node->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
		ns = atomic_load_explicit(&s->ns, memory_order_relaxed);
		return !ns || ns > WORTH_WAKING_NS;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		return true;
	default:
		return false;
	}
}

static void alone_wake_locked(struct run *r)
{
	if (r->alone_waits)
		pthread_cond_signal(&r->cond);
	if (r->alone_paces)
		pace_poke(r->device);
}

/* Steps that somebody else may run. */
static void ready_add(struct run *r, const uint32_t *step, uint32_t count)
{
	bool worth = false;

	for (uint32_t i = 0; i < count; i++)
		worth |= worth_waking(&r->program->step[step[i]]);
	pthread_mutex_lock(&r->mutex);
	memcpy(r->program->ready + r->tail, step, count * sizeof(*step));
	r->tail += count;
	atomic_fetch_add(&r->ready_count, count);
	alone_wake_locked(r);
	pthread_mutex_unlock(&r->mutex);
	if (worth)
		help_call(r);
}

/* Where the executable was made so, the most important one first. */
static void ready_choose_locked(struct run *r)
{
	uint32_t *ready = r->program->ready, best = r->head;
	const struct plan *p = r->launch->plan;
	int best_priority = 0;

	if (!(r->launch->exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
		return;
	for (uint32_t i = r->head; i < r->tail; i++) {
		const struct task *t = p->at[r->program->step[ready[i]].number].task;
		int priority = t ? t->priority : 0;

		if (i == r->head || priority < best_priority) {
			best = i;
			best_priority = priority;
		}
	}
	if (best != r->head) {
		uint32_t chosen = ready[best];

		memmove(&ready[r->head + 1], &ready[r->head], (best - r->head) * sizeof(*ready));
		ready[r->head] = chosen;
	}
}

static void hold(struct run *r, uint32_t step)
{
	pthread_mutex_lock(&r->mutex);
	r->program->held[r->held_count++] = step;
	alone_wake_locked(r);
	pthread_mutex_unlock(&r->mutex);
}

static void pause_for(uint32_t turn)
{
	if (turn < POLLS_QUICK)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = POLL_PAUSE_NS }, NULL);
}

#define PACED_MOST 64u

/* Those held that are kernels. Value: their number; 0: another one is among them, which has to be polled. */
static uint32_t held_kernels_locked(struct run *r, struct pace_kernel *ret[PACED_MOST])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < r->held_count && count < PACED_MOST; i++) {
		uint32_t held = r->program->held[i];

		if (!r->pace || !r->pace[held].timed)
			return 0;
		ret[count++] = &r->pace[held];
	}
	return count;
}

/* Nothing that is held has come yet: sleeps for a while. */
static void held_pause_locked(struct run *r, uint32_t turn)
{
	struct pace_kernel *k[PACED_MOST];
	uint32_t count = held_kernels_locked(r, k), seen;

	if (!count) {
		pthread_mutex_unlock(&r->mutex);
		if (r->pace)
			pace_update(r->device);
		pause_for(turn);
		pthread_mutex_lock(&r->mutex);
		return;
	}
	seen = pace_seen(r->device);
	r->alone_paces = true;
	pthread_mutex_unlock(&r->mutex);
	pace_wait_any(k, count, seen);
	pthread_mutex_lock(&r->mutex);
	r->alone_paces = false;
}

/*
 * The next step to run. What is held is tried again by the first thread when nothing is ready. NO_STEP: all is done, or
 * nothing is there for a helper.
 */
static uint32_t step_take(struct run *r, bool helper)
{
	uint32_t turn = 0, step = NO_STEP, *held = r->program->held;

	pthread_mutex_lock(&r->mutex);
	while (atomic_load(&r->left)) {
		if (r->head < r->tail) {
			ready_choose_locked(r);
			step = r->program->ready[r->head++];
			atomic_fetch_sub(&r->ready_count, 1);
			break;
		}
		if (helper)
			break;
		if (!r->held_count) {
			r->alone_waits = true;
			pthread_cond_wait(&r->cond, &r->mutex);
			r->alone_waits = false;
			continue;
		}
		for (uint32_t tries = r->held_count; tries; tries--) {
			step = held[0];
			memmove(held, held + 1, --r->held_count * sizeof(*held));
			pthread_mutex_unlock(&r->mutex);
			if (step_run(r, &r->program->step[step]))
				return step | 1u << 31; /* it has run */
			pthread_mutex_lock(&r->mutex);
			held[r->held_count++] = step;
			step = NO_STEP;
		}
		if (r->head == r->tail)
			held_pause_locked(r, turn++);
	}
	pthread_mutex_unlock(&r->mutex);
	return step;
}

/* What comes after a step that is done. Value: the one to go on with, or NO_STEP. */
static uint32_t step_done(struct run *r, const struct step *step)
{
	struct program *p = r->program;
	uint32_t mine = NO_STEP, other[64], others = 0;

	for (uint32_t i = 0; i < step->next_count; i++) {
		uint32_t next = p->next[step->next + i];

		if (p->step[next].need > 1 && atomic_fetch_sub(&p->pending[next], 1) != 1)
			continue;
		if (mine == NO_STEP) {
			mine = next;
			continue;
		}
		other[others++] = next;
		if (others == sizeof(other) / sizeof(other[0])) {
			ready_add(r, other, others);
			others = 0;
		}
	}
	if (others)
		ready_add(r, other, others);
	if (atomic_fetch_sub(&r->left, 1) == 1) {
		pthread_mutex_lock(&r->mutex);
		pthread_cond_signal(&r->cond);
		pthread_mutex_unlock(&r->mutex);
	}
	return mine;
}

static void run_steps(struct run *r, bool helper)
{
	struct graph_launch *before = launch_here;
	uint32_t step;

	launch_here = r->launch;
	while ((step = step_take(r, helper)) != NO_STEP) {
		bool ran = step >> 31;

		step &= INT32_MAX;
		while (step != NO_STEP) {
			struct step *s = &r->program->step[step];

			if (!ran && !step_run(r, s)) {
				hold(r, step);
				break;
			}
			ran = false;
			step = step_done(r, s);
		}
	}
	launch_here = before;
}

static void branches_run(struct run *r)
{
	struct program *p = r->program;

	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->cond, NULL);
	r->pace = calloc(p->count, sizeof(*r->pace));
	r->left = p->count;
	for (uint32_t i = 0; i < p->count; i++) {
		p->pending[i] = p->step[i].need;
		if (!p->step[i].need)
			p->ready[r->tail++] = i;
	}
	r->ready_count = r->tail;
	if (r->tail > 1)
		for (uint32_t i = 0; i < r->tail; i++)
			if (worth_waking(&p->step[p->ready[i]])) {
				help_call(r);
				break;
			}
	run_steps(r, false);
	help_end(r);
	free(r->pace);
	pthread_cond_destroy(&r->cond);
	pthread_mutex_destroy(&r->mutex);
}

/* One after the other. */
static void narrow_run(struct run *r)
{
	struct graph_launch *before = launch_here;

	launch_here = r->launch;
	for (uint32_t i = 0; i < r->program->count; i++)
		for (uint32_t turn = 0; !step_run(r, &r->program->step[i]); turn++)
			pause_for(turn);
	launch_here = before;
}

static void program_run(struct graph_launch *l, struct program *p, struct stream *s)
{
	struct run r = { .launch = l, .program = p, .stream = s, .device = s->context->device->index };

	if (p == &l->exec->program && l->flight.kernel)
		r.flight = &l->flight;

	for (uint32_t i = 0; i < p->count; i++)
		p->step[i].at = 0;
	if (p->narrow)
		narrow_run(&r);
	else
		branches_run(&r);
}

bool graph_launch_chain(const struct graph_launch *l)
{
	return l->exec->program.narrow;
}

struct flight graph_launch_flight(struct graph_launch *l)
{
	struct flight f = l->flight;

	memset(&l->flight, 0, sizeof(l->flight));
	return f;
}

static uint32_t kernel_count(const struct program *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->count; i++)
		count += p->step[i].node && p->step[i].node->type == CU_GRAPH_NODE_TYPE_KERNEL;
	return count;
}

void graph_launch_run(struct graph_launch *l, struct stream *s, struct pace_kernel *after)
{
	struct program *p = &l->exec->program;

	for (uint32_t i = 0; i < l->plan->condition_count; i++)
		if (l->plan->condition[i].assign)
			atomic_store(&l->exec->value[i], l->plan->condition[i].initial);
	if (p->narrow && !flight_init(&l->flight, kernel_count(p), after) && after)
		flight_wait(&l->flight);
	program_run(l, p, s);
	l->flight.last = NULL;
}
