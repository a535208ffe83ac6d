/*
 * stream.h: streams: queues of work that run asynchronously and in order.
 *
 * A stream with work is run by one thread at a time: a worker of the driver, or a program's thread that waits for it
 * anyway. What has been executed may have to wait for its end on the device's timeline: see tail.h. An operation may
 * depend on points of other streams; a point is (stream, generation, sequence number), reached when that many
 * operations of the stream have finished. A stream whose first operation depends on a point not yet reached is parked
 * and costs no thread.
 *
 * Among streams that are ready the ones with the greater priority (the lesser number) go first; what runs is not
 * interrupted.
 *
 * The legacy default stream depends on everything that was submitted to the context's blocking streams before, and they
 * on it. CU_STREAM_NON_BLOCKING takes no part in that. Each thread has its own default stream per context, which is a
 * blocking one.
 */
#pragma once

#include "softdev/context.h"
#include "softdev/flight.h"
#include "softdev/work.h"

#define STREAM_PRIORITY_GREATEST (-5)

/* A point in a stream's life. */
struct point {
	struct stream *stream; /* NULL: reached */
	uint64_t generation;
	uint64_t sequence;
};

enum stream_state { STREAM_IDLE, STREAM_READY, STREAM_PARKED, STREAM_RUNNING };

struct operation {
	struct operation *next;
	struct work work;
	uint32_t point_count;
	struct point *point;	   /* owned */
	uint64_t submitted_ns;	   /* of a record of an event */
	uint64_t marked_ns;	   /* of a record right before work: when the stream came to it; else 0 */
	uint64_t ready_ns;	   /* when the last of its points was reached, on the timeline */
	uint32_t holds;		   /* see tail_hold() */
	bool left;		   /* it has ended, and is in no stream any more */
	struct pace_kernel *timed; /* what has to end on the timeline: its own or the last in flight; NULL: nothing */
	uint64_t timed_ns;	   /* how long all that takes */
	struct flight flight;	   /* of a graph */
	struct pace_kernel pace;   /* end_ns for every kind that does something */
};

struct stream {
	struct handle head;
	struct context *context;
	unsigned flags;
	int priority;
	uint64_t id;
	bool legacy;
	bool per_thread;
	/* stream_mutex (stream.c) guards the following */
	enum stream_state state;
	bool dying;			       /* destroyed by the program, runs to its end */
	bool minded;			       /* a thread ensures that ended operations leave the tail */
	struct operation *first, *todo, *last; /* see tail.h */
	uint64_t submitted, executed, completed;
	uint32_t tail_timed, tail_shared;
	uint64_t tail_ns;	    /* the duration of the tail */
	uint64_t reached_ns;	    /* when the last ended operation ended */
	struct stream *next_minded; /* in the list of those that nobody minds yet */
	struct stream *next_ready;  /* in the list of ready or of parked streams */
	struct stream *next;	    /* in the context's list */
	CUsynchronizationPolicy sync_policy;
	/* as the program set them; nothing follows from them */
	CUaccessPolicyWindow window;
	CUlaunchMemSyncDomain domain;
	CUlaunchMemSyncDomainMap domain_map;
};

extern pthread_mutex_t stream_mutex;

/* Resolves a stream handle for this thread in its current context: NULL, the two special values, or a stream. */
CUresult stream_find(CUstream h, struct stream **ret);
/* A stream of the context. NULL: no memory. */
struct stream *stream_new(struct context *c, unsigned flags, int priority);
/* The program has destroyed it; it is freed when its work is done. */
void stream_retire(struct stream *s);

/*
 * Queues work, or records it if the stream captures. Takes what the work owns, also on failure. `wait`: returns when it
 * is done, with the context's error if there is one; refused during a capture.
 */
CUresult stream_submit(struct stream *s, struct work *w, bool wait);
/* The same with points that must have been reached before; for streams that do not capture. */
CUresult stream_submit_after(struct stream *s, struct work *w, const struct point *point, uint32_t count);
/* Copies of the work on each stream of a context. */
CUresult stream_submit_all(struct context *c, const struct work *w, const struct point *point);
/*
 * A gate: an object with points that is not a stream. The creator of a point increments `submitted` under stream_mutex;
 * a point is reached when stream_gate_reach() says so, at the latest when the gate is freed.
 */
struct stream *stream_gate_new(void);
void stream_gate_reach(struct stream *gate, uint64_t sequence);
void stream_gate_free(struct stream *gate);
/* The work of a batch of waits for and writes of values in memory, checked. */
CUresult stream_values_describe(unsigned count, const CUstreamBatchMemOpParams *op, unsigned flags, struct work *ret);
/* The point after all submitted operations of the stream. */
struct point stream_point(struct stream *s);
bool point_reached_locked(const struct point *p);
bool point_reached(const struct point *p);
/* The same with stream_mutex held; consults the timeline, as point_reached() does. */
bool point_settled_locked(const struct point *p);
/* Waits until the point is reached; runs the stream's work itself if no thread does. */
void point_wait(const struct point *p);
/* What has ended of the context's work counts as ended, though nobody waits for it. */
void stream_settle_context(struct context *c);
/* Waits for all work in the context. Value: the context's error. */
CUresult stream_wait_context(struct context *c);
/* The same without what follows a synchronisation: also for a context that ends. */
CUresult stream_drain_context(struct context *c);
/* Waits for all work on the device, in all contexts. */
void stream_wait_device(struct device *d);
/* Frees all streams of the context; their work has completed. */
void stream_free_all(struct context *c);
