/*
 * thread.h: threads of the core inside the program's process.
 */
#pragma once

#include <stdbool.h>

/*
 * Starts a thread with all signals blocked; its body calls thread_begin() first. Preserves errno. False: the thread
 * could not be created.
 */
bool thread_start(void *(*body)(void *), void *data);
/* Called by the thread itself: detaches it, sets its name and its timer slack. */
void thread_begin(const char *name);
