/* tail.c: see tail.h. */
#include "softdev/tail.h"

#include "base/clock.h"
#include "softdev/event.h"

#include <stdlib.h>

#define AHEAD_MOST 16u	  /* kernels executed that have not ended */
#define AHEAD_NS 4000000u /* together, unless they are two */

bool tail_marks(const struct operation *o)
{
	return o->work.kind == WORK_RECORD || o->work.kind == WORK_WAIT || o->work.kind == WORK_EMPTY;
}

bool tail_has_room(const struct stream *s)
{
	if (tail_empty(s) || tail_marks(s->todo))
		return true;
	if (s->todo->work.kind != WORK_KERNEL)
		return false;
	return s->tail_kernels < 2 || (s->tail_kernels < AHEAD_MOST && s->tail_ns < AHEAD_NS);
}

struct operation *tail_kernel(const struct stream *s)
{
	struct operation *last = NULL;

	for (struct operation *o = s->first; o != s->todo; o = o->next)
		if (o->work.kind == WORK_KERNEL)
			last = o;
	return last;
}

struct operation *tail_awaited(const struct stream *s)
{
	uint32_t skip = s->todo->work.kind == WORK_KERNEL ? s->tail_kernels / 2 : UINT32_MAX;
	struct operation *last = NULL;

	for (struct operation *o = s->first; o != s->todo; o = o->next)
		if (o->work.kind == WORK_KERNEL) {
			last = o;
			if (!skip--)
				break;
		}
	return last;
}

struct operation *tail_until(const struct stream *s, uint64_t sequence)
{
	uint64_t at = s->completed;
	struct operation *last = NULL;

	for (struct operation *o = s->first; o != s->todo && at < sequence; o = o->next, at++)
		if (o->work.kind == WORK_KERNEL)
			last = o;
	return last;
}

void tail_add(struct stream *s)
{
	struct operation *o = s->todo;

	s->todo = o->next;
	s->executed++;
	if (o->work.kind == WORK_KERNEL) {
		s->tail_kernels++;
		s->tail_ns += o->pace.timed ? o->pace.overlap.duration_ns : 0;
	} else if (o->work.kind == WORK_RECORD && o->work.record.shared) {
		s->tail_shared++;
	}
}

/* ---- leaving ---- */

static uint64_t later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool has_ended(struct operation *o)
{
	if (tail_marks(o) || atomic_load_explicit(&o->pace.end_ns, memory_order_acquire))
		return true;
	if (!driver.ending)
		return false;
	pace_remove(&o->pace);
	return true;
}

static void leave(struct stream *s, struct operation *o)
{
	struct work *w = &o->work;

	if (o->pace.end_ns)
		s->reached_ns = o->pace.end_ns;
	else
		s->reached_ns = later_of(later_of(s->reached_ns, o->submitted_ns), o->ready_ns);
	if (w->kind == WORK_KERNEL) {
		s->tail_kernels--;
		s->tail_ns -= o->pace.timed ? o->pace.overlap.duration_ns : 0;
	} else if (w->kind == WORK_RECORD) {
		event_reached_locked(w->record.event, w->record.event_generation, w->record.version, s->reached_ns);
		if (w->record.shared) {
			shared_event_reached(w->record.shared, w->record.shared_version);
			s->tail_shared--;
		}
	}
	work_deinit(w);
}

bool tail_settle(struct stream *s)
{
	bool any = false;

	while (!tail_empty(s) && has_ended(s->first)) {
		struct operation *o = s->first;

		leave(s, o);
		s->first = o->next;
		if (!s->first)
			s->last = NULL;
		s->completed++;
		s->context->pending--;
		o->left = true;
		tail_hold(o);
		tail_release(o);
		any = true;
	}
	return any;
}

void tail_hold(struct operation *o)
{
	o->holds++;
}

void tail_release(struct operation *o)
{
	if (--o->holds || !o->left)
		return;
	free(o->point);
	free(o);
}

void tail_sleep(struct operation *o)
{
	if (!o)
		return;
	tail_hold(o);
	pthread_mutex_unlock(&stream_mutex);
	pace_wait(&o->pace);
	pthread_mutex_lock(&stream_mutex);
	tail_release(o);
}
