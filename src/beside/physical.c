/* physical.c: see physical.h. */
#include "beside/physical.h"
#include "beside/inside.h"
#include "core/account.h"
#include "core/gate.h"
#include "core/map.h"

#include <pthread.h>

enum { HOLDS, UNITS, DEVICE }; /* the values of a handle */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the maps */
static struct map handles, mappings;			 /* by handle; by address: the handle */

/* The handle's charge is known; or it is the runtime's to free. */
static bool remember(const struct map_entry *entry)
{
	struct map_entry *known;
	bool added;

	pthread_mutex_lock(&lock);
	known = map_find(&handles, entry->key);
	if (known)
		known->value[HOLDS]++;
	added = !known && map_add(&handles, entry);
	pthread_mutex_unlock(&lock);
	return added;
}

bool physical_made(struct making *m, vendor_result r, uint64_t handle)
{
	struct map_entry entry = { .key = handle, .value = { 1, m->charge.units, m->charge.device } };
	bool kept = true;

	if (m->charged) {
		kept = r == VENDOR_SUCCESS && handle && remember(&entry);
		if (kept)
			gate_leave();
		else
			charge_cancel(&m->charge);
		kept = kept || r != VENDOR_SUCCESS;
	}
	memory_left(m);
	return kept;
}

static bool hold(uint64_t handle)
{
	struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&handles, handle);
	if (known)
		known->value[HOLDS]++;
	pthread_mutex_unlock(&lock);
	return known;
}

vendor_result physical_held(vendor_result r, uint64_t handle)
{
	if (r == VENDOR_SUCCESS)
		hold(handle);
	return r;
}

/* One fewer, before the runtime's call: after it another thread may be given the same handle. */
static void let_go(struct letting *l)
{
	struct map_entry *known, gone = { 0 };

	pthread_mutex_lock(&lock);
	known = map_find(&handles, l->handle);
	if (known && !--known->value[HOLDS])
		l->last = map_remove(&handles, l->handle, &gone);
	pthread_mutex_unlock(&lock);
	l->units = gone.value[UNITS];
	l->device = gone.value[DEVICE];
}

static void put_back(const struct letting *l)
{
	struct map_entry entry = { .key = l->handle, .value = { 1, l->units, l->device } };

	if (!l->last) {
		hold(l->handle);
		return;
	}
	pthread_mutex_lock(&lock);
	map_add(&handles, &entry);
	pthread_mutex_unlock(&lock);
}

static void settle(const struct letting *l, bool gone)
{
	if (!gone)
		put_back(l);
	else if (l->last)
		memory_give((unsigned int)l->device, (uint32_t)l->units);
}

static bool enter(struct letting *l)
{
	*l = (struct letting){ 0 };
	l->entered = inside_memory(&l->before);
	return l->entered;
}

static vendor_result leave(struct letting *l, vendor_result r)
{
	if (l->entered)
		inside_end(&l->before);
	return r;
}

void physical_free_begin(struct letting *l, uint64_t handle)
{
	if (!enter(l))
		return;
	l->handle = handle;
	let_go(l);
}

vendor_result physical_free_end(struct letting *l, vendor_result r)
{
	if (l->handle)
		settle(l, r == VENDOR_SUCCESS);
	return leave(l, r);
}

/* The hold comes first: a release by another thread must not be the last one meanwhile. */
void physical_map_begin(struct letting *l, uint64_t at, uint64_t handle)
{
	if (!enter(l))
		return;
	l->at = at;
	l->handle = hold(handle) ? handle : 0;
}

vendor_result physical_map_end(struct letting *l, vendor_result r)
{
	struct map_entry entry = { .key = l->at, .value = { l->handle, 0, 0 } };
	bool kept = r == VENDOR_SUCCESS && l->handle;

	if (kept) {
		pthread_mutex_lock(&lock);
		kept = map_add(&mappings, &entry);
		pthread_mutex_unlock(&lock);
	}
	if (l->handle && !kept) {
		let_go(l);
		settle(l, true);
	}
	return leave(l, r);
}

void physical_unmap_begin(struct letting *l, uint64_t at)
{
	struct map_entry gone = { 0 };

	if (!enter(l))
		return;
	pthread_mutex_lock(&lock);
	map_remove(&mappings, at, &gone);
	pthread_mutex_unlock(&lock);
	l->at = at;
	l->handle = gone.value[0];
	if (l->handle)
		let_go(l);
}

vendor_result physical_unmap_end(struct letting *l, vendor_result r)
{
	struct map_entry entry = { .key = l->at, .value = { l->handle, 0, 0 } };

	if (l->handle && r != VENDOR_SUCCESS) {
		pthread_mutex_lock(&lock);
		map_add(&mappings, &entry);
		pthread_mutex_unlock(&lock);
	}
	if (l->handle)
		settle(l, r == VENDOR_SUCCESS);
	return leave(l, r);
}

void physical_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	handles = mappings = (struct map){ 0 };
}
