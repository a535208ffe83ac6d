/*
 * watcher.h: the thread that waits for work in flight on one engine while that engine is gated.
 *
 * It is created with the first marker, is named mete-watch, blocks all signals and is detached. It waits for the oldest
 * marker, processes what has ended, marks work that no other thread marks, and sleeps on a futex while nothing is in
 * flight. When the process exits, exit() stops it from calling the driver before the driver is torn down.
 */
#pragma once

#include "core/pace.h"

/* Starts the thread unless it runs. */
void watcher_start(struct pace *p);

/* In the child of fork(), which has no such thread. */
void watcher_reset(void);
