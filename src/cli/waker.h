/*
 * waker.h: continues this process when the program that it stopped with is continued.
 *
 * A shell continues a whole job, mete and program. Whoever continues the program alone, by its process id, would leave
 * mete stopped for ever, and a stopped process hears of nothing: so another one looks, for as long as that lasts.
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
