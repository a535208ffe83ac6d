/*
 * run.h: a running launch, for launch.c and its parts: blocks (block.c, block_run.c) and the pool of threads that run
 * them (pool.c).
 */
#pragma once

#include "softdev/ptx/children.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREADS_MAX 256u
#define SHARED_ALIGN 1024u
#define SHARED_GRANULE 128u /* bytes, since compute capability 7.0 */

struct run {
	struct ptx_launch *launch;
	struct ptx_pool *pool;
	const struct function *function;
	uint64_t total;
	uint64_t slice;
	uint64_t deadline_ns;
	uint32_t resident_most;
	uint32_t batch; /* blocks that a worker takes at a time */
	size_t buffer_bytes;
	pthread_mutex_t lock;
	uint64_t next;		  /* under lock: the next block to start */
	uint32_t resident;	  /* under lock: set aside once, not ended */
	atomic_uint parked_count; /* changed under lock */
	uint32_t vain;		  /* under lock: turns of blocks that only waited, since one ended or started */
	struct block *parked, **parked_end; /* under lock: set aside */
	struct cluster *clusters;	    /* under lock: those with blocks that have not ended */
	uint32_t cluster_size[3], cluster_count;
	struct ptx_stats stats; /* under lock */
	struct children children;
	struct ptx_fault fault; /* under lock: the first one */
	uint32_t workspace[16]; /* of the grid's barrier: kernels find it through %envreg1 and 2 and use it with atomics
				 */
	atomic_bool stop;
	pthread_mutex_t print_lock;
	uint32_t helpers;	    /* under pool->lock */
	struct run *before, *after; /* under pool->lock */
};

/* What one worker has taken of a run and not started yet, and its results. */
struct share {
	uint64_t next, end;
	struct ptx_stats stats;
};

struct ptx_pool {
	pthread_mutex_t lock;
	pthread_cond_t work, idle;
	struct run *first, *last; /* under lock */
	bool ending;		  /* under lock */
	struct block *spare;	  /* under lock */
	uint32_t spare_count;	  /* under lock */
	uint32_t thread_count;
	pthread_t thread[THREADS_MAX];
};

/* A block's memory, from the pool or new, prepared for the launch. NULL: no memory. */
struct block *block_get(struct run *run);
/* Returns it to the pool. */
void block_put(struct run *run, struct block *b);
void block_free(struct block *b);
/* The size of a block's memory in a launch. */
size_t block_bytes(const struct run *run, uint32_t warps, uint32_t stride);
/* Makes it block number `id`, which has not begun. */
void block_start(struct block *b, uint64_t id);
/* Nested frames of lanes that were stopped in the middle. */
void block_drop_frames(struct block *b);

enum slice { SLICE_ENDED, SLICE_OVER, SLICE_WAITS, SLICE_FAULT };
/*
 * Records progress, and checks the clock and the cancel flag. True: the block has a fault that gives the reason of its
 * end.
 */
bool block_out_of_time(struct block *b);
/*
 * Runs the warps of a block in turns. `unchecked` counts the thread's operations since it last looked at the clock and
 * the cancel flag: blocks may be too short to look themselves.
 */
enum slice block_run(struct block *b, const struct isa *isa, uint32_t quantum, uint64_t *unchecked);

/* The calling thread works on the run until there is nothing left to begin or continue. */
void run_work(struct run *run);

void pool_append_locked(struct ptx_pool *pool, struct run *run);
void pool_remove_locked(struct ptx_pool *pool, struct run *run);
