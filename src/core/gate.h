/*
 * gate.h: the readers-writer lock around all changes of this process's memory on a device.
 *
 * Calls of known size hold it together (enter, leave). A call whose size is known only afterwards holds it exclusively
 * (close, open), so that the driver's figures before and after differ by that call alone. The driver is called inside
 * the gate. meted is never asked inside it, because attach.h freezes the accounts through it.
 *
 * A waiting closer does not block new entries at first: a thread inside may wait in the driver for a thread that is
 * about to enter. After a while it blocks them for short intervals; otherwise a busy allocator would keep it waiting
 * forever.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GATE_CLOSED (1u << 31)

extern _Atomic uint32_t gate_state; /* GATE_CLOSED and the number of threads inside */

void gate_enter_slow(void);
void gate_close(void);
void gate_open(void);
/* In the child of fork(): no thread is inside. */
void gate_reset(void);

static inline void gate_enter(void)
{
	/* Acquire: pairs with the release in gate_open(). */
	if (atomic_fetch_add_explicit(&gate_state, 1, memory_order_acquire) & GATE_CLOSED)
		gate_enter_slow();
}

/* Enters without waiting. False: the gate is closed, and this thread is not inside. */
static inline bool gate_try(void)
{
	if (!(atomic_fetch_add_explicit(&gate_state, 1, memory_order_acquire) & GATE_CLOSED))
		return true;
	atomic_fetch_sub_explicit(&gate_state, 1, memory_order_release);
	return false;
}

static inline void gate_leave(void)
{
	/* Release: pairs with the acquire in gate_close(). */
	atomic_fetch_sub_explicit(&gate_state, 1, memory_order_release);
}
