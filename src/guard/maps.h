/*
 * maps.h: what the guard's programs in the kernel and mete-guard share: the values of the maps that are pinned.
 *
 * GUARD_MAPS_VERSION counts changes of any of these; a helper that finds another version pinned replaces all of it, and
 * says so.
 */
#pragma once

#include "guard/classify.h"

#define GUARD_MAPS_VERSION 5u
#define GUARD_TENANTS_MOST 1024u /* a power of two: the low bits of an account's number are its row */
#define GUARD_MARKS_MOST 4096u
#define GUARD_CGROUPS_MOST 1024u
#define GUARD_FILES_MOST 65536u
#define GUARD_OBJECTS_MOST 131072u
/* What one tenant may have of the two tables above, so that no tenant can fill them for others. */
#define GUARD_TENANT_OBJECTS 16384u
#define GUARD_TENANT_FILES 8192u
/*
 * So many each tenant finds room for, whatever all others have. Above that it takes from a pool that all share: the
 * rest of the table, less what calls in progress may take beyond it.
 */
#define GUARD_OWN_OBJECTS 48u
#define GUARD_OWN_FILES 16u
#define GUARD_POOL_OBJECTS (GUARD_OBJECTS_MOST - GUARD_TENANTS_MOST * GUARD_OWN_OBJECTS - 8192u)
#define GUARD_POOL_FILES (GUARD_FILES_MOST - GUARD_TENANTS_MOST * GUARD_OWN_FILES - 8192u)
/* In the number of a file's account: it is of the pool. */
#define GUARD_POOLED (1ull << 63)
#define GUARD_DUPS 8u /* a power of two */
#define GUARD_DEPTH 16 /* of cgroups below the root that are looked at */

struct guard_config {
	uint32_t version, branch;
	uint32_t major;	    /* of the control node and the devices */
	uint32_t uvm_major; /* 0: none */
	uint32_t flags;	    /* GUARD_STRICT */
	uint32_t changed;   /* counts new names of tenants; at GUARD_CHANGES_MOST nothing is remembered any more */
	uint32_t accounts;  /* that there ever were */
	uint32_t unused;
};

/*
 * What is remembered of a cgroup that is no tenant's: its id above these bits, and `changed` of that moment in them. An
 * id is never another cgroup's, and a cgroup never gets other ancestors.
 */
#define GUARD_CHANGES_BITS 20u
#define GUARD_CHANGES_MOST ((1u << GUARD_CHANGES_BITS) - 1)

/* What a set of programs is told when it is loaded. */
struct guard_options {
	uint32_t rewrites; /* 0 where the kernel does not let a program write to a process (lockdown): replies stay */
	uint32_t set;	   /* another number for each load */
	uint32_t traced;   /* attached to the kernel's functions, not to its security modules' hooks */
	uint32_t major;	   /* the driver's, as in guard_config: the first look at a call is at this, without a table */
	uint32_t idle;	   /* programs of a call do nothing; of a helper of the tests' that is not installed */
};

/* What guard_read is asked for, and what it read. */
struct guard_text {
	uint64_t at;
	uint32_t size;
	int32_t result;
	uint8_t bytes[4096];
};

#define GUARD_STRICT 1u /* who is no tenant and not root opens no device */

/*
 * A tenant's name: the id of its cgroup (the inode number of its folder), or the number of its grant with this bit, for
 * processes that were named one by one and those that they start. Several cgroups may be names of one tenant.
 */
#define GUARD_BY_GRANT (1ull << 63)

/*
 * A tenant's account is a row of two tables. Its number is the row, and above it a count that makes it another number
 * for each tenant that the row had: what is left of one that was dropped does not find its successor.
 */
#define GUARD_ROW(account) ((uint32_t)(account) & (GUARD_TENANTS_MOST - 1))

/* What a tenant may; written by mete-guard alone. */
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

/* What it has; written by the programs alone. */
struct guard_tenant {
	uint64_t used, peak;		 /* bytes */
	uint64_t groups, objects, files; /* open now */
	uint64_t refused, killed;	 /* calls, ever */
	uint32_t last_reason, last_pid;
	/*
	 * Second names that are being made: how many, of what, and the number when each had ended. `blind`: there were
	 * more at once than are noted here.
	 */
	uint64_t dups, dups_begun, dups_ended, blind;
	uint64_t dup_of[GUARD_DUPS], dup_ended[GUARD_DUPS];
};

/* What is taken of the pools. */
struct guard_pool {
	uint64_t objects, files;
};

struct guard_key {
	uint32_t client, handle;
};

/* An object of a tenant: memory, or what memory may be below. */
struct guard_object {
	uint64_t memory; /* number in the map of memories; 0: none */
	uint64_t number; /* of the object itself: what is made later has a greater one */
	uint64_t counted; /* the same, until it is taken from the counts */
	uint64_t file;	 /* the manager's record of the file whose release ends it */
	uint64_t account;
	uint32_t parent, class;
	uint32_t pooled;
	uint32_t unnamed; /* of a client: it has memory that the tables know by no name of the driver's */
};

/* Device memory, until its last name is gone. */
struct guard_memory {
	uint64_t account, bytes, references;
};
