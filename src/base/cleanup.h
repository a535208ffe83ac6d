/*
 * cleanup.h: local variables that release their resource when their scope ends.
 *
 * A local declared with _cleanup_(f) is released by f. steal_fd() and steal_ptr() transfer the ownership to the caller.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define steal_ptr(p)                                                                                                   \
	({                                                                                                             \
		__typeof__(p) stolen_ = (p);                                                                           \
		(p) = NULL;                                                                                            \
		stolen_;                                                                                               \
	})

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
