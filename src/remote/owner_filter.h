/* owner_filter.h: closes a bypass of the system call filters (relay/sandbox.h, worker/sandbox.h). */
#pragma once

/*
 * Forbids, for all threads, making a process the owner of a descriptor. The kernel sends the owner a signal of the
 * process's choice when there is something to read (fcntl(2), F_SETOWN and F_SETSIG), which would allow signals to
 * other processes of the same user, such as the workers and sessions of other tenants. Must precede the other filters,
 * which forbid further filters. Value: 0 or -errno.
 */
int owner_filter_set(void);
