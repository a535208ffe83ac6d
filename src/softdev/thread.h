/* thread.h: the software device's own threads in a program. */
#pragma once

#include <stdbool.h>

/*
 * Begins a detached thread, whose stack is deep enough for compiled code, and which takes no signals: these belong to
 * the program's own threads. False: there is none.
 */
bool thread_start(void *(*run)(void *), void *arg);
