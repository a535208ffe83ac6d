/*
 * sandbox.h: what a worker gives up before it hears a word of its client.
 *
 * Its own session, another user where it was root, no new privileges, no core, a filter of system calls (seccomp) that
 * leaves it neither files nor sockets nor processes nor other processes' memory. What the driver wants of these it has
 * to have by then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * For all threads, for good. `devices`: the driver talks to device nodes (ioctl). False: `why` says what is missing,
 * and the worker must not serve.
 */
bool sandbox_enter(bool devices, char *why, size_t why_bytes);
