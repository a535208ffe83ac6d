/*
 * inside.h: what a program calls, told from what libamdhip64 calls of its own exports.
 *
 * The library reaches some of its exports by way of the linker's tables (Debian's of 5.2 does so for twelve: hipMemcpy,
 * hipMallocPitch, hipModuleLaunchKernel and others), and then comes to us as a program does. While a treated call of a
 * thread runs, and in threads of the core's own, calls of treated exports are the library's: they pass. Functions of
 * the program that the library calls run in threads of the library's own.
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
