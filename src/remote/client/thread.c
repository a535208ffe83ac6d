/* thread.c: see thread.h. */
#include "remote/client/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static struct thread *unused;				 /* of threads that have ended */
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
	if (t)
		t->number = ++count;
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

void thread_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	if (mine)
		mine->depth = 0;
}
