/*
 * pools.h: stream-ordered allocation. What counts is what a pool has reserved from the device, not what is used of it,
 * so the charge lies with the pool, and is settled whenever that may have changed: at every allocation and release, at
 * synchronising calls, at trim and destroy, and before an allocation of any kind is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* An allocation from the pool in this slot was released. Outside the gate. */
void pools_freed(uint32_t slot, uint64_t bytes);
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
