/* guard.h: the thread that ends the worker when its client ends, whatever the others are doing. */
#pragma once

#include <stdbool.h>

/* What the guard watches; -1: nothing. */
struct guard {
	int client;			 /* the client's socket: its end is ours */
	int process;			 /* pidfd of its process, whose children may have the socket too */
	int control;			 /* meted's, see control.h */
	void (*on_control)(void *owner); /* it can be read */
	void *owner;
};

/* Starts the thread. 0 or -errno. `guard` must stay. */
int guard_start(struct guard *guard);
