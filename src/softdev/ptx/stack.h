/*
 * stack.h: the stacks of the threads that run warps. A function of compiled code has a frame of up to half a MiB, and a
 * program may launch from a thread that has less, or limit the stacks of all threads (RLIMIT_STACK).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Whether the calling thread has room for frames of compiled code below where it is. It is looked up once a thread. */
bool stack_is_deep(void);

/* For a thread of our own: `attr`, which is initialized, gets a stack that is deep in any case. */
void stack_deepen(pthread_attr_t *attr);
