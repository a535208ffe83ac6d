/*
 * pools.h: stream-ordered allocation. What counts is the memory that a pool has reserved from the device, not the part
 * in use. The pool is therefore charged, and settled whenever the reservation may have changed: at every allocation and
 * release, at synchronising calls, at trim and destroy, and before an allocation of any kind is refused.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* An allocation from the pool in this slot was released. Outside the gate. */
void pools_freed(uint32_t slot, uint64_t bytes);
/* The same for memory that moves (movable.h), which is charged by its piece. */
void pools_moving_freed(uint32_t slot, uint64_t bytes);
/*
 * True if the pool keeps for later allocations what has been freed, in all `freed_bytes`: with what is allocated it is
 * not above its threshold. later.c may call it with its lock held.
 */
bool pools_keeps(uint32_t slot, uint64_t freed_bytes);
/* The pool in this slot. NULL: there is none. */
CUmemoryPool pools_handle(uint32_t slot);
/*
 * Settles the pools on a device, and makes them return unused memory. True: there is more credit now. Outside the gate.
 */
bool pools_shrink(unsigned int device);
/* A context on the device has ended, and pools may have ended with it. Outside the gate. */
void pools_settle(unsigned int device);
/* The units that the pools on a device have reserved, charged or not. */
uint64_t pools_reserved(unsigned int device);
/* From now on, calls that wait for the device settle. */
void pools_arm(void);
/* In the child of fork(). */
void pools_reset(void);
