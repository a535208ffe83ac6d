/*
 * filter.h: the filter of system calls that passes a tenant's driver calls to its supervisor (seccomp user
 * notification), and how a program gets it.
 *
 * A filter sees registers, not memory: the number and the size of a call cannot be changed after the filter, everything
 * else can. Every call that the driver could accept is therefore passed to the supervisor, which copies, judges and
 * makes it; the kernel never executes one of them as the program made it. Calls that no driver could accept pass
 * without a check: a command without a size (terminals, sockets), and numbers that the resource manager does not have.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#define FILTER_STEPS_MOST 128

/* Writes the filter. Value: its length. For the tests; notify_enter() installs it. */
size_t filter_write(struct sock_filter program[FILTER_STEPS_MOST]);

/*
 * Runs in the process that becomes the program: installs the filter, sends its listener through the socket to the
 * supervisor, and waits for the supervisor's word. Depends only on libc. Value: 0 or -errno; after an error the process
 * must not become the program.
 */
int notify_enter(int socket);
/* For the supervisor: receives the listener; lets the process continue (notify_go). Value: -errno on an error. */
int notify_accept(int socket);
int notify_go(int socket);
