/* faces.c: see faces.h. */
#include "core/faces.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards joining and arming */
static const struct face *faces[FACES_MAX];
static _Atomic unsigned int count; /* read without the lock; a face stands before it counts */
static bool armed;

static bool is_there_locked(const struct face *f)
{
	for (unsigned int i = 0; i < faces_count(); i++)
		if (faces[i] == f)
			return true;
	return false;
}

bool faces_join(const struct face *f)
{
	unsigned int n = faces_count();
	bool there, arm = false;

	if (f->version != FACE_VERSION)
		return false;
	pthread_mutex_lock(&lock);
	there = is_there_locked(f);
	n = faces_count();
	if (!there && n < FACES_MAX) {
		faces[n] = f;
		atomic_store_explicit(&count, n + 1, memory_order_release);
		there = true;
		arm = armed;
	}
	pthread_mutex_unlock(&lock);
	if (arm && f->arm)
		f->arm();
	return there;
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
	for (unsigned int i = 0; i < faces_count(); i++)
		if (faces[i]->forget)
			faces[i]->forget();
}
