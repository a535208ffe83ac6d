/*
 * queues.h: the program's command queues, and what is hidden of them.
 *
 * Markers are timed by profiling events, so every queue is made with profiling. The program does not see it: a queue
 * shows the properties that it was asked for, and an event of one without profiling tells no times. A driver that makes
 * no queue with profiling makes one without: its work is timed by the host's clock.
 */
#pragma once

#include "opencl/types.h"

#include <stdbool.h>

/* In order, as far as is known: what is enqueued first is done first. */
bool queues_in_order(cl_command_queue queue);

/* In the child of fork(). */
void queues_forget(void);
