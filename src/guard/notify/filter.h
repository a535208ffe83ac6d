/*
 * filter.h: the filter of system calls that brings a tenant's calls of the driver to its supervisor (seccomp user
 * notification), and how a program gets it.
 *
 * A filter sees registers, not memory: the number and the size of a call cannot be changed behind it, all else can. So
 * every call that the driver could take is brought to the supervisor, which copies, judges and makes it; none of them
 * is ever let through to the kernel as the program has it. What no driver could take passes without a question: a
 * command without a size (terminals, sockets), and numbers that the resource manager does not have.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#define FILTER_STEPS_MOST 128

/* Writes the filter; value: its length. For the tests: notify_enter() installs it. */
size_t filter_write(struct sock_filter program[FILTER_STEPS_MOST]);

/*
 * In the process that becomes the program: installs the filter, hands its listener through the socket to the
 * supervisor, and waits for its word. Depends on libc alone. 0 or -errno; then the process must not become the program.
 */
int notify_enter(int socket);
/* Of the supervisor: takes the listener, and lets the process go on (notify_go). -errno */
int notify_accept(int socket);
int notify_go(int socket);
