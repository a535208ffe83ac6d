/*
 * capture.h: streams that are being captured. A launch into such a stream is not work; it becomes a node of a graph.
 *
 * While any stream of the process is being captured, three rules hold. No launch takes the fast path. Every launch asks
 * the driver about its stream. Every launch that is work is marked at once by its own thread, because a later marker
 * could find its stream captured and become part of the program's graph.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t capture_count;

static inline bool capture_going(void)
{
	return atomic_load(&capture_count);
}

/* Call before a capture begins: from now on launches ask, and unmarked work is marked. */
void capture_begins(void);
/* Call when the capture did not begin. */
void capture_failed(void);
/* Call when a capture has ended, also when it was invalidated and ended with an error. */
void capture_ended(void);

/*
 * No capture ends between these two calls: a request to the driver in between becomes a node if its stream is captured.
 * The driver calls in between must not block. A thread may hold several times.
 */
void capture_hold(void);
void capture_release(void);

/* In the child of fork(): no capture is under way. */
void capture_reset(void);
