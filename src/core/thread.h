/*
 * thread.h: threads of the shim's own, in somebody else's process.
 */
#pragma once

#include <stdbool.h>

/* A thread with all signals blocked, which calls thread_begin(). errno stays. False: there is none to be had. */
bool thread_start(void *(*body)(void *), void *data);
/* By the thread itself: nobody joins it, it has a name, and its sleeps end when they should. */
void thread_begin(const char *name);
