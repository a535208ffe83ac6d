/*
 * queues.h: the program's command queues, and which of their properties the program sees.
 *
 * Markers are timed by profiling events, so every queue is created with profiling. The program does not see it: a queue
 * shows the requested properties, and an event of a queue without profiling returns no times. If the driver cannot
 * create a queue with profiling, it creates one without, and its work is timed by the host's clock.
 */
#pragma once

#include "opencl/types.h"

#include <stdbool.h>

/* True if, as far as is known, the queue executes its commands in order. */
bool queues_in_order(cl_command_queue queue);

/* In the child of fork(). */
void queues_forget(void);
