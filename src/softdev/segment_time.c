/*
 * segment_time.c: a device's timeline in the segment: how it is changed, read, and freed of the dead. See segment.h.
 *
 * A change is made in the caller's memory. To publish it, the writer claims a copy that is not the present one, fills
 * it, and makes it the present one by compare-and-swap against what it had begun from. So nothing is ever half changed:
 *   - who dies before that leaves a claim, which the next one who meets it finds dead and clears;
 *   - who is stopped before that loses the lock to others after LOCK_PATIENCE_NS, keeps its copy claimed, so that
 *     nobody else uses it, and finds when it goes on that the present one is another;
 *   - a copy is claimed first and then it is asked once more what the present one is, so that it cannot be this one.
 */
#include "softdev/segment_time.h"

#include "softdev/segment_lock.h"

#include "base/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCK_PATIENCE_NS 20000000u
#define READ_TRIES 1000u

static pthread_mutex_t clear_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct timeline clear_scratch; /* clear_mutex guards it */

static void copy_timeline(struct timeline *to, const struct timeline *from)
{
	uint32_t count = from->count < TIMELINE_CONTEXTS ? from->count : TIMELINE_CONTEXTS;

	memcpy(to, from, offsetof(struct timeline, context));
	to->count = count;
	memcpy(to->context, from->context, count * sizeof(from->context[0]));
}

/* What changes without a lock. */
static void beats_read(struct timeline *t, const struct segment_time *time)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->context[i].open)
			t->context[i].beat_ns = atomic_load_explicit(&time->sleeper[i].beat_ns, memory_order_relaxed);
}

void segment_change_begin(struct segment_place *p, uint32_t device, struct timeline *t, struct segment_change *ret)
{
	struct segment_time *time = &p->segment->time[device];

	segment_lock_wait(p, &time->lock, p->word, LOCK_PATIENCE_NS);
	*ret = (struct segment_change){ time, t, atomic_load(&time->current) };
	copy_timeline(t, &time->copy[ret->seen % SEGMENT_TIMES]);
	beats_read(t, time);
}

/* A copy to write to. Value: its number, or SEGMENT_TIMES: there is none. */
static uint32_t claim(struct segment_place *p, struct segment_time *time, uint64_t seen)
{
	for (uint32_t i = 0; i < SEGMENT_TIMES; i++) {
		uint32_t writer = atomic_load(&time->writer[i]);

		if (i == seen % SEGMENT_TIMES)
			continue;
		if (writer && !segment_word_dead(p, writer))
			continue;
		if (atomic_compare_exchange_strong(&time->writer[i], &writer, p->word))
			return i;
	}
	return SEGMENT_TIMES;
}

bool segment_change_commit(struct segment_place *p, struct segment_change *c)
{
	struct segment_time *time = c->time;
	uint32_t mine = p->word, i = claim(p, time, c->seen);
	uint64_t seen = c->seen;
	bool done = false;

	if (i < SEGMENT_TIMES) {
		if (atomic_load(&time->current) == seen) {
			copy_timeline(&time->copy[i], c->t);
			done = atomic_compare_exchange_strong(&time->current, &seen,
							      (seen / SEGMENT_TIMES + 1) * SEGMENT_TIMES + i);
		}
		atomic_store(&time->writer[i], 0);
	} else {
		sched_yield();
	}
	atomic_compare_exchange_strong(&time->lock, &mine, 0); /* others may have it by now */
	return done;
}

bool segment_time_read(const struct segment *s, uint32_t device, struct timeline *ret)
{
	const struct segment_time *time = &s->time[device];

	for (uint32_t i = 0; i < READ_TRIES; i++) {
		uint64_t seen = atomic_load(&time->current);

		copy_timeline(ret, &time->copy[seen % SEGMENT_TIMES]);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load(&time->current) == seen) {
			beats_read(ret, time);
			return true;
		}
	}
	return false;
}

void segment_time_wake(struct segment_time *t, uint32_t context)
{
	atomic_fetch_add(&t->sleeper[context].wakes, 1);
	syscall(SYS_futex, &t->sleeper[context].wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wake_all(struct segment_time *time, const struct timeline *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (atomic_load(&time->sleeper[i].want_at_ns))
			segment_time_wake(time, i);
}

/* Removes the contexts whose owner the test says is to go. Value: how many. */
static uint32_t remove_where(struct segment_place *p, uint32_t device, struct timeline *t,
			     bool (*gone)(const struct segment_place *p, uint64_t owner, uint32_t arg), uint32_t arg)
{
	struct segment_change c;
	uint32_t removed;

	do {
		removed = 0;
		segment_change_begin(p, device, t, &c);
		timeline_advance(t, clock_now_ns());
		for (uint32_t i = 0; i < t->count; i++)
			if (t->context[i].owner && gone(p, t->context[i].owner, arg)) {
				timeline_remove(t, i);
				removed++;
			}
	} while (!segment_change_commit(p, &c));
	if (removed)
		wake_all(c.time, t);
	return removed;
}

static bool is_dead(const struct segment_place *p, uint64_t owner, uint32_t unused)
{
	return owner != p->word && segment_word_dead(p, (uint32_t)owner);
}

uint32_t segment_time_reap(struct segment_place *p, uint32_t device, struct timeline *scratch)
{
	atomic_store(&p->segment->time[device].checked_ns, clock_now_ns());
	return remove_where(p, device, scratch, is_dead, 0);
}

static bool is_of_place(const struct segment_place *p, uint64_t owner, uint32_t place)
{
	return ((uint32_t)owner & (2 * SEGMENT_MAX_PROCESSES - 1)) == place + 1;
}

void segment_time_clear(struct segment_place *p, uint32_t place)
{
	pthread_mutex_lock(&clear_mutex);
	for (uint32_t d = 0; d < p->segment->device_count; d++)
		if (p->segment->time[d].copy[atomic_load(&p->segment->time[d].current) % SEGMENT_TIMES].count)
			remove_where(p, d, &clear_scratch, is_of_place, place);
	pthread_mutex_unlock(&clear_mutex);
}

/* ---- kernels by their beginning and end ---- */

static void kernels_set(struct segment_place *p, uint32_t device, bool open)
{
	struct segment_change c;
	uint32_t i;

	pthread_mutex_lock(&clear_mutex);
	do {
		segment_change_begin(p, device, &clear_scratch, &c);
		timeline_advance(c.t, clock_now_ns());
		for (i = 0; i < c.t->count && c.t->context[i].owner != p->word; i++)
			;
		if (i == c.t->count)
			i = timeline_add(c.t, p->word);
		if (i == TIMELINE_NOBODY)
			break;
		atomic_store(&c.time->sleeper[i].beat_ns, TIMELINE_NEVER);
		timeline_set(c.t, i, c.t->context[i].clock_ns, open, TIMELINE_WHOLE);
	} while (!segment_change_commit(p, &c));
	if (i == TIMELINE_NOBODY)
		segment_change_commit(p, &c);
	pthread_mutex_unlock(&clear_mutex);
}

void segment_kernel_begin(struct segment_place *p, uint32_t device)
{
	if (!p->segment->process[p->index].share[device].running++)
		kernels_set(p, device, true);
}

void segment_kernel_end(struct segment_place *p, uint32_t device)
{
	if (p->segment->process[p->index].share[device].running-- == 1)
		kernels_set(p, device, false);
}

/* ---- reading ---- */

/* The timeline as of now, in memory that the caller frees; NULL: none to be had. */
static struct timeline *time_now(const struct segment *s, uint32_t device)
{
	struct timeline *t = malloc(sizeof(*t));

	if (t && segment_time_read(s, device, t)) {
		timeline_advance(t, clock_now_ns());
		return t;
	}
	free(t);
	return NULL;
}

uint64_t segment_busy_ns(const struct segment *s, uint32_t device)
{
	struct timeline *t = time_now(s, device);
	uint64_t busy = t ? t->served_ns + t->switch_ns : 0;

	free(t);
	return busy;
}

uint64_t segment_share_busy_ns(const struct segment *s, uint32_t place, uint32_t device)
{
	struct timeline *t = time_now(s, device);
	uint64_t served = 0;

	for (uint32_t i = 0; t && i < t->count; i++)
		if (t->context[i].owner && is_of_place(NULL, t->context[i].owner, place))
			served += t->context[i].served_ns;
	free(t);
	return served;
}
