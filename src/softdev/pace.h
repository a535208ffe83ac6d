/*
 * pace.h: kernels of this process on the timelines of the devices: they arrive, are executed, and end when the model
 * says so.
 *
 * A kernel arrives when its stream reaches it, or after the previous kernel of that stream; it is executed on the CPU
 * at once, which may be before or after the time at which the device serves it. It has ended when it has been executed
 * and served for its duration. No thread waits for ends: they are computed on request, and a waiting thread sleeps
 * until the predicted time, or until a change moves it forward.
 */
#pragma once

#include "softdev/driver.h"
#include "softdev/overlap.h"

struct pace_kernel {
	struct overlap_kernel overlap;
	uint32_t device;
	bool timed; /* on the timeline; else it ends when it has been executed */
	bool executed;
	uint64_t began_ns;	 /* when it arrived */
	uint64_t idle_ns;	 /* how long the device had been idle then */
	uint64_t cpu_ns;	 /* processor time of the thread at that time, if the duration is not known and other
				  * contexts use the device; otherwise 0 */
	_Atomic uint64_t end_ns; /* when it ended on the timeline, CLOCK_MONOTONIC; 0: it has not */
};

/*
 * Adds a kernel to a device of the segment; `after` may be NULL. The caller owns its memory, which must remain until it
 * has ended.
 */
void pace_begin(struct pace_kernel *k, uint32_t device, struct pace_kernel *after, uint32_t demand,
		uint64_t duration_ns);
/* Where the engine records its progress. NULL: nowhere. */
_Atomic uint64_t *pace_beat(const struct pace_kernel *k);
/*
 * This thread has executed it, and it takes `duration_ns`; OVERLAP_OPEN: as declared at its beginning, or as long as
 * the CPU took. Value: true if it has ended already.
 */
bool pace_executed(struct pace_kernel *k, uint64_t duration_ns);
/* Updates end_ns of all kernels on a device. */
void pace_update(uint32_t device);
/* Sleeps until it has ended, or for a while, or until something has changed. */
void pace_wait(struct pace_kernel *k);
/*
 * For several on one device: sleeps until the first one has ended, for a while, or until pace_poke() was called after
 * `seen` was read.
 */
void pace_wait_any(struct pace_kernel *const *k, uint32_t count, uint32_t seen);
uint32_t pace_seen(uint32_t device);
void pace_poke(uint32_t device);
/* Sleeps until it has ended, or the process exits: then it is removed. */
void pace_wait_end(struct pace_kernel *k);
/* Removes it, ended or not. */
void pace_remove(struct pace_kernel *k);
/* Adds work to a copy engine, from the time at which it is free. Value: the time at which it will be done. */
uint64_t pace_copy(uint32_t device, bool to_device, uint64_t not_before_ns, uint64_t duration_ns);
/* Sleeps until that time, as exactly as possible. */
void pace_sleep(uint64_t until_ns);
/* Declares this thread one of the driver's: its timers are as exact as the kernel permits. */
void pace_thread_init(void);
