/*
 * pools.h: stream-ordered memory. Memory that a program frees in a stream stays in its pool, for later allocations. It
 * stays charged, as kept memory, until the library releases it. The library does so when the program waits for the
 * device, unless the program set a threshold for the pool (hipMemPoolAttrReleaseThreshold). mete makes it do so before
 * a request of the grant is refused. The library does not say whether an allocation uses kept memory, which must have
 * about the same size, and be of the same stream or of work that has ended. So an allocation is charged in full, and
 * kept memory stays charged until it is released.
 */
#pragma once

#include "core/records.h"
#include "hip/start.h"

#include <stdbool.h>

/* Call when a call that waited for the device has freed the memory of a removed record. */
void pools_let_go(const struct record *record);

/* Runs the program's wait for the current device. */
hipError_t pools_wait(hipError_t (*wait)(void));

/* Releases the memory kept in the device's pools; waits for the device. False: none was kept, or it is not possible. */
bool pools_shrink(unsigned int device);

/* Call when the device was reset: pools keep no memory. Returns the units that were kept, for a refund. */
uint64_t pools_reset(unsigned int device);

/* In the child of fork(). */
void pools_forget(void);
