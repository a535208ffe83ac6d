/*
 * queues.h: command queues and immediate command lists, to which work is submitted, and their homes.
 *
 * A home is a pair of a Level Zero context and a device: the objects of a marker belong to both. It exists as long as
 * the context. A queue exists until it is destroyed. Its memory is then reused for another queue and never freed, so
 * that a late reader finds valid memory.
 */
#pragma once

#include "core/face.h"
#include "levelzero/start.h"
#include "wire/turn.h"

#include <pthread.h>

struct marker;

struct home {
	ze_context_handle_t context;
	ze_device_handle_t device;
	unsigned int index;  /* in the grant */
	double tick_ns;	     /* length of a tick of the device's timestamps */
	uint32_t bits;	     /* width of the timestamps */
	_Atomic bool leaves; /* the context is being destroyed: no thread may wait for its markers any more */
	struct home *next;
	pthread_mutex_t lock; /* guards the members below */
	struct marker *markers;
};

struct queue {
	struct home *home;
	ze_command_queue_handle_t handle; /* NULL: an immediate list */
	ze_command_list_handle_t list;
	uint32_t ordinal; /* of its queue group */
	enum wire_engine engine;
	bool waits;	      /* synchronous: calls return when the work is done */
	pthread_mutex_t lock; /* held for each driver's call on it, because mete's threads submit markers */
	struct queue *next;   /* in the list of unused entries */
};

/* Finds the queue of a handle of a command queue or immediate list. NULL: not metered, or a recorded list. */
struct queue *queues_find(const void *handle);

/* In the child of fork(). */
void queues_forget(void);
