/*
 * objects.h: a tenant's shared objects by their keys. Programs choose the keys and may have any number of objects. The
 * table therefore grows, and its hash has a secret, so that no program can choose keys that collide.
 */
#pragma once

#include <stdint.h>

#include "wire/page.h"

/* An object that several processes of a tenant can hold. */
struct object {
	struct object *next; /* in its bucket */
	uint8_t key[WIRE_KEY_BYTES];
	uint32_t device;
	uint32_t units;
	unsigned int references;
};

/* All zero: empty. */
struct objects {
	struct object **bucket;
	unsigned int buckets, count;
};

/* NULL: there is no such object. */
struct object *objects_find(const struct objects *objects, const uint8_t key[WIRE_KEY_BYTES]);

/* Adds an object without references. NULL: no memory. */
struct object *objects_add(struct objects *objects, const uint8_t key[WIRE_KEY_BYTES], uint32_t device, uint32_t units);

/* Removes and frees it. */
void objects_remove(struct objects *objects, struct object *object);

/* Frees the table; the objects in it are gone. */
void objects_deinit(struct objects *objects);
