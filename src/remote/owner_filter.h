/* owner_filter.h: closes a way round the filters of system calls (relay/sandbox.h, worker/sandbox.h). */
#pragma once

/*
 * From now on, for all threads: nobody is made the owner of a descriptor. The kernel sends the owner a signal of the
 * process's choice when there is something to read (fcntl(2), F_SETOWN and F_SETSIG), as if kill() were allowed: to
 * other processes of the same user, which the workers and sessions of other tenants are. Comes before the other
 * filters, which forbid setting more. 0 or -errno.
 */
int owner_filter_set(void);
