/*
 * maps.h: the values of the pinned maps, shared by the guard's programs in the kernel and mete-guard.
 *
 * GUARD_MAPS_VERSION counts changes of any of these; a helper that finds another version pinned replaces all of it, and
 * says so.
 */
#pragma once

#include "guard/classify.h"

#define GUARD_MAPS_VERSION 6u
#define GUARD_TENANTS_MOST 1024u /* a power of two: the low bits of an account's number are its row */
#define GUARD_MARKS_MOST 4096u
#define GUARD_CGROUPS_MOST 1024u
#define GUARD_FILES_MOST 65536u
#define GUARD_OBJECTS_MOST 131072u
/* Limits of one tenant in the tables of objects and files, so that no tenant can fill them for others. */
#define GUARD_TENANT_OBJECTS 16384u
#define GUARD_TENANT_FILES 8192u
/*
 * Entries reserved for each tenant, whatever others have. Above that it uses a pool that all share: the rest of the
 * table, less a margin for calls in progress.
 */
#define GUARD_OWN_OBJECTS 48u
#define GUARD_OWN_FILES 16u
#define GUARD_POOL_OBJECTS (GUARD_OBJECTS_MOST - GUARD_TENANTS_MOST * GUARD_OWN_OBJECTS - 8192u)
#define GUARD_POOL_FILES (GUARD_FILES_MOST - GUARD_TENANTS_MOST * GUARD_OWN_FILES - 8192u)
/* In the value of a file's account: its entry is of the pool. */
#define GUARD_POOLED (1ull << 63)
#define GUARD_DUPS 64u	/* a power of two */
#define GUARD_MODULE 24 /* bytes of a module's name */
#define GUARD_DEPTH 16 /* number of cgroup levels below the root that are searched */

struct guard_config {
	uint32_t version, branch;
	uint32_t major;	    /* of the control node and the devices */
	uint32_t uvm_major; /* 0: none */
	uint32_t flags;	    /* GUARD_STRICT */
	uint32_t changed;   /* counts new names of tenants; at GUARD_CHANGES_MOST nothing is remembered any more */
	uint32_t accounts;  /* number created so far */
	uint32_t unused;
};

/*
 * What is remembered of a cgroup that is no tenant's: its id above these bits, and in them the value of `changed` at
 * that time. Ids are not reused, and a cgroup's ancestors do not change.
 */
#define GUARD_CHANGES_BITS 20u
#define GUARD_CHANGES_MOST ((1u << GUARD_CHANGES_BITS) - 1)

/* Options of a set of programs, set when it is loaded. */
struct guard_options {
	uint32_t rewrites; /* 0 if the kernel does not let a program write to a process (lockdown): replies stay
			    * unchanged */
	uint32_t set;	   /* different for each load */
	uint32_t traced;   /* attached to the kernel's functions, not to hooks of its security modules */
	uint32_t major;	   /* the driver's, as in guard_config: the first check of a call uses this without a table
			    * access */
	uint32_t idle;	   /* programs do nothing with a call; for a test helper that is not installed */
	char graphics[GUARD_MODULE]; /* the module of the driver's nodes below /dev/dri */
};

/* A request to guard_read, and its result. */
struct guard_text {
	uint64_t at;
	uint32_t size;
	int32_t result;
	uint8_t bytes[4096];
};

#define GUARD_STRICT 1u /* a process that is neither a tenant's nor root's may open no device */

/*
 * A tenant's name: the id of its cgroup (the inode number of its folder), or the number of its grant with this bit, for
 * processes that were named individually and their children. Several cgroups may be names of one tenant.
 */
#define GUARD_BY_GRANT (1ull << 63)

/*
 * A tenant's account is a row of two tables. The low bits of its number are the row, and the bits above a count that
 * differs for each tenant of that row: remains of a dropped tenant do not refer to its successor.
 */
#define GUARD_ROW(account) ((uint32_t)(account) & (GUARD_TENANTS_MOST - 1))

/* A tenant's limits; written only by mete-guard. */
struct guard_limits {
	uint64_t account; /* 0: the row is free */
	uint64_t quota;	  /* bytes */
	uint64_t devices; /* bit n: minor n; the control node goes with any */
	uint64_t slice_most_us;
	uint32_t flags; /* GUARD_MAY_... */
	uint32_t groups_most;
	uint32_t runner, unused; /* of a grant: the process that was named first */
	uint64_t grant;		 /* its number, under which it is counted for meted; 0: none */
};

/* A tenant's use; written only by the programs. */
struct guard_tenant {
	uint64_t used, peak;		 /* bytes */
	uint64_t groups, objects, files; /* open now */
	uint64_t refused, killed;	 /* calls; processes; totals */
	uint32_t last_reason, last_pid;
	uint64_t mapped; /* by another driver, now */
	/*
	 * Second names in progress: their number, sources, the clients that get them, and the number at which each
	 * ended. `lost`: those that found no place here; `lost_ended`: the last number at which one of these ended, or
	 * one whose place was taken by another.
	 */
	uint64_t dups, dups_begun, dups_ended, lost, lost_ended;
	uint64_t dup_of[GUARD_DUPS], dup_ended[GUARD_DUPS];
	uint32_t dup_to[GUARD_DUPS]; /* 0: another driver */
	uint32_t dup_busy[GUARD_DUPS];
};

/* The use of the pools. */
struct guard_pool {
	uint64_t objects, files, mapped;
};

struct guard_key {
	uint32_t client, handle;
};

/* An object of a tenant: memory, or an object that may have memory below it. */
struct guard_object {
	uint64_t memory; /* number in the map of memories; 0: none */
	uint64_t number; /* of the object itself: later objects have greater ones */
	uint64_t counted; /* the same number, until the object is taken from the counts */
	uint64_t file;	 /* the manager's record of the file with whose release it ends */
	uint64_t account;
	uint32_t parent, class;
	uint32_t pooled;
	uint32_t unnamed; /* of a client: it has memory whose name in the driver the tables do not know */
};

/* Device memory, until its last name is gone. */
struct guard_memory {
	uint64_t account, bytes, references;
};

/* A name that the manager has made for another driver: of which device, and which. */
struct guard_mapped_key {
	uint64_t device;
	uint32_t name, unused;
};

/* The memory that it holds. */
struct guard_mapped {
	uint64_t memory; /* 0: given back */
	uint64_t number; /* of this mapping: later ones have greater ones */
	uint64_t account;
	uint32_t pooled, unused;
};
