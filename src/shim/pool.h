/*
 * pool.h: one pool of stream-ordered memory, for the files that work on them (pools.h says what is charged). Each pool
 * that the program has used has a slot, of which nothing but the pools' own files knows more than the number.
 */
#pragma once

#include "core/account.h"
#include "core/records.h"
#include "cuda_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define POOLS_CREATED_MAX 496u
/* The slots above the last are for the pools that the devices and the host have by themselves. */
#define POOLS_MAX (POOLS_CREATED_MAX + 3 * WIRE_MAX_DEVICES)

/* What a process's pools are made of whose memory may move. */
enum pool_backing {
	BACKING_UNKNOWN, /* a pool that the driver has by itself: not yet */
	BACKING_DRIVER,	 /* the driver's own memory, which stays */
	BACKING_MOVABLE, /* blocks of movable.h; the driver's pool remains empty */
};

struct pool {
	pthread_mutex_t lock; /* guards the rest */
	CUmemoryPool handle;
	unsigned int device;
	bool unplaced; /* managed memory that prefers no device, made without a context: its first allocation decides */
	bool used;     /* the slot is taken */
	bool created;  /* by the program, which may destroy it */
	bool exportable;
	bool dying; /* destroyed by the program; by the driver only once it has nothing reserved */
	uint32_t charged_units;
	uint32_t piece_units; /* it grows by multiples of this */
	uint64_t live_bytes;  /* allocated and not released by the program */
	enum pool_backing backing;
	/* of what moves */
	_Atomic uint64_t moving_bytes;	  /* as live_bytes; read without the lock as well */
	uint64_t moving_most_bytes;	  /* the most since that was reset */
	uint64_t reserved_most_bytes;	  /* the same with what was freed and not given back */
	_Atomic uint64_t threshold_bytes; /* what may be kept, in all; read without the lock */
};

extern struct pool pools[POOLS_MAX];
extern _Atomic uint32_t pool_count; /* slots ever taken: those above it are free */

static inline uint32_t pool_slot(const struct pool *p)
{
	return (uint32_t)(p - pools);
}

static inline uint64_t pool_moving_bytes(const struct pool *p)
{
	return atomic_load_explicit(&p->moving_bytes, memory_order_relaxed);
}

/* The pool's slot. NULL: it has none. */
struct pool *pool_find(CUmemoryPool handle);
/*
 * The slot of a pool on a device of the grant. NULL: no place. A new pool may come under the handle of one that went
 * with its context: then the slot starts anew. The last slots are for the pools that the devices have by themselves.
 */
struct pool *pool_get(CUmemoryPool handle, unsigned int device, bool placed, bool created);
/* The multiples by which a pool on this device grows, as long as it has not been seen to grow by less. */
uint32_t pool_first_piece(unsigned int device);
/* Bytes that the pool has reserved from the device, as the driver says. The lock is held. */
uint64_t pool_reserved_locked(const struct pool *p);
/*
 * Brings the charge to what the pool has reserved, paying growth from `ret_units` (units already in held) and then from
 * the credit at hand; what is left in *ret_units is the caller's. Value: units that are missing, and then nothing of
 * the growth that they belong to is charged yet. Inside the gate, with the lock held.
 */
uint32_t pool_settle_locked(struct pool *p, uint32_t *ret_units);
/* Settles; growth that nobody asked for is reported. Inside the gate, which it leaves. */
void pool_settle_and_leave(struct pool *p);
/* The same outside the gate. */
void pool_settle(struct pool *p);

/* ---- of what moves (pool_moving.c) ---- */

/* True: the pool's memory may move. The first call decides for a pool that the driver has by itself. */
bool pool_is_movable(struct pool *p);
/* Allocates from such a pool. `per_thread`: for a call whose default stream is the thread's (_ptsz). */
CUresult pool_moving_alloc(struct pool *p, bool per_thread, CUdeviceptr *dptr, size_t bytes, CUstream stream);
/* What movable memory adds to an attribute of the pool. 0: nothing, or another attribute. */
uint64_t pool_moving_figure(struct pool *p, CUmemPool_attribute attr);
