/* decide.c: meted's part: takes what clients tell, lets the arbiter decide, opens and closes gates. */
#include "inside.h"

void decide_ring(struct sim *s)
{
	if (s->ringing || s->params.way != SIM_TURNS)
		return;
	s->ringing = true;
	at(s, s->now_ns + wake_delay(s), AT_DAEMON, 0, 0);
}

void decide_join(struct sim *s, int tenant)
{
	struct account *t = &s->tenant[tenant];

	if (s->params.way != SIM_TURNS || t->place >= 0)
		return;
	t->place = arbiter_join(s->arbiter, &t->terms, s->now_ns);
	if (t->place >= 0)
		arbiter_user(s->arbiter, t->place, t->load.user);
	decide_ring(s);
}

static void take_edges(struct sim *s)
{
	for (unsigned int i = 0; i < s->edges; i++) {
		int place = s->tenant[s->edge[i].tenant].place;

		if (place < 0)
			continue;
		if (s->edge[i].begins)
			arbiter_begins(s->arbiter, place, s->edge[i].at_ns);
		else
			arbiter_ends(s->arbiter, place, s->edge[i].at_ns);
	}
	s->edges = 0;
}

/* The kernel tells of a death; what the process had begun is over. */
void decide_died(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct account *t = &s->tenant[p->tenant];
	bool left = false;

	if (s->params.way != SIM_TURNS || t->place < 0)
		return;
	take_edges(s);
	if (p->begin_told)
		arbiter_ends(s->arbiter, t->place, s->now_ns);
	for (int n = t->first; n < t->first + t->processes; n++)
		left |= s->process[n]->alive;
	if (!left) {
		arbiter_leave(s->arbiter, t->place, s->now_ns);
		t->place = -1;
	}
	decide_ring(s);
}

void decide_change(struct sim *s, int n)
{
	struct account *t = &s->tenant[s->change[n].tenant];

	t->terms = s->change[n].terms;
	if (t->place >= 0)
		arbiter_change(s->arbiter, t->place, &t->terms, s->now_ns);
	decide_ring(s);
}

/* A tenant's processes, added up. They share the engine: what they have in flight ends one after the other. */
static struct arbiter_demand demand_of(const struct sim *s, int tenant)
{
	const struct account *t = &s->tenant[tenant];
	struct arbiter_demand d = { 0 };
	uint64_t left = 0, latest = 0;

	for (int i = t->first; i < t->first + t->processes; i++) {
		const struct process *p = s->process[i];

		if (!p->alive)
			continue;
		if (p->waiting) {
			d.since_ns = d.waiting && d.since_ns < p->waiting_since_ns ? d.since_ns : p->waiting_since_ns;
			d.needs_ns = p->next_predicted_ns > d.needs_ns ? p->next_predicted_ns : d.needs_ns;
			d.waiting = true;
		}
		if (client_in_flight(p)) {
			d.began_ns = d.busy && d.began_ns < p->began_ns ? d.began_ns : p->began_ns;
			d.busy = true;
			d.unknown |= !p->launch[p->seen % FLIGHT].predicted_ns;
			left += p->done_by_ns > s->now_ns ? p->done_by_ns - s->now_ns : 0;
			latest = p->done_by_ns > latest ? p->done_by_ns : latest;
		}
	}
	d.done_by_ns = left ? s->now_ns + left : latest;
	return d;
}

static void set_gate(struct sim *s, int tenant)
{
	struct account *t = &s->tenant[tenant];
	const struct arbiter_turn *turn = arbiter_turn(s->arbiter, t->place);

	t->gate.serial +=
		turn->open != t->gate.open || turn->until_ns != t->gate.until_ns || turn->bound_ns != t->gate.bound_ns;
	if (turn->open && !t->gate.open)
		t->gate.opened_ns = s->now_ns;
	else if (!turn->open && t->gate.open)
		t->gate.closed_ns = s->now_ns;
	t->gate.open = turn->open;
	t->gate.until_ns = turn->until_ns;
	t->gate.bound_ns = turn->bound_ns;
	t->gate.listen = turn->listen;
	if (!turn->open)
		return;
	for (int i = t->first; i < t->first + t->processes; i++)
		if (s->process[i]->alive && s->process[i]->waiting)
			at(s, s->now_ns + wake_delay(s), AT_WOKEN, i, 0);
}

static void check(struct sim *s)
{
	int open = 0;

	for (int i = 0; i < s->tenants; i++) {
		const struct account *t = &s->tenant[i];

		if (t->place < 0)
			continue;
		if (t->gate.open && t->terms.gated && t->terms.class != ARBITER_HIGH)
			open++;
		if (t->gate.open && t->terms.gated && t->terms.frozen)
			broke(s, "a frozen tenant's gate is open at %.6f s", (double)s->now_ns / 1e9);
	}
	if (open > 2)
		broke(s, "%d gates are open at %.6f s", open, (double)s->now_ns / 1e9);
}

static void decide(struct sim *s)
{
	uint64_t next;

	take_edges(s);
	for (int i = 0; i < s->tenants; i++) {
		struct arbiter_demand d;

		if (s->tenant[i].place < 0)
			continue;
		d = demand_of(s, i);
		arbiter_demands(s->arbiter, s->tenant[i].place, &d, s->now_ns);
	}
	next = arbiter_step(s->arbiter, s->now_ns);
	s->steps++;
	for (int i = 0; i < s->tenants; i++)
		if (s->tenant[i].place >= 0 && arbiter_changed(s->arbiter, s->tenant[i].place))
			set_gate(s, i);
	check(s);
	if (next < s->now_ns)
		broke(s, "the arbiter wants to be called in the past at %.6f s", (double)s->now_ns / 1e9);
	s->timer_version++;
	at(s, next + wake_delay(s) / 2, AT_TIMER, 0, s->timer_version);
}

void decide_now(struct sim *s, bool rung)
{
	if (rung)
		s->ringing = false;
	decide(s);
}
