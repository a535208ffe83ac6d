/*
 * history_store.h: history.db in the state directory: the journal, and the totals and histories of telemetry.h.
 *
 * It is a convenience: without it, or when it breaks (full disk, damaged file), meted serves on and says so in one
 * event. A damaged file is moved to history.db.bad. It is written by a thread of libuv's pool, from a copy that the
 * loop has made, so that no disk holds the loop up: events every second, the rest every 30 s. What a killed meted had
 * not written yet is lost.
 */
#pragma once

struct daemon;
struct history_store;

/* Opens the file and restores what it has; after the grants and before the journal is added to. */
void history_store_open(struct daemon *daemon);
/* Writes what there is and closes; waits for the disk. */
void history_store_close(struct daemon *daemon);
