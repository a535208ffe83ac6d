/*
 * context.h: contexts, primary and created, and the stack of current contexts of each thread.
 *
 * A fault in a kernel leaves its error in `sticky`: from then on every call in the context returns it, until the
 * context is destroyed or, for a primary one, reset. The primary context of a device is one object for the life of the
 * process and is `active` while it is retained.
 */
#pragma once

#include "softdev/driver.h"
#include "softdev/handle.h"

#include <pthread.h>

#define CONTEXT_LIMITS CU_LIMIT_MAX

struct range;
struct stream;

struct context {
	struct handle head;
	struct device *device;
	uint64_t id;
	bool primary;
	_Atomic bool active;
	_Atomic bool closing;	     /* it is ending: no call finds it any more, and its work is waited for */
	_Atomic int sticky;	     /* CUresult, 0 for none */
	_Atomic uint32_t upsets;     /* segment_upsets() when it was opened */
	_Atomic uint32_t pending;    /* number of operations submitted and not finished, over all streams */
	_Atomic uint64_t heap_bytes; /* malloc in kernels, in use */
	atomic_bool bad_free;	     /* a free in a kernel has been reported */
	unsigned api_version;
	/* context_mutex (context.c) guards the following */
	uint32_t retains; /* of a primary context */
	unsigned flags;
	size_t limit[CONTEXT_LIMITS];
	CUfunc_cache cache;
	CUsharedconfig shared_config;
	_Atomic uint32_t peers; /* bit per device ordinal; read without the lock */
	/* the stream lock (stream.c) guards the list of streams */
	struct stream *legacy;	/* the default stream */
	struct stream *streams; /* all of them, the default one included */
	/* the memory lock (memory.c) guards the list of allocations */
	struct range *ranges;
};

/* Creates an inactive context; primary contexts at cuInit, others by cuCtxCreate. NULL: no memory. */
struct context *context_new(struct device *device, bool primary);
/* The thread's current context, if it is usable. Errors: as documented for a call without one, or the sticky error. */
CUresult context_current(struct context **ret);
/* The context that a handle names; NULL is the current one. */
CUresult context_find(CUcontext h, struct context **ret);
/* Records a fault; the first one counts, and is reported as an error of the device. */
void context_fault(struct context *c, CUresult error);
/* Work of the context remains undone because the process exits: a waiting thread gets an error, not success. */
void context_cut(struct context *c);
/* The sticky error, 0 for none; includes one that has just come from outside. */
CUresult context_sticky(struct context *c);
