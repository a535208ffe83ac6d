/*
 * flow.h: the rate of data through workers, in bytes per second, of a tenant and of the node, over the last day.
 *
 * A tenant whose programs never used a worker has no such history, and costs nothing. The first second of a tenant
 * that a restarted meted finds is left out: the traffic during the restart would look like a burst.
 */
#pragma once

#include "model/history.h"

#include <stdbool.h>
#include <stdint.h>

struct telemetry;

/* From the side of the workers: received is what clients have sent. */
enum flow_figure { FLOW_RECEIVED, FLOW_SENT, FLOWS };

struct flow {
	struct history *history; /* NULL: there was no traffic yet, or no memory */
	bool known;		 /* `drawn` has the totals of a second ago */
	uint64_t drawn[FLOWS];	 /* the totals when the history was last written */
};

/* The bytes through a tenant's workers, in all ways (wall and relay). */
void flow_total(const struct telemetry *telemetry, uint64_t ret[FLOWS]);

/* The history, created if there is none; NULL: no memory. */
struct history *flow_open(struct flow *flow);
void flow_deinit(struct flow *flow);

/* Records the rate at which the totals have grown in the last `since_ns`, for the seconds from_s to to_s. */
void flow_draw(struct flow *flow, const uint64_t total[FLOWS], int64_t from_s, int64_t to_s, uint64_t since_ns);
