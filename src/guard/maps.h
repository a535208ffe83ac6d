/*
 * maps.h: what the guard's programs in the kernel and mete-guard share: the values of the maps that are pinned.
 *
 * GUARD_MAPS_VERSION counts changes of any of these; a helper that finds another version pinned replaces all of it, and
 * says so.
 */
#pragma once

#include "guard/classify.h"

#define GUARD_MAPS_VERSION 2u
#define GUARD_TENANTS_MOST 1024u
#define GUARD_FILES_MOST 65536u
#define GUARD_OBJECTS_MOST 131072u
/* What one tenant may have of the two tables above, so that no tenant can fill them for others. */
#define GUARD_TENANT_OBJECTS 16384u
#define GUARD_TENANT_FILES 8192u
#define GUARD_DEPTH 16 /* of cgroups below the root that are looked at */

struct guard_config {
	uint32_t version, branch;
	uint32_t major;	    /* of the control node and the devices */
	uint32_t uvm_major; /* 0: none */
	uint32_t flags;	    /* GUARD_STRICT */
	uint32_t unused;
};

/* What a set of programs is told when it is loaded. */
struct guard_options {
	uint32_t rewrites; /* 0 where the kernel does not let a program write to a process (lockdown): replies stay */
	uint32_t set;	   /* another number for each load */
};

#define GUARD_STRICT 1u /* who is no tenant and not root opens no device */

/*
 * A tenant's key: the id of its cgroup (the inode number of its folder), or the number of its grant with this bit, for
 * processes that were named one by one and those that they start.
 */
#define GUARD_BY_GRANT (1ull << 63)

/* What a tenant may; written by mete-guard alone. */
struct guard_limits {
	uint64_t quota;	  /* bytes */
	uint64_t devices; /* bit n: minor n; the control node goes with any */
	uint64_t slice_most_us;
	uint32_t flags; /* GUARD_MAY_... */
	uint32_t groups_most;
	uint32_t runner, unused; /* of a grant: the process that was named first */
	uint64_t grant;		 /* its number, under which it is counted for meted; 0: none */
};

/* What it has; written by the programs alone. */
struct guard_tenant {
	uint64_t used, peak;		 /* bytes */
	uint64_t groups, objects, files; /* open now */
	uint64_t refused, killed;	 /* calls, ever */
	uint32_t last_reason, last_pid;
};

struct guard_key {
	uint32_t client, handle;
};

/* An object of a tenant: memory, or what memory may be below. */
struct guard_object {
	uint64_t memory; /* number in the map of memories; 0: none */
	uint64_t file;	 /* the manager's record of the file whose release ends it */
	uint64_t tenant;
	uint32_t parent, class;
};

/* Device memory, until its last name is gone. */
struct guard_memory {
	uint64_t tenant, bytes, references;
};
