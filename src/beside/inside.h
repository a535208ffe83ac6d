/*
 * inside.h: distinguishes the program's calls from calls that the vendor's libraries make to each other on its behalf.
 *
 * These APIs have two levels: aclrtMalloc() calls rtMalloc(), and cnrtMalloc() calls cnMalloc(). A face meters both,
 * because libraries of operators use the lower level. A call is metered once, at the level where it enters. Memory that
 * is allocated while work is submitted (a workspace) is metered as memory. Work within a call for memory is not
 * metered, because that thread holds the gate.
 */
#pragma once

#include <stdbool.h>

enum { INSIDE_WORK = 1, INSIDE_MEMORY = 2, INSIDE_ALL = 3 };

extern __thread unsigned int inside_is __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* False: the vendor's library makes the call; pass it unchanged. */
static inline bool inside_memory(unsigned int *ret_before)
{
	*ret_before = inside_is;
	if (inside_is & INSIDE_MEMORY)
		return false;
	inside_is |= INSIDE_MEMORY;
	return true;
}

static inline bool inside_work(void)
{
	if (inside_is)
		return false;
	inside_is = INSIDE_WORK;
	return true;
}

static inline unsigned int inside_begin(void)
{
	unsigned int before = inside_is;

	inside_is = INSIDE_ALL;
	return before;
}

static inline void inside_end(const unsigned int *before)
{
	inside_is = *before;
}

/* Before a call that begins the use of a device: VENDOR_SUCCESS, or the error of a call that is not allowed. */
#define INSIDE_OR(refusal) (inside_is ? VENDOR_SUCCESS : (refusal))

/* For the rest of the block, in a function that the core calls. */
#define INSIDE __attribute__((cleanup(inside_end), unused)) const unsigned int inside_before = inside_begin()
