/*
 * records.h: what the process holds, by pointer or handle: its charge, its device, the context that it dies with.
 *
 * 256 shards, each a map (map.h) under a spin lock that is held for a probe and never over a call. Finding, adding and
 * removing cost the same with 0 and with millions of entries; a shard that grows moves only its own entries.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum record_kind {
	RECORD_PLAIN = 1, /* cuMemAlloc and its like: charged by blocks of the driver's granule */
	RECORD_POOL,	  /* stream-ordered: the charge lies with the pool, `extra` */
	RECORD_ARRAY,	  /* array or mipmap: measured, or RECORD_EXACT */
	RECORD_MOVABLE,	  /* a block of memory that moves: charged by its piece (shim/movable.h) */
	RECORD_IMPORTED,  /* another process's: charged once, to the object `extra`; SHARING_OWN: `size_units` to us */
	RECORD_SVM,	  /* OpenCL's shared virtual memory: `units` on each device of the mask `extra` */
};

enum record_flags {
	RECORD_SHARED = 1 << 0, /* exported: the charge moved to the object `extra` */
	RECORD_EXACT = 1 << 1,	/* an array whose size was known beforehand: its units are what goes back */
};

struct record {
	uint64_t key; /* record_pointer(), record_handle() */
	const void *context;
	uint32_t
		units; /* charged to the device; 0 where the charge lies elsewhere; of an import its further openings */
	uint32_t size_units; /* as asked for, rounded up */
	uint32_t extra;
	uint8_t kind;	/* enum record_kind */
	uint8_t flags;	/* enum record_flags */
	uint8_t device; /* index of the grant's device */
};

static inline uint64_t record_pointer(uint64_t device_pointer)
{
	return device_pointer;
}

/* Handles are addresses of the driver's own objects, far from device addresses only by habit: keep them apart. */
static inline uint64_t record_handle(const void *handle)
{
	return (uint64_t)(uintptr_t)handle | 1ull << 63;
}

/* False: no memory for it. */
bool records_add(const struct record *r);
/* Removes it, so that of two that free the same pointer one finds it. False: not ours. */
bool records_take(uint64_t key, struct record *ret);
bool records_find(uint64_t key, struct record *ret);
/*
 * An export in two steps. The charge leaves a plain record that still has it, and lies with the caller: who frees the
 * memory from then on gives nothing back. False: there is no such record. Then its new place is set, or with
 * SHARING_OWN for `object` the `units` are put back. False: the memory is gone meanwhile.
 */
bool records_lift(uint64_t key, struct record *ret);
bool records_share(uint64_t key, uint32_t object, uint32_t units);
/* Removes all for which drop() says so; called with one shard locked, so it only counts. */
void records_sweep(bool (*drop)(const struct record *r, void *data), void *data);
/* In the child of fork(). */
void records_reset(void);
