/*
 * gang_test.c: turns of one tenant on several devices (src/model/gang.h), in virtual time: a program in lock step keeps
 * its share, and nobody else loses his.
 *
 * Modelled: engines that run what is in flight side by side, programs that submit as fast as they may or wait for all
 * of their devices in each step, the client's side of a turn, wake-ups that take time. Real: the arbiters and the gang.
 */
#include "model/gang.h"

#include "base/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK UINT64_C(10000) /* ns */
#define DEVICES 4u
#define TENANTS 4u
#define FLIGHT 64u

struct user {
	bool there;
	int place;
	bool lock_step;
	uint64_t kernel_ns, pause_ns;
	/* the client's side of its turn */
	bool open;
	uint64_t until_ns, bound_ns, open_at_ns;
	bool in_turn, waiting;
	uint64_t waiting_since_ns;
	/* in flight, the oldest first */
	double left_ns[FLIGHT];
	unsigned int flight;
	uint64_t done_by_ns, began_ns;
	/* the program */
	bool ready;
	double served_ns;
};

struct device {
	struct arbiter *arbiter;
	struct user user[TENANTS];
	uint64_t step_ns;
};

struct world {
	uint64_t now_ns, random;
	struct device device[DEVICES];
	unsigned int devices, tenants;
	struct gang gang[TENANTS];
	bool gangs;
	uint64_t next_step_ns[TENANTS]; /* of a program in lock step */
	unsigned long steps[TENANTS];
	bool stepping[TENANTS];
};

static double random_unit(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (double)(w->random >> 11) / (double)(UINT64_C(1) << 53);
}

/* Mostly short, rarely long. */
static uint64_t wake(struct world *w)
{
	double u = random_unit(w);

	return (uint64_t)(20000 + 180000 * u * u * u);
}

static void ring(struct world *w, struct device *d)
{
	uint64_t at = w->now_ns + wake(w);

	d->step_ns = at < d->step_ns ? at : d->step_ns;
}

static bool may_submit(const struct world *w, const struct user *u)
{
	uint64_t left = u->flight && u->done_by_ns > w->now_ns ? u->done_by_ns - w->now_ns : 0;

	if (!u->open || w->now_ns < u->open_at_ns || u->flight == FLIGHT)
		return false;
	if (u->until_ns && w->now_ns + left + u->kernel_ns > u->until_ns && (u->in_turn || u->flight))
		return false;
	return !left || left + u->kernel_ns <= u->bound_ns ||
	       (u->kernel_ns > u->bound_ns && left <= (u->bound_ns / 8 < 200000 ? u->bound_ns / 8 : 200000));
}

static void submit(struct world *w, struct device *d, struct user *u)
{
	bool idle = !u->flight;

	u->left_ns[u->flight++] = (double)u->kernel_ns * (0.95 + 0.1 * random_unit(w));
	u->done_by_ns = (idle || u->done_by_ns < w->now_ns ? w->now_ns : u->done_by_ns) + u->kernel_ns;
	u->in_turn = true;
	u->waiting = false;
	u->ready = !u->lock_step;
	if (!idle)
		return;
	u->began_ns = w->now_ns;
	arbiter_begins(d->arbiter, u->place, w->now_ns);
	ring(w, d);
}

static void client(struct world *w, struct device *d, struct user *u)
{
	uint64_t left = u->flight && u->done_by_ns > w->now_ns ? u->done_by_ns - w->now_ns : 0;

	while (u->ready && may_submit(w, u))
		submit(w, d, u);
	if (!u->ready || u->waiting)
		return;
	/* What waits behind its own work does not stand at the gate. */
	if (u->open && w->now_ns >= u->open_at_ns && (!u->until_ns || w->now_ns + left + u->kernel_ns <= u->until_ns))
		return;
	u->waiting = true;
	u->waiting_since_ns = w->now_ns;
	ring(w, d);
}

/* What is in flight of several shares the engine. */
static void engine(struct world *w, struct device *d)
{
	unsigned int busy = 0;

	for (unsigned int i = 0; i < w->tenants; i++)
		busy += d->user[i].flight > 0;
	for (unsigned int i = 0; i < w->tenants; i++) {
		struct user *u = &d->user[i];

		if (!u->flight)
			continue;
		u->served_ns += (double)TICK / busy;
		u->left_ns[0] -= (double)TICK / busy;
		if (u->left_ns[0] > 0)
			continue;
		memmove(u->left_ns, u->left_ns + 1, --u->flight * sizeof(*u->left_ns));
		if (u->flight)
			continue;
		arbiter_ends(d->arbiter, u->place, w->now_ns + TICK);
		ring(w, d);
	}
}

static void take_turns(struct world *w, struct device *d)
{
	for (unsigned int i = 0; i < w->tenants; i++) {
		struct user *u = &d->user[i];
		const struct arbiter_turn *t;

		if (!u->there || !arbiter_changed(d->arbiter, u->place))
			continue;
		t = arbiter_turn(d->arbiter, u->place);
		if (t->open && !u->open)
			u->open_at_ns = w->now_ns + wake(w);
		if (t->open != u->open || t->until_ns != u->until_ns)
			u->in_turn = false;
		u->open = t->open;
		u->until_ns = t->until_ns;
		u->bound_ns = t->bound_ns;
	}
}

static void step(struct world *w, struct device *d)
{
	for (unsigned int i = 0; i < w->tenants; i++) {
		struct user *u = &d->user[i];
		struct arbiter_demand demand = { .waiting = u->waiting,
						 .since_ns = u->waiting_since_ns,
						 .needs_ns = u->waiting ? u->kernel_ns : 0,
						 .busy = u->flight > 0,
						 .began_ns = u->began_ns,
						 .done_by_ns = u->done_by_ns };

		if (u->there)
			arbiter_demands(d->arbiter, u->place, &demand, w->now_ns);
	}
	d->step_ns = arbiter_step(d->arbiter, w->now_ns);
	take_turns(w, d);
}

static void gangs(struct world *w)
{
	bool given = false;

	for (unsigned int i = 0; w->gangs && i < w->tenants; i++) {
		struct gang_member m[DEVICES];
		unsigned int at[DEVICES], n = 0;
		uint32_t changed;

		for (unsigned int d = 0; d < w->devices; d++)
			if (w->device[d].user[i].there) {
				at[n] = d;
				m[n++] = (struct gang_member){ w->device[d].arbiter, w->device[d].user[i].place };
			}
		changed = n > 1 ? gang_decide(&w->gang[i], m, n, !given, w->now_ns) : 0;
		given |= gang_in_step(&w->gang[i], w->now_ns);
		for (unsigned int k = 0; k < n; k++)
			if (changed & 1u << k)
				w->device[at[k]].step_ns = w->now_ns;
	}
}

/* A step of a program that waits for all of its devices. */
static void programs(struct world *w)
{
	for (unsigned int i = 0; i < w->tenants; i++) {
		bool lock_step = false, over = true;
		uint64_t pause = 0;

		for (unsigned int d = 0; d < w->devices; d++) {
			const struct user *u = &w->device[d].user[i];

			lock_step |= u->there && u->lock_step;
			over &= !u->there || (!u->ready && !u->flight);
			pause = u->there ? u->pause_ns : pause;
		}
		if (!lock_step || !over)
			continue;
		if (w->stepping[i]) {
			w->stepping[i] = false;
			w->steps[i]++;
			w->next_step_ns[i] = w->now_ns + pause;
		}
		if (w->now_ns < w->next_step_ns[i])
			continue;
		w->stepping[i] = true;
		for (unsigned int d = 0; d < w->devices; d++)
			w->device[d].user[i].ready = w->device[d].user[i].there;
	}
}

static void run(struct world *w, double seconds)
{
	uint64_t end = w->now_ns + (uint64_t)(seconds * 1e9);

	for (; w->now_ns < end; w->now_ns += TICK) {
		programs(w);
		for (unsigned int d = 0; d < w->devices; d++)
			for (unsigned int i = 0; i < w->tenants; i++)
				if (w->device[d].user[i].there)
					client(w, &w->device[d], &w->device[d].user[i]);
		for (int round = 0; round < 4; round++) {
			bool any = false;

			for (unsigned int d = 0; d < w->devices; d++)
				if (w->device[d].step_ns <= w->now_ns) {
					step(w, &w->device[d]);
					any = true;
				}
			if (!any)
				break;
			gangs(w);
		}
		for (unsigned int d = 0; d < w->devices; d++)
			engine(w, &w->device[d]);
	}
}

static struct world *begin(unsigned int devices, unsigned int tenants, bool with)
{
	struct world *w = calloc(1, sizeof(*w));

	w->devices = devices;
	w->tenants = tenants;
	w->gangs = with;
	w->random = 88172645463325252u;
	w->now_ns = 1000000000;
	for (unsigned int d = 0; d < devices; d++)
		w->device[d].arbiter = arbiter_new(NULL);
	return w;
}

static void end(struct world *w)
{
	for (unsigned int d = 0; d < w->devices; d++)
		arbiter_free(w->device[d].arbiter);
	free(w);
}

static void add(struct world *w, unsigned int d, unsigned int i, bool lock_step, double kernel_ms, double guarantee_pct,
		double limit_pct)
{
	struct arbiter_terms terms = { .gated = true,
				       .class = ARBITER_NORMAL,
				       .guarantee_ppm = (uint32_t)(guarantee_pct * 10000),
				       .limit_ppm = (uint32_t)(limit_pct * 10000),
				       .weight = 100 };

	w->device[d].user[i] = (struct user){ .there = true,
					      .lock_step = lock_step,
					      .kernel_ns = (uint64_t)(kernel_ms * 1e6),
					      .pause_ns = 30000,
					      .ready = !lock_step };
	w->device[d].user[i].place = arbiter_join(w->device[d].arbiter, &terms, w->now_ns);
}

/* Steps in percent of what the program does alone. */
static double share(const struct world *w, unsigned int i, double kernel_ms, double seconds)
{
	return 100 * (double)w->steps[i] * (kernel_ms + 0.04) / (seconds * 1e3);
}

static double served(const struct world *w, unsigned int d, unsigned int i, double seconds)
{
	return 100 * w->device[d].user[i].served_ns / (seconds * 1e9);
}

/* Half of each of two devices, guaranteed; others take what is left, and are no mirrors of each other. */
static void test_lock_step(double kernel_ms, double limit, double wanted)
{
	double got[2] = { 0 };

	for (int with = 0; with < 2; with++) {
		struct world *w = begin(2, 3, with);

		add(w, 0, 0, true, kernel_ms, 50, limit);
		add(w, 1, 0, true, kernel_ms, 50, limit);
		add(w, 0, 1, false, kernel_ms, 50, limit);
		run(w, 0.007);
		add(w, 1, 2, false, kernel_ms * 0.7, 50, limit);
		run(w, 20);
		got[with] = share(w, 0, kernel_ms, 20);
		if (with)
			tap_ok(served(w, 0, 1, 20) > 44 && served(w, 1, 2, 20) > 44,
			       "%g ms, limit %g %%: the others keep their halves: %.1f and %.1f", kernel_ms, limit,
			       served(w, 0, 1, 20), served(w, 1, 2, 20));
		end(w);
	}
	tap_ok(got[1] >= wanted,
	       "%g ms, limit %g %%, lock step over two devices: %.1f %% of alone, %.1f %% without gangs", kernel_ms,
	       limit, got[1], got[0]);
}

/* Two others on each device, of four devices. */
static void test_crowd(void)
{
	struct world *w = begin(4, 3, true);
	double least = 100;

	for (unsigned int d = 0; d < 4; d++) {
		add(w, d, 0, true, 2, 40, 100);
		add(w, d, 1, false, 1 + d, 30, 100);
		run(w, 0.003);
		add(w, d, 2, false, 0.5, 30, 100);
	}
	run(w, 20);
	for (unsigned int d = 0; d < 4; d++)
		for (unsigned int i = 1; i < 3; i++)
			least = fmin(least, served(w, d, i, 20));
	tap_ok(share(w, 0, 2, 20) >= 33, "four devices, 40 %% of each: %.1f %% of alone", share(w, 0, 2, 20));
	tap_ok(least > 24, "nobody beside it has less than %.1f %%", least);
	end(w);
}

/* Two in lock step on the same devices: neither is starved, and nothing hangs. */
static void test_two_gangs(void)
{
	double got[2][2];

	for (int with = 0; with < 2; with++) {
		struct world *w = begin(2, 2, with);

		for (unsigned int d = 0; d < 2; d++) {
			add(w, d, 0, true, 1, 50, 100);
			run(w, 0.004);
			add(w, d, 1, true, 3, 50, 100);
		}
		run(w, 20);
		for (unsigned int i = 0; i < 2; i++)
			got[with][i] = share(w, i, i ? 3 : 1, 20);
		end(w);
	}
	tap_ok(got[1][0] > 10 && got[1][0] + got[1][1] > 80,
	       "two gangs: %.1f and %.1f %% of alone, %.1f and %.1f without", got[1][0], got[1][1], got[0][0],
	       got[0][1]);
}

/* Of a tenant that keeps both devices busy without lock step each device's share is as without. */
static void test_no_lock_step(void)
{
	struct world *w = begin(2, 3, true);

	add(w, 0, 0, false, 1, 50, 100);
	add(w, 1, 0, false, 1, 20, 100);
	add(w, 0, 1, false, 1, 50, 100);
	add(w, 1, 2, false, 1, 80, 100);
	run(w, 20);
	tap_ok(fabs(served(w, 0, 0, 20) - 50) < 3 && fabs(served(w, 1, 0, 20) - 20) < 3,
	       "other shares on two devices, no lock step: %.1f and %.1f %%", served(w, 0, 0, 20), served(w, 1, 0, 20));
	tap_ok(served(w, 0, 1, 20) > 46 && served(w, 1, 2, 20) > 76, "and of the others: %.1f and %.1f %%",
	       served(w, 0, 1, 20), served(w, 1, 2, 20));
	end(w);
}

/* One who works on one device alone, with a grant of two, and one beside whom nobody is. */
static void test_alone(void)
{
	struct world *w = begin(2, 2, true);

	add(w, 0, 0, false, 1, 50, 100);
	add(w, 1, 0, false, 1, 50, 100);
	w->device[1].user[0].ready = false; /* does nothing there */
	w->device[1].user[0].lock_step = true;
	w->device[1].user[0].pause_ns = UINT64_C(1) << 62;
	w->stepping[0] = true;
	add(w, 0, 1, false, 1, 50, 100);
	run(w, 10);
	tap_ok(fabs(served(w, 0, 0, 10) - 50) < 3, "one of its devices is not used: %.1f %%", served(w, 0, 0, 10));
	end(w);
	w = begin(2, 2, true);
	add(w, 0, 0, true, 1, 50, 100);
	add(w, 1, 0, true, 1, 50, 100);
	add(w, 0, 1, false, 1, 50, 100);
	run(w, 10);
	tap_ok(share(w, 0, 1, 10) > 40, "nobody beside it on one of its devices: %.1f %%", share(w, 0, 1, 10));
	end(w);
}

/*
 * One who pretends: in each step it works on one device and does next to nothing on the other, where its turn keeps
 * others waiting. What they lose is bounded; it is not nothing (docs/performance.md).
 */
static void test_pretender(double there, double here, double wanted)
{
	struct world *w = begin(2, 3, true);

	add(w, 0, 0, true, 5, there, 100);
	add(w, 1, 0, true, 0.01, here, 100);
	add(w, 0, 1, false, 1, 100 - there, 100);
	add(w, 1, 2, false, 1, 100 - here, 100);
	run(w, 20);
	tap_ok(served(w, 0, 1, 20) > 99 - there && served(w, 1, 2, 20) > wanted,
	       "beside a pretender of %g and %g %%: %.1f and %.1f %%", there, here, served(w, 0, 1, 20),
	       served(w, 1, 2, 20));
	end(w);
}

int main(void)
{
	tap_begin();
	test_lock_step(5, 100, 45);
	test_lock_step(0.2, 100, 35);
	test_lock_step(5, 50, 44);
	test_lock_step(0.2, 50, 35);
	test_crowd();
	test_two_gangs();
	test_no_lock_step();
	test_alone();
	test_pretender(10, 10, 80);
	test_pretender(50, 1, 97);
	test_pretender(50, 50, 49);
	return tap_end();
}
