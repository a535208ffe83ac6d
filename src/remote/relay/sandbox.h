/* sandbox.h: what a process gives up before it listens to a stranger. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps the standard streams and these descriptors, which become 3, 4, ... in this order; closes all others. The
 * standard streams become /dev/null, but for the standard error if `talk`.
 */
void sandbox_keep(int *const *fds, unsigned int n, bool talk);
/* Another user (when we are root), no new privileges, no core, nothing to be attached to (unless `attachable`), few
 * descriptors.
 * 0 or -errno. */
int sandbox_drop(uint32_t uid, uint32_t gid, unsigned int fds_most, bool attachable);
/*
 * From now on: descriptors that are there, memory, threads, time; no files, no sockets, no programs, no other
 * processes. For all threads to come. 0 or -errno.
 */
int sandbox_close(void);
