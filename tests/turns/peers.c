/*
 * peers.c: two ways in which others hold tenants to a percentage, as far as is publicly described, for comparison.
 *
 * SIM_FEEDBACK: each launch costs as many tokens as it has blocks; a loop of 120 ms looks at the device's utilisation,
 * a figure of whole percents over the last second, and raises or lowers the rate of tokens by a step that grows with
 * the difference and with the square of the number of multiprocessors.
 * SIM_QUOTA: a process may launch while its tenant's use of the device in the last 10 s is below its percentage.
 */
#include "inside.h"

#include <math.h>

#define MULTIPROCESSORS 132
#define FEEDBACK_TICKS 12  /* of PEERS_TICK_NS: 120 ms */
#define WINDOW_CELLS 1000u /* 10 s */
#define FULL_BLOCKS 10000
#define MOST_TOKENS 3e6 /* two periods of the loop at full speed, with kernels of 1 ms and FULL_BLOCKS */
#define QUOTA_FLIGHT 2u

static double limit_of(const struct account *t)
{
	return (double)t->terms.limit_ppm / ARBITER_WHOLE;
}

bool peers_admit(struct sim *s, int i)
{
	struct process *p = s->process[i];
	struct account *t = &s->tenant[p->tenant];
	unsigned int blocks = t->load.blocks ? t->load.blocks : FULL_BLOCKS;

	/* The driver's own queue. */
	if (client_in_flight(p) >= FLIGHT / 2)
		return false;
	if (s->params.way == SIM_FEEDBACK) {
		if (p->tokens < 0)
			return false;
		p->tokens -= blocks;
		return true;
	}
	if (s->params.way == SIM_QUOTA)
		return t->utilisation < limit_of(t) && client_in_flight(p) < QUOTA_FLIGHT;
	return true;
}

/* The fraction of the cells before now that the tenant has had. */
static double used(const struct sim *s, const struct account *t, unsigned int cells)
{
	unsigned int now = (unsigned int)(s->now_ns / CELL_NS);
	double ns = 0;

	for (unsigned int i = now > cells ? now - cells : 0; i < now; i++)
		ns += (double)t->served[i];
	return ns / ((double)cells * (double)CELL_NS);
}

static void feed_back(struct sim *s, struct account *t, unsigned long tick)
{
	double most = MOST_TOKENS, step, off;

	if (tick % 100 == 0)
		t->utilisation = floor(used(s, t, 100) * 100) / 100;
	if (tick % FEEDBACK_TICKS)
		return;
	off = limit_of(t) - t->utilisation;
	step = (double)MULTIPROCESSORS * MULTIPROCESSORS * off;
	t->tokens_rate += step;
	t->tokens_rate = t->tokens_rate < 0			  ? 0
			 : t->tokens_rate > most / FEEDBACK_TICKS ? most / FEEDBACK_TICKS
								  : t->tokens_rate;
	for (int i = t->first; i < t->first + t->processes; i++) {
		double *tokens = &s->process[i]->tokens;

		*tokens += t->tokens_rate * FEEDBACK_TICKS;
		*tokens = *tokens > most ? most : *tokens;
	}
}

void peers_tick(struct sim *s)
{
	unsigned long tick = s->steps++;

	for (int i = 0; i < s->tenants; i++) {
		struct account *t = &s->tenant[i];

		if (s->params.way == SIM_FEEDBACK)
			feed_back(s, t, tick);
		else
			t->utilisation = used(s, t, WINDOW_CELLS);
	}
	for (int i = 0; i < s->processes; i++)
		if (s->process[i]->waiting)
			at(s, s->now_ns, AT_WOKEN, i, 0);
	at(s, s->now_ns + PEERS_TICK_NS, AT_TIMER, 0, 0);
}
