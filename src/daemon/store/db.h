/* db.h: the store's database, for the files that read and write it. */
#pragma once

#include "base/cleanup.h"
#include "daemon/store/store.h"

#include <sqlite3.h>
#include <sys/types.h>

struct store {
	sqlite3 *db;
	char path[GRANT_PATH_BYTES];
	dev_t device;
	ino_t inode; /* of the opened file; 0: the database is in memory */
};

static inline void cleanup_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

#define _cleanup_statement_ _cleanup_(cleanup_statement)

/* Writes the reason and the remedy of the last failure. Value: -errno. */
int store_fail(struct store *store, const char *what, char *error, size_t size);
/* Value: 0 when the statement has completed. */
int store_step_done(sqlite3_stmt *s);
void store_read_text(sqlite3_stmt *s, int column, char *to, size_t size);
