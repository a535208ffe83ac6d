/* fence.c: see fence.h. Places are only ever added, so readers need no lock. */
#include "softdev/fence.h"

#include "wire/soft_fence.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define PLACES_MOST 8u

static struct {
	pthread_mutex_t lock; /* writers */
	struct {
		uint64_t begin, bytes;
	} place[PLACES_MOST];
	_Atomic unsigned int count; /* release: a writer, behind its place; acquire: readers */
} fence = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local bool lifted_here;

bool fence_allows(uint64_t address, size_t bytes)
{
	unsigned int count = atomic_load_explicit(&fence.count, memory_order_acquire);

	for (unsigned int i = 0; i < count; i++) {
		uint64_t from = address - fence.place[i].begin;

		if (address >= fence.place[i].begin && from <= fence.place[i].bytes &&
		    bytes <= fence.place[i].bytes - from)
			return true;
	}
	return !count || lifted_here;
}

bool fence_stands(void)
{
	return atomic_load_explicit(&fence.count, memory_order_acquire);
}

static int allow(const void *begin, size_t bytes)
{
	unsigned int count;
	bool room;

	pthread_mutex_lock(&fence.lock);
	count = atomic_load_explicit(&fence.count, memory_order_relaxed);
	room = count < PLACES_MOST;
	if (room) {
		fence.place[count].begin = (uint64_t)(uintptr_t)begin;
		fence.place[count].bytes = bytes;
		atomic_store_explicit(&fence.count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&fence.lock);
	return room;
}

static void lift(int lifted)
{
	lifted_here = lifted;
}

const void *fence_table(const CUuuid *id)
{
	static const struct soft_fence_table table = { sizeof(table), allow, lift };
	static const char mine[16] = SOFT_FENCE_ID;

	return memcmp(id, mine, sizeof(mine)) ? NULL : &table;
}
