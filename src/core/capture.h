/*
 * capture.h: streams that are being captured. What is launched into them is no work: it becomes nodes of a graph.
 *
 * While any stream of the process is being captured, no launch takes the fast path, every launch asks the driver about
 * its stream, and every launch that is work is marked at once by its own thread: a marker that came later could find
 * its stream captured and end up in the program's graph.
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

/* Before a stream begins to be captured: from now on launches look, and what is unmarked is marked. */
void capture_begins(void);
/* It did not begin. */
void capture_failed(void);
/* A capture that was invalidated ends with an error, but it ends. */
void capture_ended(void);

/*
 * Between these no capture ends: what the driver is asked for in between is a node where the stream is captured. The
 * driver's calls there wait for nobody.
 */
void capture_hold(void);
void capture_release(void);

/* In the child of fork(). */
void capture_reset(void);
