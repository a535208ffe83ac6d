/* event.h: events: a point in a stream, and the time at which it was reached. */
#pragma once

#include "softdev/stream.h"

struct event {
	struct handle head;
	struct context *context;
	unsigned flags;
	/* stream_mutex guards the following */
	uint64_t version; /* counts records; 0: never recorded */
	struct point point;
	uint64_t time_ns; /* of the version in time_version */
	uint64_t time_version;
};

CUresult event_find(CUevent h, struct event **ret);
/* The work that records the event has been queued at this point. */
void event_recorded_locked(struct event *e, struct point p, struct work *w);
/* All events of the context. */
void event_free_all(struct context *c);
/* Runs when the stream gets there. */
void event_reached(struct event *e, uint64_t generation, uint64_t version);
