/*
 * history.h: history.db in the state directory: the journal, and the totals and histories of telemetry.h.
 *
 * It is a convenience. Without it, or when it fails (full disk, damaged file), meted continues to serve and reports
 * one event. A damaged file is moved to history.db.bad. A thread of libuv's pool writes from a copy that the loop has
 * made, so that no disk delays the loop. Events, and totals of tenants with remote traffic, are written every second,
 * the rest every 30 s. What a killed meted had not written is lost. A meted that stops or is replaced writes
 * everything, including the finest resolution.
 */
#pragma once

#include <stdbool.h>

struct daemon;
struct history_store;

/* Opens the file and restores its contents: after the grants, and before the journal is added to. */
void history_store_open(struct daemon *daemon);
/* Histories were moved to other times: those in the file are invalid, and all are written anew. */
void history_store_shifted(struct daemon *daemon);
/* True while the other thread writes. */
bool history_store_busy(const struct daemon *daemon);
/* Writes everything, unless the other thread is writing; waits for the disk. */
void history_store_flush(struct daemon *daemon);
/* The same, and closes. */
void history_store_close(struct daemon *daemon);
