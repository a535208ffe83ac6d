/* later.c: see later.h. */
#include "levelzero/later.h"
#include "core/map.h"
#include "levelzero/ipc.h"
#include "levelzero/memory.h"

#include <pthread.h>

#define LOOK_AFTER 32u /* so many more are noted before the driver is asked of all */
#define AT_ONCE 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; the driver is called under it */
static struct map kept; /* by address: context; units and device; object of an exported one, with SHARED in front */
static uint32_t more;	/* since the driver was asked */
static _Atomic uint32_t count;

#define SHARED (1ull << 32)

static struct record record_of(const struct map_entry *e)
{
	return (struct record){ .key = e->key,
				.context = (const void *)(uintptr_t)e->value[0],
				.units = (uint32_t)e->value[1],
				.device = (uint8_t)(e->value[1] >> 32),
				.extra = (uint32_t)e->value[2],
				.flags = e->value[2] & SHARED ? RECORD_SHARED : 0 };
}

static bool is_gone(ze_context_handle_t context, uint64_t key)
{
	ze_memory_allocation_properties_t p = { .stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES };

	return levelzero_real.zeMemGetAllocProperties(context, (const void *)(uintptr_t)key, &p, NULL) ==
		       ZE_RESULT_SUCCESS &&
	       p.type == ZE_MEMORY_TYPE_UNKNOWN;
}

static void give(const struct record *r)
{
	if (r->flags & RECORD_SHARED)
		ipc_let_go(r);
	else
		memory_give(r->device, r->units);
}

/* A part of what has gone: what gives it back asks meted, which no lock is held for. */
struct gone {
	struct record record[AT_ONCE];
	unsigned int count;
};

static bool drop(const struct map_entry *e, void *data)
{
	struct gone *gone = data;

	if (gone->count == AT_ONCE || !is_gone((ze_context_handle_t)(uintptr_t)e->value[0], e->key))
		return false;
	gone->record[gone->count++] = record_of(e);
	return true;
}

bool later_look(unsigned int device)
{
	struct gone gone;
	bool any = false;

	if (!atomic_load_explicit(&count, memory_order_relaxed))
		return false;
	do {
		gone.count = 0;
		pthread_mutex_lock(&lock);
		map_sweep(&kept, drop, &gone);
		more = 0;
		atomic_store_explicit(&count, kept.count, memory_order_relaxed);
		pthread_mutex_unlock(&lock);
		for (unsigned int i = 0; i < gone.count; i++) {
			give(&gone.record[i]);
			any |= gone.record[i].device == device;
		}
	} while (gone.count == AT_ONCE);
	return any;
}

/* With the lock held. */
static void add_locked(const struct map_entry *e, bool *ret_noted, bool *ret_full)
{
	*ret_noted = map_add(&kept, e);
	*ret_full = ++more > LOOK_AFTER + kept.count / 2;
	atomic_store_explicit(&count, kept.count, memory_order_relaxed);
}

static bool take_locked(uint64_t key, struct record *ret)
{
	struct map_entry e;

	if (!map_remove(&kept, key, &e))
		return false;
	atomic_store_explicit(&count, kept.count, memory_order_relaxed);
	*ret = record_of(&e);
	return true;
}

static bool take(uint64_t key, struct record *ret)
{
	bool was;

	pthread_mutex_lock(&lock);
	was = take_locked(key, ret);
	pthread_mutex_unlock(&lock);
	return was;
}

bool later_note(ze_context_handle_t context, const struct record *r)
{
	struct map_entry e = { .key = r->key,
			       .value = { (uint64_t)(uintptr_t)context, r->units | (uint64_t)r->device << 32,
					  r->extra | (r->flags & RECORD_SHARED ? SHARED : 0) } };
	struct record before;
	bool noted, full, was;

	pthread_mutex_lock(&lock);
	was = take_locked(r->key, &before); /* what was there is gone, or this could not be there */
	add_locked(&e, &noted, &full);
	pthread_mutex_unlock(&lock);
	if (was)
		give(&before);
	if (full)
		later_look(r->device);
	return noted;
}

void later_settle(uint64_t key)
{
	struct map_entry *e;
	struct record r;
	bool gone;

	pthread_mutex_lock(&lock);
	e = map_find(&kept, key);
	gone = e && is_gone((ze_context_handle_t)(uintptr_t)e->value[0], key) && take_locked(key, &r);
	pthread_mutex_unlock(&lock);
	if (gone)
		give(&r);
}

bool later_cancel(uint64_t key)
{
	struct record r;

	return take(key, &r);
}

void later_again(uint64_t key)
{
	struct record r;

	if (atomic_load_explicit(&count, memory_order_relaxed) && take(key, &r))
		give(&r);
}

void later_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	map_clear(&kept);
	atomic_store_explicit(&count, 0, memory_order_relaxed);
}
