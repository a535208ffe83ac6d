/*
 * queues.h: what work is given to: command queues and immediate command lists, and where they are at home.
 *
 * A home is a context of Level Zero's with a device: what markers are made of belongs to both. It lives as long as the
 * context. A queue lives until it is destroyed; its memory then serves another, so that nobody reads what is not there.
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
	double tick_ns;	     /* of the device's timestamps */
	uint32_t bits;	     /* that they have */
	_Atomic bool leaves; /* the context is being destroyed: nobody waits for its markers any more */
	struct home *next;
	pthread_mutex_t lock; /* guards what follows */
	struct marker *markers;
};

struct queue {
	struct home *home;
	ze_command_queue_handle_t handle; /* NULL: an immediate list */
	ze_command_list_handle_t list;
	uint32_t ordinal; /* of its group */
	enum wire_engine engine;
	bool waits;	      /* calls return when the work is done */
	pthread_mutex_t lock; /* held for each call of the driver's on it: markers come from threads of ours */
	struct queue *next;   /* of those that serve nobody */
};

/* Of a command queue's handle, or an immediate list's. NULL: not metered, or a list that is recorded. */
struct queue *queues_find(const void *handle);

/* In the child of fork(). */
void queues_forget(void);
