/* client.c: the client's side of a turn, as src/wire/turn.h has it: what may be submitted now, and what is told. */
#include "inside.h"

#include "wire/turn.h"

unsigned int client_in_flight(const struct process *p)
{
	return p->head - p->seen;
}

static unsigned int active_clients(const struct sim *s, int tenant)
{
	const struct account *t = &s->tenant[tenant];
	unsigned int n = 0;

	if (t->processes == 1)
		return 1;
	for (int i = t->first; i < t->first + t->processes; i++)
		n += s->process[i]->alive && (client_in_flight(s->process[i]) || s->process[i]->ready);
	return n ? n : 1;
}

/*
 * What is left of the work in flight, as the shim reckons it (src/core/pace.c): what was predicted, less the time since
 * the last of it ended, but for no more than the oldest launch was predicted to take. Until that one has ended, hardly
 * more is let in, however late it is.
 */
static uint64_t remaining(const struct sim *s, const struct process *p)
{
	uint64_t from = p->ended_ns > p->began_ns ? p->ended_ns : p->began_ns, run, oldest;

	if (!client_in_flight(p))
		return 0;
	oldest = p->launch[p->seen % FLIGHT].predicted_ns;
	run = s->now_ns > from ? s->now_ns - from : 0;
	run = run < oldest ? run : oldest;
	return p->predicted_ns > run ? p->predicted_ns - run : 0;
}

enum pass {
	NOW,
	AT_GATE,    /* its turn is over, or too short for this */
	BEHIND_OWN, /* when what is in flight has come to an end */
};

/* What is longer than the bound comes so early that the engine does not idle. */
static uint64_t lead_of(uint64_t bound, uint64_t ns)
{
	uint64_t lead = bound / 8 < 200 * SIM_US ? bound / 8 : 200 * SIM_US;
	uint64_t least = ns / 16 < 60 * SIM_US ? ns / 16 : 60 * SIM_US;

	return lead < least ? least : lead;
}

static bool fits_bound(uint64_t bound, uint64_t left, uint64_t ns)
{
	return !left || !bound || left + ns <= bound || (ns > bound && left <= lead_of(bound, ns));
}

static enum pass may_submit(struct sim *s, int i)
{
	struct process *p = s->process[i];
	const struct gate *g = &s->tenant[p->tenant].gate;
	bool empty = !client_in_flight(p);
	uint64_t left = remaining(s, p);

	if (client_in_flight(p) >= FLIGHT - 1)
		return BEHIND_OWN;
	if (s->params.way != SIM_TURNS)
		return peers_admit(s, i) ? NOW : AT_GATE;
	if (!g->open)
		return AT_GATE;
	if (p->serial != g->serial) {
		p->serial = g->serial;
		p->in_turn = false;
	}
	/* What is not known runs alone. */
	if (!empty && (!p->next_predicted_ns || !p->launch[(p->head - 1) % FLIGHT].predicted_ns))
		return BEHIND_OWN;
	if (g->until_ns && s->now_ns + left + p->next_predicted_ns > g->until_ns && (p->in_turn || !empty))
		return AT_GATE;
	return fits_bound(g->bound_ns / active_clients(s, p->tenant), left, p->next_predicted_ns) ? NOW : BEHIND_OWN;
}

void client_ring(struct sim *s)
{
	decide_ring(s);
}

static void submit(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct account *t = &s->tenant[p->tenant];
	bool idle = !client_in_flight(p);

	p->launch[p->head % FLIGHT] = (struct launch){ .left_ns = p->next_ns,
						       .predicted_ns = p->next_predicted_ns,
						       .submitted_ns = s->now_ns };
	p->head++;
	p->ready = false;
	p->waiting = false;
	p->in_turn = true;
	p->began_ns = idle ? s->now_ns : p->began_ns;
	p->predicted_ns += p->next_predicted_ns;
	p->done_by_ns = s->now_ns + remaining(s, p);
	if (!t->hungry_from_ns)
		t->hungry_from_ns = s->now_ns;
	if (idle && t->gate.listen & wire_listen_begin(t->gate.until_ns, s->now_ns, p->next_predicted_ns))
		client_ring(s);
	engine_submit(s, i);
}

static void wait_at_gate(struct sim *s, struct process *p)
{
	const struct gate *g = &s->tenant[p->tenant].gate;

	/* Anew: it was woken for a turn that is over. */
	if (p->waiting && (g->open || !p->waiting_closed || p->waiting_serial == g->serial)) {
		p->waiting_closed = !g->open;
		p->waiting_serial = g->serial;
		return;
	}
	p->waiting = true;
	p->waiting_since_ns = s->now_ns;
	p->waiting_closed = !g->open;
	p->waiting_serial = g->serial;
	if (s->tenant[p->tenant].gate.listen & (WIRE_ON_DEMAND | WIRE_ON_WAIT))
		client_ring(s);
}

/* It sleeps until what is in flight should have become short enough. */
static void wait_behind_own(struct sim *s, int i)
{
	struct process *p = s->process[i];
	const struct gate *g = &s->tenant[p->tenant].gate;
	uint64_t bound = g->bound_ns / active_clients(s, p->tenant), ns = p->next_predicted_ns, nap;
	uint64_t left = remaining(s, p);

	p->waiting = false;
	p->retry++;
	if (s->params.way != SIM_TURNS || fits_bound(bound, left, ns))
		return;
	nap = ns <= bound ? left + ns - bound : left > lead_of(bound, ns) ? left - lead_of(bound, ns) : 0;
	at(s, s->now_ns + (nap < 20 * SIM_US ? 20 * SIM_US : nap) + wake_delay(s) / 2, AT_RETRY, i, p->retry);
}

/* Submits what it may of what the program has ready. */
void client_try(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct account *t = &s->tenant[p->tenant];

	while (p->alive && !p->stopped && program_next(s, i)) {
		enum pass pass = may_submit(s, i);

		if (pass == NOW) {
			submit(s, i);
			continue;
		}
		if (!t->hungry_from_ns)
			t->hungry_from_ns = s->now_ns;
		if (pass == AT_GATE)
			wait_at_gate(s, p);
		else
			wait_behind_own(s, i);
		return;
	}
}

static void tell(struct sim *s, const struct process *p, uint64_t at_ns, bool begins)
{
	if (s->params.way != SIM_TURNS)
		return;
	if (s->edges < sizeof(s->edge) / sizeof(*s->edge))
		s->edge[s->edges++] = (struct edge){ at_ns, begins, p->tenant };
	else
		broke(s, "the ring of edges ran over");
}

/* The last work in flight has ended. */
static void went_idle(struct sim *s, int i)
{
	const struct process *p = s->process[i];
	uint32_t listen = s->tenant[p->tenant].gate.listen;

	if (listen & WIRE_ON_IDLE || (listen & WIRE_ON_PAUSE && p->waiting))
		client_ring(s);
	else if (listen & WIRE_ON_PAUSE)
		at(s, s->now_ns + WIRE_PAUSE_NS + wake_delay(s) / 2, AT_PAUSE, i, p->head);
}

/* Nothing has followed what ended a while ago. */
void client_pause(struct sim *s, int i, uint32_t head)
{
	const struct process *p = s->process[i];

	if (p->alive && !p->stopped && p->head == head && s->tenant[p->tenant].gate.listen & WIRE_ON_PAUSE)
		client_ring(s);
}

/* What it came for is done. */
static bool is_last(const struct sim *s, const struct process *p)
{
	unsigned int launches = s->tenant[p->tenant].load.launches;

	return launches && p->seen >= launches;
}

/* The oldest launch is seen to have ended. */
void client_seen(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct launch *l = &p->launch[p->seen % FLIGHT];

	if (!p->alive || p->stopped || p->seen == p->ended)
		return;
	p->seen++;
	p->predicted_ns -= l->predicted_ns;
	/*
	 * The device may have been idle in between: the launch came when the one before it had ended, unseen. Where it
	 * had come before, what ran in between was others' work, by time slices, and its own was in flight.
	 */
	if (p->begin_told && l->submitted_ns > p->ended_ns && l->started_ns > p->ended_ns + 20 * SIM_US) {
		tell(s, p, p->ended_ns, false);
		p->begin_told = false;
	}
	if (!p->begin_told)
		tell(s, p, s->params.starts_show ? l->submitted_ns : l->started_ns, true);
	p->begin_told = true;
	p->ended_ns = l->ended_ns;
	p->done_by_ns = client_in_flight(p) ? s->now_ns + remaining(s, p) : 0;
	if (!client_in_flight(p)) {
		tell(s, p, l->ended_ns, false);
		p->begin_told = false;
	}
	if (is_last(s, p)) {
		at(s, s->now_ns + wake_delay(s), AT_LIFE, i, 0);
		went_idle(s, i);
		return;
	}
	client_try(s, i);
	if (!client_in_flight(p))
		went_idle(s, i);
	if (!client_in_flight(p))
		program_all_seen(s, i);
}
