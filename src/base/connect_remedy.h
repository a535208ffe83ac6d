/*
 * connect_remedy.h: classifies a failed connection to a local socket: the server is away for a moment, or the process
 * itself lacks a resource or a permission; and the remedy.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#define CONNECT_PATIENCE_MS 5000u /* how long a starting program waits for a meted that is away */

/* True if the server existed and will probably return: it was killed, or is being replaced. */
static inline bool connect_is_away(int r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN;
}

/*
 * Converts the error of a failed socket(). If the process may not create sockets, the result is EPERM, whatever its
 * sandbox returned. EACCES is left to connect() to a socket of another user.
 */
static inline int connect_socket_error(int r)
{
	return r == -EACCES || r == -ENOSYS || r == -EAFNOSUPPORT ? -EPERM : r;
}

/* Returns the cause and the remedy. NULL: the cause is not in this process. */
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
