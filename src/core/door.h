/*
 * door.h: where the program's calls enter the driver, if its memory may leave the device.
 *
 * If the memory of a tenant may move (METE_SPILL=1), each of its calls is inside the door while it runs. Before memory
 * leaves, the door is shut: new calls wait there until the memory has returned, and calls inside leave when their work
 * ends. A thread that waits for its turn or for meted's answer steps out meanwhile, because the driver does not depend
 * on it. Nested calls on one thread count once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_SHUT (1u << 31)

extern _Atomic uint32_t door_state;   /* DOOR_SHUT and the number of threads inside */
extern _Atomic uint32_t door_waiting; /* threads that wait for it to open */
extern _Atomic uint32_t door_passed;  /* changes with each entry; of two entries at once one may not count */
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

/* Around a wait for something other than the driver. No effect if the thread is not inside. */
void door_step_out(void);
void door_step_in(void);

/* True if another thread waits for this one to step out. */
static inline bool door_is_shut(void)
{
	return __builtin_expect(atomic_load_explicit(&door_state, memory_order_relaxed) & DOOR_SHUT, 0);
}

/*
 * Shuts the door and waits until no thread is inside. False: some thread still was at `until_ns` (CLOCK_MONOTONIC); the
 * door is open again.
 */
bool door_shut(uint64_t until_ns);
void door_open(void);

/* In the child of fork(): the door is open; the depth of this thread is kept. */
void door_reset(void);
