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

/* Whether a folder that the settings name can be used; if not, why: a negative value. */
int cgroup_try(const char *path, char *why, size_t why_bytes);
/* Whether grants' workers get cgroups; finds out the first time. */
bool cgroup_there(struct daemon *daemon);
/* To be written "0" to by who enters; the cgroup is made with its limits when it is not there. -1: there are none. */
int cgroup_open(struct daemon *daemon, uint64_t grant_id);
/* The grant has ended: its cgroup is removed as soon as it is empty; what is in it still after a moment is killed. */
void cgroup_end(struct daemon *daemon, uint64_t grant_id);
/* The same for the cgroups of all grants that there are no more. */
void cgroup_sweep(struct daemon *daemon);
/* The settings have changed. */
void cgroup_limit(struct daemon *daemon);
/*
 * meted leaves: cgroups with workers that have clients stay. cgroup_expect() comes before the end of the other workers:
 * cgroup_leave() waits for that end, a second at most.
 */
void cgroup_expect(struct daemon *daemon);
void cgroup_leave(struct daemon *daemon);
