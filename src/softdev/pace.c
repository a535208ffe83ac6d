/*
 * pace.c: see pace.h.
 *
 * Order of locks: a device's mutex here, then the lock of its timeline in the segment. The kernels of this process that
 * have not ended are in `overlap`, on the clock of the process's context; what that clock shows is the segment's.
 *
 * All contexts of a process on one device are one context of the timeline.
 */
#include "softdev/pace.h"

#include "base/clock.h"
#include "softdev/log.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPIN_NS 40000u	 /* of a wait, at its end: timers are late by about as much */
#define LOOK_NS 5000000u /* while there are others, a sleeper looks after them at least so often */
#define WORTH_WAKING_NS 20000u

struct pace {
	pthread_mutex_t mutex;
	/* mutex guards the following */
	uint32_t context; /* on the timeline; TIMELINE_NOBODY: none yet */
	struct overlap overlap;
	struct timeline *now;	/* the timeline in hand */
	struct timeline *later; /* one to predict with */
	uint32_t sleepers;
};

static struct pace paces[SEGMENT_MAX_DEVICES] = {
	[0 ... SEGMENT_MAX_DEVICES - 1] = { .mutex = PTHREAD_MUTEX_INITIALIZER, .context = TIMELINE_NOBODY },
};
static __thread bool thread_is_exact;

static struct segment_time *time_of(uint32_t device)
{
	return &driver.place.segment->time[device];
}

static struct segment_sleeper *sleeper_of(const struct pace *p)
{
	return &time_of((uint32_t)(p - paces))->sleeper[p->context];
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the timeline in hand ---- */

static bool pace_ready_locked(struct pace *p)
{
	if (!p->now)
		p->now = malloc(sizeof(*p->now));
	if (!p->later)
		p->later = malloc(sizeof(*p->later));
	return p->now && p->later;
}

static void copy_now(struct pace *p)
{
	memcpy(p->later, p->now, TIMELINE_BYTES(p->now));
}

static struct pace_kernel *kernel_of(struct overlap_kernel *k)
{
	return (struct pace_kernel *)(void *)((char *)k - offsetof(struct pace_kernel, overlap));
}

/* What has ended learns when. */
static void ends_note_locked(struct pace *p)
{
	struct overlap_kernel *k;

	while ((k = p->overlap.ended)) {
		p->overlap.ended = k->next;
		k->next = NULL;
		/* release: pairs with the acquire of who looks without the mutex */
		atomic_store_explicit(&kernel_of(k)->end_ns, timeline_when(p->now, p->context, k->end_clock_ns),
				      memory_order_release);
	}
}

static void begin_locked(struct pace *p, struct segment_change *c)
{
	segment_change_begin(&driver.place, (uint32_t)(p - paces), p->now, c);
	timeline_advance(p->now, clock_now_ns());
	if (p->context != TIMELINE_NOBODY) {
		overlap_advance(&p->overlap, p->now->context[p->context].clock_ns);
		ends_note_locked(p);
	}
}

static bool commit_locked(struct pace *p, struct segment_change *c)
{
	if (p->context != TIMELINE_NOBODY) {
		struct overlap_plan plan = overlap_plan(&p->overlap);

		timeline_set(p->now, p->context, plan.known_ns, plan.open, plan.demand);
	}
	return segment_change_commit(&driver.place, c);
}

/* A place on the timeline in hand. */
static void context_add_locked(struct pace *p)
{
	p->context = timeline_add(p->now, driver.place.word);
	if (p->context == TIMELINE_NOBODY)
		return;
	atomic_store(&sleeper_of(p)->beat_ns, p->now->now_ns);
	atomic_store(&sleeper_of(p)->want_at_ns, 0);
	p->overlap.clock_ns = 0;
}

/* ---- others ---- */

static bool others(const struct pace *p)
{
	for (uint32_t i = 0; i < p->now->count; i++)
		if (i != p->context && p->now->context[i].owner)
			return true;
	return false;
}

/*
 * Work has turned out shorter than it could have been: whoever sleeps too long for that is woken. The mutex is held,
 * the timeline in hand is the one that was published.
 */
static void others_wake_locked(struct pace *p)
{
	struct segment_time *time = time_of((uint32_t)(p - paces));

	for (uint32_t i = 0; i < p->now->count; i++) {
		struct segment_sleeper *s = &time->sleeper[i];
		uint64_t at = atomic_load(&s->want_at_ns), then;

		if (!p->now->context[i].owner || at < p->now->now_ns + WORTH_WAKING_NS)
			continue;
		copy_now(p);
		then = timeline_predict(p->later, i, atomic_load(&s->want_clock_ns));
		if (then < at - WORTH_WAKING_NS)
			segment_time_wake(time, i);
	}
}

static void sleepers_wake_locked(struct pace *p)
{
	if (others(p))
		others_wake_locked(p);
	if (p->sleepers && p->overlap.first && p->overlap.first->next)
		segment_time_wake(time_of((uint32_t)(p - paces)), p->context); /* its own plan is another one now */
}

/* Contexts of the dead go, now and then. */
static void others_check_locked(struct pace *p)
{
	uint32_t device = (uint32_t)(p - paces);

	if (others(p) && clock_now_ns() - atomic_load(&time_of(device)->checked_ns) > LOOK_NS)
		segment_time_reap(&driver.place, device, p->now);
}

/* ---- kernels ---- */

void pace_begin(struct pace_kernel *k, uint32_t device, struct pace_kernel *after, uint32_t demand,
		uint64_t duration_ns)
{
	struct pace *p = &paces[device];
	struct segment_change c;
	bool added = false;

	*k = (struct pace_kernel){ .device = device };
	pthread_mutex_lock(&p->mutex);
	if (!pace_ready_locked(p)) {
		pthread_mutex_unlock(&p->mutex);
		return;
	}
	do {
		begin_locked(p, &c);
		if (p->context == TIMELINE_NOBODY)
			context_add_locked(p);
		k->timed = p->context != TIMELINE_NOBODY;
		if (!added && k->timed) {
			atomic_store_explicit(&sleeper_of(p)->beat_ns, p->now->now_ns, memory_order_relaxed);
			p->now->context[p->context].beat_ns = p->now->now_ns;
			overlap_add(&p->overlap, &k->overlap, after && after->timed ? &after->overlap : NULL, demand,
				    duration_ns);
			ends_note_locked(p);
			added = true;
		}
		k->began_ns = p->now->now_ns;
		k->idle_ns = timeline_idle_ns(p->now);
	} while (!commit_locked(p, &c));
	if (duration_ns == OVERLAP_OPEN && others(p))
		k->cpu_ns = thread_cpu_ns();
	pthread_mutex_unlock(&p->mutex);
}

_Atomic uint64_t *pace_beat(const struct pace_kernel *k)
{
	return k->timed ? &sleeper_of(&paces[k->device])->beat_ns : NULL;
}

/*
 * How long a kernel took whose length nobody knew: beside others the thread's own time; else that on the clock, without
 * what passed while it stalled. The device was idle then, and nobody is to wait for that again.
 */
static uint64_t measured_locked(const struct pace *p, const struct pace_kernel *k)
{
	if (k->cpu_ns)
		return thread_cpu_ns() - k->cpu_ns;
	return p->now->now_ns - k->began_ns - (timeline_idle_ns(p->now) - k->idle_ns);
}

bool pace_executed(struct pace_kernel *k, uint64_t duration_ns)
{
	struct pace *p = &paces[k->device];
	bool was_open, ended;
	struct segment_change c;

	k->executed = true;
	if (!k->timed) {
		k->end_ns = clock_now_ns();
		return true;
	}
	pthread_mutex_lock(&p->mutex);
	do {
		begin_locked(p, &c);
		was_open = k->overlap.duration_ns == OVERLAP_OPEN;
		if (was_open) {
			if (duration_ns == OVERLAP_OPEN)
				duration_ns = measured_locked(p, k);
			overlap_known(&p->overlap, &k->overlap, duration_ns);
			ends_note_locked(p);
		}
	} while (!commit_locked(p, &c));
	if (was_open)
		sleepers_wake_locked(p);
	ended = k->overlap.state == OVERLAP_ENDED;
	if (ended && !was_open && k->end_ns < p->now->now_ns)
		k->end_ns = p->now->now_ns; /* served, but only now executed */
	pthread_mutex_unlock(&p->mutex);
	return ended;
}

static void update_locked(struct pace *p)
{
	struct segment_change c;

	do
		begin_locked(p, &c);
	while (!commit_locked(p, &c));
}

void pace_update(uint32_t device)
{
	struct pace *p = &paces[device];

	pthread_mutex_lock(&p->mutex);
	if (p->overlap.first)
		update_locked(p);
	pthread_mutex_unlock(&p->mutex);
}

void pace_remove(struct pace_kernel *k)
{
	struct pace *p = &paces[k->device];
	struct segment_change c;

	if (!k->timed)
		return;
	pthread_mutex_lock(&p->mutex);
	if (k->overlap.state != OVERLAP_ENDED) {
		do {
			begin_locked(p, &c);
			overlap_remove(&p->overlap, &k->overlap);
			ends_note_locked(p);
		} while (!commit_locked(p, &c));
		sleepers_wake_locked(p);
	}
	pthread_mutex_unlock(&p->mutex);
}

/* ---- waiting ---- */

void pace_thread_init(void)
{
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	thread_is_exact = true;
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Until the time, or until the word is another one. A program's own thread gets its timer slack back. */
static void sleep_on(_Atomic uint32_t *word, uint32_t seen, uint64_t until_ns)
{
	uint64_t to = until_ns - SPIN_NS;
	struct timespec at = { .tv_sec = (time_t)(to / 1000000000u), .tv_nsec = (long)(to % 1000000000u) };
	const int saved = errno;
	long slack = 0;

	if (clock_now_ns() < to) {
		if (!thread_is_exact) {
			slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
			prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
		}
		syscall(SYS_futex, word, FUTEX_WAIT_BITSET, seen, &at, NULL, FUTEX_BITSET_MATCH_ANY);
		if (slack > 0)
			prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
		errno = saved;
		if (clock_now_ns() < to)
			return; /* woken */
	}
	while (clock_now_ns() < until_ns && atomic_load_explicit(word, memory_order_relaxed) == seen)
		relax();
}

/* Sleeps once; the mutex is dropped meanwhile. */
static void sleep_for_locked(struct pace *p, const struct pace_kernel *k, uint32_t seen)
{
	struct segment_sleeper *s = sleeper_of(p);
	uint64_t most = p->now->now_ns + (others(p) ? 1 : 4) * (uint64_t)LOOK_NS, at;

	copy_now(p);
	at = timeline_predict(p->later, p->context, k->overlap.plan_clock_ns);
	at = at < most ? at : most;
	if (p->sleepers++ == 0 || atomic_load(&s->want_at_ns) < at) {
		atomic_store(&s->want_clock_ns, k->overlap.plan_clock_ns);
		atomic_store(&s->want_at_ns, at);
	}
	pthread_mutex_unlock(&p->mutex);
	sleep_on(&s->wakes, seen, at);
	pthread_mutex_lock(&p->mutex);
	if (--p->sleepers == 0)
		atomic_store(&s->want_at_ns, 0);
}

void pace_wait(struct pace_kernel *k)
{
	struct pace *p = &paces[k->device];

	pthread_mutex_lock(&p->mutex);
	others_check_locked(p);
	update_locked(p);
	if (k->overlap.state != OVERLAP_ENDED) {
		sleep_for_locked(p, k, atomic_load(&sleeper_of(p)->wakes));
		update_locked(p);
	}
	pthread_mutex_unlock(&p->mutex);
}

void pace_wait_any(struct pace_kernel *const *k, uint32_t count, uint32_t seen)
{
	struct pace *p = &paces[k[0]->device];
	const struct pace_kernel *first = k[0];

	pthread_mutex_lock(&p->mutex);
	others_check_locked(p);
	update_locked(p);
	for (uint32_t i = 0; i < count; i++)
		if (k[i]->overlap.state == OVERLAP_ENDED ||
		    (first->overlap.state != OVERLAP_ENDED &&
		     k[i]->overlap.plan_clock_ns < first->overlap.plan_clock_ns))
			first = k[i];
	if (first->overlap.state != OVERLAP_ENDED) {
		sleep_for_locked(p, first, seen);
		update_locked(p);
	}
	pthread_mutex_unlock(&p->mutex);
}

uint32_t pace_seen(uint32_t device)
{
	struct pace *p = &paces[device];
	uint32_t seen = 0;

	pthread_mutex_lock(&p->mutex);
	if (p->context != TIMELINE_NOBODY)
		seen = atomic_load(&sleeper_of(p)->wakes);
	pthread_mutex_unlock(&p->mutex);
	return seen;
}

void pace_poke(uint32_t device)
{
	struct pace *p = &paces[device];

	pthread_mutex_lock(&p->mutex);
	if (p->context != TIMELINE_NOBODY)
		segment_time_wake(time_of(device), p->context);
	pthread_mutex_unlock(&p->mutex);
}

void pace_wait_end(struct pace_kernel *k)
{
	while (!atomic_load_explicit(&k->end_ns, memory_order_acquire) && !driver.ending)
		pace_wait(k);
	if (!k->end_ns)
		pace_remove(k);
}

void pace_sleep(uint64_t until_ns)
{
	_Atomic uint32_t word = 0;

	sleep_on(&word, 0, until_ns);
}

/* ---- copies ---- */

uint64_t pace_copy(uint32_t device, bool to_device, uint64_t not_before_ns, uint64_t duration_ns)
{
	_Atomic uint64_t *free_ns = &time_of(device)->copy_free_ns[to_device];
	uint64_t before = atomic_load(free_ns), end;

	do
		end = (before > not_before_ns ? before : not_before_ns) + duration_ns;
	while (!atomic_compare_exchange_weak(free_ns, &before, end));
	return end;
}
