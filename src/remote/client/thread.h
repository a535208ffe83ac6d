/*
 * thread.h: what each thread of the program has here: its number for the worker, its stack of current contexts, room
 * for a query that may be answered from the memo. Made when first asked for, gone with the thread; numbers are used
 * again, so that what a worker keeps per thread does not grow.
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
	uint32_t depth;			    /* of contexts[] */
	uint8_t capture_mode;		    /* CUstreamCaptureMode; global at first */
	bool calls_back;		    /* it runs a host function of the program: calls are refused there */
	uint64_t contexts[THREAD_CONTEXTS]; /* handles */
	struct waited waited;
	_Alignas(8) uint8_t query[THREAD_ROOM];
	struct thread *next_free, *next; /* next: of all that ever were */
	uint32_t looks; /* grave.h */
	_Atomic uint64_t looking; /* since when; 0: it does not */
};

/* The calling thread's; NULL without memory. */
struct thread *thread_get(void);
/* The least `looking` of those that look; UINT64_MAX: nobody does. */
uint64_t thread_oldest_look(void);
/* In the child of fork(): there is one thread, and it knows of nothing. */
void thread_forget(void);
