/*
 * held.h: an object of a library's that others of its objects refer to. The client may end it before them; the library
 * ends it when the last of them has gone, so that it never looks at what it has freed.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct forward_held {
	struct forward_held *next;	/* of those that go at once */
	_Atomic unsigned int count; /* the object itself, and those that refer to it; raised by the executor alone */
	_Atomic bool ended;		/* the client has ended it, and the library has not */
	void *handle;
	int (*end)(void *handle);
	struct forward_held **behind;	/* what it refers to */
	size_t behind_count;
};

/* Of an object of its own: NULL, no memory. `end` may be NULL. */
struct forward_held *held_new(void *handle, int (*end)(void *handle));
/* From now on `held` refers to the other one. False: no memory. */
bool held_refers(struct forward_held *held, struct forward_held *other);
/* Whether others refer to it. Then the library ends it later. */
bool held_ends(struct forward_held *held);
/* One of those that are counted has gone. NULL: nothing. */
void held_drop(struct forward_held *held);
