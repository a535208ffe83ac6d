/*
 * watcher.h: the thread that waits for what is in flight on one engine, while that engine is gated.
 *
 * Made when the first marker is recorded, named mete-watch, all signals blocked, detached. It waits for the oldest
 * marker, takes up what has ended, marks what nobody else marks, and sleeps on a futex when nothing is in flight. It
 * ends when the process does: before the driver is torn down, exit() tells it to stay out.
 */
#pragma once

#include "core/pace.h"

/* Makes the thread, if there is none. */
void watcher_start(struct pace *p);

/* In the child of fork(), which has none. */
void watcher_reset(void);
