/*
 * await.h: reads from a socket the bytes for which a program waits.
 *
 * A thread that sleeps until bytes arrive is late by the time that its processor takes to wake up. A thread that knows
 * when they are due therefore polls at that time: by the durations of the last waits (ring/forecast.h), or by an event
 * of this side that they usually follow (ring/sequel.h), which another thread reports. One thread reads; any other
 * thread may report.
 */
#pragma once

#include "ring/sequel.h"

#include <stddef.h>
#include <sys/types.h>

struct await {
	struct forecast forecast;
	struct sequel sequel;
	int stir[2]; /* a pipe that interrupts a sleep */
	bool sleeps; /* atomic: the reader sleeps, or is about to */
};

/* Value: 0 or -errno. */
int await_init(struct await *a);
void await_deinit(struct await *a);
/* On a blocking socket. Value: at least 1 byte; 0: end of file; -errno. */
ssize_t await_read(struct await *a, int fd, void *at, size_t bytes);
/* Called by any thread: an event has happened that bytes usually follow. */
void await_cause(struct await *a);
