/*
 * sandbox.h: what a worker gives up before it hears a word of its client.
 *
 * Its own session, another user and an empty root folder where it was root, no new privileges, no core, a filter of
 * system calls (seccomp) that leaves it neither files nor sockets nor processes nor other processes' memory. What the
 * driver wants of these it has to have by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum sandbox_devices {
	SANDBOX_NONE,	  /* the driver talks to no device nodes */
	SANDBOX_LISTED,	  /* it gives NVIDIA's the commands of a list (device_filter.h) */
	SANDBOX_OBSERVED, /* it gives any, and those that are not in the list are logged */
};

/* For all threads, for good. False: `why` says what is missing, and the worker must not serve. */
bool sandbox_enter(enum sandbox_devices devices, char *why, size_t why_bytes);
