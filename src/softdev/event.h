/* event.h: events: a point in a stream, and the time at which it was reached. */
#pragma once

#include "softdev/shared_event.h"
#include "softdev/stream.h"

struct event {
	struct handle head;
	struct context *context;
	unsigned flags;
	struct shared_event *shared; /* with CU_EVENT_INTERPROCESS; owned */
	_Atomic uint32_t shared_version; /* of the latest record made through this handle */
	/* stream_mutex guards the following */
	uint64_t version; /* counts records; 0: never recorded */
	struct point point;
	uint64_t time_ns; /* of the version in time_version */
	uint64_t time_version;
};

/* Creates an event of the context; takes `shared` over on success. */
CUresult event_new(struct context *c, unsigned flags, struct shared_event *shared, struct event **ret);
CUresult event_find(CUevent h, struct event **ret);
/* The work that records the event was queued at this point. */
void event_recorded_locked(struct event *e, struct point p, struct work *w);
/* True if the latest record was made by another process, or through another handle. */
bool event_foreign(const struct event *e, struct shared_record *ret);
/* Frees all events of the context. */
void event_free_all(struct context *c);
/* The stream, or a graph, reached the event at this time. */
void event_reached(struct event *e, uint64_t generation, uint64_t version, uint64_t at_ns);
void event_reached_locked(struct event *e, uint64_t generation, uint64_t version, uint64_t at_ns);
