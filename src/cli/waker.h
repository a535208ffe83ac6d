/*
 * waker.h: continues mete when the program that it stopped with is continued.
 *
 * A shell continues the whole job, mete and the program. A signal to the program's process id continues the program
 * alone; mete, which is stopped and receives nothing, would then stay stopped for ever. A separate process therefore
 * watches the program as long as mete is stopped.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct waker {
	pid_t pid; /* 0: there was none; otherwise the latest one, even if it has exited */
	int heard; /* a descriptor for its report */
};

/* Starts one; without it only a signal to this process continues it. */
void waker_start(struct waker *waker, pid_t program);
/* True if it has seen that the program was continued, and has continued this process. */
bool waker_end(struct waker *waker);
