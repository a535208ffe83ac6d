/* faces.c: see faces.h. */
#include "core/faces.h"
#include "core/account.h"
#include "core/attach.h"
#include "core/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards joining and arming */
static const struct face *faces[FACES_MAX];
static _Atomic unsigned int count; /* read without the lock; a face stands before it counts */
static bool armed;

static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER; /* guards unmetered; one thread at a time asks meted */
static bool unmetered[FACES_MAX];			      /* of each face: FACES_OPEN */

/* FACES_MAX: it has not joined. */
static unsigned int place_of(const struct face *f)
{
	unsigned int i = 0, n = faces_count();

	while (i < n && faces[i] != f)
		i++;
	return i < n ? i : FACES_MAX;
}

bool faces_join(const struct face *f)
{
	unsigned int n = faces_count();
	bool there, arm = false;

	if (f->version != FACE_VERSION)
		return false;
	pthread_mutex_lock(&lock);
	there = place_of(f) < FACES_MAX;
	n = faces_count();
	if (!there && n < FACES_MAX) {
		faces[n] = f;
		atomic_store_explicit(&count, n + 1, memory_order_release);
		there = true;
		arm = armed;
	}
	pthread_mutex_unlock(&lock);
	fork_watch();
	if (arm && f->arm)
		f->arm();
	return there;
}

static enum faces_state begin_locked(unsigned int i)
{
	int r;

	if (i >= FACES_MAX)
		return FACES_REFUSED;
	if (unmetered[i])
		return FACES_OPEN;
	r = account_attach();
	if (r == 0)
		return FACES_METERED;
	if (attach_shut_out(r))
		return FACES_SHUT_OUT;
	unmetered[i] = attach_may_run_open();
	return unmetered[i] ? FACES_OPEN : FACES_REFUSED;
}

enum faces_state faces_begin(const struct face *f)
{
	unsigned int i = place_of(f);
	enum faces_state state;
	int saved = errno;
	bool was_open;

	pthread_mutex_lock(&beginning);
	was_open = i < FACES_MAX && unmetered[i];
	state = begin_locked(i);
	pthread_mutex_unlock(&beginning);
	if (state == FACES_OPEN && !was_open)
		log_line("METE_OPEN=1: this program runs without a limit");
	errno = saved;
	return state;
}

unsigned int faces_count(void)
{
	return atomic_load_explicit(&count, memory_order_acquire);
}

const struct face *faces_at(unsigned int i)
{
	return faces[i];
}

void faces_arm(void)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	armed = true;
	n = faces_count();
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < n; i++)
		if (faces[i]->arm)
			faces[i]->arm();
}

bool faces_shrink(unsigned int device)
{
	bool some = false;

	for (unsigned int i = 0; i < faces_count() && !some; i++)
		some = faces[i]->shrink && faces[i]->shrink(device);
	return some;
}

void faces_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	beginning = unlocked;
	for (unsigned int i = 0; i < faces_count(); i++)
		if (faces[i]->forget)
			faces[i]->forget();
}
