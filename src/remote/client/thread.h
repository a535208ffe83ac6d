/*
 * thread.h: the state of each thread of the program: its number for the worker, its stack of current contexts, and a
 * buffer for a query that the memo may answer. Created at first use, freed with the thread; numbers are reused, so that
 * a worker's state per thread does not grow.
 */
#pragma once

#include "remote/client/waited.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREAD_CONTEXTS 128u
#define THREAD_ROOM 4096u

struct thread {
	uint32_t number;		    /* from 1 */
	uint32_t depth;			    /* number of used entries of contexts[] */
	uint8_t capture_mode;		    /* CUstreamCaptureMode; global at first */
	bool calls_back;		    /* it runs a host function of the program: calls are refused in it */
	uint64_t contexts[THREAD_CONTEXTS]; /* handles */
	struct waited waited;
	_Alignas(8) uint8_t query[THREAD_ROOM];
	struct thread *next_free, *next; /* next: in the list of all that ever existed */
	uint32_t looks; /* grave.h */
	_Atomic uint64_t looking; /* since when; 0: it does not look */
};

/* The calling thread's state; NULL: no memory. */
struct thread *thread_get(void);
/* The least `looking` of the threads that look; UINT64_MAX: none does. */
uint64_t thread_oldest_look(void);
/* In the child of fork(): there is one thread, and it has no state. */
void thread_forget(void);
