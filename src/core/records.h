/*
 * records.h: the allocations of the process, by pointer or handle: charge, device, and the context that ends them.
 *
 * There are 256 shards. Each is a map (map.h) under a spin lock, which is held for one probe and never during a call.
 * Look-up, insertion and removal cost the same with any number of entries; a growing shard moves only its own entries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum record_kind {
	RECORD_PLAIN = 1, /* cuMemAlloc and similar: charged by blocks of the driver's granule */
	RECORD_POOL,	  /* stream-ordered: charged to the pool `extra` */
	RECORD_ARRAY,	  /* array or mipmap: measured, or RECORD_EXACT */
	RECORD_MOVABLE,	  /* a block of memory that moves: charged by its piece (shim/movable.h) */
	RECORD_IMPORTED,  /* of another process: charged to object `extra`; SHARING_OWN: `size_units` to this one */
	RECORD_EXTERNAL,  /* of another API, or a part of it that is mapped: charged to the import `extra` */
	RECORD_SVM,	  /* OpenCL's shared virtual memory: `units` on each device of the mask `extra` */
};

enum record_flags {
	RECORD_SHARED = 1 << 0, /* exported: the charge moved to the object `extra` */
	RECORD_EXACT = 1 << 1,	/* an array of known size: its units are refunded as they are */
};

struct record {
	uint64_t key; /* record_pointer(), record_handle() */
	const void *context;
	uint32_t
		units; /* charged to the device; 0: charged elsewhere; of an import: its further openings */
	uint32_t size_units; /* requested size, rounded up */
	uint32_t extra;
	uint8_t kind;	/* enum record_kind */
	uint8_t flags;	/* enum record_flags */
	uint8_t device; /* index of the grant's device */
};

static inline uint64_t record_pointer(uint64_t device_pointer)
{
	return device_pointer;
}

/* Handles are host addresses and could equal device addresses; the highest bit separates them. */
static inline uint64_t record_handle(const void *handle)
{
	return (uint64_t)(uintptr_t)handle | 1ull << 63;
}

/* Adds a record. False: no memory. */
bool records_add(const struct record *r);
/* Removes and returns a record; of two threads that free the same pointer, one finds it. False: no such record. */
bool records_take(uint64_t key, struct record *ret);
bool records_find(uint64_t key, struct record *ret);
/*
 * Exports an allocation in two steps. records_lift() takes the charge out of a plain record: the caller has it, and a
 * free of the memory refunds nothing. False: no such record. records_share() then stores the object that has the charge
 * or, with SHARING_OWN for `object`, puts the `units` back. False: the memory was freed meanwhile.
 */
bool records_lift(uint64_t key, struct record *ret);
bool records_share(uint64_t key, uint32_t object, uint32_t units);
/* Removes all records for which drop() returns true. drop() runs with a shard locked and must not call anything. */
void records_sweep(bool (*drop)(const struct record *r, void *data), void *data);
/* In the child of fork(): removes all. */
void records_reset(void);
