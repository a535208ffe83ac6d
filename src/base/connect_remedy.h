/*
 * connect_remedy.h: why a connection to a local socket cannot be made: the other side is away for a moment, or the
 * process itself lacks something, and what helps.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define CONNECT_PATIENCE_MS 5000u /* how long a program that begins waits for a meted that is away */

/* The other side has been there, and is about to be again: it was killed, or is being replaced. */
static inline bool connect_is_away(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN;
}

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
