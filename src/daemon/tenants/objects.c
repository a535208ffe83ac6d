/* objects.c: see objects.h. */
#include "daemon/tenants/objects.h"

#include "base/clock.h"
#include "base/keyed_hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>

#define FIRST_BUCKETS 64u
#define MOST_BUCKETS 65536u
#define GROWTH 4u

_Static_assert(KEYED_HASH_BYTES == WIRE_KEY_BYTES, "keys are what is hashed");

/* One for all tables of the process. */
static const struct keyed_hash_secret *secret(void)
{
	static struct keyed_hash_secret s;
	static bool made;

	if (made)
		return &s;
	made = true;
	if (getrandom(&s, sizeof(s), 0) != (ssize_t)sizeof(s))
		for (unsigned int i = 0; i < sizeof(s.word) / sizeof(*s.word); i++)
			s.word[i] = (clock_now_ns() + i) * UINT64_C(0x9e3779b97f4a7c15);
	return &s;
}

static struct object **bucket_of(const struct objects *objects, const uint8_t key[WIRE_KEY_BYTES])
{
	return &objects->bucket[keyed_hash(secret(), key) % objects->buckets];
}

static bool make_buckets(struct objects *objects, unsigned int buckets)
{
	struct objects old = *objects;
	struct object **bucket = calloc(buckets, sizeof(*bucket)), *next;

	if (!bucket)
		return false;
	objects->bucket = bucket;
	objects->buckets = buckets;
	for (unsigned int i = 0; i < old.buckets; i++)
		for (struct object *o = old.bucket[i]; o; o = next) {
			bucket = bucket_of(objects, o->key);
			next = o->next;
			o->next = *bucket;
			*bucket = o;
		}
	free(old.bucket);
	return true;
}

/* Without memory for a larger table the old one goes on. */
static bool has_buckets(struct objects *objects)
{
	if (!objects->buckets)
		return make_buckets(objects, FIRST_BUCKETS);
	if (objects->count >= 2 * objects->buckets && objects->buckets < MOST_BUCKETS)
		make_buckets(objects, objects->buckets * GROWTH);
	return true;
}

struct object *objects_find(const struct objects *objects, const uint8_t key[WIRE_KEY_BYTES])
{
	struct object *o = objects->buckets ? *bucket_of(objects, key) : NULL;

	while (o && memcmp(o->key, key, WIRE_KEY_BYTES))
		o = o->next;
	return o;
}

struct object *objects_add(struct objects *objects, const uint8_t key[WIRE_KEY_BYTES], uint32_t device, uint32_t units)
{
	struct object *o = has_buckets(objects) ? calloc(1, sizeof(*o)) : NULL, **bucket;

	if (!o)
		return NULL;
	bucket = bucket_of(objects, key);
	memcpy(o->key, key, WIRE_KEY_BYTES);
	o->device = device;
	o->units = units;
	o->next = *bucket;
	*bucket = o;
	objects->count++;
	return o;
}

void objects_remove(struct objects *objects, struct object *object)
{
	struct object **at = bucket_of(objects, object->key);

	while (*at != object)
		at = &(*at)->next;
	*at = object->next;
	objects->count--;
	free(object);
}

void objects_deinit(struct objects *objects)
{
	free(objects->bucket);
	*objects = (struct objects){ 0 };
}
