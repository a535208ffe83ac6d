/*
 * door.h: through which the program's calls reach the driver, where its memory may leave the device.
 *
 * Every call of a tenant whose memory may move (METE_SPILL=1) is inside the door while it runs. Before memory leaves,
 * the door is shut: new calls wait there until the memory is back, and those inside come out when their work ends. A
 * thread that waits for its turn or for an answer of meted steps out meanwhile: nothing of the driver's depends on it.
 * A call that another call makes on the same thread is inside already.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_SHUT (1u << 31)

extern _Atomic uint32_t door_state;   /* DOOR_SHUT and the number of threads inside */
extern _Atomic uint32_t door_waiting; /* threads that stand before it */
extern _Atomic uint32_t door_passed;  /* another number when somebody has passed; of two at once one may not count */
extern __thread uint32_t door_depth __attribute__((tls_model("initial-exec")));

void door_enter_slow(void);
void door_leave_slow(void);

static inline void door_enter(void)
{
	if (door_depth++)
		return;
	atomic_store_explicit(&door_passed, atomic_load_explicit(&door_passed, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	/* Sequentially consistent, as the rest: pairs with door_shut(). */
	if (__builtin_expect(atomic_fetch_add(&door_state, 1) & DOOR_SHUT, 0))
		door_enter_slow();
}

static inline void door_leave(void)
{
	if (--door_depth)
		return;
	if (__builtin_expect(atomic_fetch_sub(&door_state, 1) == (DOOR_SHUT | 1), 0))
		door_leave_slow();
}

/* For a while that this thread waits for something else than the driver. Nothing where it is not inside. */
void door_step_out(void);
void door_step_in(void);

/* Somebody waits for this thread to step out. */
static inline bool door_is_shut(void)
{
	return __builtin_expect(atomic_load_explicit(&door_state, memory_order_relaxed) & DOOR_SHUT, 0);
}

/* Shuts it, and waits until nobody is inside. False: not until `until_ns` (CLOCK_MONOTONIC); it is open again. */
bool door_shut(uint64_t until_ns);
void door_open(void);

/* In the child of fork(): open, and this thread is where it was. */
void door_reset(void);
