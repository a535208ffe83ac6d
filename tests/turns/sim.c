/* sim.c: see sim.h. The queue of events, what happens at each, and the figures. */
#include "inside.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double random_unit(struct sim *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (double)(s->random >> 11) / 9007199254740992.0;
}

/* Mostly short: the smaller of the span and an exponential with a quarter of it. */
uint64_t wake_delay(struct sim *s)
{
	double low = s->params.wake_us[0], span = s->params.wake_us[1] - low;
	double more = -span / 4 * log(1 - random_unit(s) * 0.99999);

	return (uint64_t)((low + (more < span ? more : span)) * 1e3);
}

/* A program that waits for its kernel sees the end sooner than a thread that was asleep. */
uint64_t seen_delay(struct sim *s, int tenant)
{
	return s->tenant[tenant].load.batch ? (uint64_t)((5 + 20 * random_unit(s)) * 1e3) : wake_delay(s);
}

void broke(struct sim *s, const char *format, ...)
{
	va_list ap;

	if (*s->broken)
		return;
	va_start(ap, format);
	vsnprintf(s->broken, sizeof(s->broken), format, ap);
	va_end(ap);
}

/* ---- events ---- */

static bool sooner(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void *grown(void *memory, size_t bytes)
{
	memory = realloc(memory, bytes);
	if (!memory)
		abort();
	return memory;
}

void at(struct sim *s, uint64_t at_ns, enum what what, int who, uint32_t version)
{
	struct event e = { at_ns, s->order++, version, (uint16_t)who, (uint16_t)what };
	unsigned int n = s->events++;

	if (s->events > s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->heap = grown(s->heap, s->room * sizeof(*s->heap));
	}
	for (; n && sooner(&e, &s->heap[(n - 1) / 2]); n = (n - 1) / 2)
		s->heap[n] = s->heap[(n - 1) / 2];
	s->heap[n] = e;
}

static struct event take(struct sim *s)
{
	struct event first = s->heap[0], last = s->heap[--s->events];
	unsigned int n = 0;

	for (;;) {
		unsigned int child = 2 * n + 1;

		if (child >= s->events)
			break;
		if (child + 1 < s->events && sooner(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!sooner(&s->heap[child], &last))
			break;
		s->heap[n] = s->heap[child];
		n = child;
	}
	if (s->events)
		s->heap[n] = last;
	return first;
}

/* The tenants that come after this one has gone. */
static void call_followers(struct sim *s, int tenant)
{
	for (int i = 0; i < s->tenants; i++)
		if (s->tenant[i].load.follows == 1 + tenant)
			for (int p = 0; p < s->tenant[i].processes; p++)
				at(s, s->now_ns + wake_delay(s), AT_LIFE, s->tenant[i].first + p, 0);
}

static bool is_over(const struct sim *s, const struct process *p)
{
	const struct sim_load *l = &s->tenant[p->tenant].load;

	return (l->end_s > 0 && (double)s->now_ns / 1e9 + 1e-9 >= l->end_s) || (l->launches && p->seen >= l->launches);
}

/* A process starts, dies, is stopped or continued: whichever its times say is due. */
static void live(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct account *t = &s->tenant[p->tenant];
	const struct sim_load *l = &t->load;
	double now_s = (double)s->now_ns / 1e9 + 1e-9;

	if (p->alive && is_over(s, p)) {
		engine_kill(s, i);
		p->alive = false;
		p->waiting = false;
		decide_died(s, i);
		p->seen = p->ended;
		call_followers(s, p->tenant);
		return;
	}
	if (l->stop_s > 0 && now_s >= l->stop_s && now_s < l->cont_s) {
		p->stopped = true;
		return;
	}
	if (p->stopped) {
		p->stopped = false;
		while (p->seen != p->ended)
			client_seen(s, i);
		if (p->ready)
			client_try(s, i);
		else
			program_go(s, i);
		return;
	}
	if (!p->alive) {
		decide_join(s, p->tenant);
		program_start(s, i);
	}
}

static void woken(struct sim *s, int i)
{
	struct process *p = s->process[i];

	if (p->alive && !p->stopped && p->waiting)
		client_try(s, i);
}

static void happen(struct sim *s, const struct event *e)
{
	switch (e->what) {
	case AT_ENGINE:
		engine_event(s, e->version);
		break;
	case AT_PROGRAM:
		program_go(s, e->who);
		break;
	case AT_SEEN:
		client_seen(s, e->who);
		break;
	case AT_WOKEN:
		woken(s, e->who);
		break;
	case AT_RETRY:
		if (s->process[e->who]->retry == e->version)
			client_try(s, e->who);
		break;
	case AT_DAEMON:
		decide_now(s, true);
		break;
	case AT_TIMER:
		if (s->params.way != SIM_TURNS)
			peers_tick(s);
		else if (e->version == s->timer_version)
			decide_now(s, false);
		break;
	case AT_LIFE:
		live(s, e->who);
		break;
	case AT_PAUSE:
		client_pause(s, e->who, e->version);
		break;
	case AT_CHANGE:
		decide_change(s, e->who);
		break;
	}
}

/* ---- making and running ---- */

struct sim *sim_new(const struct sim_params *params)
{
	struct sim *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->params = *params;
	if (s->params.wake_us[1] <= 0) {
		s->params.wake_us[0] = 20;
		s->params.wake_us[1] = 200;
	}
	s->now_ns = SIM_S; /* no time is 0: that means never */
	s->end_ns = s->now_ns + (uint64_t)(params->seconds * 1e9);
	s->random = (params->seed + 1) * 0x9e3779b97f4a7c15u;
	s->running = s->last = -1;
	s->idle_from_ns = s->now_ns;
	s->cells = (unsigned int)(s->end_ns / CELL_NS) + 2;
	s->idle = calloc(s->cells, sizeof(*s->idle));
	s->arbiter = arbiter_new(params->arbiter);
	if (!s->arbiter || !s->idle)
		abort();
	for (int i = 0; i < 20; i++)
		random_unit(s);
	return s;
}

void sim_free(struct sim *s)
{
	for (int i = 0; i < s->tenants; i++) {
		free(s->tenant[i].served);
		free(s->tenant[i].latency);
	}
	for (int i = 0; i < s->processes; i++)
		free(s->process[i]);
	arbiter_free(s->arbiter);
	free(s->heap);
	free(s->idle);
	free(s);
}

static uint64_t time_of(double seconds)
{
	return SIM_S + (uint64_t)(seconds * 1e9);
}

static void add_process(struct sim *s, int tenant, const struct sim_load *l)
{
	struct process *p = calloc(1, sizeof(*p));
	int i = s->processes++;

	if (!p || i >= (int)SIM_PROCESSES)
		abort();
	p->tenant = tenant;
	s->process[i] = p;
	/* Not all in the same microsecond. */
	if (!l->follows)
		at(s, time_of(l->start_s) + (uint64_t)(random_unit(s) * 1e6), AT_LIFE, i, 0);
	if (l->end_s > 0)
		at(s, time_of(l->end_s), AT_LIFE, i, 0);
	if (l->stop_s > 0) {
		at(s, time_of(l->stop_s), AT_LIFE, i, 0);
		at(s, time_of(l->cont_s), AT_LIFE, i, 0);
	}
}

int sim_add(struct sim *s, const struct arbiter_terms *terms, const struct sim_load *load)
{
	int tenant = s->tenants++;
	struct account *t = &s->tenant[tenant];

	t->terms = *terms;
	t->load = *load;
	t->load.start_s += 1; /* seconds as given count from SIM_S */
	t->load.end_s += load->end_s > 0;
	t->load.stop_s += load->stop_s > 0;
	t->load.cont_s += load->stop_s > 0;
	t->place = -1;
	t->first = s->processes;
	t->processes = load->processes ? (int)load->processes : 1;
	t->served = calloc(s->cells, sizeof(*t->served));
	t->room = 200000;
	t->latency = load->batch ? calloc(t->room, sizeof(*t->latency)) : NULL;
	t->room = t->latency ? t->room : 0;
	if (!t->served)
		abort();
	for (int i = 0; i < t->processes; i++)
		add_process(s, tenant, load);
	return tenant;
}

void sim_change(struct sim *s, int tenant, const struct arbiter_terms *terms, double at_s)
{
	int n = s->changes++;

	s->change[n] = (struct change){ tenant, *terms };
	at(s, time_of(at_s), AT_CHANGE, n, 0);
}

void sim_run(struct sim *s)
{
	if (s->params.way != SIM_TURNS)
		at(s, s->now_ns, AT_TIMER, 0, 0);
	while (s->events && s->heap[0].at_ns <= s->end_ns) {
		struct event e = take(s);

		s->now_ns = e.at_ns;
		happen(s, &e);
	}
	s->now_ns = s->end_ns;
	engine_finish(s);
}

/* ---- figures ---- */

static double sum(const float *cells, unsigned int count, double from_s, double to_s)
{
	unsigned int from = (unsigned int)(time_of(from_s) / CELL_NS), to = (unsigned int)(time_of(to_s) / CELL_NS);
	double ns = 0;

	for (unsigned int i = from; i < to && i < count; i++)
		ns += (double)cells[i];
	return ns;
}

double sim_served(const struct sim *s, int tenant, double from_s, double to_s)
{
	return sum(s->tenant[tenant].served, s->cells, from_s, to_s);
}

double sim_idle(const struct sim *s, double from_s, double to_s)
{
	return sum(s->idle, s->cells, from_s, to_s);
}

double sim_lost(const struct sim *s, enum sim_lost kind)
{
	return 100 * s->lost_ns[kind] / (double)(s->end_ns - 2 * SIM_S);
}

struct sim_error sim_error(const struct sim *s, int tenant, double target_pct, double window_s, double from_s,
			   double to_s)
{
	const float *cells = s->tenant[tenant].served;
	unsigned int from = (unsigned int)(time_of(from_s) / CELL_NS), to = (unsigned int)(time_of(to_s) / CELL_NS);
	unsigned int width = (unsigned int)(window_s * 1e9 / (double)CELL_NS + 0.5), windows = 0;
	struct sim_error e = { .above = -target_pct };
	double ns = 0, pct, off;

	for (unsigned int i = from; i < to; i++) {
		ns += (double)cells[i];
		if (i >= from + width)
			ns -= (double)cells[i - width];
		if (i + 1 < from + width)
			continue;
		pct = ns / (window_s * 1e7);
		off = fabs(pct - target_pct);
		e.mean += off;
		e.max = off > e.max ? off : e.max;
		e.above = pct - target_pct > e.above ? pct - target_pct : e.above;
		windows++;
	}
	e.mean /= windows ? windows : 1;
	e.bias = sim_served(s, tenant, from_s, to_s) / ((to_s - from_s) * 1e7) - target_pct;
	return e;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double sim_latency(const struct sim *s, int tenant, double percentile)
{
	const struct account *t = &s->tenant[tenant];

	if (!t->latencies)
		return 0;
	qsort(t->latency, t->latencies, sizeof(double), by_value);
	return t->latency[(unsigned long)(percentile / 100 * (double)(t->latencies - 1))];
}

unsigned long sim_batches(const struct sim *s, int tenant)
{
	return s->tenant[tenant].latencies;
}

double sim_starved_ms(const struct sim *s, int tenant)
{
	const struct account *t = &s->tenant[tenant];
	uint64_t now = t->hungry_from_ns ? s->now_ns - t->hungry_from_ns : 0;

	return (double)(now > t->hungriest_ns ? now : t->hungriest_ns) / 1e6;
}

struct arbiter_reading sim_reading(const struct sim *s, int tenant)
{
	const struct account *t = &s->tenant[tenant];

	if (t->place < 0)
		return (struct arbiter_reading){ 0 };
	return arbiter_read(s->arbiter, t->place, s->now_ns);
}

unsigned long sim_steps(const struct sim *s)
{
	return s->steps;
}

const char *sim_broken(const struct sim *s)
{
	return *s->broken ? s->broken : NULL;
}
