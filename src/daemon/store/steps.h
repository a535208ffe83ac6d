/*
 * steps.h: the versions of the store's file, and the step from each version to the next.
 *
 * The version is in the file (PRAGMA user_version). Step n converts version n to version n + 1; a file of an earlier
 * version passes through all later steps in one transaction. A released step is never changed: a change is another
 * step. A later version is refused, because an older meted would lose what it does not know. A copy of the previous
 * file is kept beside it (mete.db.v3), for the way back.
 *
 * Every step has a dump of the version before it in tests/daemon/stores.
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

/* The steps, and their number, which is the version that this meted writes. */
extern const char *const store_steps[];
extern const unsigned int store_step_count;

/* Reads the version. Value: 0, or -1 with the reason at the connection. */
int store_version_of(sqlite3 *db, int *ret_version);

/*
 * Applies all later steps in one transaction. Value: 0, or -1 with the reason at the connection and the transaction
 * still open.
 */
int store_migrate(sqlite3 *db, int version);

/* Value: 0; -EPROTO: the version is later than this meted's, and `error` gives the remedy. */
int store_refuse_later(const char *path, int version, char *error, size_t size);

/* Writes all bytes. Value: 0 or -errno. */
int store_write(int fd, const void *data, size_t bytes);
/* Writes a file and syncs it to the disk; replaces an existing one. Value: 0 or -errno. */
int store_write_file(const char *path, const void *data, size_t bytes);

/*
 * Writes PATH.vVERSION, a copy of the database as it is now. Not for ":memory:". Value: 0, or -errno with the line for
 * the user.
 */
int store_keep_copy(sqlite3 *db, const char *path, int version, char *error, size_t size);
