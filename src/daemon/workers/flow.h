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

/* As the workers see it: received is what clients have sent. */
enum flow_figure { FLOW_RECEIVED, FLOW_SENT, FLOWS };

struct flow {
	struct history *history; /* NULL: nothing ever went through, or no memory */
	bool known;		 /* what was drawn is what the totals were a second ago */
	uint64_t drawn[FLOWS];	 /* the totals when the history was last written */
};

/* The bytes that went through a tenant's workers, whichever way. */
void flow_total(const struct telemetry *telemetry, uint64_t ret[FLOWS]);

/* The history, made if there is none; NULL: no memory. */
struct history *flow_open(struct flow *flow);
void flow_deinit(struct flow *flow);

/* Writes down how fast the totals have grown in the last `since_ns`, for the seconds from one to the other. */
void flow_draw(struct flow *flow, const uint64_t total[FLOWS], int64_t from_s, int64_t to_s, uint64_t since_ns);
