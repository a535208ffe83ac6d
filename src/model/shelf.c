/* shelf.c: see shelf.h. */
#include "model/shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shelf_owner *shelf_owner(const struct shelf *s, const char *name)
{
	struct shelf_owner *o = s->owners;

	while (o && strcmp(o->name, name))
		o = o->next;
	return o;
}

struct shelf_image *shelf_find(const struct shelf_owner *o, const uint8_t hash[SHELF_HASH_BYTES])
{
	struct shelf_image *i = o ? o->images : NULL;

	while (i && memcmp(i->hash, hash, SHELF_HASH_BYTES))
		i = i->next;
	return i;
}

bool shelf_wants(const struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes)
{
	return bytes && bytes <= s->most_bytes / 2 && !shelf_find(shelf_owner(s, name), hash);
}

static struct shelf_image *oldest(const struct shelf_owner *o)
{
	struct shelf_image *old = o ? o->images : NULL;

	for (struct shelf_image *i = old; i; i = i->next)
		if (i->used_ns < old->used_ns)
			old = i;
	return old;
}

/* Who keeps most, with what is to come; of equals whoever is met first. By bytes, or by number. */
static const struct shelf_owner *largest(const struct shelf *s, const char *name, uint64_t more_bytes, bool by_bytes)
{
	const struct shelf_owner *most = NULL;
	uint64_t most_has = 0;

	for (const struct shelf_owner *o = s->owners; o; o = o->next) {
		bool own = name && !strcmp(o->name, name);
		uint64_t has = by_bytes ? o->bytes + (own ? more_bytes : 0) : o->count + own;

		if (!most || has > most_has) {
			most = o;
			most_has = has;
		}
	}
	return most;
}

struct shelf_image *shelf_victim(const struct shelf *s, const char *name, uint64_t bytes)
{
	const struct shelf_owner *own = shelf_owner(s, name);

	if (own && own->count >= SHELF_OWNER_IMAGES)
		return oldest(own);
	if (s->count >= SHELF_IMAGES)
		return oldest(largest(s, name, 0, false));
	if (s->bytes > s->most_bytes || bytes > s->most_bytes - s->bytes)
		return oldest(largest(s, name, bytes, true));
	return NULL;
}

struct shelf_image *shelf_excess(const struct shelf *s)
{
	return s->bytes > s->most_bytes ? oldest(largest(s, NULL, 0, true)) : NULL;
}

struct shelf_image *shelf_stale(const struct shelf *s, uint64_t before_ns)
{
	for (const struct shelf_owner *o = s->owners; o; o = o->next) {
		struct shelf_image *i = oldest(o);

		if (i && i->used_ns < before_ns)
			return i;
	}
	return NULL;
}

static struct shelf_owner *owner_new(struct shelf *s, const char *name)
{
	struct shelf_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	snprintf(o->name, sizeof(o->name), "%s", name);
	o->next = s->owners;
	s->owners = o;
	return o;
}

static void owner_remove(struct shelf *s, struct shelf_owner *owner)
{
	struct shelf_owner **at = &s->owners;

	while (*at != owner)
		at = &(*at)->next;
	*at = owner->next;
	free(owner);
}

struct shelf_image *shelf_add(struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes,
			      uint64_t now_ns, int item)
{
	struct shelf_image *i = calloc(1, sizeof(*i));
	struct shelf_owner *o = i ? shelf_owner(s, name) : NULL;

	if (i && !o)
		o = owner_new(s, name);
	if (!o) {
		free(i);
		return NULL;
	}
	*i = (struct shelf_image){ .next = o->images, .owner = o, .bytes = bytes, .used_ns = now_ns, .item = item };
	memcpy(i->hash, hash, SHELF_HASH_BYTES);
	o->images = i;
	o->count++;
	o->bytes += bytes;
	s->count++;
	s->bytes += bytes;
	return i;
}

void shelf_use(struct shelf_image *image, uint64_t now_ns)
{
	image->used_ns = now_ns;
	image->owner->hits++;
	image->owner->saved_bytes += image->bytes;
}

void shelf_remove(struct shelf *s, struct shelf_image *image)
{
	struct shelf_owner *o = image->owner;
	struct shelf_image **at = &o->images;

	while (*at != image)
		at = &(*at)->next;
	*at = image->next;
	o->count--;
	o->bytes -= image->bytes;
	s->count--;
	s->bytes -= image->bytes;
	free(image);
	if (!o->count)
		owner_remove(s, o);
}
