/*
 * memory.h: what lies at an address: every piece of memory that the driver knows, and its account.
 *
 * A range is one allocation (or mapping, or piece of registered host memory). Those of a device lie in its arena; host
 * memory, mappings and imported objects in one ordered map. All of it is under one lock. Device memory is charged to
 * the segment before an address is given out, in units of 512 bytes, and refunded when the range goes.
 */
#pragma once

#include "softdev/driver.h"
#include "base/extent.h"

#include <pthread.h>

struct advice;
struct allocation;
struct context;
struct mempool;

enum range_kind {
	RANGE_DEVICE, /* cuMemAlloc, cuMemAllocPitch */
	RANGE_MANAGED,
	RANGE_POOL, /* cuMemAllocAsync and what a pool keeps */
	RANGE_ARRAY,
	RANGE_VARIABLE,	  /* of a module */
	RANGE_HEAP,	  /* malloc in kernels */
	RANGE_GRAPH,	  /* memory of graph nodes */
	RANGE_HOST,	  /* cuMemHostAlloc */
	RANGE_REGISTERED, /* cuMemHostRegister */
	RANGE_MAPPED,	  /* cuMemMap */
	RANGE_IMPORTED,	  /* another process's, see share.h */
};

struct range {
	enum range_kind kind;
	uint64_t begin;
	uint64_t bytes; /* as asked for */
	uint64_t units; /* charged */
	uint64_t id;
	struct device *device;	       /* of host memory: the context's */
	struct context *context;       /* that it goes with, or NULL */
	struct range *previous, *next; /* in the context's list */
	unsigned flags;		       /* host memory: as given; managed: how attached; mappings: CUmemAccess_flags */
	bool sync_memops;
	bool released;	/* pool memory that the program has freed and the pool keeps */
	bool idle;	/* such memory, and the stream has come to where it was freed; set while accesses are checked */
	bool freed;	/* see grave.h */
	bool read_only; /* to kernels: constants */
	const char *name; /* of a variable; lives as long as its module */
	struct mempool *pool;
	struct allocation *allocation; /* of a mapping */
	void *owned;		       /* host or imported memory: what to unmap */
	uint64_t object;	       /* shared with other processes: the object, which has the charge */
	struct advice *advice;	       /* of managed memory, see managed.h; owned */
	uint32_t opens;		       /* imported: how often */
};

extern pthread_mutex_t memory_mutex;

/*
 * Takes device memory: charge, then address. `context` may be NULL: then it goes with nobody. CUDA_ERROR_OUT_OF_MEMORY
 * leaves nothing changed.
 */
CUresult range_new(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes, struct range **ret);
/* The same without a charge: what counts as the context's overhead. */
CUresult range_new_uncharged(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes,
			     struct range **ret);
/* Pinned or registered host memory. */
static inline bool range_on_host(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED;
}

/* Gives it back; NULL is nothing. Nobody may use it any more. */
void range_free(struct range *r);
/* Its contents become zero and take no memory of the host. */
void range_discard(struct range *r);
/* A range that is not in an arena: makes it known. Value: false without memory. */
bool range_add_locked(struct range *r);
void range_remove_locked(struct range *r);
/* The range that contains the address, or NULL. Valid while the lock is held or the range cannot go. */
struct range *range_find_locked(uint64_t address);
/* Whether anything outside the arenas lies in [address, address + bytes), or an arena does. */
bool range_overlaps_locked(uint64_t address, uint64_t bytes);
/* Whether [address, address + bytes) lies in one range that a program may use; its range. */
bool range_covers_locked(uint64_t address, uint64_t bytes, struct range **ret);
/* Pinned memory of a pool, whole pages, which goes with no context. NULL: none to be had. */
struct range *host_new(struct device *d, struct mempool *p, uint64_t bytes);
/* Host memory that has been taken out of the map: gives it back to the system if it was the driver's. */
void host_release(struct range *r);
/* All memory that goes with a context. */
void range_free_all(struct context *c);
/* The ranges, freed ones too, that lie nearest to an address, before (or around) and behind it; either may be NULL. */
void range_neighbours_locked(uint64_t address, struct range **ret_before, struct range **ret_behind);
/* Whether a kernel in this context may use memory of the range: on its device, or where it has access. */
bool range_reachable(const struct range *r, const struct context *c);
/* What a kernel in this context may touch around an address: struct ptx_memory.find. */
struct ptx_range;
bool range_accessible(void *context, uint64_t address, struct ptx_range *ret);
