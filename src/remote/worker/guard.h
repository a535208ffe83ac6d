/* guard.h: the thread that ends the worker when its client ends, whatever other threads do. */
#pragma once

#include <stdbool.h>

/* The descriptors that the guard watches; -1: none. */
struct guard {
	int client;			 /* the client's socket: the worker exits when it closes */
	int process;			 /* a pidfd of the client: its children may hold the socket too */
	int control;			 /* meted's, see control.h */
	void (*on_control)(void *owner); /* called when `control` is readable */
	void *owner;
};

/* Starts the thread. `guard` must remain valid. Value: 0 or -errno. */
int guard_start(struct guard *guard);
