/*
 * engine.c: an engine that runs the work of one process at a time.
 *
 * A process's launches run in order. Processes that have any take turns by slices; a change of process costs
 * `switch_us`, in which nothing is served. For a process alone one slice follows the other: who comes waits for the end
 * of the present one.
 */
#include "inside.h"

#include <stddef.h>

static uint64_t slice_ns(const struct sim *s)
{
	return (uint64_t)((s->params.slice_ms > 0 ? s->params.slice_ms : 2) * 1e6);
}

static uint64_t switch_ns(const struct sim *s)
{
	double us = s->params.switch_us;

	return us < 0 ? 0 : (uint64_t)((us > 0 ? us : 75) * 1e3);
}

/* Enters a time into the cells that it touches. */
static void enter(struct sim *s, float *cells, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t cell = from / CELL_NS, end = (cell + 1) * CELL_NS;

		end = end < to ? end : to;
		if (cell < s->cells)
			cells[cell] += (float)(end - from);
		from = end;
	}
}

static bool has_work(const struct process *p)
{
	return p->alive && p->ended != p->head;
}

static struct launch *front(struct process *p)
{
	return &p->launch[p->ended % FLIGHT];
}

/* The next process that has work, after the running one; itself when it is the only one; -1: none. */
static int next_process(const struct sim *s)
{
	int from = s->last < 0 ? 0 : s->last;

	for (int i = 1; i <= s->processes; i++) {
		int p = (from + i) % s->processes;

		if (has_work(s->process[p]))
			return p;
	}
	return -1;
}

static bool others_have_work(const struct sim *s)
{
	return s->loaded > (s->running >= 0 && has_work(s->process[s->running]));
}

static void plan(struct sim *s)
{
	uint64_t end;

	s->engine_version++;
	if (s->running < 0)
		return;
	end = s->run_from_ns + front(s->process[s->running])->left_ns;
	/* Slices go by also while nobody else has work. */
	if (s->slice_end_ns <= s->now_ns && s->run_from_ns <= s->now_ns)
		s->slice_end_ns += ((s->now_ns - s->slice_end_ns) / slice_ns(s) + 1) * slice_ns(s);
	if (others_have_work(s) && s->slice_end_ns < end)
		end = s->slice_end_ns;
	at(s, end, AT_ENGINE, 0, s->engine_version);
}

static void lose(struct sim *s, enum sim_lost kind, uint64_t from, uint64_t to)
{
	from = from < 2 * SIM_S ? 2 * SIM_S : from;
	if (from < to)
		s->lost_ns[kind] += (double)(to - from);
}

static uint64_t within(uint64_t at, uint64_t from, uint64_t to)
{
	return at < from ? from : at > to ? to : at;
}

/* The engine was idle before the work of p: whose doing was it? */
static void lose_idle(struct sim *s, int p, uint64_t from, uint64_t to)
{
	int before = s->last < 0 ? -1 : s->process[s->last]->tenant, after = s->process[p]->tenant;
	uint64_t closed, opened = within(s->tenant[after].gate.opened_ns, from, to);

	if (before < 0 || (before == after && s->tenant[after].gate.opened_ns <= from)) {
		lose(s, SIM_LOST_INSIDE, from, to);
		return;
	}
	closed = s->tenant[before].gate.open ? to : s->tenant[before].gate.closed_ns;
	closed = within(closed, from, opened);
	lose(s, SIM_LOST_END, from, closed);
	lose(s, SIM_LOST_CLOSED, closed, opened);
	lose(s, SIM_LOST_FIRST, opened, to);
}

static void run(struct sim *s, int p)
{
	uint64_t from = s->now_ns;

	if (p >= 0 && s->running < 0 && s->idle_from_ns < from) {
		enter(s, s->idle, s->idle_from_ns, from);
		lose_idle(s, p, s->idle_from_ns, from);
	}
	if (p < 0) {
		s->idle_from_ns = from;
	} else {
		if (s->last >= 0 && s->last != p) {
			lose(s, SIM_LOST_SWITCH, from, from + switch_ns(s));
			from += switch_ns(s);
		}
		s->last = p;
		s->slice_end_ns = from + slice_ns(s);
		if (!front(s->process[p])->started_ns)
			front(s->process[p])->started_ns = from;
	}
	s->running = p;
	s->run_from_ns = from;
}

/* Books what has been served up to now. */
static void serve(struct sim *s)
{
	struct process *p = s->running >= 0 ? s->process[s->running] : NULL;
	struct account *t;
	uint64_t ns;

	if (!p || s->now_ns <= s->run_from_ns)
		return;
	ns = s->now_ns - s->run_from_ns;
	t = &s->tenant[p->tenant];
	enter(s, t->served, s->run_from_ns, s->now_ns);
	if (t->hungry_from_ns) {
		ns = s->run_from_ns > t->hungry_from_ns ? s->run_from_ns - t->hungry_from_ns : 0;
		t->hungriest_ns = ns > t->hungriest_ns ? ns : t->hungriest_ns;
		t->hungry_from_ns = 0;
	}
	ns = s->now_ns - s->run_from_ns;
	t->used_ns += (double)ns;
	front(p)->left_ns -= ns < front(p)->left_ns ? ns : front(p)->left_ns;
	s->run_from_ns = s->now_ns;
}

void engine_submit(struct sim *s, int p)
{
	s->loaded += s->process[p]->head - s->process[p]->ended == 1;
	if (s->running < 0)
		run(s, p);
	else if (s->running == p)
		return;
	else
		serve(s);
	plan(s);
}

void engine_event(struct sim *s, uint32_t version)
{
	struct process *p;
	uint64_t seen;

	if (version != s->engine_version || s->running < 0)
		return;
	serve(s);
	p = s->process[s->running];
	if (!front(p)->left_ns) {
		front(p)->ended_ns = s->now_ns;
		p->ended++;
		s->loaded -= p->ended == p->head;
		seen = s->now_ns + seen_delay(s, p->tenant);
		p->last_seen_ns = seen > p->last_seen_ns ? seen : p->last_seen_ns;
		at(s, p->last_seen_ns, AT_SEEN, s->running, 0);
	}
	if (has_work(p) && (s->now_ns < s->slice_end_ns || !others_have_work(s))) {
		if (!front(p)->started_ns)
			front(p)->started_ns = s->now_ns;
		s->run_from_ns = s->now_ns > s->run_from_ns ? s->now_ns : s->run_from_ns;
	} else {
		run(s, next_process(s));
	}
	plan(s);
}

void engine_kill(struct sim *s, int p)
{
	serve(s);
	s->loaded -= s->process[p]->ended != s->process[p]->head;
	s->process[p]->ended = s->process[p]->head;
	if (s->running != p)
		return;
	run(s, next_process(s));
	plan(s);
}

void engine_finish(struct sim *s)
{
	serve(s);
	if (s->running < 0 && s->idle_from_ns < s->now_ns)
		enter(s, s->idle, s->idle_from_ns, s->now_ns);
}
