/*
 * gate.h: the readers-writer lock around everything that changes what this process takes of a device.
 *
 * Calls whose size is known pass it side by side (enter, leave); a call whose size is only known afterwards has it to
 * itself (close, open), so that the driver's figures before and after differ by that call alone. The driver is called
 * inside the gate; meted is never asked inside it (attach.h freezes accounts through it).
 * A closer that waits does not hold up others at first: a thread inside may be waiting in the driver for one that is
 * about to enter. After a while it does, or a busy allocator would keep it out for ever, but only for short spells.
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
/* In the child of fork(): nobody is inside. */
void gate_reset(void);

static inline void gate_enter(void)
{
	/* Acquire: pairs with the release in gate_open(). */
	if (atomic_fetch_add_explicit(&gate_state, 1, memory_order_acquire) & GATE_CLOSED)
		gate_enter_slow();
}

/* False: somebody has it to himself, and this thread is not inside. */
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
