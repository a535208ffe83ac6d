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
/*
 * Each process that is in the cgroup of this folder, or in one below it, down to `depth`. One that comes, goes or moves
 * meanwhile may be left out; folders that go meanwhile end nothing.
 */
void cgroups_processes(const char *path, unsigned int depth, void (*each)(int pid, void *owner), void *owner);
