/* cgroups.h: the folder of a cgroup (version 2) by its number, and whether it is gone. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where cgroups of version 2 are mounted: /sys/fs/cgroup, or beside those of version 1 its folder `unified`. */
const char *cgroups_root(void);
/*
 * The folder of the cgroup `id` below `root`. 0; -ENOENT: it is gone; another -errno: nobody can tell. Only the first
 * two are sure: whoever makes and removes folders of his own can end a search for another's.
 */
int cgroups_find(const char *root, uint64_t id, char *path, size_t size);
