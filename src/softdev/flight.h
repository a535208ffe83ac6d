/*
 * flight.h: the kernels in flight of a graph that is one chain: executed one after the other, ahead of the device's
 * time, each after the previous one. Other operations wait for the last of them.
 */
#pragma once

#include "softdev/pace.h"

struct work;

struct flight {
	struct pace_kernel *kernel; /* owned */
	uint32_t room, count;
	struct pace_kernel *last; /* the latest one, or the one before the graph; NULL: none, or it has ended */
};

/*
 * Prepares for so many kernels, after `after` (NULL: nothing). False: no memory; the kernels are then waited for one by
 * one.
 */
bool flight_init(struct flight *f, uint32_t kernels, struct pace_kernel *after);
/* Executes a kernel. */
void flight_run(struct flight *f, struct work *w);
/* Waits for the end of all. Value: the time at which the last one ended; 0: there was none. */
uint64_t flight_wait(struct flight *f);
/* The total duration of those that have not ended. */
uint64_t flight_left_ns(const struct flight *f);
/* The last one, if it has not ended. */
struct pace_kernel *flight_last(const struct flight *f);
/* Removes those that have not ended from the device. */
void flight_deinit(struct flight *f);
