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
 * Opens or creates the file and converts an earlier version to the current one (steps.h). Before a conversion, a copy
 * is kept beside the file, unless the predecessor has made one (`copied`). Refuses a damaged file and one of a later
 * version.
 */
int store_open(const char *path, bool copied, struct store **ret, char *error, size_t error_size);
void store_close(struct store *store);
/*
 * Checks whether store_open() would succeed. Creates and changes nothing; another meted may have the file open. Value:
 * as there.
 */
int store_try(const char *path, char *error, size_t error_size);
/* Restores the copy from before a conversion, when a later meted has converted the file and then failed to serve. */
void store_take_back(const char *path);

/*
 * store_snapshot() returns a memory file with the current contents: a descriptor or -errno. store_check() tests such a
 * copy: converts it to this meted's version and reads all of it. Value: 0, or -errno with the line for the user.
 */
int store_snapshot(struct store *store);
int store_check(int snapshot, char *error, size_t error_size);
/* Keeps a copy of the file before a later meted changes it. Value: 0, or -errno with the line for the user. */
int store_keep(struct store *store, char *error, size_t error_size);

int store_add(struct store *store, const struct grant *grant, char *error, size_t error_size);
int store_update(struct store *store, const struct grant *grant, char *error, size_t error_size);
int store_remove(struct store *store, uint64_t id, char *error, size_t error_size);

/* The policy for grants on a device that name none. -1: none was set. */
int store_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES]);
int store_set_policy(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], enum policy policy, char *error,
		     size_t error_size);

/*
 * True if tenants of policy native run without limits on a device even while others are guaranteed a share. Default:
 * false.
 */
bool store_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES]);
int store_set_native(struct store *store, const uint8_t uuid[DEVICE_UUID_BYTES], bool allowed, char *error,
		     size_t error_size);

/* Calls `fn` for every grant. An unreadable grant is an error. */
int store_load(struct store *store, int (*fn)(const struct grant *grant, void *owner), void *owner, char *error,
	       size_t error_size);
