/*
 * queue.h: who waits for room on devices, and who must stand back for them.
 *
 * Those who wait stand in the order in which they came. Somebody who waits for room on a device holds up everybody who
 * comes later and wants that device, also who would fit: otherwise whoever asks for much would wait for ever. Somebody
 * who waits for something else, a ceiling of his own or a device that is out of service, holds up nobody. Each asks
 * again and again; who has not for QUEUE_PATIENCE_NS, because it is stopped or gone, has lost its place. Other users
 * are held up for a time only: what is asked for may never be free, and who asks may know that.
 *
 * Pure; time and askers come from outside.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define QUEUE_MOST 256u
#define QUEUE_PATIENCE_NS UINT64_C(10000000000)
#define QUEUE_HOLD_NS UINT64_C(600000000000) /* for which a request holds up those of other users */

enum queue_hold {
	QUEUE_ROOM, /* memory or time of its devices */
	QUEUE_OTHER,
};

struct queue_entry {
	const void *who;  /* the asker; a place is one asker's */
	uint64_t devices; /* bit i: device i of the machine, for which it waits */
	uint64_t since_ns, seen_ns;
	enum queue_hold hold;
	uint64_t user; /* whose request it is */
};

struct queue {
	struct queue_entry entry[QUEUE_MOST]; /* in the order in which they came */
	unsigned int count;
};

/* How many stand before `who`, or before somebody new, for one of these devices. */
unsigned int queue_before(const struct queue *q, const void *who, uint64_t devices);

/*
 * How many of these hold up a request of `user`: all of the user's own, and those of others that have waited for less
 * than hold_ns; 0: none of those.
 */
unsigned int queue_holding(const struct queue *q, const void *who, uint64_t user, uint64_t devices, uint64_t now_ns,
			   uint64_t hold_ns);

/*
 * `who` waits, or still waits, for these devices. Value: its place among those who wait for one of them, from 1 on; 0:
 * the queue is full.
 */
unsigned int queue_wait(struct queue *q, const void *who, uint64_t user, uint64_t devices, enum queue_hold hold,
			uint64_t now_ns);

/* Puts one in by the time since when it has waited, as another queue had it. Value: false: it is full. */
bool queue_put(struct queue *q, const struct queue_entry *entry);

/* `who` waits no more. */
void queue_leave(struct queue *q, const void *who);

/* Drops those who have not asked for too long. */
void queue_sweep(struct queue *q, uint64_t now_ns);

const struct queue_entry *queue_find(const struct queue *q, const void *who);
