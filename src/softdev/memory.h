/*
 * memory.h: what is at an address: every piece of memory that the driver knows, and its account.
 *
 * A range is one allocation (or mapping, or piece of registered host memory). Those of a device are in its arena; host
 * memory, mappings and imported objects in one ordered map. All of it is under one lock. Device memory is charged to
 * the segment before its address is returned, in units of 512 bytes, and refunded when the range is freed.
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
	struct context *context;       /* with which it is freed, or NULL */
	struct range *previous, *next; /* in the context's list */
	unsigned flags;		       /* host memory: as given; managed: how attached; mappings: CUmemAccess_flags */
	bool sync_memops;
	bool released;	  /* pool memory that the program has freed and the pool keeps */
	bool taken;	  /* a call frees it, and still waits for work in flight, which may use it */
	bool idle;	  /* released memory, when the stream has reached the free; set by mempool_mark_idle() */
	bool freed;	  /* see grave.h */
	bool read_only;	  /* to kernels: constants */
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
 * Allocates device memory: charge, then address. `context` NULL: it belongs to no context. CUDA_ERROR_OUT_OF_MEMORY
 * leaves nothing changed.
 */
CUresult range_new(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes, struct range **ret);
/* The same without a charge: part of the context's overhead. */
CUresult range_new_uncharged(struct device *d, struct context *c, enum range_kind kind, uint64_t bytes,
			     struct range **ret);
/* Freed in a stream's order, which mempool_mark_idle() has not seen to have reached it. */
static inline bool range_still_there(const struct range *r)
{
	return r->kind == RANGE_POOL && r->released && !r->idle;
}
/* Pinned or registered host memory. */
static inline bool range_on_host(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED;
}

/* Frees it; NULL is ignored. It must not be used any more. */
void range_free(struct range *r);
/* Zeroes its contents and releases the host's memory. */
void range_discard(struct range *r);
/* Adds a range that is not in an arena. Value: false: no memory. */
bool range_add_locked(struct range *r);
void range_remove_locked(struct range *r);
/* The range that contains the address, or NULL. Valid while the lock is held or the range cannot go. */
struct range *range_find_locked(uint64_t address);
/* True if a range outside the arenas, or an arena, overlaps [address, address + bytes). */
bool range_overlaps_locked(uint64_t address, uint64_t bytes);
/* True if [address, address + bytes) lies in one range that a program may use; its range. */
bool range_covers_locked(uint64_t address, uint64_t bytes, struct range **ret);
/* Pinned memory of a pool, whole pages, which goes with no context. NULL: none to be had. */
struct range *host_new(struct device *d, struct mempool *p, uint64_t bytes);
/* Frees host memory that was removed from the map: returns it to the system if the driver allocated it. */
void host_release(struct range *r);
/* Frees all memory of a context. */
void range_free_all(struct context *c);
/* The nearest ranges, including freed ones, before (or around) an address and behind it; either may be NULL. */
void range_neighbours_locked(uint64_t address, struct range **ret_before, struct range **ret_behind);
/* True if a kernel in this context may use memory of the range: it is on its device, or accessible from it. */
bool range_reachable(const struct range *r, const struct context *c);
/* What a kernel in this context may access around an address: struct ptx_memory.find. */
struct ptx_range;
bool range_accessible(void *context, uint64_t address, struct ptx_range *ret);
