/* worker.h: the thread that knows the process's channel groups, sets their slices and switches their channels. */
#pragma once

#include <stdbool.h>

/* The process has made its first channel group: the thread is started, once. Any thread. */
void worker_wanted(void);
/* The process is about to end: everything is switched on, and nothing off again. Waits for it, briefly. */
void worker_leave(void);
/* In the child of fork(). */
void worker_reset(void);
