/* sandbox.h: the rights that a process gives up before it reads data from an unknown peer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Keeps the standard streams and these descriptors, which become 3, 4, ... in this order; closes all others. The
 * standard streams become /dev/null, except standard error if `talk`.
 */
void sandbox_keep(int *const *fds, unsigned int n, bool talk);
/*
 * Changes the user (if root), and gives up new privileges, core dumps, being traced, and all but a few descriptors.
 * Value: 0 or -errno.
 */
int sandbox_drop(uint32_t uid, uint32_t gid, unsigned int fds_most);

/* What a process still needs. */
enum sandbox_need {
	SANDBOX_LINES,	   /* its open descriptors, memory, threads, time */
	SANDBOX_UCX,	    /* these, and what UCX needs to transfer data: listed in docs/remote.md */
	SANDBOX_UCX_SHARED, /* these, and System V shared memory of the same user */
	SANDBOX_UCX_SETUP,  /* these, and files, sockets, devices and libraries: until UCX is connected */
};

/*
 * Permits, for all threads, only that: no programs, no other processes, no signals. May be called again with less.
 * Value: 0 or -errno.
 */
int sandbox_close(enum sandbox_need need);
