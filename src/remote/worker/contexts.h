/*
 * contexts.h: which context is current in the thread that executes, and the streams that stand for the per-thread
 * default stream of the client's threads.
 */
#pragma once

#include "remote/worker/worker.h"

#include <pthread.h>

#define THREAD_STREAMS_MOST 16384u

struct thread_stream;

struct contexts {
	_Atomic uint64_t epoch;		   /* raised when a context ends: what threads remember of theirs is void */
	pthread_mutex_t lock;		   /* guards the rest */
	struct thread_stream *stream[256]; /* by thread and context */
	unsigned int streams;
};

void contexts_init(struct contexts *contexts);
void contexts_deinit(struct contexts *contexts);
/* Makes the request's context current. False: there is none of this id; work->result says so. */
bool contexts_enter(struct work *work);
/* After a call that may have changed the thread's context by itself. */
void contexts_settle(struct work *work);
/* Whether this call may. */
bool contexts_disturbs(uint16_t call);
/* The per-thread default stream of the request's thread. NULL: work->result says why. */
CUstream contexts_thread_stream(struct work *work);
/* What threads remember of theirs is looked up anew. */
void contexts_changed(struct contexts *contexts);
/*
 * Nobody else retains or ends the device's primary context meanwhile. May yield; then the request uses nothing any
 * more, its context neither.
 */
void contexts_primary_lock(struct work *work, int32_t device);
void contexts_primary_unlock(int32_t device);
/* A context has ended, and its streams with it. */
void contexts_gone(struct contexts *contexts, uint64_t id);
/* Makes a context of the driver current in a thread that executes nothing (a helper's). */
CUresult contexts_borrow(const struct cuda_table *driver, CUcontext context);
