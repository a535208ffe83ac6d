/* program.c: what the programs do: batches, pauses, rests. */
#include "inside.h"

#include <math.h>

static double between(struct sim *s, double low, double high)
{
	return low + (high - low) * random_unit(s);
}

static double exponential(struct sim *s, double mean)
{
	return -mean * log(1 - random_unit(s) * 0.9999);
}

static const struct sim_load *load_of(const struct sim *s, int p)
{
	return &s->tenant[s->process[p]->tenant].load;
}

static double kernel_ms(struct sim *s, const struct sim_load *l)
{
	unsigned int n = 0;

	while (n < 4 && l->kernel_ms[n] > 0)
		n++;
	return l->kernel_ms[(unsigned int)(random_unit(s) * n)];
}

/* The next launch. What its kind is predicted to take is off in a way that stays the same for the kind. */
static void draw(struct sim *s, int p)
{
	struct process *q = s->process[p];
	const struct sim_load *l = load_of(s, p);
	double ms = kernel_ms(s, l), wrong = l->misjudged * (2 * random_unit(s) - 1);

	q->next_predicted_ns = (uint64_t)(ms * (1 + wrong) * 1e6);
	if (q->launches++ < 2)
		q->next_predicted_ns = 0; /* nothing is known yet */
	q->next_ns = (uint64_t)(ms * (1 + l->spread * (2 * random_unit(s) - 1)) * 1e6);
	if (l->sudden_each && q->launches % l->sudden_each == 0)
		q->next_ns = (uint64_t)(l->sudden_ms * 1e6);
	q->ready = true;
}

/* Value: false, and it will go on later, when it rests. */
static bool in_phase(struct sim *s, int p)
{
	struct process *q = s->process[p];
	const struct sim_load *l = load_of(s, p);

	if (l->on_ms <= 0 || s->now_ns < q->phase_until_ns) {
		if (q->resting)
			return false;
		return true;
	}
	q->resting = !q->resting;
	q->phase_until_ns = s->now_ns + (uint64_t)(exponential(s, q->resting ? l->off_ms : l->on_ms) * 1e6);
	if (q->resting)
		at(s, q->phase_until_ns, AT_PROGRAM, p, 0);
	return !q->resting;
}

/* Makes the next launch of the batch ready. False: there is none now. */
bool program_next(struct sim *s, int p)
{
	struct process *q = s->process[p];
	const struct sim_load *l = load_of(s, p);

	if (q->ready)
		return true;
	if (l->batch && !q->in_batch)
		return false;
	if (!l->batch && !in_phase(s, p))
		return false;
	if (q->in_batch)
		q->in_batch--;
	draw(s, p);
	return true;
}

/* Begins a batch, or goes on after a rest. */
void program_go(struct sim *s, int p)
{
	struct process *q = s->process[p];
	const struct sim_load *l = load_of(s, p);

	if (!q->alive || q->stopped || q->ready)
		return;
	if (l->batch) {
		if (q->in_batch || client_in_flight(q) || !in_phase(s, p))
			return;
		q->in_batch = l->batch;
		q->batch_from_ns = s->now_ns;
	}
	client_try(s, p);
}

void program_all_seen(struct sim *s, int p)
{
	struct process *q = s->process[p];
	const struct sim_load *l = load_of(s, p);
	struct account *t = &s->tenant[q->tenant];

	if (!l->batch || q->in_batch || q->ready)
		return;
	if (t->latencies < t->room)
		t->latency[t->latencies++] = (double)(s->now_ns - q->batch_from_ns) / 1e6;
	at(s, s->now_ns + (uint64_t)(between(s, l->gap_us[0], l->gap_us[1]) * 1e3), AT_PROGRAM, p, 0);
}

void program_start(struct sim *s, int p)
{
	s->process[p]->alive = true;
	program_go(s, p);
}
