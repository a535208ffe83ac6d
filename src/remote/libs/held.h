/*
 * held.h: an object of a library to which other objects of that library refer. The client may destroy it before them;
 * the library destroys it when the last of them is gone, so that it never uses freed memory.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct forward_held {
	struct forward_held *next;	/* in the list of those to destroy */
	_Atomic unsigned int count; /* the object itself, and those that refer to it; raised only by the executor */
	_Atomic bool ended;		/* the client has destroyed it, the library has not yet */
	void *handle;
	int (*end)(void *handle);
	struct forward_held **behind;	/* the objects it refers to */
	size_t behind_count;
};

/* NULL: no memory. `end` may be NULL. */
struct forward_held *held_new(void *handle, int (*end)(void *handle));
/* Makes `held` refer to the other one. False: no memory. */
bool held_refers(struct forward_held *held, struct forward_held *other);
/* True if others refer to it: the library destroys it later. */
bool held_ends(struct forward_held *held);
/* Drops one reference. NULL: nothing. */
void held_drop(struct forward_held *held);
