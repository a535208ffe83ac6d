/* worker.h: the thread that tracks the process's channel groups, sets their slices and switches their channels. */
#pragma once

#include <stdbool.h>

/* The process has created its first channel group: starts the thread, once. Any thread may call it. */
void worker_wanted(void);
/* Called before the process ends: switches all channels on, and none off again. Waits for that briefly. */
void worker_leave(void);
/* In the child of fork(). */
void worker_reset(void);
