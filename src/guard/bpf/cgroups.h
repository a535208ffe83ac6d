/* cgroups.h: finds the folder of a cgroup (version 2) by its id, and determines whether it still exists. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The mount point of cgroups of version 2: /sys/fs/cgroup, or beside those of version 1 its folder `unified`. */
const char *cgroups_root(void);
/*
 * The folder of the cgroup `id` below `root`. Value: 0; -ENOENT: it does not exist any more; another -errno: not
 * determined. Only the first two are certain, because a user who creates and removes folders can disturb the search for
 * another user's.
 */
int cgroups_find(const char *root, uint64_t id, char *path, size_t size);
/*
 * Calls `each` for every process in the cgroup of this folder, or in one below it, down to `depth`. A process that
 * comes, goes or moves meanwhile may be missed; a folder that disappears meanwhile does not end the search.
 */
void cgroups_processes(const char *path, unsigned int depth, void (*each)(int pid, void *owner), void *owner);
