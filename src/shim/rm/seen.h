/*
 * seen.h: what the program did at the resource manager, handed from its threads to ours.
 *
 * A bounded queue, many writers, one reader. Writing takes no lock, allocates nothing and never waits, so it may happen
 * in a signal handler and in a process that forks at that moment. A full queue loses the entry and says so: then the
 * picture of the process has a hole, and tier T3 steps down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum seen_kind {
	SEEN_ALLOC,    /* succeeded */
	SEEN_FREED,    /* and so is what was made below it */
	SEEN_SLICE,    /* the program set the slice of `object` to `value` us */
	SEEN_BIND,     /* ... bound the group `object` to the engine `value` */
	SEEN_SCHEDULE, /* ... scheduled it, with parameters of `value` bytes */
	SEEN_STRANGE,  /* an allocation in a layout that we do not know: `value` its size */
};

struct seen {
	enum seen_kind kind;
	int fd;
	uint32_t client, parent, object, class;
	uint64_t value; /* of an allocation: engine of a group, number of a device; UINT64_MAX: not known */
};

/* Any thread. */
void seen_put(const struct seen *s);
/* The reader alone. False: empty. */
bool seen_get(struct seen *ret);
/* Entries have been lost since the last call. */
bool seen_lost(void);
/* Waits until something was put, at most `ns`; UINT64_MAX: for ever. */
void seen_wait(uint64_t ns);
/* Ends a wait. */
void seen_wake(void);
/* In the child of fork(). */
void seen_reset(void);
