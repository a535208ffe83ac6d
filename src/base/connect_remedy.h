/*
 * connect_remedy.h: what the process itself lacks when a connection to a local socket cannot be made, and what helps.
 */
#pragma once

#include <errno.h>
#include <stddef.h>

/*
 * A failed socket() as an error that says who is to blame: a process that may make no socket has EPERM, whatever its
 * sandbox answers; connect() to a socket of another user has EACCES.
 */
static inline int connect_socket_error(int r)
{
	return r == -EACCES || r == -ENOSYS || r == -EAFNOSUPPORT ? -EPERM : r;
}

/* NULL: the process is not to blame. */
static inline const char *connect_remedy(int r)
{
	switch (-r) {
	case EMFILE:
		return "this process has as many files open as it may; raise the limit (ulimit -n)";
	case ENFILE:
		return "this machine has as many files open as it may; raise the limit (sysctl fs.file-max)";
	case EPERM:
		return "the sandbox of this process (seccomp) forbids it to make local sockets; let it make them "
		       "(AF_UNIX)";
	default:
		return NULL;
	}
}
