/*
 * flight.h: the kernels of a graph that is one chain, in flight: executed one after the other, ahead of the device's
 * time, each behind the one before. Whatever is not a kernel waits for the last of them.
 */
#pragma once

#include "softdev/pace.h"

struct work;

struct flight {
	struct pace_kernel *kernel; /* owned */
	uint32_t room, count;
	struct pace_kernel *last; /* the latest, or what was before the graph; NULL: none, or it has ended */
};

/* For so many kernels, behind `after` (NULL: nothing). False: no memory; the kernels are waited for one by one. */
bool flight_init(struct flight *f, uint32_t kernels, struct pace_kernel *after);
/* Executes a kernel. */
void flight_run(struct flight *f, struct work *w);
/* Waits for the end of all. Value: when the last one ended; 0: there was none. */
uint64_t flight_wait(struct flight *f);
/* How long those take that have not ended. */
uint64_t flight_left_ns(const struct flight *f);
/* The last one, if it has not ended. */
struct pace_kernel *flight_last(const struct flight *f);
/* Those that have not ended leave the device. */
void flight_deinit(struct flight *f);
