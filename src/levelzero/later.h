/*
 * later.h: memory that the program has freed and that the driver may still hold. The driver frees it when its work has
 * ended (ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE), or with its context. It stays charged until the driver
 * knows of no memory at the address. The driver is asked from time to time, before a request would be refused, and when
 * the program queries the free memory.
 */
#pragma once

#include "core/records.h"
#include "levelzero/start.h"

/*
 * Call before the driver's call: before that returns, another thread may get new memory at the address. `context`: the
 * context in which the driver is asked. False: there is no memory to note it.
 */
bool later_note(ze_context_handle_t context, const struct record *record);
/* Call after the driver's call: refunds the memory if the driver freed it at once. */
void later_settle(uint64_t key);
/* Call if the driver refused, and nothing was freed. False: the memory is not noted any more. */
bool later_cancel(uint64_t key);

/* Call with the address of new memory: earlier memory at that address was freed. */
void later_again(uint64_t key);
/* Refunds memory that the driver has freed. Returns whether there was some on this device. */
bool later_look(unsigned int device);

/* In the child of fork(). */
void later_forget(void);
