/*
 * shelf.h: the images that are kept for later programs: their owners, and which image is removed when there is no room.
 *
 * Each owner has its own images and neither sees nor gets those of others. Where there is no room, the owner that keeps
 * most loses its least recently used image, so that no owner's images are displaced because another one brings many.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHELF_HASH_BYTES 32u
#define SHELF_NAME_BYTES 96u
#define SHELF_IMAGES 512u	  /* of all owners */
#define SHELF_OWNER_IMAGES 64u /* of one */

struct shelf_image {
	struct shelf_image *next;
	struct shelf_owner *owner;
	uint8_t hash[SHELF_HASH_BYTES];
	uint64_t bytes;
	uint64_t used_ns; /* time of its last use */
	int item;	  /* the caller's */
};

struct shelf_owner {
	struct shelf_owner *next;
	char name[SHELF_NAME_BYTES];
	struct shelf_image *images;
	unsigned int count;
	uint64_t bytes;
	uint64_t hits, saved_bytes; /* uses of kept images */
};

struct shelf {
	struct shelf_owner *owners;
	unsigned int count;
	uint64_t bytes, most_bytes; /* 0: no image is kept */
};

/* Returns the owner; NULL: none of its images is kept. */
struct shelf_owner *shelf_owner(const struct shelf *s, const char *name);
struct shelf_image *shelf_find(const struct shelf_owner *o, const uint8_t hash[SHELF_HASH_BYTES]);
/* True if an image may be kept for this owner: it is not kept yet, and not larger than the whole. */
bool shelf_wants(const struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes);
/* Returns an image to remove before one of this size is added for this owner; NULL: none (any more). */
struct shelf_image *shelf_victim(const struct shelf *s, const char *name, uint64_t bytes);
/* Returns an image to remove because of shelf->most_bytes; NULL: none (any more). */
struct shelf_image *shelf_excess(const struct shelf *s);
/* Returns an image last used before this time; NULL: none (any more). */
struct shelf_image *shelf_stale(const struct shelf *s, uint64_t before_ns);
/* Adds an image. NULL: no memory. */
struct shelf_image *shelf_add(struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes,
			      uint64_t now_ns, int item);
/* Notes a use. */
void shelf_use(struct shelf_image *image, uint64_t now_ns);
/* Removes an image, and its owner with the last one. */
void shelf_remove(struct shelf *s, struct shelf_image *image);
