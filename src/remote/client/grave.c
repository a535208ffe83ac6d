/*
 * grave.c: see grave.h.
 *
 * There is a clock that goes on with every burial. Who begins to look writes down the time. A record was made
 * unfindable before its burial moved the clock, so only who began at an earlier time can have found it; and whoever
 * writes an earlier time after the burial looked around is too late to find it: the write comes before its search, as
 * the burial's unfindable mark comes before the looking around, in one order of all four.
 */
#include "remote/client/grave.h"

#include <pthread.h>

static _Atomic uint64_t now = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the graves */
static struct grave *first, *last;			 /* oldest first */

/* A fence, said so that thread sanitizers know it. */
static void settle(void)
{
#ifdef __SANITIZE_THREAD__
	static _Atomic int point;

	atomic_fetch_add(&point, 1);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

void grave_look(struct thread *t)
{
	if (!t || t->looks++)
		return;
	atomic_store_explicit(&t->looking, atomic_load_explicit(&now, memory_order_acquire), memory_order_relaxed);
	settle();
}

void grave_leave(struct thread *t)
{
	/* Release: pairs with thread_oldest_look(), so that what was read was read before it is freed. */
	if (t && !--t->looks)
		atomic_store_explicit(&t->looking, 0, memory_order_release);
}

static struct grave *take_locked(uint64_t before)
{
	struct grave *list = first, **at = &list;

	while (*at && (*at)->when <= before)
		at = &(*at)->next;
	first = *at;
	*at = NULL;
	if (!first)
		last = NULL;
	return list;
}

void grave_bury(struct grave *grave, void (*end)(struct grave *grave))
{
	struct grave *next, *list;

	pthread_mutex_lock(&lock);
	grave->end = end;
	grave->next = NULL;
	grave->when = atomic_fetch_add_explicit(&now, 1, memory_order_acq_rel) + 1;
	if (last)
		last->next = grave;
	else
		first = grave;
	last = grave;
	settle();
	list = take_locked(thread_oldest_look());
	pthread_mutex_unlock(&lock);
	for (; list; list = next) {
		next = list->next;
		list->end(list);
	}
}

void grave_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
}
