/*
 * work.h: one operation on a stream or in a graph, as plain data, checked and copied at the call.
 *
 * Streams queue work, graphs keep it, and captures convert one to the other. work_run() executes it, on the thread that
 * runs the stream.
 */
#pragma once

#include "softdev/driver.h"
#include "softdev/pace.h"
#include "softdev/ptx/ptx.h"
#include "softdev/shared_event.h"

struct context;
struct event;
struct function;
struct graph_launch;
struct module;
struct range;
struct stream;

enum work_kind {
	WORK_EMPTY,
	WORK_COPY,
	WORK_FILL,
	WORK_KERNEL,
	WORK_HOST,
	WORK_CALLBACK, /* like WORK_HOST, but called after a fault too */
	WORK_RECORD,
	WORK_WAIT,   /* for an event; in streams it is a dependency and has no other effect */
	WORK_AWAIT,  /* a record of another process */
	WORK_VALUES, /* a batch of waits for and writes of values in memory */
	WORK_GRAPH,
	WORK_ALLOC, /* graph memory */
	WORK_FREE,
};

/* Rows of `width` bytes; depth slices of height rows. Pitches in bytes. */
struct work_copy {
	const char *source;
	char *target;
	size_t width, height, depth;
	size_t source_pitch, source_slice;
	size_t target_pitch, target_slice;
	bool pageable_source, pageable_target; /* the program's own memory, not known to the driver */
	void *staged;			       /* owned: a copy of the source */
};

struct work_fill {
	char *target;
	uint32_t value;
	uint32_t element; /* 1, 2 or 4 */
	size_t width;	  /* in elements */
	size_t height;
	size_t pitch;
};

struct work_kernel {
	struct function *function;
	uint64_t function_generation;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared_bytes;
	bool cooperative;
	void *params; /* packed, owned */
	size_t param_bytes;
};

struct work {
	enum work_kind kind;
	struct context *context;
	union {
		struct work_copy copy;
		struct work_fill fill;
		struct work_kernel kernel;
		struct {
			CUhostFn f;
			void *data;
		} host;
		struct {
			CUstreamCallback f;
			CUstream stream;
			void *data;
		} callback;
		struct {
			struct event *event;
			uint64_t event_generation;
			uint64_t version;	     /* of the event, by record */
			struct shared_event *shared; /* owned; of an event that other processes see, or NULL */
			uint32_t shared_version;
		} record;
		struct {
			struct shared_event *shared; /* owned */
			struct shared_record record;
		} await;
		struct {
			CUstreamBatchMemOpParams *op; /* owned */
			uint32_t count;
		} values;
		struct {
			struct graph_launch *launch; /* owned */
		} graph;
		struct {
			CUdeviceptr address;
			size_t bytes;
		} memory;
	};
};

/* Executes a kernel that follows `after`, or NULL. k->end_ns is set if it has ended; otherwise k is on the timeline. */
void work_kernel_run(struct work *w, struct pace_kernel *k, struct pace_kernel *after);
/* The event is reached at this time. */
void work_record(struct work *w, uint64_t at_ns);
/*
 * Executes it completely. Called by the stream on which it is queued, in order, without a lock held. Value: its end, by
 * the device's clock; 0: now.
 */
uint64_t work_run(struct work *w, struct stream *s);
/*
 * Executes a batch of waits and writes from operation *at on, as far as possible without waiting. Value: true if all is
 * done, or the context has faulted.
 */
bool work_values_try(const struct work *w, uint32_t *at);
/* Frees what it owns; the caller owns the struct itself. */
void work_deinit(struct work *w);
/* A copy that owns its own. Value: false without memory. */
bool work_clone(const struct work *w, struct work *ret);
