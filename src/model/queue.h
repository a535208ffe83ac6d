/*
 * queue.h: the requests that wait for room on devices, and which later requests they hold back.
 *
 * Requests wait in the order of their arrival. A request that waits for room on a device holds back all later requests
 * for that device, also those that would fit; otherwise a large request would wait forever. A request that waits for
 * something else, such as its user's limit or a device out of service, holds back none. A waiting client repeats its
 * request; one that has not done so for QUEUE_PATIENCE_NS has lost its place. Requests of other users are held back for
 * a limited time only, because a request may ask for room that will never be free.
 *
 * Pure: the caller supplies time and requests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_MOST 256u
#define QUEUE_PATIENCE_NS UINT64_C(10000000000)
#define QUEUE_HOLD_NS UINT64_C(600000000000) /* how long a request holds back those of other users */

enum queue_hold {
	QUEUE_ROOM, /* memory or time of its devices */
	QUEUE_OTHER,
};

struct queue_entry {
	const void *who;  /* the client; it has at most one place */
	uint64_t devices; /* bit i: it waits for device i of the machine */
	uint64_t since_ns, seen_ns;
	enum queue_hold hold;
	uint64_t user; /* whose request it is */
};

struct queue {
	struct queue_entry entry[QUEUE_MOST]; /* in the order of arrival */
	unsigned int count;
};

/* Returns how many requests wait before `who`, or before a new one, for one of these devices. */
unsigned int queue_before(const struct queue *q, const void *who, uint64_t devices);

/*
 * Returns how many of these hold back a request of `user`: all of the user's own, and those of others that have waited
 * for less than hold_ns; 0: none of those.
 */
unsigned int queue_holding(const struct queue *q, const void *who, uint64_t user, uint64_t devices, uint64_t now_ns,
			   uint64_t hold_ns);

/*
 * Adds or refreshes the request of `who` for these devices. Returns its place among those that wait for one of them,
 * from 1 on; 0: the queue is full.
 */
unsigned int queue_wait(struct queue *q, const void *who, uint64_t user, uint64_t devices, enum queue_hold hold,
			uint64_t now_ns);

/* Inserts an entry of another queue by the time since which it has waited. False: the queue is full. */
bool queue_put(struct queue *q, const struct queue_entry *entry);

/* Removes the request of `who`. */
void queue_leave(struct queue *q, const void *who);

/* Removes requests that were not repeated for too long. */
void queue_sweep(struct queue *q, uint64_t now_ns);

const struct queue_entry *queue_find(const struct queue *q, const void *who);
