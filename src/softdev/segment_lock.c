/* segment_lock.c: see segment_lock.h. */
#include "softdev/segment_lock.h"

#include "base/clock.h"
#include "softdev/segment_file.h"
#include "softdev/segment_time.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Totals and recovery. */

bool segment_room_locked(const struct segment_device *dev, uint64_t units)
{
	uint64_t total = dev->config.total_bytes / SEGMENT_UNIT_BYTES;

	return dev->used_units <= total && units <= total - dev->used_units;
}

void segment_recount_locked(struct segment *s)
{
	uint64_t used[SEGMENT_MAX_DEVICES] = { 0 };

	for (uint32_t i = 0; i < s->places; i++)
		for (uint32_t d = 0; d < s->device_count; d++)
			used[d] += s->process[i].share[d].held_units;
	for (uint32_t i = 0; i < s->objects; i++)
		if (s->object[i].id)
			used[s->object[i].device % SEGMENT_MAX_DEVICES] += s->object[i].units;
	for (uint32_t d = 0; d < s->device_count; d++)
		s->device[d].used_units = used[d];
}

void segment_clear_locked(struct segment_place *p, uint32_t place)
{
	struct segment_process *q = &p->segment->process[place];

	for (uint32_t d = 0; d < SEGMENT_MAX_DEVICES; d++) {
		q->share[d].held_units = 0;
		q->share[d].peak_units = 0;
		q->share[d].contexts = 0;
		q->share[d].running = 0;
	}
	segment_time_clear(p, place);
	q->pid = 0;
	q->dead_ms = 0;
	q->kind = SEGMENT_FREE;
}

static uint32_t now_ms(void)
{
	return (uint32_t)(clock_now_ns() / 1000000u) | 1;
}

bool segment_lingers(const struct segment *s, uint32_t place)
{
	const struct segment_process *q = &s->process[place];
	uint32_t linger_ms = s->device[0].config.linger_ms;

	return linger_ms && q->kind == SEGMENT_DRIVER && (!q->dead_ms || now_ms() - q->dead_ms < linger_ms);
}

/* From the first look at a dead process on its memory lingers. True: it has come to an end. */
static bool linger_ends(struct segment *s, uint32_t place)
{
	if (s->device[0].config.linger_ms && !s->process[place].dead_ms)
		s->process[place].dead_ms = now_ms();
	return !segment_lingers(s, place);
}

void segment_reap_locked(struct segment_place *p)
{
	struct segment *s = p->segment;
	bool changed = false;
	int fd = -1;

	for (uint32_t i = 0; i < s->places; i++) {
		if (i == p->index || !s->process[i].kind)
			continue;
		if (fd < 0 && (fd = segment_file_open(p->dir)) < 0)
			break;
		if (!segment_place_alive(fd, i) && linger_ends(s, i)) {
			segment_clear_locked(p, i);
			changed = true;
		}
	}
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; i < s->objects; i++) {
		uint64_t id = s->object[i].id;
		char path[PATH_MAX];

		if (!id || segment_object_alive(s, p->dir, &s->object[i]))
			continue;
		segment_object_path(p->dir, id, path);
		unlink(path);
		s->object[i].id = 0;
		changed = true;
	}
	if (changed)
		segment_recount_locked(s);
}

/* The lock. */

#define LOCK_PATIENCE_NS 2000000u /* after this a waiter asks whether the holder lives */
#define WORD_PLACE_BITS 11u	  /* SEGMENT_MAX_PROCESSES and one */
_Static_assert(SEGMENT_MAX_PROCESSES < 1u << WORD_PLACE_BITS, "a place fits into the word");

uint32_t segment_word_make(uint32_t index, uint32_t owner)
{
	return owner << WORD_PLACE_BITS | (index + 1);
}

/*
 * Whether who left this word in the lock is dead. The place alone would not do: somebody new may have it by now, and by
 * the time that a waiter acts on what it learnt may hold the lock with the same number.
 */
bool segment_word_dead(const struct segment_place *p, uint32_t word)
{
	uint32_t index = (word & ((1u << WORD_PLACE_BITS) - 1)) - 1;

	return word != segment_word_make(index,
					 atomic_load(&p->segment->process[index % SEGMENT_MAX_PROCESSES].owner)) ||
	       !segment_alive(p, index);
}

static bool lock_try(_Atomic uint32_t *lock, uint32_t *holder, uint32_t mine)
{
	*holder = 0;
	/* acquire: pairs with the release of the last holder */
	return atomic_compare_exchange_strong_explicit(lock, holder, mine, memory_order_acquire, memory_order_relaxed);
}

bool segment_lock_wait(struct segment_place *p, _Atomic uint32_t *lock, uint32_t mine, uint64_t patience_ns)
{
	uint64_t asked = 0, since = 0;
	uint32_t holder, before = 0;

	for (unsigned spins = 0; !lock_try(lock, &holder, mine); spins++) {
		uint64_t now;
		bool dead;

		if (spins < 100)
			continue;
		if (spins < 200)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		now = clock_now_ns();
		if (holder != before) {
			before = holder;
			asked = since = now;
		}
		if (now - asked < LOCK_PATIENCE_NS)
			continue;
		asked = now;
		dead = segment_word_dead(p, holder);
		if (!dead && now - since < patience_ns)
			continue;
		if (atomic_compare_exchange_strong_explicit(lock, &holder, mine, memory_order_acquire,
							    memory_order_relaxed)) {
			p->segment->recoveries += dead;
			return dead;
		}
	}
	return false;
}

void segment_lock(struct segment_place *p)
{
	pthread_mutex_lock(&lock_mutex);
	if (segment_lock_wait(p, &p->segment->lock, p->word, UINT64_MAX))
		segment_recount_locked(p->segment);
}

void segment_unlock(struct segment_place *p)
{
	atomic_store_explicit(&p->segment->lock, 0, memory_order_release);
	pthread_mutex_unlock(&lock_mutex);
}
