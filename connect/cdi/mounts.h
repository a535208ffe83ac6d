/*
 * mounts.h: what a hook adds to a container whose file system the runtime has put together and not yet entered.
 *
 * Each source is a path of the runtime's own file system; each target one of the container's, in which links are
 * followed within the root. Files and folders to mount on are made where they are not there.
 */
#pragma once

#include "client/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mount_wish {
	const char *source, *target;
	bool writable;
};

/*
 * Enters the mount namespace of the process (this one stays there) and mounts, in that order. Value: 0 or a negative
 * errno; what was mounted before an error goes with the container, which does not begin then.
 */
int mounts_make(pid_t pid, const char *root, const struct mount_wish *wish, size_t count, struct fault *f);

/* Removes what was made to mount on and has stayed behind in the root, where it is empty. */
void mounts_sweep(const char *root, const char *const *targets, size_t count);
