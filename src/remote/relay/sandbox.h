/* sandbox.h: what a process gives up before it listens to a stranger. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps the standard streams and these descriptors, which become 3, 4, ... in this order; closes all others. The
 * standard streams become /dev/null, but for the standard error if `talk`.
 */
void sandbox_keep(int *const *fds, unsigned int n, bool talk);
/* Another user (when we are root), no new privileges, no core, nothing to be attached to, few descriptors.
 * 0 or -errno. */
int sandbox_drop(uint32_t uid, uint32_t gid, unsigned int fds_most);

/* What a process has still to do. */
enum sandbox_need {
	SANDBOX_LINES,	   /* descriptors that are there, memory, threads, time */
	SANDBOX_UCX,	    /* these, and what UCX asks for while it carries bytes: docs/remote.md says what */
	SANDBOX_UCX_SHARED, /* these, and System V's shared memory of the same user */
	SANDBOX_UCX_SETUP,  /* these, and files, sockets, devices and libraries: until UCX's connections stand */
};

/*
 * From now on, for all threads: that, and no programs, no other processes, no signals. May be called again with less.
 * 0 or -errno.
 */
int sandbox_close(enum sandbox_need need);
