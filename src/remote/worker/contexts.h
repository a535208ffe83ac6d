/*
 * contexts.h: the current context of the executing thread, and the streams that replace the per-thread default stream
 * of the client's threads.
 */
#pragma once

#include "remote/worker/worker.h"

#include <pthread.h>

#define THREAD_STREAMS_MOST 16384u

struct thread_stream;

struct contexts {
	_Atomic uint64_t epoch;		   /* raised when a context ends: the state that threads remember is then
					    * void */
	pthread_mutex_t lock;		   /* guards the fields below */
	struct thread_stream *stream[256]; /* by thread and context */
	unsigned int streams;
};

void contexts_init(struct contexts *contexts);
void contexts_deinit(struct contexts *contexts);
/* Makes the request's context current. False: there is no context with this id, and work->result says so. */
bool contexts_enter(struct work *work);
/* Called after a call that may have changed the thread's context. */
void contexts_settle(struct work *work);
/* True if this call may do so. */
bool contexts_disturbs(uint16_t call);
/* The per-thread default stream of the request's thread. NULL: work->result gives the reason. */
CUstream contexts_thread_stream(struct work *work);
/* Voids the state that threads remember of their contexts. */
void contexts_changed(struct contexts *contexts);
/*
 * Locks the device's primary context against other requests that retain or end it. May yield; the request then uses
 * nothing any more, not even its context.
 */
void contexts_primary_lock(struct work *work, int32_t device);
void contexts_primary_unlock(int32_t device);
/* Called when a context has ended, and its streams with it. */
void contexts_gone(struct contexts *contexts, uint64_t id);
/* Makes a context of the driver current in a thread that executes no requests (a helper). */
CUresult contexts_borrow(const struct cuda_table *driver, CUcontext context);
