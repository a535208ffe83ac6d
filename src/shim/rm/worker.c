/*
 * worker.c: see worker.h.
 *
 * One lane per device of the grant and engine: a turn on the page, and the channel groups that it governs. The thread
 * takes in what the program did, proves new groups, keeps slices as the tenant's terms say and switches channels as
 * cut.h decides. Whatever is refused on the way ends tier T3 for this process: all is switched on, the program's own
 * slices come back, one line says why, and T2 goes on as if nothing had been.
 *
 * Nobody waits for this thread but the end of the process, briefly; it takes no lock that others take, and holds none
 * over a call of the resource manager's.
 */
#include "shim/rm/worker.h"

#include "base/clock.h"
#include "core/attach.h"
#include "core/log.h"
#include "shim/rm/control.h"
#include "shim/rm/cut.h"
#include "rm/interface.h"
#include "shim/rm/proof.h"
#include "shim/rm/slice.h"
#include "shim/rm/talk.h"
#include "shim/rm/thread.h"
#include "shim/rm/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAVE_PATIENCE_NS 200000000u
#define AGAIN_NS 1000000u
#define GONE_TRIES 20
#define SWITCH_TRIES 5
#define NOT_FOUND_TRIES 3000

struct lane {
	struct cut cut;
	enum proof_way way; /* of switching; PROOF_NO_WAY: not tried yet */
	uint32_t groups;
	uint32_t gate;	  /* as it was seen last */
	uint64_t news_ns; /* when that was another than before */
};

static struct lane lanes[WIRE_MAX_DEVICES][WIRE_ENGINES]; /* and the rest here: the worker's alone */
static bool announced[WIRE_MAX_DEVICES];
static bool over; /* stepped down */

static _Atomic bool started;
static _Atomic uint32_t leaving, left; /* left: a futex */

static struct wire_turn *turn_of(unsigned int d, unsigned int e)
{
	return &attach_page()->turn[d][e];
}

static bool lane_has(const struct object *g, unsigned int d, unsigned int e)
{
	return g->ours && g->device == d && g->lane == e;
}

/* The next group of a lane that was proven. */
static struct object *lane_next(unsigned int d, unsigned int e, struct object *after)
{
	while ((after = table_next(RM_CLASS_GROUP, after)))
		if (lane_has(after, d, e))
			return after;
	return NULL;
}

static void drain(void)
{
	struct seen s;

	while (seen_get(&s))
		table_take(&s);
}

/*
 * How often to look again, each AGAIN_NS or sooner. The program may have freed what was refused, and the thread that
 * did so not yet have come to say it: it is given some time. Where the manager does not find an object, one was freed:
 * then the thread is waited for on a machine, too, on which it hardly gets a processor.
 */
static int tries_after(int refusal, int tries)
{
	return refusal == RM_OBJECT_NOT_FOUND ? NOT_FOUND_TRIES : tries;
}

/* After `refusal`. True: the object is still there, so it is the manager that refuses. */
static bool still_there(uint32_t client, uint32_t handle, int refusal)
{
	for (int i = 0; i < tries_after(refusal, GONE_TRIES); i++) {
		drain();
		if (!table_find(client, handle))
			return false;
		seen_wait(AGAIN_NS);
	}
	return true;
}

/*
 * Switches a group as the lane found out how. A channel that has just been freed is reason enough to refuse the others:
 * so what is refused is tried again, with what was seen in the meantime.
 */
static int group_switch(const struct lane *lane, struct object *g, bool off)
{
	uint32_t client = g->client, handle = g->handle;
	int r = 0;

	for (int i = 0; i < tries_after(r, SWITCH_TRIES); i++) {
		r = lane->way == PROOF_BY_GROUP ? control_switch_group(g, off) : control_switch(g, off);
		if (r <= 0)
			return r;
		seen_wait(AGAIN_NS);
		drain();
		if (table_find(client, handle) != g)
			return 0;
	}
	return r;
}

/* Value: 0, or what the first refusal was. */
static int lane_on(unsigned int d, unsigned int e)
{
	struct lane *lane = &lanes[d][e];
	uint64_t on_ns = clock_now_ns();
	int r = 0;

	for (struct object *g = NULL; (g = lane_next(d, e, g));) {
		uint32_t client = g->client, handle = g->handle;
		int one = group_switch(lane, g, false);

		if (one == -ENODEV)
			table_remove(g); /* the descriptor is gone, and its objects with it */
		else if (one && still_there(client, handle, one) && !r)
			r = one;
	}
	if (r || !lane->cut.off)
		return r;
	lane->cut.off = false;
	atomic_store_explicit(&turn_of(d, e)->cut_since_ns, 0, memory_order_release);
	if (on_ns > lane->cut.off_since_ns)
		wire_cut_put(turn_of(d, e), lane->cut.off_since_ns, on_ns);
	return 0;
}

static void slices_back(void)
{
	for (struct object *g = NULL; (g = table_next(RM_CLASS_GROUP, g));) {
		if (g->ours_us && g->program_us)
			control_set_slice(g, g->program_us);
		g->ours_us = 0;
	}
}

static bool all_on(void)
{
	bool good = true;

	for (unsigned int d = 0; talk_ready() && d < WIRE_MAX_DEVICES; d++)
		for (unsigned int e = 0; e < WIRE_ENGINES; e++)
			good &= !lane_on(d, e);
	return good;
}

static void flags_clear(void)
{
	for (unsigned int d = 0; talk_ready() && d < WIRE_MAX_DEVICES; d++)
		for (unsigned int e = 0; e < WIRE_ENGINES; e++)
			if (lanes[d][e].groups)
				atomic_fetch_and_explicit(&turn_of(d, e)->flags, ~(uint32_t)WIRE_TURN_SLICED,
							  memory_order_release);
}

/* Ends tier T3 here; says why, once. */
__attribute__((format(printf, 2, 3))) static void step_down(unsigned int device, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (over)
		return;
	over = true;
	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	for (int tries = 0; !all_on() && tries < 100; tries++)
		seen_wait(AGAIN_NS);
	slices_back();
	flags_clear();
	log_line("tier T3 is given up for process %d, T2 stays in force: %s", (int)getpid(), why);
	talk_event(device, "tier T3 is given up, T2 stays in force: %s", why);
}

/* Which device of the grant a group is on. False: none, or not to be told. */
static bool find_device(const struct object *g, uint32_t *ret_device)
{
	const struct object *subdevice = table_subdevice(g);
	uint8_t uuid[16];

	return subdevice && !control_uuid(subdevice, uuid) && talk_device(uuid, ret_device);
}

static bool find_lane(uint32_t engine, uint32_t *ret_lane)
{
	if (engine >= RM_ENGINE_GRAPHICS_FIRST && engine <= RM_ENGINE_GRAPHICS_LAST)
		*ret_lane = WIRE_COMPUTE;
	else if (engine >= RM_ENGINE_COPY_FIRST && engine <= RM_ENGINE_COPY_LAST)
		*ret_lane = WIRE_COPY;
	else
		return false;
	return true;
}

static void announce(uint32_t device)
{
	if (!announced[device])
		talk_event(device, "tier T3 in force for process %d: driver branch %u accepts its time slices",
			   (int)getpid(), watch_branch());
	announced[device] = true;
}

/* A group that nobody has looked at. One that cannot be placed yet (no subdevice, no engine) stays fresh. */
static void adopt(struct object *g)
{
	uint32_t client = g->client, handle = g->handle;
	char why[120];
	int r;

	if (!find_lane(g->engine, &g->lane) || !find_device(g, &g->device))
		return;
	g->fresh = false;
	r = proof_slice(g, why, sizeof why);
	if (r) {
		if (still_there(client, handle, r) && watch_is_control(g->fd))
			step_down(g->device, "%s", why);
		return;
	}
	g->ours = true;
	lanes[g->device][g->lane].groups++;
	atomic_fetch_or_explicit(&turn_of(g->device, g->lane)->flags, WIRE_TURN_SLICED, memory_order_release);
	announce(g->device);
}

static uint32_t count_groups(unsigned int d, unsigned int e)
{
	uint32_t n = 0;

	for (struct object *g = NULL; (g = lane_next(d, e, g));)
		n++;
	return n;
}

/* The tenant's slice, over the process's groups; 0: as the program has it. */
static uint64_t slice_wanted(unsigned int d, unsigned int e, uint32_t groups)
{
	const struct wire_turn *t = turn_of(d, e);
	uint64_t us;

	if (!(atomic_load_explicit(&t->gate, memory_order_relaxed) & WIRE_GATED))
		return 0;
	us = slice_us(atomic_load_explicit(&t->class_1, memory_order_relaxed),
		      atomic_load_explicit(&t->guarantee_ppm, memory_order_relaxed),
		      atomic_load_explicit(&t->weight, memory_order_relaxed));
	if (us && groups > 1)
		us = us / groups < SLICE_LEAST_US ? SLICE_LEAST_US : us / groups;
	return us;
}

static void keep_slices(unsigned int d, unsigned int e, uint32_t groups)
{
	uint64_t want = slice_wanted(d, e, groups);

	for (struct object *g = NULL; !over && (g = lane_next(d, e, g));) {
		uint32_t client = g->client, handle = g->handle;
		int r;

		if (g->ours_us == want || (!want && !g->program_us))
			continue;
		r = control_set_slice(g, want ? want : g->program_us);
		if (!r)
			g->ours_us = want;
		else if (r == -ENODEV)
			table_remove(g);
		else if (still_there(client, handle, r)) {
			char words[80];

			step_down(d, "SET_TIMESLICE of %llu us answers %s", (unsigned long long)want,
				  proof_words(r, words, sizeof words));
		}
	}
}

/* How the lane's channels can be switched, tried on a group that has any. False: not known yet, or not at all. */
static bool find_way(unsigned int d, unsigned int e)
{
	struct lane *lane = &lanes[d][e];
	char why[120];
	int r;

	for (struct object *g = NULL; lane->way == PROOF_NO_WAY && !over && (g = lane_next(d, e, g));) {
		uint32_t client = g->client, handle = g->handle;

		if (!table_channel(g, NULL))
			continue;
		lane->way = proof_switch(g, &r, why, sizeof why);
		for (int i = 0;
		     i < tries_after(r, SWITCH_TRIES) && lane->way == PROOF_NO_WAY && table_find(client, handle) == g;
		     i++) {
			seen_wait(AGAIN_NS);
			drain();
			lane->way = proof_switch(g, &r, why, sizeof why);
		}
		if (lane->way == PROOF_NO_WAY && still_there(client, handle, r) && watch_is_control(g->fd))
			step_down(d, "%s", why);
	}
	return lane->way != PROOF_NO_WAY;
}

static void lane_off(unsigned int d, unsigned int e, bool first)
{
	struct lane *lane = &lanes[d][e];

	lane->cut.off = true;
	if (first) {
		lane->cut.off_since_ns = clock_now_ns();
		atomic_store_explicit(&turn_of(d, e)->cut_since_ns, lane->cut.off_since_ns, memory_order_release);
	}
	for (struct object *g = NULL; !over && (g = lane_next(d, e, g));) {
		uint32_t client = g->client, handle = g->handle;
		int r = group_switch(lane, g, true);
		char words[80];

		if (r == -ENODEV)
			table_remove(g);
		else if (r && still_there(client, handle, r))
			step_down(d, "switching channels off answers %s", proof_words(r, words, sizeof words));
	}
	/* What stands still is not charged: so from when the last call has come back, and below until the first is
	 * made. */
	if (first && lane->cut.off)
		lane->cut.off_since_ns = clock_now_ns();
}

/* Value: when to look again. */
static uint64_t lane_look(unsigned int d, unsigned int e, uint64_t now_ns)
{
	struct wire_turn *t = turn_of(d, e);
	struct lane *lane = &lanes[d][e];
	uint64_t look_ns;
	struct cut_view v = {
		/* Acquire: what meted wrote before it opened. */
		.gate = atomic_load_explicit(&t->gate, memory_order_acquire),
		.until_ns = atomic_load_explicit(&t->until_ns, memory_order_relaxed),
		.bound_ns = atomic_load_explicit(&t->bound_ns, memory_order_relaxed),
		.busy_since_ns = atomic_load_explicit(&t->busy_since_ns, memory_order_relaxed),
		.done_by_ns = atomic_load_explicit(&t->done_by_ns, memory_order_relaxed),
		.news_ns = talk_news_ns(),
		.lost = talk_lost(),
	};

	if (v.gate != lane->gate) {
		lane->gate = v.gate;
		lane->news_ns = now_ns;
	}
	if (lane->news_ns > v.news_ns)
		v.news_ns = lane->news_ns;
	if (v.gate & WIRE_GATED && !(v.gate & WIRE_OPEN) && v.busy_since_ns)
		talk_ping(now_ns);
	if (v.gate & WIRE_GATED && !find_way(d, e))
		return now_ns + CUT_IDLE_NS;
	switch (cut_decide(&lane->cut, &v, now_ns, &look_ns)) {
	case CUT_OFF:
		lane_off(d, e, true);
		break;
	case CUT_ON:
		if (lane_on(d, e))
			look_ns = now_ns + AGAIN_NS;
		break;
	case CUT_NOTHING:
		/* Channels that were made in the meantime. */
		if (lane->cut.off)
			lane_off(d, e, false);
		break;
	}
	return look_ns;
}

/* A page that meted could not give back after a restart is a new one, and knows nothing of us. */
static void flag_keep(struct wire_turn *t)
{
	if (!(atomic_load_explicit(&t->flags, memory_order_relaxed) & WIRE_TURN_SLICED))
		atomic_fetch_or_explicit(&t->flags, WIRE_TURN_SLICED, memory_order_release);
}

/* Value: when to look again; *ret_gate the futex that may end the wait, of the first lane that is off. */
static uint64_t look_round(_Atomic uint32_t **ret_gate, uint32_t *ret_is)
{
	uint64_t now_ns = clock_now_ns(), look_ns = now_ns + CUT_FREE_NS, one_ns;

	*ret_gate = NULL;
	for (struct object *g = NULL; !over && (g = table_next(RM_CLASS_GROUP, g));)
		if (g->fresh) {
			adopt(g);
			drain(); /* each takes some calls, and the program goes on meanwhile */
		}
	for (unsigned int d = 0; !over && d < attach_page()->device_count && d < WIRE_MAX_DEVICES; d++) {
		for (unsigned int e = 0; !over && e < WIRE_ENGINES; e++) {
			uint32_t groups = lanes[d][e].groups ? count_groups(d, e) : 0;

			if (!groups)
				continue;
			flag_keep(turn_of(d, e));
			keep_slices(d, e, groups);
			one_ns = over ? look_ns : lane_look(d, e, now_ns);
			if (one_ns < look_ns)
				look_ns = one_ns;
			if (lanes[d][e].cut.off && !*ret_gate) {
				*ret_gate = &turn_of(d, e)->gate;
				*ret_is = lanes[d][e].gate;
			}
		}
	}
	return look_ns;
}

static void check_picture(void)
{
	if (table_strange())
		step_down(0, "driver branch %u allocates in a layout of %u bytes, which this version does not know",
			  watch_branch(), table_strange());
	else if (table_full() || seen_lost())
		step_down(0, "the process has more channels than can be followed");
}

static void *work(void *unused)
{
	while (!atomic_load_explicit(&leaving, memory_order_acquire)) {
		_Atomic uint32_t *gate = NULL;
		uint64_t look_ns = 0, now_ns;
		uint32_t is = 0;

		drain();
		check_picture();
		if (over)
			break;
		if (talk_ready())
			look_ns = look_round(&gate, &is);
		else
			look_ns = clock_now_ns() + CUT_OFF_NS;
		now_ns = clock_now_ns();
		if (look_ns <= now_ns || over)
			continue;
		if (gate)
			thread_wait(gate, is, look_ns - now_ns, true);
		else
			seen_wait(look_ns - now_ns);
	}
	/* Nothing stays off; for as long as something is, frees must be seen. */
	for (uint64_t wait_ns = AGAIN_NS; !all_on(); wait_ns = wait_ns < CUT_FREE_NS ? wait_ns * 2 : wait_ns) {
		seen_wait(wait_ns);
		drain();
	}
	watch_init(false);
	slices_back();
	flags_clear();
	atomic_store_explicit(&left, 1, memory_order_release);
	return unused;
}

void worker_wanted(void)
{
	if (atomic_exchange_explicit(&started, true, memory_order_acq_rel))
		return;
	pthread_atfork(NULL, NULL, worker_reset);
	if (!talk_start() || !thread_start(work)) {
		log_line("tier T3 is given up for process %d, T2 stays in force: no thread could be started",
			 (int)getpid());
		watch_init(false);
	}
}

void worker_leave(void)
{
	uint64_t until_ns = clock_now_ns() + LEAVE_PATIENCE_NS;

	if (!atomic_load_explicit(&started, memory_order_acquire))
		return;
	atomic_store_explicit(&leaving, 1, memory_order_release);
	seen_wake();
	/* Acquire: pairs with the release at the end of work(). */
	while (!atomic_load_explicit(&left, memory_order_acquire) && clock_now_ns() < until_ns)
		thread_wait(&left, 0, AGAIN_NS, false);
}

void worker_reset(void)
{
	int saved = errno;

	talk_reset();
	watch_reset();
	seen_reset();
	table_reset();
	memset(lanes, 0, sizeof lanes);
	memset(announced, 0, sizeof announced);
	over = false;
	atomic_store(&leaving, 0);
	atomic_store(&left, 0);
	atomic_store(&started, false);
	errno = saved;
}
