/* table.c: see table.h. A few dozen objects in a process: a plain array, searched from its start. */
#include "shim/rm/table.h"
#include "rm/interface.h"

#include <string.h>

static struct object objects[TABLE_OBJECTS];
static uint32_t used; /* places below this one have been in use; class 0: a free place */
static bool full;
static uint32_t strange, schedule_bytes;

struct object *table_find(uint32_t client, uint32_t handle)
{
	for (uint32_t i = 0; i < used; i++)
		if (objects[i].class && objects[i].client == client && objects[i].handle == handle)
			return &objects[i];
	return NULL;
}

void table_remove(struct object *o)
{
	memset(o, 0, sizeof *o);
}

static bool belongs(const struct object *o, uint32_t client, uint32_t handle)
{
	for (int depth = 0; o && o->client == client && depth < 8; depth++) {
		if (o->handle == handle || o->parent == handle)
			return true;
		o = table_find(client, o->parent);
	}
	return false;
}

/* A free takes along what was made below. All are found before the first goes, which is the way to the others. */
static void take_free(uint32_t client, uint32_t handle)
{
	bool hit[TABLE_OBJECTS] = { false };

	for (uint32_t i = 0; i < used; i++)
		hit[i] = objects[i].class && objects[i].client == client &&
			 (handle == client || belongs(&objects[i], client, handle));
	for (uint32_t i = 0; i < used; i++)
		if (hit[i])
			table_remove(&objects[i]);
}

static void take_alloc(const struct seen *s)
{
	struct object *o = table_find(s->client, s->object);

	/* The same handle again: the one before is gone, whatever of its end we missed. */
	for (uint32_t i = 0; !o && i < used; i++)
		if (!objects[i].class)
			o = &objects[i];
	if (!o && used < TABLE_OBJECTS)
		o = &objects[used++];
	if (!o) {
		full = true;
		return;
	}
	*o = (struct object){
		.fd = s->fd,
		.client = s->client,
		.parent = s->parent,
		.handle = s->object,
		.class = s->class,
		.engine = s->class == RM_CLASS_GROUP && s->value < TABLE_NONE ? (uint32_t)s->value : TABLE_NONE,
		.fresh = true,
	};
}

bool table_take(const struct seen *s)
{
	struct object *o;

	switch (s->kind) {
	case SEEN_ALLOC:
		take_alloc(s);
		return true;
	case SEEN_FREED:
		take_free(s->client, s->object);
		return true;
	case SEEN_STRANGE:
		strange = (uint32_t)s->value;
		return true;
	default:
		break;
	}
	o = table_find(s->client, s->object);
	if (!o || o->class != RM_CLASS_GROUP)
		return false;
	if (s->kind == SEEN_SLICE) {
		o->program_us = s->value;
		o->ours_us = 0;
	} else if (s->kind == SEEN_BIND) {
		o->engine = (uint32_t)s->value;
	} else {
		schedule_bytes = (uint32_t)s->value;
	}
	return true;
}

bool table_full(void)
{
	return full;
}

uint32_t table_strange(void)
{
	return strange;
}

uint32_t table_schedule_bytes(void)
{
	return schedule_bytes;
}

struct object *table_next(uint32_t class, struct object *after)
{
	for (uint32_t i = after ? (uint32_t)(after - objects) + 1 : 0; i < used; i++)
		if (objects[i].class == class)
			return &objects[i];
	return NULL;
}

struct object *table_channel(const struct object *group, struct object *after)
{
	for (uint32_t i = after ? (uint32_t)(after - objects) + 1 : 0; i < used; i++) {
		struct object *o = &objects[i];

		if (rm_class_is_channel(o->class) && o->client == group->client && o->parent == group->handle)
			return o;
	}
	return NULL;
}

struct object *table_subdevice(const struct object *group)
{
	for (struct object *o = NULL; (o = table_next(RM_CLASS_SUBDEVICE, o));)
		if (o->client == group->client && o->parent == group->parent)
			return o;
	return NULL;
}

void table_reset(void)
{
	memset(objects, 0, sizeof objects);
	used = 0;
	full = false;
	strange = 0;
}
