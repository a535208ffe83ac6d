/*
 * mounts.h: mounts that a hook adds to a container whose file system the runtime has assembled but not entered.
 *
 * Each source is a path in the runtime's file system; each target one in the container's, whose links are resolved
 * within its root. Missing files and folders to mount on are created.
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
 * Enters the mount namespace of the process (this process stays in it) and makes the mounts in order. Value: 0 or a
 * negative errno; after an error, the container does not start, and the mounts made so far end with it.
 */
int mounts_make(pid_t pid, const char *root, const struct mount_wish *wish, size_t count, struct fault *f);

/* Removes files and folders that were created to mount on and remain in the root, if they are empty. */
void mounts_sweep(const char *root, const char *const *targets, size_t count);
