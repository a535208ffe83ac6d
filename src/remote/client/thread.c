/* thread.c: see thread.h. */
#include "remote/client/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static struct thread *unused;				 /* of threads that have ended */
static struct thread *all;
static uint32_t count;
static pthread_key_t key;
static bool have_key;

static __thread struct thread *mine;

static void ended(void *data)
{
	struct thread *t = data;

	t->depth = 0;
	t->capture_mode = 0;
	t->calls_back = false;
	t->looks = 0;
	atomic_store_explicit(&t->looking, 0, memory_order_release);
	pthread_mutex_lock(&lock);
	t->next_free = unused;
	unused = t;
	pthread_mutex_unlock(&lock);
}

static struct thread *take_locked(void)
{
	struct thread *t = unused;

	if (t) {
		unused = t->next_free;
		return t;
	}
	t = calloc(1, sizeof *t);
	if (t) {
		t->number = ++count;
		t->next = all;
		all = t;
	}
	return t;
}

static struct thread *thread_new(void)
{
	struct thread *t;

	pthread_mutex_lock(&lock);
	if (!have_key)
		have_key = !pthread_key_create(&key, ended);
	t = take_locked();
	pthread_mutex_unlock(&lock);
	mine = t;
	if (t && have_key)
		pthread_setspecific(key, t);
	return t;
}

struct thread *thread_get(void)
{
	return mine ? mine : thread_new();
}

uint64_t thread_oldest_look(void)
{
	uint64_t oldest = UINT64_MAX, since;

	pthread_mutex_lock(&lock);
	for (struct thread *t = all; t; t = t->next) {
		since = atomic_load_explicit(&t->looking, memory_order_acquire); /* grave_leave() */
		if (since && since < oldest)
			oldest = since;
	}
	pthread_mutex_unlock(&lock);
	return oldest;
}

void thread_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	for (struct thread *t = all; t; t = t->next) {
		t->looks = 0;
		atomic_store_explicit(&t->looking, 0, memory_order_relaxed);
	}
	if (mine)
		mine->depth = 0;
}
