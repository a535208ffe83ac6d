/*
 * later.h: memory that the program has freed and the driver may still hold: freed when its work has ended
 * (ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE), or with its context. It is charged until the driver, when it is
 * asked what lies at that address, knows of nothing. It is asked from time to time, before a request would be refused,
 * and where the program wants to know what is free.
 */
#pragma once

#include "core/records.h"
#include "levelzero/start.h"

/*
 * Before the driver's call, which another thread's new memory at that address may come before the end of. `context`: in
 * which the driver is asked. False: there is no memory to note it.
 */
bool later_note(ze_context_handle_t context, const struct record *record);
/* After it: gives back what the driver has let go of at once. */
void later_settle(uint64_t key);
/* The driver refused: nothing was freed. False: it is not noted (any more). */
bool later_cancel(uint64_t key);

/* The address is that of new memory: what was there before has gone. */
void later_again(uint64_t key);
/* Gives back what has gone. Value: there was some of this device. */
bool later_look(unsigned int device);

/* In the child of fork(). */
void later_forget(void);
