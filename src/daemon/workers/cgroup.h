/*
 * cgroup.h: a cgroup (version 2) for the workers of each grant, which bounds their memory and their threads.
 *
 * The parent folder must be delegated to meted: it is the parent of meted's own cgroup where the service manager
 * delegates that (Delegate=, with DelegateSubgroup=meted), or one that the settings name. It must contain no process.
 * Without a writable folder, workers have no cgroups; the log says so once.
 *
 * A cgroup's name contains its grant's id and the runtime directory, so the next meted finds it. A worker enters by
 * itself, through a descriptor that it gets with its client: naming it by number would be a race.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon;

/* Checks whether a folder from the settings can be used. Below 0: it cannot, and `why` gives the reason. */
int cgroup_try(const char *path, char *why, size_t why_bytes);
/* True if workers of grants get cgroups; determined at the first call. */
bool cgroup_there(struct daemon *daemon);
/*
 * A descriptor to which a process writes "0" to enter the grant's cgroup, which is created with its limits if it does
 * not exist. -1: there are no cgroups.
 */
int cgroup_open(struct daemon *daemon, uint64_t grant_id);
/* Bytes of memory that the grant's cgroup may still take; UINT64_MAX: it has none, or no limit. */
uint64_t cgroup_memory_left(struct daemon *daemon, uint64_t grant_id);
/*
 * Removes the cgroup of a grant that has ended as soon as it is empty; processes that remain after a moment are killed.
 */
void cgroup_end(struct daemon *daemon, uint64_t grant_id);
/* The same for the cgroups of all grants that do not exist any more. */
void cgroup_sweep(struct daemon *daemon);
/* Applies changed settings. */
void cgroup_limit(struct daemon *daemon);
/*
 * meted exits: cgroups of workers with clients remain. cgroup_expect() precedes the end of the other workers;
 * cgroup_leave() waits for it, a second at most.
 */
void cgroup_expect(struct daemon *daemon);
void cgroup_leave(struct daemon *daemon);
