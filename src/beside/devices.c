/* devices.c: see devices.h. */
#include "beside/devices.h"
#include "core/attach.h"
#include "core/log.h"
#include "core/map.h"
#include "core/ordinals.h"

#include <pthread.h>

static struct ordinals devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards contexts */
static struct map contexts;				 /* by context: the grant's device */

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
	struct map_entry entry = { .key = (uint64_t)(uintptr_t)context, .value = { device, 0, 0 } };
	const struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&contexts, entry.key);
	if (!known || known->value[0] != device)
		map_add(&contexts, &entry);
	pthread_mutex_unlock(&lock);
}

enum face_place devices_here(face_context *ret_context, unsigned int *ret_device)
{
	static __thread face_context last;
	static __thread unsigned int last_device;
	int real;

	if (!vendor_context(ret_context))
		return FACE_NOWHERE;
	if (!vendor_device(&real) || !devices_find(real, ret_device))
		return FACE_ELSEWHERE;
	if (last != *ret_context || last_device != *ret_device)
		note(*ret_context, *ret_device);
	last = *ret_context;
	last_device = *ret_device;
	return FACE_GRANTED;
}

bool devices_of(face_context context, unsigned int *ret_device)
{
	const struct map_entry *known;

	pthread_mutex_lock(&lock);
	known = map_find(&contexts, (uint64_t)(uintptr_t)context);
	if (known)
		*ret_device = (unsigned int)known->value[0];
	pthread_mutex_unlock(&lock);
	return known;
}

void devices_forget_context(face_context context)
{
	pthread_mutex_lock(&lock);
	map_remove(&contexts, (uint64_t)(uintptr_t)context, NULL);
	pthread_mutex_unlock(&lock);
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
