/*
 * movable.h: plain allocations of a tenant whose memory may leave the device: built of handles of the driver's virtual
 * memory management, so that the addresses stay when the memory goes.
 *
 * Memory comes in pieces, each of one handle, mapped once over its whole reservation: large allocations have a piece
 * each, small ones are packed into pieces of 2 to 64 MiB (core/pack.h). A piece is charged as a whole; to the program
 * its blocks look like plain allocations. Packed pieces that are empty are kept, of 64 MiB together at most; large ones
 * for a moment, a sixteenth of the quota at most, and only where no other process of the tenant holds memory.
 *
 * Memory of pools (pools.c) is made of such blocks as well, but for pools that can be exported or have a limit.
 *
 * What the program makes and maps itself (cuMemCreate, vmm.c) is a piece each. It moves as long as nothing outside of
 * the process has it, and is counted in `held` without `movable_units` from then on.
 *
 * Not movable, and counted likewise: managed memory, arrays, graph memory, contexts, modules. Blocks cannot be exported
 * (cuIpcGetMemHandle).
 */
#pragma once

#include "core/records.h"
#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* The environment says that memory of this process may move (METE_SPILL=1). */
bool movable_wanted(void);

/*
 * An allocation of `bytes` (above 0) on the current device. False: not of ours to make, ask the driver; nothing has
 * changed. Else *ret_r is the answer, and *ret_pointer is filled when it is CUDA_SUCCESS.
 */
bool movable_alloc(uint64_t bytes, CUdeviceptr *ret_pointer, CUresult *ret_r);

/*
 * The same of a memory pool (its slot in pools.c, below MOVABLE_POOLS) on a device of the grant. It belongs to no
 * context.
 */
#define MOVABLE_POOLS 511u
CUresult movable_alloc_pool(unsigned int device, uint32_t pool, uint64_t bytes, CUdeviceptr *ret);
/* A block that was freed in the order of a stream is allocated anew in the same order; `bytes`: as many units. */
CUresult movable_renew(struct record *r, uint32_t pool, uint64_t bytes, CUdeviceptr *ret);
/* The pool that a record's block is of, and its bytes. False: it is of none. */
bool movable_pool(const struct record *r, uint32_t *ret_pool, uint64_t *ret_bytes);

/* A record of kind RECORD_MOVABLE has been taken: its block is free, once work in flight has ended. */
void movable_free(const struct record *r);
/* The same for a context that is gone; a shard of the records may be locked. Then movable_trim(). */
void movable_forget(const struct record *r);
/*
 * Gives back pieces that are empty, but for those that are kept; `all`: them as well. True: there was one. Outside the
 * gate.
 */
bool movable_trim(bool all);

/* The block that an address is in. */
struct movable_block {
	CUdeviceptr base;
	uint64_t bytes;
	uint32_t serial; /* of the allocation */
	const void *context;
	uint32_t pool; /* MOVABLE_POOLS: none's */
};

/* It is in one of our pieces, whether a block is there or not. */
bool movable_has(CUdeviceptr p);
/* False: no block of ours. */
bool movable_find(CUdeviceptr p, struct movable_block *ret);

/* What the program has made by cuMemCreate. */
struct movable_own {
	uint64_t id; /* vmm.c's */
	unsigned int device;
	uint64_t bytes;
	unsigned long long flags;
	CUmemAllocationProp prop; /* with the driver's number of the device */
};

/* Made and charged, or *ret_r says why not. False: there is no place for so many; nothing has changed. */
bool movable_own_new(const struct movable_own *own, uint32_t *ret_place, CUresult *ret_r);
/* The driver's handle of it. False: it is away (as the process ends: else nobody is inside the door then). */
bool movable_own_handle(uint32_t place, CUmemGenericAllocationHandle *ret);
/* The same by the mover. False: it stays where it is. */
bool movable_own_leaves(uint32_t place, CUmemGenericAllocationHandle *ret);
/* Nothing refers to it any more; `charged`: to this process. Outside the gate. */
void movable_own_end(uint32_t place, bool charged);
/* It stays on the device from now on. False: meted has no room for what stays. Outside the gate; may wait. */
bool movable_own_keep(uint32_t place);
void movable_own_keep_no_more(uint32_t place);

/* Leaving and returning, by the mover, with the door shut and nothing in flight. */

enum movable_result {
	MOVABLE_DONE = 0,
	MOVABLE_HOST,	/* no memory in the host, and no room on the disk */
	MOVABLE_DEVICE, /* no room on the device */
	MOVABLE_FAULT,	/* the driver answers an error */
	MOVABLE_DISK,	/* the disk does */
};

/* Asked between two pieces; `percent`: of the way. False: stop, and undo. */
typedef bool (*movable_fn)(unsigned int percent);

/*
 * Copies all that is resident on the device to the host, or to the disk (stash.h), and lets go of it there. Anything
 * but MOVABLE_DONE: nothing has moved. A context of the device is current.
 */
enum movable_result movable_leave(unsigned int device, movable_fn go_on);
/* The way back. Anything but MOVABLE_DONE: all is away as before. */
enum movable_result movable_return(unsigned int device, movable_fn go_on);

/* Writes again what is away, and what can leave: the page may have been replaced. By the mover. */
void movable_tell(unsigned int device);

/* In the child of fork(). */
void movable_reset(void);
