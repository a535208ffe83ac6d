/*
 * inside.h: distinguishes the program's calls from calls that libamdhip64 makes to its own exports.
 *
 * The library calls some of its exports through the dynamic linker's tables, so these calls reach the face as a
 * program's do. Debian's version 5.2 does so for twelve: hipMemcpy, hipMallocPitch, hipModuleLaunchKernel and others.
 * While a thread is inside a call that the face treats, and in the core's own threads, further calls are the library's
 * and pass unchanged. Functions of the program that the library calls run in threads of the library's own.
 */
#pragma once

#include <stdbool.h>

extern __thread unsigned int inside_depth __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* False: this thread is inside already. */
static inline bool inside_enter(void)
{
	if (inside_depth)
		return false;
	inside_depth = 1;
	return true;
}

static inline void inside_leave(void)
{
	inside_depth = 0;
}

static inline void inside_end(const bool *entered)
{
	if (*entered)
		inside_leave();
}

/* For the rest of the block, in a function that the core calls: whatever thread it is, and whether it is inside or not.
 */
#define INSIDE __attribute__((cleanup(inside_end), unused)) const bool inside_entered = inside_enter()
