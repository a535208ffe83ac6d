/*
 * history_file.h: history.db, as its writer (history.c) and its reader (history_restore.c) see it.
 *
 * A key is the id of a grant (0: a device) and a uuid. For what passes through workers it is the id alone, 0 for the
 * node. Numbers are little-endian. A meted that does not know the length of a key leaves its rows alone.
 */
#pragma once

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "daemon/journal.h"

#include <sqlite3.h>

#define KEY_BYTES (8u + DEVICE_UUID_BYTES)
#define FLOW_KEY_BYTES 8u
#define TOTALS_OLD_BYTES (8u * 2 * METER_TIMES + 8u * REFUSALS) /* without the traffic through workers */
#define TOTALS_BYTES (TOTALS_OLD_BYTES + 8u * TRAFFIC_WAYS * WORKER_COUNTS)

struct history_store {
	struct daemon *daemon;
	sqlite3 *db; /* belongs to the job while one runs */
	struct timer *tick;
	uv_work_t work;
	bool working, failed;
	bool shifted; /* the histories in the file are invalid */
	unsigned int ticks;
	/* The job. */
	struct row *rows;
	struct journal_line *lines;
	unsigned int line_count;
	uint64_t last_line;
	uint64_t kept[JOURNAL_LINES]; /* the ids of all current lines, ascending: other rows are deleted */
	unsigned int kept_count;
	bool prune, clear;
	int64_t step_s; /* the job contains the histories up to this second (telemetry.h); 0: it contains none */
	int64_t now_s;
	char error[256];
};

static inline void cleanup_statement(sqlite3_stmt **s)
{
	sqlite3_finalize(*s);
}

#define _cleanup_statement_ _cleanup_(cleanup_statement)

/* Restores what the file has for existing grants and devices; rows of ended grants are deleted. */
void history_restore(struct history_store *s);
