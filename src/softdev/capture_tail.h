/*
 * capture_tail.h: what is under way of captures, for capture*.c alone: each stream, and each event that was recorded in
 * one, has a tail: the nodes that its next operation depends on.
 *
 * captures.lock is held around all of this.
 */
#pragma once

#include "softdev/graph.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture {
	struct capture *next;
	struct graph *graph;
	struct stream *origin;
	uint64_t id;
	CUstreamCaptureMode mode;
	pthread_t thread; /* that began it */
	bool spoilt;
	bool given; /* the graph is the program's */
};

/* Where a stream or an event stands in a capture. */
struct capture_tail {
	struct capture_tail *next;
	struct capture *capture;
	void *owner; /* stream or event */
	uint64_t generation;
	struct node **node;
	CUgraphEdgeData *data; /* of the edges to come; as many as nodes */
	size_t count;
};

extern struct captures {
	pthread_mutex_t lock;
	struct capture_tail *tails;
	struct capture *list;
	uint64_t next_id;
	_Atomic uint32_t active; /* how many there are; also read without the lock */
} captures;

/* NULL: it is in no capture. */
struct capture_tail *capture_tail_find_locked(const struct handle *owner);
struct capture_tail *capture_tail_new_locked(struct capture *c, struct handle *owner);
void capture_tail_free(struct capture_tail *t);
/* Those of a capture that is over. */
void capture_tails_drop_locked(const struct capture *c);

/* What comes next depends on this node as well; on all of the other tail; on this node alone. False: no memory. */
bool capture_tail_add(struct capture_tail *t, struct node *n, const CUgraphEdgeData *data);
bool capture_tail_join(struct capture_tail *t, const struct capture_tail *other);
bool capture_tail_set(struct capture_tail *t, struct node *n);
struct needs capture_tail_needs(const struct capture_tail *t);

/* The stream's tail, in a capture that can go on. */
CUresult capture_tail_recording_locked(struct stream *s, struct capture_tail **ret);
/* Is it the tail of a stream of this context? `blocking`: of one that the default stream waits for. */
bool capture_tail_in_context(const struct capture_tail *t, const struct context *c, bool blocking);

/* The capture is over; its streams and events are free. */
void capture_end_locked(struct capture *c);
/* Nothing comes of it any more. Value: e. */
CUresult capture_spoil_locked(struct capture *c, CUresult e);
