/*
 * shelf.h: the images that are kept for the next programs: whose they are, and which goes when there is no room.
 *
 * Each owner has images of its own: nobody is told of another's, or given one. Where there is no room, the owner that
 * keeps most loses what it has used longest ago, so that nobody's images go because others bring many.
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
	uint64_t used_ns; /* when it was last used */
	int item;	  /* the caller's */
};

struct shelf_owner {
	struct shelf_owner *next;
	char name[SHELF_NAME_BYTES];
	struct shelf_image *images;
	unsigned int count;
	uint64_t bytes;
	uint64_t hits, saved_bytes; /* images that were here when they were wanted */
};

struct shelf {
	struct shelf_owner *owners;
	unsigned int count;
	uint64_t bytes, most_bytes; /* 0: nothing is kept */
};

/* NULL: nothing of this owner's is kept. */
struct shelf_owner *shelf_owner(const struct shelf *s, const char *name);
struct shelf_image *shelf_find(const struct shelf_owner *o, const uint8_t hash[SHELF_HASH_BYTES]);
/* Whether one more image may be kept for this owner: it is not there already, and not too large for the whole. */
bool shelf_wants(const struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes);
/* What has to go before one of this size comes for this owner; NULL: nothing (more). */
struct shelf_image *shelf_victim(const struct shelf *s, const char *name, uint64_t bytes);
/* What is beyond shelf->most_bytes; NULL: nothing (more). */
struct shelf_image *shelf_excess(const struct shelf *s);
/* What was last used before this; NULL: nothing (more). */
struct shelf_image *shelf_stale(const struct shelf *s, uint64_t before_ns);
/* NULL: no memory. */
struct shelf_image *shelf_add(struct shelf *s, const char *name, const uint8_t hash[SHELF_HASH_BYTES], uint64_t bytes,
			      uint64_t now_ns, int item);
/* It was wanted, and was here. */
void shelf_use(struct shelf_image *image, uint64_t now_ns);
/* An owner goes with its last image. */
void shelf_remove(struct shelf *s, struct shelf_image *image);
