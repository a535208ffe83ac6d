/* handles.c: see handles.h. A hash table with open addressing; a removed place keeps its key's search going. */
#include "vulkan/handles.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PLACES 8192u
#define MOST (PLACES / 2)
#define REMOVED 1u

static struct place {
	_Atomic uintptr_t key; /* 0: never used */
	void *_Atomic object;
} places[PLACES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards changes */
static unsigned int count;

static uint32_t first_place(uintptr_t key)
{
	return (uint32_t)((uint64_t)key * 0x9e3779b97f4a7c15u >> 51);
}

static struct place *find(uintptr_t key)
{
	uint32_t at = first_place(key);

	for (uint32_t i = 0; i < PLACES; i++) {
		struct place *p = &places[(at + i) % PLACES];
		/* Acquire: pairs with the release in handles_add(), which has set the object before. */
		uintptr_t is = atomic_load_explicit(&p->key, memory_order_acquire);

		if (is == key)
			return p;
		if (!is)
			return NULL;
	}
	return NULL;
}

bool handles_add(const void *key, void *object)
{
	uint32_t at = first_place((uintptr_t)key);
	bool done = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; count < MOST && !done && i < PLACES; i++) {
		struct place *p = &places[(at + i) % PLACES];

		if (atomic_load_explicit(&p->key, memory_order_relaxed) > REMOVED)
			continue;
		atomic_store_explicit(&p->object, object, memory_order_relaxed);
		atomic_store_explicit(&p->key, (uintptr_t)key, memory_order_release);
		count++;
		done = true;
	}
	pthread_mutex_unlock(&lock);
	return done;
}

void *handles_find(const void *key)
{
	struct place *p = find((uintptr_t)key);

	return p ? atomic_load_explicit(&p->object, memory_order_relaxed) : NULL;
}

void handles_remove(const void *key)
{
	struct place *p;

	pthread_mutex_lock(&lock);
	p = find((uintptr_t)key);
	if (p) {
		atomic_store_explicit(&p->key, REMOVED, memory_order_release);
		count--;
	}
	pthread_mutex_unlock(&lock);
}
