/*
 * seen.h: passes the program's calls to the resource manager from its threads to the worker thread.
 *
 * A bounded queue with many writers and one reader. Writing takes no lock, allocates nothing and never waits, so it may
 * happen in a signal handler and in a process that forks at that moment. A full queue loses the entry and records the
 * loss: the model of the process is then incomplete, and tier T3 steps down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum seen_kind {
	SEEN_ALLOC,    /* succeeded */
	SEEN_FREED,    /* and everything created below it */
	SEEN_SLICE,    /* the program set the slice of `object` to `value` us */
	SEEN_BIND,     /* ... bound the group `object` to the engine `value` */
	SEEN_SCHEDULE, /* ... scheduled it, with parameters of `value` bytes */
	SEEN_STRANGE,  /* an allocation with an unknown layout: `value` is its size */
};

struct seen {
	enum seen_kind kind;
	int fd;
	uint32_t client, parent, object, class;
	uint64_t value; /* of an allocation: engine of a group, number of a device; UINT64_MAX: not known */
};

/* Any thread may call it. */
void seen_put(const struct seen *s);
/* Only the reader. False: empty. */
bool seen_get(struct seen *ret);
/* True if entries have been lost since the last call. */
bool seen_lost(void);
/* Waits until an entry is put, at most `ns`; UINT64_MAX: for ever. */
void seen_wait(uint64_t ns);
/* Ends a wait. */
void seen_wake(void);
/* In the child of fork(). */
void seen_reset(void);
