/*
 * watcher.c: see watcher.h.
 *
 * With the work of one stream in flight it sleeps in the face (marker_wait), which wakes it at once; with that of
 * several it cannot know which ends first, and asks for all of them, at intervals that follow from what is predicted.
 */
#include "core/watcher.h"
#include "core/away.h"
#include "core/capture.h"
#include "core/faces.h"
#include "core/markers.h"
#include "core/thread.h"
#include "core/tick.h"
#include "core/waits.h"

#include <stdlib.h>

#define SLEEP_NS 1000000000u
#define POLL_LEAST_NS 50000u
#define PAUSE_LOOK_NS 50000u
#define POLL_MOST_NS 500000u
#define LATE_NS 60000u /* after the predicted end: a program that waits for its kernel has come back by then */
#define LEFT_MOST_NS 10000000u /* beside longer work it does not matter who takes the end */
#define LEAVES 16u /* one in so many of its kernels is waited for here: the clocks are compared by it (lane.h) */
#define END_PATIENCE_NS 20000000u /* how long exit() waits for a watcher that is inside the driver */

static _Atomic bool ending; /* exit() has begun */
static _Atomic uint32_t in_driver; /* watchers that may be inside the driver */
static _Atomic bool told_exit;

static void stay_out(void)
{
	uint64_t until = tick_now() + END_PATIENCE_NS;
	uint32_t n;

	atomic_store_explicit(&pace_count, 0, memory_order_release);
	atomic_store(&ending, true);
	while ((n = atomic_load(&in_driver)) && tick_now() < until)
		tick_wait(&in_driver, n, 1000000, false);
}

static bool enter(void)
{
	atomic_fetch_add(&in_driver, 1);
	if (!atomic_load(&ending))
		return true;
	atomic_fetch_sub(&in_driver, 1);
	return false;
}

static void leave(void)
{
	if (atomic_fetch_sub(&in_driver, 1) == 1 && atomic_load(&ending))
		tick_wake(&in_driver);
}

/* Marks a stream whose work nobody has marked; it is claimed for us. */
static void mark(struct pace *p, struct stream *s)
{
	bool entered = lane_enter(s->lane), marked = false;

	if (entered && s->lane->face->enter(s->lane->context)) {
		marker_record(p, s, NULL);
		s->lane->face->leave();
		marked = true;
	}
	if (entered)
		lane_leave(s->lane);
	if (marked)
		return;
	pthread_mutex_lock(&p->lock);
	s->flow[p->engine].claimed = false;
	pthread_mutex_unlock(&p->lock);
	tick_wait(&p->kick, atomic_load(&p->kick), POLL_MOST_NS, false);
}

/* Of several streams one ends first: asks, and sleeps for a part of what is predicted. */
static void poll(struct pace *p)
{
	uint32_t kick = atomic_load(&p->kick);
	uint64_t now, done_by, nap;

	if (markers_reap(p))
		return;
	now = tick_now();
	done_by = atomic_load_explicit(&p->wire->done_by_ns, memory_order_relaxed);
	nap = done_by > now ? (done_by - now) / 8 : POLL_LEAST_NS;
	nap = nap < POLL_LEAST_NS ? POLL_LEAST_NS : nap > POLL_MOST_NS ? POLL_MOST_NS : nap;
	tick_wait(&p->kick, kick, nap, false);
}

/* How long to sleep until a pause is one that meted wants to hear of. */
static uint64_t pause_left_locked(const struct pace *p)
{
	uint64_t now = tick_now();

	if (p->busy || !p->idle_from_ns || p->pause_told_ns == p->idle_from_ns ||
	    !(atomic_load_explicit(&p->wire->listen, memory_order_relaxed) & WIRE_ON_PAUSE))
		return SLEEP_NS;
	return now - p->idle_from_ns < WIRE_PAUSE_NS ? WIRE_PAUSE_NS - (now - p->idle_from_ns) : 0;
}

static void tell_pause(struct pace *p)
{
	bool is;

	pthread_mutex_lock(&p->lock);
	is = !pause_left_locked(p);
	if (is)
		p->pause_told_ns = p->idle_from_ns;
	pthread_mutex_unlock(&p->lock);
	if (is)
		pace_ring(p, WIRE_ON_PAUSE);
}

/*
 * In a pause that is about to be over it looks by itself, so that a program that launches again at once need not wake
 * it: that costs the program more than everything else here.
 */
static void sleep_until_kicked(struct pace *p, uint32_t kick)
{
	uint64_t nap = 0;
	bool nothing;

	atomic_store(&p->asleep, 1);
	pthread_mutex_lock(&p->lock);
	/* Sequentially consistent: a launch raises `submitted`, then looks at `asleep`. */
	nothing = p->chunk_head == p->chunk_tail;
	if (nothing) {
		struct stream *s = capture_going() ? NULL : markers_unmarked_locked(p);

		if (s)
			s->flow[p->engine].claimed = false;
		nothing = !s;
		pace_idle_locked(p, tick_now());
		nap = pause_left_locked(p);
	}
	pthread_mutex_unlock(&p->lock);
	if (nap < SLEEP_NS)
		atomic_store(&p->asleep, 0);
	if (nothing && nap)
		tick_wait(&p->kick, kick, nap < PAUSE_LOOK_NS || nap == SLEEP_NS ? nap : PAUSE_LOOK_NS, false);
	atomic_store(&p->asleep, 0);
	if (nothing && nap < SLEEP_NS)
		tell_pause(p);
}

/*
 * Whether the program takes the end by itself: it waits for each of its kernels, and launches the next at once
 * (pace.c). Where this thread waited for the same end, the two would wake beside each other and meet at the driver's
 * locks, which costs the program more than all else here.
 */
static bool is_left_locked(const struct pace *p, unsigned int *left)
{
	bool unmarked = p->chunk_head == p->chunk_tail && waits_left_locked(p);

	if (atomic_load_explicit(&p->prompt, memory_order_relaxed) != PACE_PROMPT || p->alone ||
	    (p->chunk_head - p->chunk_tail != 1 && !unmarked))
		return false;
	/* Somebody waits for it who does not come by. */
	if (atomic_load_explicit(&p->awaited, memory_order_relaxed) ||
	    atomic_load_explicit(&p->wire->waiting, memory_order_relaxed) ||
	    atomic_load_explicit(&p->wire->listen, memory_order_relaxed) & WIRE_ON_IDLE ||
	    atomic_load_explicit(&p->wire->done_by_ns, memory_order_relaxed) > tick_now() + LEFT_MOST_NS)
		return false;
	return unmarked || ++*left % LEAVES != 0;
}

/* Where the program has not come by then, this thread takes the end, and waits for the next ones as before. */
static void leave_to_program(struct pace *p, uint32_t kick)
{
	uint64_t now = tick_now(), done_by = atomic_load_explicit(&p->wire->done_by_ns, memory_order_relaxed);
	uint64_t nap = (done_by > now ? done_by - now : 0) + LATE_NS;

	tick_wait(&p->kick, kick, nap, false);
	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->kick) == kick && p->busy && tick_now() >= now + nap) {
		atomic_store_explicit(&p->prompt, 0, memory_order_relaxed);
		waits_late_locked(p);
	}
	pthread_mutex_unlock(&p->lock);
}

/* One round. False: the driver is gone. */
static bool round_of(struct pace *p, unsigned int *left)
{
	uint32_t kick = atomic_load(&p->kick);
	struct stream *s = NULL;
	bool some, one, leaves, gone = false;

	pthread_mutex_lock(&p->lock);
	some = p->chunk_head != p->chunk_tail;
	one = some && markers_one_stream_locked(p);
	leaves = (one || !some) && is_left_locked(p, left);
	if (!some && !leaves && !capture_going())
		s = markers_unmarked_locked(p);
	pthread_mutex_unlock(&p->lock);
	if (!s && !some && !leaves) {
		sleep_until_kicked(p, kick);
		return true;
	}
	if (leaves) {
		leave_to_program(p, kick);
		return true;
	}
	if (!enter())
		return false;
	if (s)
		mark(p, s);
	else if (!one)
		poll(p);
	else if (!markers_wait(p, &gone))
		tick_wait(&p->kick, kick, POLL_LEAST_NS, false);
	leave();
	return !gone;
}

/* Each face is told once that this thread may call it, also one that joins later. False: the process ends. */
static bool meet_faces(unsigned int *met)
{
	if (*met == faces_count())
		return true;
	if (!enter())
		return false;
	for (; *met < faces_count(); ++*met)
		if (faces_at(*met)->thread_begins)
			faces_at(*met)->thread_begins();
	leave();
	return true;
}

static void *watch(void *data)
{
	struct pace *p = data;
	unsigned int met = 0, left = 0;

	thread_begin("mete-watch");
	while (!atomic_load(&ending) && meet_faces(&met) && round_of(p, &left))
		;
	return NULL;
}

void watcher_start(struct pace *p)
{
	uint32_t none = 0;

	if (atomic_load_explicit(&p->watched, memory_order_relaxed) || atomic_load(&ending) ||
	    !atomic_compare_exchange_strong(&p->watched, &none, 1))
		return;
	if (!atomic_exchange(&told_exit, true))
		atexit(stay_out);
	if (!thread_start(watch, p))
		atomic_store(&p->watched, 0);
	away_keep();
}

void watcher_reset(void)
{
	atomic_store(&in_driver, 0);
}
