/* tail.c: see tail.h. */
#include "softdev/tail.h"

#include "softdev/event.h"
#include "softdev/graph.h"

#include <stdlib.h>

#define AHEAD_MOST 16u	  /* kernels executed that have not ended */
#define AHEAD_NS 8000000u /* together, unless they are two */

bool tail_marks(const struct operation *o)
{
	return o->work.kind == WORK_RECORD || o->work.kind == WORK_WAIT || o->work.kind == WORK_EMPTY;
}

bool tail_leads(const struct operation *o)
{
	return o->next && (o->next->work.kind == WORK_KERNEL || o->next->work.kind == WORK_GRAPH);
}

bool tail_ahead_ok(uint32_t kernels, uint64_t ns)
{
	return kernels < 2 || (kernels < AHEAD_MOST && ns < AHEAD_NS);
}

/* Kernels, and graphs that are a chain. */
static bool runs_ahead(const struct operation *o)
{
	return o->work.kind == WORK_KERNEL || (o->work.kind == WORK_GRAPH && graph_launch_chain(o->work.graph.launch));
}

bool tail_has_room(const struct stream *s)
{
	if (tail_empty(s) || tail_marks(s->todo))
		return true;
	return runs_ahead(s->todo) && tail_ahead_ok(s->tail_timed, s->tail_ns);
}

struct operation *tail_timed(const struct stream *s)
{
	struct operation *last = NULL;

	for (struct operation *o = s->first; o != s->todo; o = o->next)
		if (o->timed)
			last = o;
	return last;
}

struct operation *tail_awaited(const struct stream *s)
{
	uint32_t skip = runs_ahead(s->todo) ? (s->tail_timed - 1) / 2 : UINT32_MAX;
	struct operation *last = NULL;

	for (struct operation *o = s->first; o != s->todo; o = o->next)
		if (o->timed) {
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
		if (o->timed)
			last = o;
	return last;
}

void tail_add(struct stream *s)
{
	struct operation *o = s->todo;

	s->todo = o->next;
	s->executed++;
	if (o->timed) {
		s->tail_timed++;
		s->tail_ns += o->timed_ns;
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
	if (!o->timed || atomic_load_explicit(&o->timed->end_ns, memory_order_acquire))
		return true;
	if (!driver.ending)
		return false;
	pace_remove(o->timed);
	return true;
}

/*
 * The end of the work before. Where that had ended when a record was submitted, the device comes to the record at once,
 * though no thread may do so for long: the time of its submission. Work right behind it begins only when a thread has
 * come to the stream; so does then the record, for the time between the two is the work's alone.
 */
static uint64_t mark_time(const struct stream *s, const struct operation *o)
{
	uint64_t before = later_of(s->reached_ns, o->ready_ns);

	return before < o->submitted_ns ? later_of(o->submitted_ns, o->marked_ns) : before;
}

static void leave(struct stream *s, struct operation *o)
{
	struct work *w = &o->work;

	if (o->timed)
		s->reached_ns = o->timed->end_ns;
	else if (o->pace.end_ns)
		s->reached_ns = o->pace.end_ns;
	else
		s->reached_ns = mark_time(s, o);
	if (o->timed) {
		s->tail_timed--;
		s->tail_ns -= o->timed_ns;
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
	flight_deinit(&o->flight); /* not before: who holds it may be asleep until one of these kernels ends */
	free(o->point);
	free(o);
}

void tail_sleep(struct operation *o)
{
	if (!o)
		return;
	tail_hold(o);
	pthread_mutex_unlock(&stream_mutex);
	pace_wait(o->timed);
	pthread_mutex_lock(&stream_mutex);
	tail_release(o);
}
