/*
 * grave.h: records that are found without a lock, and end while another thread may be reading them: of functions,
 * modules and libraries. What is buried is freed when nobody looks any more who began before.
 *
 * client_call() begins to look and client_end() ends it; a body that uses a record beyond these says LOOKING first.
 */
#pragma once

#include "remote/client/thread.h"

struct grave {
	struct grave *next;
	uint64_t when;
	void (*end)(struct grave *grave);
};

/* What the thread finds from now on stays readable until it has left as often. NULL is no thread. */
void grave_look(struct thread *thread);
void grave_leave(struct thread *thread);
/* The record, which holds `grave`, cannot be found any more; `end` frees it, now or later, in any thread. */
void grave_bury(struct grave *grave, void (*end)(struct grave *grave));
/* In the child of fork(): other threads' looking has ended, or never will. */
void grave_forget(void);

static inline struct thread *grave_look_here(void)
{
	struct thread *thread = thread_get();

	grave_look(thread);
	return thread;
}

static inline void grave_leave_here(struct thread **thread)
{
	grave_leave(*thread);
}

/* To the end of the block. */
#define LOOKING __attribute__((cleanup(grave_leave_here), unused)) struct thread *looking_ = grave_look_here()
