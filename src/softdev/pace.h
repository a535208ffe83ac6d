/*
 * pace.h: kernels of this process on the timelines of the devices: coming, being executed, ending when the model says
 * so.
 *
 * A kernel comes when its stream reaches it, or behind the kernel before it on that stream; it is executed on the CPU
 * at once, which may be before or after the time at which the device serves it. It has ended when it has been executed
 * and served for as long as it takes. Ends are worked out, not waited for by a thread: whoever wants to know asks, and
 * whoever wants to wait sleeps until the time that is predicted, or until something changes that moves it forward.
 */
#pragma once

#include "softdev/driver.h"
#include "softdev/overlap.h"

struct pace_kernel {
	struct overlap_kernel overlap;
	uint32_t device;
	bool timed; /* on the timeline; else it ends when it has been executed */
	bool executed;
	uint64_t began_ns;	 /* when it came */
	uint64_t idle_ns;	 /* how long the device had been idle then */
	uint64_t cpu_ns;	 /* of the thread by then; 0: nobody else was there */
	_Atomic uint64_t end_ns; /* when it ended on the timeline, CLOCK_MONOTONIC; 0: it has not */
};

/* It comes, on a device of the segment; `after` may be NULL. Its memory is the caller's until it has ended. */
void pace_begin(struct pace_kernel *k, uint32_t device, struct pace_kernel *after, uint32_t demand,
		uint64_t duration_ns);
/* Where the engine is to note its progress. NULL: nowhere. */
_Atomic uint64_t *pace_beat(const struct pace_kernel *k);
/*
 * It has been executed by this thread, and takes `duration_ns`; OVERLAP_OPEN: as long as declared at its beginning, or
 * as the CPU took. Value: it has ended already.
 */
bool pace_executed(struct pace_kernel *k, uint64_t duration_ns);
/* Brings end_ns of all kernels on a device up to date. */
void pace_update(uint32_t device);
/* Sleeps until it has ended, or for a while, or until something has changed. */
void pace_wait(struct pace_kernel *k);
/*
 * Of several on one device: sleeps until the first one has ended, for a while, or until pace_poke() was called after
 * `seen` was asked for.
 */
void pace_wait_any(struct pace_kernel *const *k, uint32_t count, uint32_t seen);
uint32_t pace_seen(uint32_t device);
void pace_poke(uint32_t device);
/* Sleeps until it has ended, or the process ends: then it is gone. */
void pace_wait_end(struct pace_kernel *k);
/* It is gone, however far it is. */
void pace_remove(struct pace_kernel *k);
/* A copy engine has this to do, from the time at which it is free. Value: when it will have done it. */
uint64_t pace_copy(uint32_t device, bool to_device, uint64_t not_before_ns, uint64_t duration_ns);
/* Sleeps until then, as exactly as can be had. */
void pace_sleep(uint64_t until_ns);
/* This thread belongs to the driver: it may have its timers as exact as the kernel gives them. */
void pace_thread_init(void);
