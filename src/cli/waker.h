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
	pid_t pid; /* 0: there was none; else the last one, also when it has ended */
	int heard; /* what it has to say */
};

/* Without one only a signal to this process continues it. */
void waker_start(struct waker *waker, pid_t program);
/* True when it has seen that the program was continued, and has continued us. */
bool waker_end(struct waker *waker);
