/*
 * store.h: the grants that outlive meted, and the devices' default policies, in an SQLite file.
 *
 * Only these are stored, and only when they change: accounts are on the pages. Every function is one transaction. When
 * it fails (full disk, damaged file), nothing has changed, `error` is the line for the user, and meted continues to
 * serve what it serves.
 */
#pragma once

#include "model/grant.h"

#include <stdbool.h>
#include <stddef.h>

struct store;

/*
 * Opens or makes the file, and brings one of an earlier version to this one's (steps.h); before that a copy is
 * kept beside it, unless the predecessor has made one (`copied`). Refuses one that is broken or of a later version.
 */
int store_open(const char *path, bool copied, struct store **ret, char *error, size_t error_size);
void store_close(struct store *store);
/* Whether store_open() would do. Nothing is made or changed, and another meted may have it open. Value: as there. */
int store_try(const char *path, char *error, size_t error_size);
/* A later meted has brought the file to its version and then not served: the copy from before is put in its place. */
void store_take_back(const char *path);

/*
 * What the file holds now, in a memory file. Value: its descriptor or -errno. store_check() tries such a copy: brings
 * it to this meted's version and reads all of it. 0 or -errno, with the line for the user.
 */
int store_snapshot(struct store *store);
int store_check(int snapshot, char *error, size_t error_size);
/* Keeps a copy of the file as it is, for a later meted will change it. 0 or -errno, with the line for the user. */
int store_keep(struct store *store, char *error, size_t error_size);

int store_add(struct store *store, const struct grant *grant, char *error, size_t error_size);
int store_update(struct store *store, const struct grant *grant, char *error, size_t error_size);
int store_remove(struct store *store, uint64_t id, char *error, size_t error_size);

/* The policy of grants on a device that name none. -1: none has been set. */
int store_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES]);
int store_set_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], enum policy policy, char *error,
		     size_t error_size);

/* Whether tenants of policy native run unheld on a device although others may want a share. Default: false. */
bool store_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES]);
int store_set_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], bool allowed, char *error,
		     size_t error_size);

/* Calls `fn` for every grant. A grant that cannot be read is an error. */
int store_load(struct store *store, int (*fn)(const struct grant *grant, void *owner), void *owner, char *error,
	       size_t error_size);
