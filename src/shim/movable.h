/*
 * movable.h: plain allocations of a tenant whose memory may leave the device. They use the driver's virtual memory
 * management, so that the addresses stay valid when the memory leaves.
 *
 * Memory comes in pieces, each of one handle, mapped once over its whole reservation: large allocations have a piece
 * each, small ones are packed into pieces of 2 to 64 MiB (core/pack.h). A piece is charged as a whole; to the program
 * its blocks look like plain allocations. Empty packed pieces are kept, 64 MiB together at most; large ones for a
 * moment, a sixteenth of the quota at most, and only if no other process of the tenant holds memory.
 *
 * Memory of pools (pool_moving.c) consists of such blocks as well, except for pools that can be exported or have a
 * limit.
 *
 * Memory that the program creates and maps itself (cuMemCreate, vmm.c) is a piece each. It moves as long as nothing
 * outside the process has it; afterwards it is counted in `held` without `movable_units`.
 *
 * Not movable, and counted likewise: managed memory, arrays, graph memory, contexts, modules. Blocks cannot be exported
 * (cuIpcGetMemHandle).
 */
#pragma once

#include "core/records.h"
#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* True if the environment permits memory of this process to move (METE_SPILL=1). */
bool movable_wanted(void);

/*
 * Allocates `bytes` (above 0) on the current device. False: not an allocation for this file; ask the driver, nothing
 * has changed. True: *ret_r is the result, and *ret_pointer is set with CUDA_SUCCESS.
 */
bool movable_alloc(uint64_t bytes, CUdeviceptr *ret_pointer, CUresult *ret_r);

/*
 * The same for a memory pool (its slot in pool.h, below MOVABLE_POOLS) on a device of the grant. The memory belongs to
 * no context.
 */
#define MOVABLE_POOLS 511u
CUresult movable_alloc_pool(unsigned int device, uint32_t pool, uint64_t bytes, CUdeviceptr *ret);
/* Allocates a block again, in the order of the stream in which it was freed; `bytes` takes as many units. */
CUresult movable_renew(struct record *r, uint32_t pool, uint64_t bytes, CUdeviceptr *ret);
/* The pool of a record's block, and the block's size. False: it belongs to none. */
bool movable_pool(const struct record *r, uint32_t *ret_pool, uint64_t *ret_bytes);

/* True if other blocks may lie in the same piece as the record's. */
bool movable_is_packed(const struct record *r);

/* A record of kind RECORD_MOVABLE has been taken: its block becomes free once work in flight has completed. */
void movable_free(const struct record *r);
/* The same for a context that has ended; a shard of the records may be locked. movable_trim() must follow. */
void movable_forget(const struct record *r);
/* Frees empty pieces except those that are kept; `all`: those as well. True: there was one. Outside the gate. */
bool movable_trim(bool all);

/* The block that contains an address. */
struct movable_block {
	CUdeviceptr base;
	uint64_t bytes;
	uint32_t serial; /* of the allocation */
	const void *context;
	uint32_t pool; /* MOVABLE_POOLS: no pool */
};

/* True if the address is in a piece of this file, with a block there or not. */
bool movable_has(CUdeviceptr p);
/* False: not a block of this file. */
bool movable_find(CUdeviceptr p, struct movable_block *ret);

/* An allocation that the program has created by cuMemCreate. */
struct movable_own {
	uint64_t id; /* assigned by vmm.c */
	unsigned int device;
	uint64_t bytes;
	unsigned long long flags;
	CUmemAllocationProp prop; /* with the driver's number of the device */
};

/* Creates and charges it, or *ret_r gives the error. False: the table is full; nothing has changed. */
bool movable_own_new(const struct movable_own *own, uint32_t *ret_place, CUresult *ret_r);
/*
 * The driver's handle. False: the memory is away (only as the process ends: otherwise no thread is inside the door
 * then).
 */
bool movable_own_handle(uint32_t place, CUmemGenericAllocationHandle *ret);
/* The same, called by the mover. False: it stays where it is. */
bool movable_own_leaves(uint32_t place, CUmemGenericAllocationHandle *ret);
/* Ends it when nothing refers to it any more; `charged`: it is charged to this process. Outside the gate. */
void movable_own_end(uint32_t place, bool charged);
/* Keeps it on the device from now on. False: meted has no room for memory that stays. Outside the gate; may wait. */
bool movable_own_keep(uint32_t place);
void movable_own_keep_no_more(uint32_t place);

/* Leaving and returning. Called by the mover with the door shut and nothing in flight. */

enum movable_result {
	MOVABLE_DONE = 0,
	MOVABLE_HOST,	/* no memory in the host, and no room on the disk */
	MOVABLE_DEVICE, /* no room on the device */
	MOVABLE_FAULT,	/* the driver returned an error */
	MOVABLE_DISK,	/* the disk returned an error */
};

/* Called between two pieces; `percent`: the progress. False: stop, and undo. */
typedef bool (*movable_fn)(unsigned int percent);

/*
 * Copies everything resident on the device to the host, or to the disk (stash.h), and frees it on the device. Any value
 * but MOVABLE_DONE: nothing has moved. A context of the device must be current.
 */
enum movable_result movable_leave(unsigned int device, movable_fn go_on);
/* The reverse. Any value but MOVABLE_DONE: everything is away as before. */
enum movable_result movable_return(unsigned int device, movable_fn go_on);

/* Writes again what is away, and what can leave: the page may have been replaced. Called by the mover. */
void movable_tell(unsigned int device);

/* In the child of fork(). */
void movable_reset(void);
