/*
 * pools.h: stream-ordered allocation. What counts is what a pool has reserved from the device, not what is used of it,
 * so the charge lies with the pool, and is settled whenever that may have changed: at every allocation and release, at
 * synchronising calls, at trim and destroy, and before an allocation of any kind is refused.
 */
#pragma once

#include "cuda_table.h"

#include <stdbool.h>
#include <stdint.h>

/* An allocation from the pool in this slot was released. Outside the gate. */
void pools_freed(uint32_t slot, uint64_t bytes);
/* The same of memory that moves (movable.h), which is charged by its piece. */
void pools_moving_freed(uint32_t slot, uint64_t bytes);
/* Blocks that the program has freed are kept for the pool's next ones, as its threshold asks. May be asked by later.c
 * with its lock held. */
bool pools_keeps(uint32_t slot);
/* The pool in this slot. NULL: there is none. */
CUmemoryPool pools_handle(uint32_t slot);
/* Settles the pools on a device and makes them return what nobody uses. True: there is more credit now. Outside the
 * gate. */
bool pools_shrink(unsigned int device);
/* A context on the device is gone; pools may have gone with it. Outside the gate. */
void pools_settle(unsigned int device);
/* Units that the pools on a device have reserved, charged or not. */
uint64_t pools_reserved(unsigned int device);
/* From now on calls that wait for the device settle. */
void pools_arm(void);
/* In the child of fork(). */
void pools_reset(void);
