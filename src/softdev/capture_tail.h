/*
 * capture_tail.h: the state of captures, only for capture*.c: each stream in capture, and each event recorded in one,
 * has a tail: the nodes on which its next operation depends.
 *
 * captures.lock must be held for all of this.
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
	bool given; /* the program has the graph */
};

/* The position of a stream or an event in a capture. */
struct capture_tail {
	struct capture_tail *next;
	struct capture *capture;
	void *owner; /* stream or event */
	uint64_t generation;
	struct node **node;
	CUgraphEdgeData *data; /* of the coming edges; as many as nodes */
	size_t count;
};

extern struct captures {
	pthread_mutex_t lock;
	struct capture_tail *tails;
	struct capture *list;
	uint64_t next_id;
	_Atomic uint32_t active; /* number of captures; also read without the lock */
} captures;

/* NULL: not in a capture. */
struct capture_tail *capture_tail_find_locked(const struct handle *owner);
struct capture_tail *capture_tail_new_locked(struct capture *c, struct handle *owner);
void capture_tail_free(struct capture_tail *t);
/* Removes the tails of a capture that is over. */
void capture_tails_drop_locked(const struct capture *c);

/* The next operation also depends on this node; on all of the other tail; only on this node. False: no memory. */
bool capture_tail_add(struct capture_tail *t, struct node *n, const CUgraphEdgeData *data);
bool capture_tail_join(struct capture_tail *t, const struct capture_tail *other);
bool capture_tail_set(struct capture_tail *t, struct node *n);
struct needs capture_tail_needs(const struct capture_tail *t);

/* The tail of a stream in a capture that is still valid. */
CUresult capture_tail_recording_locked(struct stream *s, struct capture_tail **ret);
/* True if it is the tail of a stream of this context. `blocking`: of one for which the default stream waits. */
bool capture_tail_in_context(const struct capture_tail *t, const struct context *c, bool blocking);

/* Ends the capture; its streams and events are free. */
void capture_end_locked(struct capture *c);
/* Invalidates the capture. Value: e. */
CUresult capture_spoil_locked(struct capture *c, CUresult e);
