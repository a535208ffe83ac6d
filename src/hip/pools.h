/*
 * pools.h: stream-ordered memory. What a program frees in a stream stays with its pool, where a later allocation may
 * find it; so it stays charged, as kept, until the library has given it back: when the program waits for the device
 * (unless it has told a pool to keep memory: hipMemPoolAttrReleaseThreshold), and before a request of the grant is
 * refused. The library does not say whether what is kept serves a request (it must be of about that size, and of work
 * that has ended or of the same stream): an allocation is charged in full, and what is kept is until it is given back.
 */
#pragma once

#include "core/records.h"
#include "hip/start.h"

#include <stdbool.h>

/* The memory of a record that was taken out has been freed by a call that waited for the device. */
void pools_let_go(const struct record *record);

/* Around a wait for the current device by the program. */
hipError_t pools_wait(hipError_t (*wait)(void));

/* Gives back what pools of the device keep; waits for the device. False: they kept nothing, or it cannot be now. */
bool pools_shrink(unsigned int device);

/* The device has been reset: pools keep nothing more. Value: units that were kept, to be given back. */
uint64_t pools_reset(unsigned int device);

/* In the child of fork(). */
void pools_forget(void);
