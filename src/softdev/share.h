/*
 * share.h: device memory of this process that other processes map.
 *
 * The pages of an allocation move, contents and all, into the file of a shared object, which then lies where they lay;
 * the charge moves with them, so that it lasts as long as anybody has the memory. Memory that shares its page with
 * others (allocations below 4 KiB) takes its neighbours along, as real drivers do with their larger pages; such a page
 * stays a file's until the process ends, and its charge stays with the process.
 *
 * Nothing may touch the pages while they move. Work of streams holds share_lock for reading while it runs, so an
 * export waits for the kernels that this process runs at that moment.
 */
#pragma once

#include "softdev/memory.h"

/* Read-locked: work of a stream accesses memory. Write-locked: pages move. Taken before memory_mutex. */
extern pthread_rwlock_t share_lock;

/* Where shared memory lies: enough for another process to find it. */
struct share_place {
	uint64_t object;
	uint64_t second; /* of its second page, where small memory lies across the border of two; or 0 */
	uint64_t offset; /* of the allocation's first byte in the object's file */
};

/* Moves an allocation's pages into an object, once; share_lock is held for writing, or nobody knows of `r` yet. */
CUresult share_export_locked(struct range *r, struct share_place *ret);
/* The pages of a range with an object become private again, empty, before it is freed; memory_mutex is held. */
void share_withdraw_locked(struct range *r);
/*
 * Another process's memory appears in this one, as a RANGE_IMPORTED of the context. `object` and `offset` as exported.
 * CUDA_ERROR_INVALID_HANDLE: nobody has it any more.
 */
CUresult share_import(struct device *d, struct context *c, const struct share_place *at, uint64_t bytes,
		      struct range **ret);
/* Releases it, after it was removed from the map. */
void share_close(struct range *r);
