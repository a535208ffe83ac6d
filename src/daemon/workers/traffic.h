/*
 * traffic.h: adds the counts of a worker's traffic (wire/worker.h) to the totals of its tenant.
 *
 * The file of a worker is beside its socket, under the socket's name and TRAFFIC_SUFFIX. It records how much of it is
 * in the totals, so nothing is counted twice, whichever of the two is restarted. What was added since the totals were
 * last saved, within a second, is lost with a killed meted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TRAFFIC_SUFFIX ".traffic"

struct daemon;
struct telemetry;
struct worker;
struct worker_traffic;

/* The path of a worker's client. */
enum traffic_way { TRAFFIC_WALL, TRAFFIC_RELAY, TRAFFIC_WAYS };

/* Creates the file and maps it. Value: the descriptor for the worker, or -errno: it is not counted. */
int traffic_create(struct worker *worker);
/* Maps the file of a worker that another meted has started, if there is one. */
void traffic_find(struct worker *worker);
/* Renames the file after the worker's socket. */
void traffic_rename(struct worker *worker, const char *place);
/* Unmaps; `remove`: deletes the file as well. */
void traffic_end(struct worker *worker, bool remove);

/* Adds new traffic to the tenant's totals. */
void traffic_take(const struct worker *worker, struct telemetry *totals);
/* Value: true if the totals have grown since the last call. */
bool traffic_moved(struct telemetry *totals);
/* "wall" or "relay". */
const char *traffic_way_name(enum traffic_way way);
/* The number of clients of the grant that come this way now. */
unsigned int traffic_sessions(const struct daemon *daemon, uint64_t grant_id, enum traffic_way way);

/* Deletes files of workers that do not exist any more; called when all existing workers have been found. */
void traffic_sweep(struct daemon *daemon);
