/*
 * mempool.h: pools of stream-ordered memory: of a device, of managed memory (which is a device's here), or of pinned
 * host memory, which is charged to no device.
 *
 * A pool takes memory from the device on demand (RESERVED) and keeps what the program frees (USED falls): at once for
 * the same stream, for others when the free has happened. At a synchronisation it returns memory above its release
 * threshold, 0 by default.
 */
#pragma once

#include "softdev/memory.h"
#include "softdev/stream.h"

struct kept {
	struct kept *next;
	struct range *range;
	struct point point; /* reached: free for everybody */
};

struct mempool {
	struct handle head;
	struct device *device;
	bool standard; /* a default pool */
	bool on_host;  /* pinned memory; `device` only says whom to wait for */
	bool managed;
	bool unplaced;	 /* managed, made without a context: its first allocation's device is the pool's */
	bool imported;	 /* another process's: gives access to its memory, and has none itself */
	uint64_t object; /* names it to other processes; 0: cannot be exported */
	void *home;	 /* the mapping that keeps the object */
	CUmemPoolProps props;
	/* mempool_mutex guards the following */
	struct kept *kept; /* freed and not yet given back */
	uint64_t threshold;
	uint64_t reserved, reserved_high;
	uint64_t used, used_high;
	uint64_t max_bytes;	/* 0: the device's */
	int reuse[3];		/* the three ways of reuse, as set */
	_Atomic uint32_t peers; /* bit per device ordinal; read without the lock */
	bool dying;		/* destroyed; goes with its last allocation */
	struct mempool *next_dying;
};

struct mempool *mempool_new(struct device *d);
CUresult mempool_find(CUmemoryPool h, struct mempool **ret);
/* Creates a pool that represents another process's. */
CUresult mempool_import(struct device *d, uint64_t object, struct mempool **ret);
/* The program has freed memory of another process's pool, in the order of the stream; NULL: now. */
void mempool_imported_end(struct range *r, struct stream *s);
/* Memory that came through an imported pool is counted. */
void mempool_imported_add(struct range *r, struct mempool *p);
/* The program has freed memory of a pool, in the order of the stream; NULL: now. */
void mempool_keep(struct range *r, struct stream *s);
/* The device's primary context ends with all pool memory: pools are empty, and created ones are gone. */
void mempool_forget(struct device *d);
/* True if kernels of this device may use the pool's memory. */
bool mempool_reachable(const struct mempool *p, const struct device *d);
/* Marks freed memory that no work can access any more as idle. */
void mempool_mark_idle(void);
/*
 * The range that contains the address and is the program's, or was freed in the order of a stream that is not there
 * yet. With memory_mutex held, which is given up for a moment where memory was freed so.
 */
struct range *mempool_range_locked(uint64_t address);
/* Returns unused memory above the thresholds of the device's pools. Called after a synchronisation. */
void mempool_synchronised(struct device *d);

/* For mempool.c and mempool_places.c alone. */
extern pthread_mutex_t mempool_mutex;
/* The device of a location. CUDA_ERROR_INVALID_VALUE: it is none's. */
CUresult mempool_location_device(const CUmemLocation *l, struct device **ret);
/* True if memory of this location lies in host memory: on one of its NUMA nodes, or on the calling thread's. */
bool mempool_location_host(const CUmemLocation *l);
/*
 * Which kind of pool this is: pinned memory of a device or of the host, managed memory that prefers either or nothing.
 * *ret_device: who is charged for it; NULL: its first allocation tells. CUDA_ERROR_INVALID_VALUE: there is no such
 * kind.
 */
CUresult mempool_kind(const CUmemLocation *l, CUmemAllocationType type, struct device **ret_device, bool *ret_host);
/* Creates a pool of that kind. Every device may use memory of the host and managed memory from the beginning. */
struct mempool *mempool_of_kind(struct device *d, const CUmemPoolProps *props, bool on_host);
/* A pool is destroyed: where it was current, the default pool is. Called with mempool_mutex. */
void mempool_replace_locked(const struct mempool *p);
