/* devices.c: see devices.h. */
#include "beside/devices.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/map.h"
#include "core/ordinals.h"

#include <pthread.h>

static struct ordinals devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards contexts */
static struct map contexts;				 /* by context: the grant's device; the program's own? */
static _Atomic uint32_t forgotten;			 /* how many contexts */

enum { DEVICE, MADE }; /* the values of a context */

static char places[WIRE_MAX_DEVICES]; /* only their addresses count */

void devices_match(void)
{
	int count = 0;

	if (!vendor_count(&count))
		count = 0;
	ordinals_match(&devices, count, vendor_uuid);
	if (count && !devices.seen_count)
		log_line("none of the %d devices of %s is of the grant '%s': the program gets no memory of them", count,
			 VENDOR_NAME, attach_welcome()->grant_name);
}

bool devices_find(int real, unsigned int *ret_device)
{
	return ordinals_find(&devices, real, ret_device);
}

static void note(face_context context, unsigned int device)
{
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)context, .value = { [DEVICE] = device } };
	const struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&contexts, entry.key);
	if (!known || known->value[DEVICE] != device)
		map_add(&contexts, &entry);
	pthread_mutex_unlock(&lock);
}

enum face_place devices_here(face_context *ret_context, unsigned int *ret_device)
{
	static __thread face_context last;
	static __thread unsigned int last_device;
	static __thread uint32_t last_forgotten;
	uint32_t now = atomic_load_explicit(&forgotten, memory_order_relaxed);
	int real;

	if (!vendor_context(ret_context))
		return FACE_NOWHERE;
	if (!vendor_device(&real) || !devices_find(real, ret_device))
		return FACE_ELSEWHERE;
	if (last != *ret_context || last_device != *ret_device || last_forgotten != now)
		note(*ret_context, *ret_device);
	last = *ret_context;
	last_device = *ret_device;
	last_forgotten = now;
	return FACE_GRANTED;
}

bool devices_of(face_context context, unsigned int *ret_device)
{
	const struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&contexts, (uint64_t)(uintptr_t)context);
	if (known)
		*ret_device = (unsigned int)known->value[DEVICE];
	pthread_mutex_unlock(&lock);
	return known;
}

void devices_forget_context(face_context context)
{
	pthread_mutex_lock(&lock);
	map_remove(&contexts, (uint64_t)(uintptr_t)context, NULL);
	atomic_fetch_add_explicit(&forgotten, 1, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
}

void devices_made_context(face_context context, int real)
{
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)context, .value = { [MADE] = true } };
	unsigned int device;

	if (!context || !devices_find(real, &device))
		return;
	entry.value[DEVICE] = device;
	pthread_mutex_lock(&lock);
	map_add(&contexts, &entry);
	pthread_mutex_unlock(&lock);
}

struct wanted {
	unsigned int device;
	bool made;
	uint64_t found;
};

static bool look(const struct map_entry *entry, void *data)
{
	struct wanted *w = data;

	if (entry->value[DEVICE] == w->device && entry->value[MADE] == w->made)
		w->found = entry->key;
	return false;
}

static face_context any_context(unsigned int device, bool made)
{
	struct wanted w = { .device = device, .made = made };

	pthread_mutex_lock(&lock);
	map_sweep(&contexts, look, &w);
	pthread_mutex_unlock(&lock);
	return (face_context)(uintptr_t)w.found;
}

face_context devices_shared_context(unsigned int device)
{
	return any_context(device, false);
}

bool devices_have_made(unsigned int device)
{
	return any_context(device, true);
}

const void *devices_place(unsigned int device)
{
	return &places[device];
}

void devices_forget(void)
{
	pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

	lock = unlocked;
	contexts = (struct map){ 0 };
}
