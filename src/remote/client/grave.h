/*
 * grave.h: records that are found without a lock and may end while another thread reads them: of functions, modules and
 * libraries. A buried record is freed once no thread that began to look before the burial still looks.
 *
 * client_call() begins to look and client_end() ends it; code that uses a record outside these says LOOKING first.
 */
#pragma once

#include "remote/client/thread.h"

struct grave {
	struct grave *next;
	uint64_t when;
	void (*end)(struct grave *grave);
};

/* Keeps records that the thread finds from now on readable until the matching grave_leave(). NULL: does nothing. */
void grave_look(struct thread *thread);
void grave_leave(struct thread *thread);
/* The record that contains `grave` cannot be found any more; `end` frees it, now or later, in any thread. */
void grave_bury(struct grave *grave, void (*end)(struct grave *grave));
/* In the child of fork(): other threads no longer look. */
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

/* Looks until the end of the block. */
#define LOOKING __attribute__((cleanup(grave_leave_here), unused)) struct thread *looking_ = grave_look_here()
