/* tenants.c: see tenants.h. */
#include "guard/tenants.h"

#include "rm/interface.h"

#include <stdlib.h>

#define DEPTH 16 /* of objects below each other */

struct tenant_account *tenant_account_new(uint64_t quota)
{
	struct tenant_account *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->quota = quota;
	a->free_object = a->free_memory = 1;
	for (uint32_t i = 1; i < TENANT_OBJECTS_MOST; i++)
		a->object[i].next = a->memory[i].next = i + 1;
	return a;
}

void tenant_account_free(struct tenant_account *a)
{
	free(a);
}

bool tenant_charge(struct tenant_account *a, uint64_t bytes)
{
	if (a->used > a->quota || bytes > a->quota - a->used)
		return false;
	a->used += bytes;
	if (a->used > a->peak)
		a->peak = a->used;
	return true;
}

void tenant_refund(struct tenant_account *a, uint64_t bytes)
{
	a->used -= bytes;
}

void tenant_settle(struct tenant_account *a, uint64_t charged, uint64_t taken)
{
	a->used = a->used - charged + taken;
	if (a->used > a->peak)
		a->peak = a->used;
}

static uint32_t *bucket_of(struct tenant_account *a, uint32_t client, uint32_t handle)
{
	return &a->bucket[(client * 2654435761u ^ handle * 40503u) >> 4 & (TENANT_BUCKETS_MOST - 1)];
}

static uint32_t *link_find(struct tenant_account *a, uint32_t client, uint32_t handle)
{
	uint32_t *at = bucket_of(a, client, handle);

	while (*at && (a->object[*at].client != client || a->object[*at].handle != handle))
		at = &a->object[*at].next;
	return at;
}

const struct tenant_object *tenant_find(const struct tenant_account *a, uint32_t client, uint32_t handle)
{
	uint32_t i = *link_find((struct tenant_account *)a, client, handle);

	return i ? &a->object[i] : NULL;
}

bool tenant_room(const struct tenant_account *a)
{
	return a->free_object && a->free_memory;
}

static void memory_unref(struct tenant_account *a, uint32_t number)
{
	struct tenant_memory *m = &a->memory[number];

	if (!number || --m->references)
		return;
	tenant_refund(a, m->bytes);
	m->next = a->free_memory;
	a->free_memory = number;
}

static void unlink_at(struct tenant_account *a, uint32_t *at)
{
	uint32_t i = *at;
	struct tenant_object *o = &a->object[i];

	*at = o->next;
	a->objects--;
	a->groups -= o->class == RM_CLASS_GROUP;
	memory_unref(a, o->memory);
	*o = (struct tenant_object){ .next = a->free_object };
	a->free_object = i;
}

static void put(struct tenant_account *a, struct tenant_object with)
{
	uint32_t *at = link_find(a, with.client, with.handle), i;

	if (*at)
		unlink_at(a, at);
	i = a->free_object;
	if (!i) {
		/* The charge stays for ever: a tenant is refused before this (tenant_room). */
		return;
	}
	a->free_object = a->object[i].next;
	at = bucket_of(a, with.client, with.handle);
	with.next = *at;
	a->object[i] = with;
	*at = i;
	a->objects++;
	a->groups += with.class == RM_CLASS_GROUP;
}

void tenant_put(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint32_t class)
{
	put(a, (struct tenant_object){ .client = client, .handle = handle, .parent = parent, .class = class });
}

void tenant_put_memory(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint64_t bytes)
{
	uint32_t number = a->free_memory;

	if (!number)
		return;
	a->free_memory = a->memory[number].next;
	a->memory[number] = (struct tenant_memory){ .bytes = bytes, .references = 1 };
	if (parent != client && !tenant_find(a, client, parent))
		tenant_put(a, client, client, parent, 0);
	put(a,
	    (struct tenant_object){
		    .client = client, .handle = handle, .parent = parent, .class = RM_CLASS_MEMORY, .memory = number });
}

void tenant_put_name(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle,
		     const struct tenant_object *source)
{
	uint32_t memory = source->memory, class = source->class;

	if (memory)
		a->memory[memory].references++;
	put(a, (struct tenant_object){
		       .client = client, .handle = handle, .parent = parent, .class = class, .memory = memory });
}

static bool is_below(struct tenant_account *a, const struct tenant_object *o, uint32_t handle)
{
	for (int depth = 0; o && depth < DEPTH; depth++) {
		if (o->handle == handle || o->parent == handle)
			return true;
		if (o->parent == o->handle)
			return false;
		o = tenant_find(a, o->client, o->parent);
	}
	return false;
}

/* Those that go are marked first: while they are found through each other, none may be missing. */
static void free_tree(struct tenant_account *a, uint32_t client, uint32_t handle)
{
	static _Thread_local uint8_t goes[TENANT_OBJECTS_MOST + 1];

	for (uint32_t i = 1; i <= TENANT_OBJECTS_MOST; i++) {
		const struct tenant_object *o = &a->object[i];

		goes[i] = o->handle && o->client == client && (handle == client || is_below(a, o, handle));
	}
	for (uint32_t i = 1; i <= TENANT_OBJECTS_MOST; i++)
		if (goes[i])
			unlink_at(a, link_find(a, client, a->object[i].handle));
}

void tenant_free_object(struct tenant_account *a, uint32_t client, uint32_t handle)
{
	uint32_t *at = link_find(a, client, handle);

	if (!*at && handle != client)
		return;
	/* Memory and groups of channels have nothing below them that is counted. */
	if (*at && (a->object[*at].memory || a->object[*at].class == RM_CLASS_GROUP))
		unlink_at(a, at);
	else
		free_tree(a, client, handle);
}
