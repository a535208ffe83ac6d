/*
 * history.h: history.db in the state directory: the journal, and the totals and histories of telemetry.h.
 *
 * It is a convenience: without it, or when it breaks (full disk, damaged file), meted serves on and says so in one
 * event. A damaged file is moved to history.db.bad. It is written by a thread of libuv's pool, from a copy that the
 * loop has made, so that no disk holds the loop up: events, and totals of tenants with remote traffic, every second,
 * the rest every 30 s. What a killed meted had not written yet is lost; one that leaves, or is replaced, writes all of
 * it, the finest resolution too.
 */
#pragma once

#include <stdbool.h>

struct daemon;
struct history_store;

/* Opens the file and restores what it has; after the grants and before the journal is added to. */
void history_store_open(struct daemon *daemon);
/* Histories were moved to other times: what the file has of them is void, and all of them are written anew. */
void history_store_shifted(struct daemon *daemon);
/* The other thread is writing. */
bool history_store_busy(const struct daemon *daemon);
/* Writes what there is, unless the other thread is at it; waits for the disk. */
void history_store_flush(struct daemon *daemon);
/* The same, and closes. */
void history_store_close(struct daemon *daemon);
